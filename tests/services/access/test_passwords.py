"""Passwords: changed by their owner, set by a link that works once, and no answer tells who has an account."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth import authenticate
from django.core import mail
from django.db import connection
from django.test.utils import CaptureQueriesContext

from access.models import AccountLink
from access.selectors.account import password_rules
from access.services import passwords, people
from access.store import mailer
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound, TooMany
from audit.selectors.entries import EntryFilters, entries_page
from tests.services.access.test_sessions import begin
from tests.support import factories

NEW = "a-brand-new-passphrase"
HERE = "192.0.2.7"
T = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.fixture
def acme(db):
    return factories.tenant()


@pytest.fixture
def anna(acme):
    return factories.person(acme, name="Anna")


@pytest.fixture
def mailing(settings):
    """Mail is set up; what is sent stands in mail.outbox."""
    from config.env import Mail

    settings.MAIL = Mail("smtp", "", "Clearance <clearance@localhost>", {})


def change(person, current=factories.PASSWORD, new=NEW, key="-"):
    return passwords.password_change(actor=person.actor, current=current, new=new, session_key=key, address=HERE)


def invited(acme, email="ida@acme.example", **fields):
    return people.member_add(actor=acme.admin.actor, email=email, name="Ida", roles=["reviewer"], invite=True, **fields)


def opens(email, password):
    return authenticate(username=email, password=password) is not None


def test_a_changed_password_opens_and_the_old_one_does_not(acme, anna):
    here = begin(anna)
    begin(anna)
    change(anna, key=here)
    assert opens(anna.email, NEW)
    assert not opens(anna.email, anna.password)
    entry = entries_page(acme.id, EntryFilters(action="password.changed"))[0]
    assert entry.detail == {"address": HERE, "sessions_ended": 1}
    assert NEW not in str(entry)


@pytest.mark.parametrize(
    ("current", "new", "code"),
    [
        ("wrong", NEW, "PASSWORD_WRONG"),
        ("a\0b", NEW, "PASSWORD_WRONG"),
        (factories.PASSWORD, "short", "PASSWORD_WEAK"),
        (factories.PASSWORD, "password1234", "PASSWORD_WEAK"),
        (factories.PASSWORD, "a\0" + NEW, "PASSWORD_WEAK"),
        (factories.PASSWORD, "x" * 5000, "PASSWORD_WEAK"),
        (factories.PASSWORD, factories.PASSWORD, "PASSWORD_SAME"),
    ],
)
def test_what_changes_no_password_says_why(acme, anna, current, new, code):
    with pytest.raises(Invalid) as refusal:
        change(anna, current, new)
    assert refusal.value.code == code
    assert opens(anna.email, anna.password)
    assert entries_page(acme.id, EntryFilters(action="password.changed", verdict="refused"))


def test_rules_are_plain_sentences():
    rules = password_rules()
    assert len(rules) == 3
    assert all(re.fullmatch(r"Your password .*\.", rule) for rule in rules)


def test_guessing_the_current_password_is_throttled_as_at_the_sign_in(anna):
    for _ in range(10):
        with pytest.raises(Invalid):
            change(anna, "wrong")
    with pytest.raises(TooMany) as refusal:
        change(anna)
    assert refusal.value.retry_after > 200


def test_a_weak_new_password_is_no_guess_at_the_current_one(anna):
    for _ in range(15):
        with pytest.raises(Invalid) as refusal:
            change(anna, new="short")
        assert refusal.value.code == "PASSWORD_WEAK"


def test_an_agent_changes_no_password(acme, anna):
    actor = factories.agent(acme, acts_for=[anna]).actor(on_behalf_of=anna.email)
    with pytest.raises(Forbidden):
        passwords.password_change(actor=actor, current="x", new=NEW, session_key="", address="")


def test_an_invited_person_sets_their_password_once(acme):
    row = invited(acme)
    assert (row.created, row.password) == (True, "")
    assert row.link not in repr(row)
    assert not opens(row.email, "")
    look = passwords.link_look(token=row.link)
    assert (look.purpose, look.email, look.name, look.organisations) == (
        "invitation", "ida@acme.example", "Ida", (acme.name,),
    )  # fmt: skip
    assert passwords.password_set(token=row.link, new=NEW, address=HERE) == row.email
    assert opens(row.email, NEW)
    assert passwords.link_look(token=row.link) is None
    with pytest.raises(NotFound) as refusal:
        passwords.password_set(token=row.link, new="another-passphrase", address=HERE)
    assert refusal.value.code == "LINK_GONE"
    assert opens(row.email, NEW)
    entries = entries_page(acme.id)
    assert entries[0].action == "invitation.accepted"
    assert entries[0].actor_id == row.user_id
    assert row.link not in str(entries)


def test_looking_at_a_link_uses_nothing(acme):
    row = invited(acme)
    for _ in range(3):
        assert passwords.link_look(token=row.link)
    assert passwords.password_set(token=row.link, new=NEW, address=HERE)


def test_a_weak_password_leaves_the_link_as_it_was(acme):
    row = invited(acme)
    with pytest.raises(Invalid):
        passwords.password_set(token=row.link, new="short", address=HERE)
    assert passwords.password_set(token=row.link, new=NEW, address=HERE)


def test_a_link_is_good_to_its_last_millisecond_and_not_one_longer(acme, stand_at):
    stand_at(T)
    row, late = invited(acme), invited(acme, email="late@acme.example")
    end = T + timedelta(days=7)
    stand_at(end - timedelta(milliseconds=1))
    assert passwords.password_set(token=row.link, new=NEW, address=HERE)
    stand_at(end)
    assert passwords.link_look(token=late.link) is None
    with pytest.raises(NotFound):
        passwords.password_set(token=late.link, new=NEW, address=HERE)
    assert not opens("late@acme.example", NEW)


@pytest.mark.parametrize("token", ["", "x", "x" * 5000, "a\ud800b"])
def test_a_link_that_was_never_made_opens_nothing(db, token):
    assert passwords.link_look(token=token) is None
    with pytest.raises(NotFound):
        passwords.password_set(token=token, new=NEW, address=HERE)


def test_only_the_hash_of_a_link_is_kept(acme):
    row = invited(acme)
    assert row.link not in str(list(AccountLink.objects.values_list()))


def test_a_new_invitation_voids_the_one_before(acme):
    row = invited(acme)
    again = people.invitation_renew(actor=acme.admin.actor, membership_id=row.membership_id)
    assert passwords.link_look(token=row.link) is None
    assert passwords.link_look(token=again.link)


def test_no_link_is_made_for_somebody_who_has_a_password(acme, anna):
    with pytest.raises(Conflict) as refusal:
        people.invitation_renew(actor=acme.admin.actor, membership_id=anna.membership_id)
    assert refusal.value.code == "HAS_PASSWORD"
    assert AccountLink.objects.count() == 0


def test_no_admin_gets_a_link_to_an_account_that_also_belongs_elsewhere(acme):
    """Else an admin of one organisation could take the account that another one has invited."""
    row = invited(acme)
    other = factories.tenant()
    place = people.member_add(actor=other.admin.actor, email=row.email, name="Ida", roles=["admin"], invite=True)
    assert (place.created, place.link) == (False, "")
    with pytest.raises(Conflict) as refusal:
        people.invitation_renew(actor=other.admin.actor, membership_id=place.membership_id)
    assert refusal.value.code == "ELSEWHERE"
    assert passwords.link_look(token=row.link), "and the invitation stays good"


def test_twenty_uses_of_one_link_at_once_set_one_password(committed_db, race):
    row = invited(factories.tenant())
    results = race(lambda i: passwords.password_set(token=row.link, new=f"{NEW}-{i}", address=HERE), 20)
    assert sum(isinstance(result, NotFound) for result in results) == 19
    winner = next(i for i, result in enumerate(results) if result == row.email)
    assert opens(row.email, f"{NEW}-{winner}")


# -- forgotten -------------------------------------------------------------------------------------------------------


def reset(email, address=HERE):
    """Ask, and wait until the mail thread has done its part."""
    passwords.password_reset_ask(email=email, address=address)
    mailer.wait_until_sent()


def test_a_forgotten_password_is_set_by_a_mailed_link_and_every_session_ends(committed_db, mailing):
    acme = factories.tenant()
    anna = factories.person(acme, name="Anna")
    begin(anna)
    reset(f" {anna.email.upper()}")
    (sent,) = mail.outbox
    assert sent.to == [anna.email]
    token = re.search(r"http://localhost:8000/password/new/\?link=(\S+)", sent.body)[1]
    assert opens(anna.email, anna.password), "asking changes nothing"
    passwords.password_set(token=token, new=NEW, address=HERE)
    assert opens(anna.email, NEW)
    asked, done = (
        entries_page(acme.id, EntryFilters(action=action))[0] for action in ("password.reset_asked", "password.reset")
    )
    assert (asked.actor_id, asked.actor_name, asked.object_id) == ("", "somebody not signed in", anna.user_id)
    assert (done.actor_id, done.detail["sessions_ended"]) == (anna.user_id, 1)
    assert token not in str(entries_page(acme.id))


def test_an_unknown_address_gets_no_mail_and_the_same_answer(committed_db, mailing):
    acme = factories.tenant()
    anna = factories.person(acme)
    people.member_change(actor=acme.admin.actor, membership_id=anna.membership_id, active=False)
    for email in ("nobody@example.org", anna.email, "", "a\0b"):
        reset(email)
    assert mail.outbox == []
    assert AccountLink.objects.count() == 0
    assert entries_page("", EntryFilters(action="password.reset_asked"))[0].object_id.startswith("typed:")


def test_the_request_itself_asks_the_database_the_same_for_everybody(anna, monkeypatch):
    """Equal statements take equal time: the account is looked for after the answer, by the mail thread."""
    jobs = []
    monkeypatch.setattr("access.store.mailer.later", jobs.append)
    asked = []
    for email, address in ((anna.email, HERE), ("nobody@example.org", "192.0.2.8")):
        with CaptureQueriesContext(connection) as captured:
            passwords.password_reset_ask(email=email, address=address)
        asked.append([re.sub(r"'[^']*'|\d+", "?", query["sql"]) for query in captured])
    assert asked[0] == asked[1]
    assert len(jobs) == 2
    assert "access_user" not in str(asked)


def test_a_mailbox_is_not_filled_by_others(committed_db, mailing, stand_at):
    anna = factories.person(factories.tenant())
    stand_at(T)
    for number in range(3):
        reset(anna.email, f"192.0.2.{number}")
    with pytest.raises(TooMany) as refusal:
        reset(anna.email, "192.0.2.9")
    assert (refusal.value.code, refusal.value.retry_after) == ("RESET_THROTTLED", 1200)
    assert len(mail.outbox) == 3
    stand_at(T + timedelta(minutes=20))
    reset(anna.email)
    assert len(mail.outbox) == 4


def test_one_address_asks_for_ten_and_then_waits(db, monkeypatch, stand_at):
    monkeypatch.setattr("access.store.mailer.later", lambda job: True)
    stand_at(T)
    for number in range(10):
        passwords.password_reset_ask(email=f"a{number}@example.org", address=HERE)
    with pytest.raises(TooMany):
        passwords.password_reset_ask(email="b@example.org", address=HERE)


def test_a_password_set_by_link_ends_the_wait_of_an_account_that_was_guessed_at(acme, anna):
    from access.services.signin import person_sign_in
    from access.store import links
    from audit.store import clock

    for _ in range(11):
        with pytest.raises(Exception, match=r"do not open|Too many"):
            person_sign_in(email=anna.email, password="wrong", address=HERE)
    token = links.add(anna.user_id, "reset", clock.now())
    passwords.password_set(token=token, new=NEW, address=HERE)
    assert person_sign_in(email=anna.email, password=NEW, address=HERE).actor.id == anna.user_id
