"""One's own account: settings, password, sessions."""

from datetime import UTC, datetime

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from access.selectors.account import sessions_of
from access.services import people
from tests.support import factories

NEW = "a-brand-new-passphrase"


@pytest.fixture
def mara(acme):
    return factories.person(acme, groups=["finance"], name="Mara Lind")


def save(client, **fields):
    return client.post("/account/", {"name": "Mara Lind", "time_zone": "", "theme": "system"} | fields)


@pytest.mark.parametrize("path", ["/account/", "/account/password/", "/account/sessions/"])
def test_a_page_of_ones_account_needs_somebody(client, db, path):
    assert client.get(path)["Location"].startswith("/sign-in/?next=")


def test_a_zone_that_was_chosen_holds_on_every_page_whatever_the_browser_says(mara, signed_in):
    client = signed_in(mara)
    assert 'data-zone="Australia/Sydney"' in client.get("/").content.decode()
    assert save(client, time_zone="Asia/Tokyo")["Location"] == "/account/"
    page = client.get("/account/").content.decode()
    assert "Saved." in page
    assert 'data-zone="Asia/Tokyo"' in page
    assert 'data-zone="Asia/Tokyo"' in signed_in(mara).get("/").content.decode(), "also in the next session"
    save(client, time_zone="UTC")
    assert 'data-zone="UTC"' in client.get("/").content.decode()


def test_times_are_told_in_the_zone_with_its_name(acme, mara, signed_in, stand_at):
    stand_at(datetime(2026, 11, 29, 3, 2, tzinfo=UTC))
    client = signed_in(mara)
    save(client, time_zone="Asia/Tokyo")
    text = client.get("/account/sessions/").content.decode()
    assert "29 Nov 2026, 12:02:00 JST" in text
    assert "(03:02:00 UTC)" in text


@pytest.mark.parametrize(("theme", "mark"), [("light", 'data-theme="light"'), ("dark", 'data-theme="dark"')])
def test_a_theme_stands_on_every_page(mara, signed_in, theme, mark):
    client = signed_in(mara)
    assert "data-theme" not in client.get("/runs/").content.decode()
    save(client, theme=theme)
    assert mark in client.get("/runs/").content.decode()
    save(client, theme="system")
    assert "data-theme" not in client.get("/runs/").content.decode()


def test_a_new_name_is_the_one_that_others_read(mara, signed_in):
    client = signed_in(mara)
    save(client, name="Mara Berg")
    assert "<b>Mara Berg</b>" in client.get("/").content.decode()


@pytest.mark.parametrize("fields", [{"name": ""}, {"time_zone": "Nowhere"}, {"theme": "purple"}])
def test_what_cannot_be_saved_is_said_and_what_was_typed_is_kept(mara, signed_in, fields):
    client = signed_in(mara)
    answer = save(client, **{"name": "Mara B", **fields})
    assert answer.status_code == 422
    text = answer.content.decode()
    assert 'role="alert"' in text
    assert "name" in fields or 'value="Mara B"' in text


def test_a_changed_password_keeps_this_session_and_ends_the_others(mara, signed_in):
    here, there = signed_in(mara), signed_in(mara)
    answer = here.post("/account/password/", {"current": mara.password, "new": NEW, "again": NEW})
    assert answer["Location"] == "/account/password/"
    assert "Your password is changed" in here.get("/account/password/").content.decode()
    assert there.get("/").status_code == 302
    rows = sessions_of(mara.actor, here.session.session_key)
    assert [row.this_one for row in rows] == [True], "it is still the same session of the list"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"current": "wrong"}, "The current password is wrong"),
        ({"again": "something-else"}, "are not the same"),
        ({"new": "short", "again": "short"}, "too short"),
    ],
)
def test_a_password_that_is_not_changed_says_why_and_shows_none(mara, signed_in, fields, words):
    client = signed_in(mara)
    answer = client.post("/account/password/", {"current": mara.password, "new": NEW, "again": NEW} | fields)
    assert answer.status_code == 422
    text = answer.content.decode()
    assert words in text
    assert NEW not in text
    assert mara.password not in text


