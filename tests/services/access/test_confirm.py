"""Showing anew that it is they: passkeys, codes, the password; five minutes, one session, throttled."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.core import mail

from access.core.confirm import session_name
from access.core.throttle import SIGN_IN_ACCOUNT
from access.models import Passkey, PasskeyChallenge
from access.selectors.assertion import party_at
from access.selectors.confirmation import check_fresh, fresh_end, means_of
from access.services import confirm, passkey, second_step, signin
from access.store import mailer
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound, TooMany
from audit.selectors.entries import EntryFilters, entries_page
from tests.services.access.test_passwords import mailing  # noqa: F401  # a fixture
from tests.support import factories
from tests.support.passkeys import PRESENT, Device

HERE = "192.0.2.7"
T = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.fixture
def anna(db):
    return factories.person(factories.tenant(), name="Anna")


def session(person, key="one"):
    """The person in the browser session with this key."""
    return replace(person.actor, session_id=session_name(key))


def confirmed(person, key="one"):
    actor = session(person, key)
    confirm.confirm_password(actor=actor, password=person.password, address=HERE)
    return actor


def added(person, device=None, key="one", name="Laptop"):
    device = device or Device()
    actor = confirmed(person, key)
    passkey.passkey_add(actor=actor, response=device.make(passkey.passkey_options(actor=actor)), name=name)
    return device


# -- how long, and where -----------------------------------------------------------------------------------------------


def test_a_confirmation_holds_for_five_minutes_of_the_databases_clock_and_not_a_millisecond_more(anna, stand_at):
    stand_at(T)
    actor = confirmed(anna)
    stand_at(T + timedelta(minutes=5, milliseconds=-1))
    assert fresh_end(actor) == T + timedelta(minutes=5)
    stand_at(T + timedelta(minutes=5))
    assert fresh_end(actor) is None
    with pytest.raises(Forbidden) as refused:
        check_fresh(actor, "Approving this")
    assert refused.value.code == "FRESH_REQUIRED"
    assert refused.value.message.startswith("Approving this needs that you confirm it is you")


def test_a_confirmation_holds_in_its_own_session_alone(anna):
    confirmed(anna, "one")
    assert fresh_end(session(anna, "one")) is not None
    assert fresh_end(session(anna, "two")) is None
    assert fresh_end(replace(session(anna, "one"), via="token")) is None
    assert fresh_end(replace(session(anna, "one"), id=str(anna.membership_id))) is None
    assert fresh_end(anna.actor) is None, "no session, no confirmation"


def test_a_wrong_password_confirms_nothing_and_is_in_the_log(anna):
    with pytest.raises(Invalid) as refused:
        confirm.confirm_password(actor=session(anna), password="wrong", address=HERE)
    assert refused.value.code == "PASSWORD_WRONG"
    assert fresh_end(session(anna)) is None
    [entry] = entries_page(anna.tenant_id, EntryFilters(action="person.confirmed"))
    assert (entry.verdict, entry.detail["by"], entry.detail["code"]) == ("refused", "password", "PASSWORD_WRONG")


def test_guesses_at_a_confirmation_are_counted_as_at_the_sign_in(anna):
    for _ in range(SIGN_IN_ACCOUNT.burst):
        with pytest.raises(Invalid):
            confirm.confirm_password(actor=session(anna), password="wrong", address=HERE)
    with pytest.raises(TooMany):
        confirm.confirm_password(actor=session(anna), password=anna.password, address=HERE)
    with pytest.raises(TooMany):
        signin.person_sign_in(email=anna.email, password=anna.password, address=HERE)


def test_an_agent_confirms_nothing(anna):
    with pytest.raises(Forbidden, match="PERSON_REQUIRED"):
        confirm.confirm_password(actor=anna.actor, password=anna.password, address=HERE)


# -- passkeys ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ES256", "EdDSA", "RS256"])
def test_a_passkey_of_each_kind_is_added_and_confirms(anna, kind, stand_at):
    stand_at(T)
    device = added(anna, Device(kind))
    [row] = means_of(anna.user_id).passkeys
    assert (row.name, row.used_at, len(row.fingerprint)) == ("Laptop", None, 64)
    stand_at(T + timedelta(minutes=10))
    actor = session(anna)
    response = device.sign(confirm.confirm_options(actor=actor))
    confirm.confirm_passkey(actor=actor, response=response, address=HERE)
    assert fresh_end(actor) == T + timedelta(minutes=15)
    assert means_of(anna.user_id).passkeys[0].used_at == T + timedelta(minutes=10)
    [made] = entries_page(anna.tenant_id, EntryFilters(action="passkey.added"))
    assert made.detail["fingerprint"] == row.fingerprint


def test_a_passkey_needs_a_confirmation_to_be_added_renamed_and_removed(anna):
    actor = session(anna)
    for verb in (
        lambda: passkey.passkey_options(actor=actor),
        lambda: passkey.passkey_add(actor=actor, response="{}", name="x"),
        lambda: passkey.passkey_rename(actor=actor, passkey_id="x", name="x"),
        lambda: passkey.passkey_remove(actor=actor, passkey_id="x"),
        lambda: second_step.app_begin(actor=actor),
        lambda: second_step.app_finish(actor=actor, code="1"),
        lambda: second_step.app_end(actor=actor),
        lambda: second_step.recovery_renew(actor=actor),
        lambda: second_step.second_step_set(actor=actor, on=False),
    ):
        with pytest.raises(Forbidden) as refused:
            verb()
        assert refused.value.code == "FRESH_REQUIRED"


@pytest.mark.parametrize(
    "wrong",
    [
        {"origin": "http://localhost:9000"},
        {"origin": "https://localhost:8000"},
        {"rp_id": "evil.example"},
        {"flags": 0x41},
        {"flags": 0x44},
        {"cross": True},
    ],
)
def test_a_new_passkey_that_was_made_for_somebody_else_or_without_verification_is_refused(anna, wrong):
    actor = confirmed(anna)
    with pytest.raises(Invalid) as refused:
        passkey.passkey_add(
            actor=actor, response=Device().make(passkey.passkey_options(actor=actor), **wrong), name="x"
        )
    assert refused.value.code == "PASSKEY_REFUSED"
    assert not Passkey.objects.exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"origin": "http://localhost:9000"},
        {"rp_id": "evil.example"},
        {"flags": PRESENT},
        {"flags": 0x04},
        {"type": "webauthn.create"},
        {"cross": True},
        {"topOrigin": "https://evil.example"},
    ],
)
def test_an_answer_that_does_not_fit_confirms_nothing(anna, wrong, stand_at):
    stand_at(T)
    device = added(anna)
    stand_at(T + timedelta(minutes=6))
    actor = session(anna)
    with pytest.raises(Invalid) as refused:
        confirm.confirm_passkey(
            actor=actor, response=device.sign(confirm.confirm_options(actor=actor), **wrong), address=HERE
        )
    assert refused.value.code == "PASSKEY_REFUSED"
    assert fresh_end(actor) is None


@pytest.mark.parametrize(
    "raw", ["", "{}", "[]", "{", '{"rawId": 1}', "x" * 40_000, '{"rawId":"a","response":{}}', "\ud800"]
)
def test_an_answer_that_is_none_is_refused_in_words(anna, raw):
    added(anna)
    with pytest.raises(Invalid) as refused:
        confirm.confirm_passkey(actor=session(anna), response=raw, address=HERE)
    assert refused.value.code == "PASSKEY_REFUSED"


def test_a_challenge_is_good_once_in_time_in_its_session_and_for_its_purpose(anna, stand_at):
    stand_at(T)
    device = added(anna)
    actor = session(anna)

    def gone(response, by=actor):
        with pytest.raises(Conflict) as refused:
            confirm.confirm_passkey(actor=by, response=response, address=HERE)
        assert refused.value.code == "CHALLENGE_GONE"

    used = device.sign(confirm.confirm_options(actor=actor))
    confirm.confirm_passkey(actor=actor, response=used, address=HERE)
    gone(used)
    gone(device.sign(confirm.confirm_options(actor=session(anna, "two"))))
    gone(device.sign(passkey.passkey_options(actor=actor)))
    gone(device.sign(confirm.confirm_options(actor=actor), challenge=b"another one, made up by the page"))
    late = device.sign(confirm.confirm_options(actor=actor))
    stand_at(T + timedelta(minutes=3))
    gone(late)


def test_old_challenges_go_with_new_ones(anna, stand_at):
    stand_at(T)
    added(anna)
    for _ in range(3):
        confirm.confirm_options(actor=session(anna))
    stand_at(T + timedelta(hours=1))
    confirm.confirm_options(actor=session(anna))
    assert PasskeyChallenge.objects.count() == 1


def test_anothers_passkey_confirms_nothing(anna):
    ben = factories.person(factories.tenant(), name="Ben")
    added(anna)
    theirs = added(ben)
    with pytest.raises(Invalid) as refused:
        confirm.confirm_passkey(
            actor=session(anna), response=theirs.sign(confirm.confirm_options(actor=session(anna))), address=HERE
        )
    assert refused.value.code == "PASSKEY_UNKNOWN"


def test_a_passkey_that_counts_backwards_is_a_copy_and_refused(anna):
    device = added(anna)
    device.counter = 9
    actor = session(anna)
    confirm.confirm_passkey(actor=actor, response=device.sign(confirm.confirm_options(actor=actor)), address=HERE)
    device.counter = 4
    with pytest.raises(Invalid) as refused:
        confirm.confirm_passkey(actor=actor, response=device.sign(confirm.confirm_options(actor=actor)), address=HERE)
    assert refused.value.code == "PASSKEY_COPIED"


def test_a_synced_passkey_that_never_counts_confirms_again_and_again(anna):
    device = added(anna, Device(counts=False))
    for _ in range(2):
        confirm.confirm_passkey(
            actor=session(anna), response=device.sign(confirm.confirm_options(actor=session(anna))), address=HERE
        )


def test_a_passkey_is_known_once_whoever_brings_it(anna):
    ben = factories.person(factories.tenant(), name="Ben")
    device = added(anna)
    actor = confirmed(ben)
    with pytest.raises(Conflict) as refused:
        passkey.passkey_add(actor=actor, response=device.make(passkey.passkey_options(actor=actor)), name="mine")
    assert refused.value.code == "PASSKEY_KNOWN"


def test_a_removed_passkey_confirms_nothing_and_another_persons_cannot_be_touched(anna):
    ben = factories.person(factories.tenant(), name="Ben")
    device = added(anna)
    [row] = means_of(anna.user_id).passkeys
    for verb in (
        lambda: passkey.passkey_remove(actor=confirmed(ben), passkey_id=str(row.id)),
        lambda: passkey.passkey_rename(actor=confirmed(ben), passkey_id=str(row.id), name="mine"),
    ):
        with pytest.raises(NotFound):
            verb()
    options = confirm.confirm_options(actor=session(anna))
    passkey.passkey_rename(actor=session(anna), passkey_id=str(row.id), name="Phone")
    assert means_of(anna.user_id).passkeys[0].name == "Phone"
    passkey.passkey_remove(actor=session(anna), passkey_id=str(row.id))
    with pytest.raises(Invalid) as refused:
        confirm.confirm_passkey(actor=session(anna), response=device.sign(options), address=HERE)
    assert refused.value.code == "PASSKEY_UNKNOWN"
    with pytest.raises(Conflict) as none:
        confirm.confirm_options(actor=session(anna))
    assert none.value.code == "PASSKEY_NONE"


def test_the_owner_is_told_by_mail_of_what_was_added_and_removed(anna, mailing):  # noqa: F811
    added(anna)
    [row] = means_of(anna.user_id).passkeys
    passkey.passkey_remove(actor=session(anna), passkey_id=str(row.id))
    mailer.wait_until_sent()
    assert [message.to for message in mail.outbox] == [[anna.email]] * 2
    assert "A passkey was added to your account: Laptop." in mail.outbox[0].body
    assert "A passkey was removed from your account: Laptop." in mail.outbox[1].body


@pytest.mark.parametrize(
    ("address", "id_", "origin", "words"),
    [
        ("http://localhost:8000", "localhost", "http://localhost:8000", ""),
        ("https://clearance.example", "clearance.example", "https://clearance.example", ""),
        ("http://127.0.0.1:8000", "127.0.0.1", "http://127.0.0.1:8000", "browsers refuse numbers"),
        ("http://clearance.example", "clearance.example", "http://clearance.example", "Passkeys need https"),
    ],
)
def test_whom_passkeys_sign_for_is_the_installations_address(address, id_, origin, words):
    found = party_at(address)
    assert (found.id, found.origin) == (id_, origin)
    assert words in found.problem
    assert bool(words) == bool(found.problem)


def test_where_no_browser_takes_a_passkey_none_is_asked_for(anna, settings):
    actor = confirmed(anna)
    settings.BASE_URL = "http://127.0.0.1:8000"
    with pytest.raises(Conflict) as refused:
        passkey.passkey_options(actor=actor)
    assert refused.value.code == "PASSKEYS_UNAVAILABLE"
