"""Passkeys and codes on the page of one's account, confirming that it is oneself, and the second step at the door."""

import json
import re
from dataclasses import replace
from datetime import timedelta

import pytest
from django.test import Client

from access.models import SecondStepDemand
from access.selectors.confirmation import means_of
from access.services.people import member_add
from audit.store import clock
from tests.services.access.test_confirm import T
from tests.services.access.test_second_step import app_code
from tests.support import factories
from tests.support.passkeys import Device

SECURITY = "/account/security/"


@pytest.fixture
def mara(acme):
    return factories.person(acme, groups=["finance"], name="Mara Lind")


def confirm(client, person, **more):
    return client.post("/account/confirm/", {"password": person.password, "next": SECURITY, **more})


def add_passkey(client, device, name="Laptop"):
    options = client.post("/account/security/options/").json()
    return client.post(SECURITY, {"verb": "add", "name": name, "response": device.make(options)})


def text_of(answer):
    return answer.content.decode()


@pytest.mark.parametrize("path", [SECURITY, "/account/confirm/"])
def test_the_pages_need_somebody(client, db, path):
    assert client.get(path)["Location"].startswith("/sign-in/?next=")


def test_nothing_is_changed_before_it_was_confirmed_and_the_page_says_how(mara, signed_in):
    client = signed_in(mara)
    page = text_of(client.get(SECURITY))
    assert 'href="/account/confirm/?next=/account/security/"' in page
    assert "Add a passkey" not in page
    refused = client.post(SECURITY, {"verb": "app-begin"})
    assert refused.status_code == 403
    assert "needs that you confirm it is you" in text_of(refused)
    assert client.post("/account/security/options/").json()["code"] == "FRESH_REQUIRED"


def test_a_confirmation_leads_back_and_nowhere_else(mara, signed_in):
    client = signed_in(mara)
    assert confirm(client, mara, next="/proposals/")["Location"] == "/proposals/"
    assert confirm(client, mara, next="https://evil.example/")["Location"] == SECURITY
    assert "You confirmed it already" in text_of(client.get("/account/confirm/"))


def test_a_wrong_password_is_told_and_the_way_back_is_kept(mara, signed_in):
    answer = confirm(signed_in(mara), mara, password="wrong", next="/runs/")
    assert answer.status_code == 422
    assert "The password is wrong." in text_of(answer)
    assert 'name="next" value="/runs/"' in text_of(answer)


def test_a_passkey_is_added_renamed_used_and_removed_on_the_page(mara, signed_in):
    client = signed_in(mara)
    confirm(client, mara)
    device = Device()
    assert add_passkey(client, device)["Location"] == SECURITY
    [key] = means_of(mara.user_id).passkeys
    page = text_of(client.get(SECURITY))
    assert key.fingerprint in page
    client.post(SECURITY, {"verb": "rename", "passkey": str(key.id), "name": "Phone"})
    assert "Phone" in text_of(client.get(SECURITY))
    options = client.post("/account/confirm/options/").json()
    assert options["publicKey"]["userVerification"] == "required"
    answer = client.post("/account/confirm/", {"response": device.sign(options), "next": "/runs/"})
    assert answer["Location"] == "/runs/"
    client.post(SECURITY, {"verb": "remove", "passkey": str(key.id)})
    assert "None yet." in text_of(client.get(SECURITY))


def test_a_passkey_that_does_not_fit_is_told_in_words(mara, signed_in):
    client = signed_in(mara)
    confirm(client, mara)
    answer = client.post(SECURITY, {"verb": "add", "name": "x", "response": "{}"})
    assert answer.status_code == 422
    assert "does not fit what was asked" in text_of(answer)
    assert client.post(SECURITY, {"verb": "fly"}).status_code == 422


def test_the_apps_secret_and_the_recovery_codes_are_shown_once(mara, signed_in, stand_at):
    stand_at(T)
    client = signed_in(mara)
    confirm(client, mara)
    begun = text_of(client.post(SECURITY, {"verb": "app-begin"}))
    assert "<svg" in begun
    assert "style=" not in begun, "the Content Security Policy takes none"
    secret = re.search(r"By hand: <code>([A-Z2-7 ]+)</code>", begun)[1]
    wrong = client.post(SECURITY, {"verb": "app-finish", "code": "000000"})
    assert wrong.status_code == 422
    assert 'value="app-finish"' in text_of(wrong), "the field is there for the next code"
    done = text_of(client.post(SECURITY, {"verb": "app-finish", "code": app_code(mara)}))
    codes = re.findall(r"[2-9a-z]{4}(?:-[2-9a-z]{4}){3}", done)
    assert len(set(codes)) == 10
    after = text_of(client.get(SECURITY))
    assert secret not in after
    assert not any(code in after for code in codes)