def test_guessing_the_current_password_ends_in_a_wait(mara, signed_in):
    client = signed_in(mara)
    answers = [client.post("/account/password/", {"current": "wrong", "new": NEW, "again": NEW}) for _ in range(11)]
    assert answers[-1].status_code == 429
    assert "Too many attempts" in answers[-1].content.decode()


def test_sessions_are_listed_and_one_is_signed_out(mara, signed_in):
    here, there = signed_in(mara), signed_in(mara)
    text = here.get("/account/sessions/").content.decode()
    assert text.count("Sign out<") == 1 + 1, "one other session, and the button of this one in the navigation"
    other = next(row for row in sessions_of(mara.actor, here.session.session_key) if not row.this_one)
    assert here.post("/account/sessions/end/", {"session": other.id})["Location"] == "/account/sessions/"
    assert there.get("/").status_code == 302
    assert here.get("/").status_code == 200


def test_all_other_sessions_are_signed_out_at_once(mara, signed_in):
    here, others = signed_in(mara), [signed_in(mara) for _ in range(2)]
    here.post("/account/sessions/end/", {"others": "1"})
    assert [client.get("/").status_code for client in others] == [302, 302]
    assert "2 other sessions have ended." in here.get("/account/sessions/").content.decode()


def test_this_session_can_be_ended_from_the_list_too(mara, signed_in):
    here = signed_in(mara)
    (row,) = sessions_of(mara.actor, here.session.session_key)
    assert here.post("/account/sessions/end/", {"session": row.id})["Location"] == "/sign-in/"
    assert here.get("/").status_code == 302


def test_who_signs_in_where_somebody_else_was_has_a_session_that_is_listed_and_can_be_ended(acme, mara, signed_in):
    for name in ("Anna", "Bela"):
        person = factories.person(acme, name=name)
        there = signed_in(mara)
        there.post("/sign-in/", {"username": person.email, "password": person.password})
        assert name in there.get("/account/").content.decode()
        here = signed_in(person)
        assert len(here.get("/account/sessions/").context["rows"]) == 2
        here.post("/account/sessions/end/", {"others": "yes"})
        assert there.get("/").status_code == 302


def test_another_persons_session_is_unknown(acme, mara, signed_in):
    theirs = signed_in(mara)
    (row,) = sessions_of(mara.actor, "")
    answer = signed_in(acme.admin).post("/account/sessions/end/", {"session": row.id})
    assert answer.status_code == 404
    assert theirs.get("/").status_code == 200


def test_signing_out_takes_the_session_off_the_list(mara, signed_in):
    here, there = signed_in(mara), signed_in(mara)
    there.post("/sign-out/")
    assert len(sessions_of(mara.actor, here.session.session_key)) == 1


def test_a_session_moves_with_its_person_to_the_other_organisation(acme, mara, signed_in):
    globex = factories.tenant("globex")
    people.member_add(actor=globex.admin.actor, email=mara.email, name=mara.name, roles=["auditor"])
    client = signed_in(mara)
    client.post("/switch-tenant/", {"tenant": globex.id})
    (row,) = sessions_of(mara.actor, client.session.session_key)
    assert row.organisation == globex.name


def test_a_deactivated_persons_sessions_end_at_once(acme, mara, signed_in):
    client = signed_in(mara)
    key = client.session.session_key
    people.member_change(actor=acme.admin.actor, membership_id=mara.membership_id, active=False)
    assert not Session.objects.filter(session_key=key).exists()
    people.member_change(actor=acme.admin.actor, membership_id=mara.membership_id, active=True)
    assert client.get("/").status_code == 302, "and it does not come back with the membership"


def test_a_session_behind_no_sign_in_of_ours_lists_nothing_and_says_why(mara):
    client = Client()
    client.login(username=mara.email, password=mara.password)
    assert "No session is listed" in client.get("/account/sessions/").content.decode()
