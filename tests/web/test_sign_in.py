"""Signing in, signing out, changing the organisation: what opens, what does not, and what each says."""

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from access.services import people
from access.services.signin import NO_TENANT, WRONG
from tests.support import factories


@pytest.fixture
def mara(acme):
    return factories.person(acme, groups=["finance"], name="Mara Lind")


def post(client, person, **fields):
    return client.post("/sign-in/", {"username": person.email, "password": person.password} | fields)


def test_the_form_is_shown_to_anybody(client, db):
    answer = client.get("/sign-in/")
    assert answer.status_code == 200
    assert b'name="username"' in answer.content
    assert b'name="csrfmiddlewaretoken"' in answer.content


def test_the_right_password_opens_the_inbox(client, mara):
    answer = post(client, mara)
    assert (answer.status_code, answer["Location"]) == (302, "/")
    page = client.get("/")
    assert page.status_code == 200
    assert b"Mara Lind" in page.content


def test_the_address_is_found_whatever_its_case(client, mara):
    assert post(client, mara, username=f"  {mara.email.upper()} ").status_code == 302


@pytest.mark.parametrize(
    "fields",
    [
        {"password": "wrong"},
        {"username": "nobody@acme.example"},
        {"username": ""},
        {"password": ""},
        {"username": "mara\0@acme.example"},
        {"password": "a\0b"},
        {"username": "x" * 100_000},
    ],
)
def test_what_does_not_open_an_account_says_so_without_saying_why(client, mara, fields):
    answer = post(client, mara, **fields)
    assert answer.status_code == 422
    assert WRONG in answer.content.decode()
    assert "_auth_user_id" not in client.session


def test_a_person_without_an_organisation_is_told_and_not_let_in(client, acme, mara):
    people.member_change(actor=acme.admin.actor, membership_id=mara.membership_id, active=False)
    answer = post(client, mara)
    assert answer.status_code == 422
    assert NO_TENANT in answer.content.decode()
    assert "_auth_user_id" not in client.session


def test_the_page_that_was_asked_for_comes_after_signing_in(client, mara):
    answer = client.get("/runs/?state=ready")
    assert answer["Location"] == "/sign-in/?next=%2Fruns%2F%3Fstate%3Dready"
    assert post(client, mara, next="/runs/?state=ready")["Location"] == "/runs/?state=ready"


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "\\\\evil", ""]
)
def test_signing_in_leads_nowhere_else(client, mara, elsewhere):
    assert post(client, mara, next=elsewhere)["Location"] == "/"


def test_somebody_who_is_signed_in_goes_on_at_once(client, mara):
    post(client, mara)
    assert client.get("/sign-in/?next=/runs/")["Location"] == "/runs/"


def test_signing_in_needs_a_csrf_token(mara):
    answer = post(Client(enforce_csrf_checks=True), mara)
    assert answer.status_code == 403
    assert "Nothing was changed" in answer.content.decode()


def test_the_session_key_changes_when_somebody_signs_in(client, mara):
    client.session["before"] = True
    client.session.save()
    before = client.session.session_key
    post(client, mara)
    assert client.session.session_key != before


def test_signing_out_takes_the_session_from_the_database(client, mara):
    post(client, mara)
    key = client.session.session_key
    assert client.post("/sign-out/")["Location"] == "/sign-in/"
    assert not Session.objects.filter(pk=key).exists()
    assert client.get("/").status_code == 302


def test_a_link_cannot_sign_anybody_out(client, mara):
    post(client, mara)
    assert client.get("/sign-out/").status_code == 405
    assert client.get("/").status_code == 200


def test_a_deactivated_person_is_out_at_the_next_request(client, acme, mara):
    post(client, mara)
    people.member_change(actor=acme.admin.actor, membership_id=mara.membership_id, active=False)
    assert client.get("/")["Location"].startswith("/sign-in/")


def test_times_are_told_in_the_zone_the_browser_named(client, mara):
    post(client, mara, zone="Australia/Sydney")
    assert 'data-zone="Australia/Sydney"' in client.get("/").content.decode()


@pytest.mark.parametrize("zone", ["", "Nowhere/At_All", "../../etc/passwd", "x" * 500])
def test_a_zone_that_does_not_exist_is_utc(client, mara, zone):
    assert post(client, mara, zone=zone).status_code == 302
    assert 'data-zone="UTC"' in client.get("/").content.decode()


def test_a_person_of_two_organisations_works_in_one_and_can_change(client, acme, mara):
    globex = factories.tenant("globex")
    people.member_add(actor=globex.admin.actor, email=mara.email, name=mara.name, roles=["auditor"])
    post(client, mara)
    assert client.session["tenant_id"] == acme.id
    assert client.post("/switch-tenant/", {"tenant": globex.id})["Location"] == "/"
    assert client.session["tenant_id"] == globex.id
    assert "auditor" in client.get("/").content.decode()


@pytest.mark.parametrize("wanted", ["", "x", "00000000-0000-0000-0000-000000000000"])
def test_nobody_changes_into_an_organisation_they_do_not_belong_to(client, acme, mara, wanted):
    post(client, mara)
    globex = factories.tenant("globex")
    answers = [client.post("/switch-tenant/", {"tenant": tenant}) for tenant in (wanted, globex.id)]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].content == answers[1].content
    assert client.session["tenant_id"] == acme.id


def test_changing_the_organisation_takes_a_session(client, acme):
    assert client.post("/switch-tenant/", {"tenant": acme.id})["Location"].startswith("/sign-in/")


def test_signing_in_again_after_a_session_ended_keeps_what_was_typed(client, mara):
    page = "/proposals/6a2f41a3-c54c-4ad7-8d09-6f5d5a7ff2d1/"
    post(client, mara, next=page, kept="not our parcel")
    assert client.session["kept_text"] == {page: "not our parcel"}


def test_a_wrong_password_does_not_cost_what_was_typed(client, mara):
    answer = post(client, mara, password="wrong", kept="not our parcel")
    assert 'name="kept" value="not our parcel"' in answer.content.decode()