def test_the_second_step_stands_between_the_password_and_the_session(mara, signed_in, stand_at):
    stand_at(T)
    client = signed_in(mara)
    confirm(client, mara)
    device = Device()
    add_passkey(client, device)
    client.post(SECURITY, {"verb": "step", "on": "yes"})
    assert "a passkey or a code is asked for" in text_of(client.get(SECURITY))

    door = Client()
    form = {"username": mara.email, "password": mara.password, "next": "/runs/", "kept": "typed before"}
    assert door.post("/sign-in/", form)["Location"] == "/sign-in/second/"
    assert door.get("/runs/").status_code == 302, "nobody is signed in yet"
    wrong = door.post("/sign-in/second/", {"code": "000000"})
    assert wrong.status_code == 422
    assert "This code is not right" in text_of(wrong)
    options = door.post("/sign-in/second/options/").json()
    answer = door.post("/sign-in/second/", {"response": device.sign(options)})
    assert answer["Location"] == "/runs/"
    assert door.get("/runs/").status_code == 200
    assert door.session["kept_text"] == {"/runs/": "typed before"}
    assert Client().post("/sign-in/second/options/").status_code == 401
    assert Client().get("/sign-in/second/")["Location"] == "/sign-in/"


def test_an_answer_to_the_door_does_not_confirm_and_the_other_way_round(mara, signed_in):
    client = signed_in(mara)
    confirm(client, mara)
    device = Device()
    add_passkey(client, device)
    response = device.sign(client.post("/account/confirm/options/").json())
    client.post(SECURITY, {"verb": "step", "on": "yes"})
    door = Client()
    door.post("/sign-in/", {"username": mara.email, "password": mara.password})
    assert door.post("/sign-in/second/", {"response": response}).status_code == 409
    assert json.loads(response)["type"] == "public-key"


@pytest.mark.parametrize(("host", "told"), [("localhost:8000", False), ("127.0.0.1:8000", True)])
def test_a_page_under_a_name_that_passkeys_do_not_know_says_so(mara, signed_in, host, told):
    page = text_of(signed_in(mara, headers={"Host": host}).get(SECURITY))
    assert ("Passkeys belong to http://localhost:8000" in page) is told


def test_where_the_installation_is_a_number_the_page_says_why_there_are_no_passkeys(mara, signed_in, settings):
    settings.BASE_URL = "http://127.0.0.1:8000"
    client = signed_in(mara)
    confirm(client, mara)
    page = text_of(client.get(SECURITY))
    assert "browsers refuse numbers" in page
    assert "Add a passkey" not in page
    assert client.post("/account/security/options/").json()["code"] == "PASSKEYS_UNAVAILABLE"


# -- an organisation that wants a second step --------------------------------------------------------------------------


@pytest.fixture
def wanted(acme):
    """Everybody's second step is wanted, from now on."""
    SecondStepDemand.objects.create(
        tenant_id=acme.id, of="everybody", begins_at=clock.now(), set_at=clock.now(), set_by="Ada"
    )


@pytest.mark.parametrize("path", ["/", "/runs/", "/account/", "/access/second-step/", "/styleguide/"])
def test_whoever_owes_a_second_step_is_led_to_where_one_is_set_up(mara, signed_in, wanted, path):
    client = signed_in(mara)
    assert client.get(path)["Location"] == SECURITY
    assert client.get(path, headers={"HX-Request": "true"})["HX-Redirect"] == SECURITY
    assert "until then nothing else can be done" in text_of(client.get(SECURITY))


def test_whoever_owes_a_second_step_changes_nothing_and_reads_nothing_through_the_api(mara, signed_in, wanted):
    client = signed_in(mara)
    answer = client.get("/api/v1/proposals/")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "SECOND_STEP_OWED")
    posted = client.post("/account/", {"theme": "dark"})
    assert posted.status_code == 403
    assert "Set one up under Account" in text_of(posted)


def test_with_a_passkey_the_pages_are_open_again_and_the_sign_in_asks_for_it(mara, signed_in, wanted):
    client = signed_in(mara)
    confirm(client, mara)
    assert add_passkey(client, Device())["Location"] == SECURITY
    assert client.get("/").status_code == 200
    assert client.post("/sign-out/").status_code == 302
    came = client.post("/sign-in/", {"username": mara.email, "password": mara.password})
    assert came["Location"] == "/sign-in/second/"


def test_an_admin_wants_it_on_the_page_once_they_have_one(acme, signed_in):
    client = signed_in(acme.admin)
    assert "You have none yourself" in text_of(client.get("/access/second-step/"))
    confirm(client, acme.admin)
    assert client.post("/access/second-step/", {"of": "admins", "days": "0"}).status_code == 409
    add_passkey(client, Device())
    client.post(SECURITY, {"verb": "step", "on": "yes"})
    refused = client.post("/access/second-step/", {"of": "everybody", "days": "soon"})
    assert "whole number" in text_of(refused)
    other = factories.person(acme, roles=["operator"], name="Ola")
    assert client.post("/access/second-step/", {"of": "everybody", "days": "7"}).status_code == 302
    page = text_of(client.get("/access/second-step/"))
    assert "Everybody has to have a second step." in page
    assert "Ola" in page
    assert "second step at the sign-in by" in text_of(signed_in(other).get("/runs/"))
    assert client.post("/access/second-step/", {"of": "everybody", "days": "9"}).status_code == 302
    again = text_of(client.get("/access/second-step/"))
    assert "</a> (from <time" in again, "Ola keeps the day that they were told"
    assert "never later" in again


@pytest.fixture
def elsewhere(mara):
    """Mara's place in another organisation, which wants no second step."""
    other = factories.tenant()
    row = member_add(actor=other.admin.actor, email=mara.email, name="", roles=["reviewer"])
    return replace(mara, tenant_id=other.id, membership_id=row.membership_id)


def signed_in_at(person, client):
    """The client, in the person's other organisation."""
    assert client.post("/switch-tenant/", {"tenant": person.tenant_id}).status_code == 302
    return client


STEP_OFF = "Ask for the password alone"


def with_passkey(client, person):
    confirm(client, person)
    add_passkey(client, Device())
    client.post(SECURITY, {"verb": "step", "on": "yes"})


def test_who_turns_it_off_elsewhere_reads_before_what_they_cannot_do_without(acme, mara, elsewhere, signed_in, wanted):
    client = signed_in_at(elsewhere, signed_in(mara))
    with_passkey(client, mara)
    page = text_of(client.get(SECURITY))
    told = (
        f"<bdi>{acme.name}</bdi> wants a second step of you. Without one you can do nothing there but set one up, at "
    )
    assert told in page.partition("Before you ask for the password alone")[2]
    assert "turning it off gives you no new days" in page
    assert told in page.partition("removed, the second step ends")[2], "the only passkey ends it too"
    assert STEP_OFF in page
    assert client.post(SECURITY, {"verb": "step", "on": "no"}).status_code == 302
    assert "wants a second step of you. Without" not in text_of(client.get(SECURITY))
    assert signed_in(mara).get("/runs/")["Location"] == SECURITY, "owed there at once"


def test_where_days_are_left_the_warning_names_the_last_one(acme, mara, elsewhere, signed_in, stand_at):
    stand_at(T)
    SecondStepDemand.objects.create(
        tenant_id=acme.id, of="everybody", begins_at=T + timedelta(days=3), set_at=T, set_by="Ada"
    )
    client = signed_in_at(elsewhere, signed_in(mara))
    with_passkey(client, mara)
    add_passkey(client, Device(), name="Phone")
    page = text_of(client.get(SECURITY))
    assert "but set one up, from <time" in page
    assert "removed, the second step ends" not in page, "there is another passkey"


def test_where_it_is_wanted_the_page_offers_no_turning_off_and_the_last_means_warns(mara, signed_in, wanted):
    client = signed_in(mara)
    with_passkey(client, mara)
    page = text_of(client.get(SECURITY))
    assert "Your organisation wants it of you, so it stays on." in page
    assert STEP_OFF not in page
    assert "removed, the second step ends" in page
    refused = client.post(SECURITY, {"verb": "step", "on": "no"})
    assert (refused.status_code, "so it stays on" in text_of(refused)) == (409, True)


def test_where_nobody_wants_it_nothing_warns(mara, elsewhere, signed_in):
    client = signed_in(mara)
    with_passkey(client, mara)
    page = text_of(client.get(SECURITY))
    assert STEP_OFF in page
    assert "wants" not in page.partition('id="t-keys"')[2]
