"""Coming in through the organisation's own sign-in: the round over real HTTP, and what can be wrong with it."""

import logging
from datetime import timedelta
from uuid import UUID

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings
from django.test import Client

from access.core.confirm import session_name
from access.models import BrowserSession, IdentityLink, Membership, ProviderRound, SecondFactor
from access.services import people
from access.store import codes
from access.store import provider as talk
from audit.selectors.entries import EntryFilters, entries_page
from audit.store import clock
from tests.support import factories
from tests.support.oidc_provider import CLIENT, SECRET, SUBJECTS, key_of
from tests.support.provider_rounds import at_provider, came_in, gone, query, use, way_of
from tests.web.test_proposal import text, words


def entries(tenant, action="person.signed_in", verdict="refused"):
    return entries_page(tenant.id, EntryFilters(action=action, verdict=verdict))


def with_second_step(person):
    """Their account asks for a second step; the recovery codes that open it."""
    SecondFactor.objects.update_or_create(user_id=person.user_id, defaults={"at_sign_in": True})
    return codes.new_recovery_codes(UUID(person.user_id))


def refused(answer, status, *parts):
    """The page said so in words, nobody is in, and the log has it with its reason."""
    said = words(text(answer, status))
    for part in parts:
        assert part in said
    assert "_auth_user_id" not in answer.wsgi_request.session
    return said


# -- coming in ---------------------------------------------------------------------------------------------------------


def test_somebody_who_is_linked_comes_in_and_is_where_they_wanted_to_be(ours, provider, mara):
    client = Client(HTTP_USER_AGENT="Mozilla/5.0 (X11; Linux) Firefox/130.0")
    away = gone(client, next_path="/runs/?q=1")
    asked, before = query(away), client.session.session_key
    assert away.startswith(provider.issuer + "/authorize?tenant=acme&response_type=code")
    assert (asked["client_id"], asked["scope"], asked["code_challenge_method"]) == (CLIENT, "openid", "S256")
    assert asked["redirect_uri"] == settings.BASE_URL + "/sign-in/provider/back/acme/"
    assert len(asked["state"]) == len(asked["nonce"]) == len(asked["code_challenge"]) == 43
    answer = client.get(at_provider(away))
    assert (answer.status_code, answer["Location"]) == (302, "/runs/?q=1")
    assert client.session.session_key != before, "a session that was there before is not the one that is signed in"
    assert b"Mara Lind" in client.get("/runs/").content
    row = BrowserSession.objects.get(session_key=client.session.session_key)
    assert row.link == IdentityLink.objects.get(user_id=mara.user_id)
    [entry] = [one for one in entries(ours, verdict="ok") if one.detail.get("by") == "provider"]
    assert (entry.actor_id, entry.detail["issuer"]) == (mara.user_id, provider.issuer)


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_each_way_of_signing_that_is_taken_is_taken(ours, provider, mara, algorithm):
    provider.show(algorithm, "two")
    talk.forget()
    assert came_in(Client()).status_code == 302


def test_a_secret_goes_into_the_form_where_the_provider_wants_it_there(ours, provider, mara):
    provider.says = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    talk.forget()
    assert came_in(Client()).status_code == 302
    assert provider.asked[-1][2]["client_secret"] == SECRET


def test_a_new_key_is_asked_for_once_and_not_more_than_twice_a_minute(ours, provider, mara, monkeypatch):
    provider.show("ES256", "two")
    now = talk.time.monotonic()
    monkeypatch.setattr(talk.time, "monotonic", lambda: now + 31)
    asked = len([1 for one in provider.asked if one[1] == "/acme/keys"])
    assert came_in(Client()).status_code == 302
    provider.kid = "three"
    for _ in range(3):
        refused(came_in(Client()), 403, "it is signed with a key that the provider does not show")
    assert len([1 for one in provider.asked if one[1] == "/acme/keys"]) == asked + 1


def test_what_was_typed_before_the_session_ended_is_there_afterwards(ours, provider, mara):
    client = Client()
    seen = client.post("/sign-in/provider/", {"next": "/runs/", "kept": "Too much.", "username": mara.email})
    assert 'href="/sign-in/provider/to/acme/?next=%2Fruns%2F"' in text(seen)
    assert came_in(client, next_path="/runs/").status_code == 302
    assert client.session["kept_text"] == {"/runs/": "Too much."}


def test_a_way_back_leads_to_a_page_of_ours_and_nowhere_else(ours, provider, mara):
    for elsewhere in ("https://evil.example/", "//evil.example/", "javascript:alert(1)"):
        assert came_in(Client(), next_path=elsewhere)["Location"] == "/"


def test_the_second_step_is_asked_for_all_the_same(ours, provider, mara, signed_in):
    [code, *_] = with_second_step(mara)
    client = Client()
    assert came_in(client)["Location"] == "/sign-in/second/"
    assert "_auth_user_id" not in client.session
    assert "Your organisation's provider knows you." in words(text(client.get("/sign-in/second/")))
    assert client.post("/sign-in/second/", {"code": "000000"}).status_code == 422
    assert client.post("/sign-in/second/", {"code": code}).status_code == 302
    assert client.session["provider_tenant"] == ours.id


def test_a_second_step_that_was_turned_on_on_the_way_is_asked_for_after_the_link(ours, provider):
    person = factories.person(ours)
    use(ours, provider, required=True)
    client = Client()
    client.post("/sign-in/", {"username": person.email, "password": person.password, "next": "/runs/"})
    back = at_provider(client.get("/sign-in/provider/first/").context["way"])
    [code, *_] = with_second_step(person)
    assert client.get(back)["Location"] == "/sign-in/second/"
    assert "_auth_user_id" not in client.session
    assert client.post("/sign-in/second/", {"code": code})["Location"] == "/runs/"


# -- what a provider may not say ---------------------------------------------------------------------------------------


def public_pem(provider):
    return key_of(provider.algorithm).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def hs256_by_hand(provider, claims):
    import base64
    import hashlib
    import hmac
    import json

    parts = [json.dumps(part).encode() for part in ({"alg": "HS256", "typ": "JWT", "kid": provider.kid}, claims)]
    body = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
    mac = hmac.new(public_pem(provider), body, hashlib.sha256).digest()
    return (body + b"." + base64.urlsafe_b64encode(mac).rstrip(b"=")).decode()


def by_another_key(provider, claims):
    other = key_of.__wrapped__("ES256")
    return jwt.encode(claims, other, "ES256", headers={"kid": provider.kid})


LIES = {
    "nonce": lambda p: setattr(p, "claims", lambda c: c | {"nonce": "of another attempt"}),
    "aud": lambda p: setattr(p, "claims", lambda c: c | {"aud": "another-client"}),
    "azp": lambda p: setattr(p, "claims", lambda c: c | {"azp": "another-client"}),
    "iss": lambda p: setattr(p, "claims", lambda c: c | {"iss": "https://login.example.org"}),
    "exp": lambda p: setattr(p, "claims", lambda c: c | {"exp": c["iat"] - 120}),
    "sub": lambda p: setattr(p, "claims", lambda c: c | {"sub": ""}),
    "form": lambda p: setattr(p, "sign", lambda c: "no token"),
    "algorithm": lambda p: setattr(p, "sign", lambda c: jwt.encode(c, None, "none", headers={"kid": p.kid})),
    "algorithm ": lambda p: setattr(p, "sign", lambda c: hs256_by_hand(p, c)),
    "signature": lambda p: setattr(p, "sign", lambda c: by_another_key(p, c)),
    "signature ": lambda p: setattr(p, "sign", lambda c: p.signed(c)[:-8] + "AAAAAAAA"),
    "kid": lambda p: setattr(p, "sign", lambda c: p.signed(c, kid="another")),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_token_that_is_not_what_was_asked_for_lets_nobody_in(ours, provider, mara, lie):
    LIES[lie](provider)
    refused(came_in(Client()), 403, "What the provider said about you was not accepted")
    [entry] = entries(ours)
    assert (entry.detail["code"], entry.detail["because"]) == ("PROVIDER_TOKEN", lie.strip())
    assert not BrowserSession.objects.filter(link__isnull=False).exists()


def test_an_answer_that_names_another_issuer_or_none_is_not_taken(ours, provider, mara):
    for wrong in ("https://login.example.org", ""):
        client = Client()
        back = at_provider(gone(client))
        sent = query(back) | {"iss": wrong}
        asked = len(provider.asked)
        refused(client.get("/sign-in/provider/back/acme/", sent), 403, "it comes from another provider")
        assert len(provider.asked) == asked, "the code was taken to nobody"


def test_the_providers_own_refusal_is_told_as_a_short_code_and_nothing_of_its_words(ours, provider, mara):
    provider.error = "access_denied"
    said = refused(came_in(Client()), 422, "You did not go on at the provider (access_denied)")
    assert "told by the provider" not in said
    [entry] = entries(ours)
    assert (entry.detail["code"], entry.detail["because"]) == ("PROVIDER_ERROR", "access_denied")


def test_a_provider_that_is_down_is_said_to_be_so_on_the_way_there_and_back(ours, provider, mara):
    client = Client()
    back = at_provider(gone(client))
    provider.down = True
    refused(client.get(back), 502, "The provider cannot be reached at 127.0.0.1")
    [entry] = entries(ours)
    assert entry.detail["code"] == "PROVIDER_SILENT"
    talk.forget()
    answer = client.get("/sign-in/provider/to/acme/")
    refused(answer, 502, "The provider cannot be reached", "Sign in with your password")


# -- states ------------------------------------------------------------------------------------------------------------


def test_a_state_is_good_once_and_two_clicks_leave_somebody_signed_in(ours, provider, mara):
    client = Client()
    back = at_provider(gone(client))
    assert client.get(back).status_code == 302
    again = client.get(back)
    assert "You are signed in; go on" in words(text(again, 409))
    assert not ProviderRound.objects.exists()
    stranger = Client()
    stranger.get("/sign-in/provider/")
    refused(stranger.get(back), 409, "was not begun in this browser")


def test_a_round_that_another_browser_began_signs_nobody_in_and_is_used_up(ours, provider, mara):
    attacker, victim = Client(), Client()
    back = at_provider(gone(attacker))
    gone(victim)
    refused(victim.get(back), 409, "was not begun in this browser")
    [entry] = entries(ours)
    assert (entry.detail["code"], entry.detail["because"]) == ("PROVIDER_STATE", "browser")
    refused(attacker.get(back), 409)


def test_a_round_is_over_after_ten_minutes_of_the_databases_clock(ours, provider, mara):
    client = Client()
    back = at_provider(gone(client))
    ProviderRound.objects.update(expires_at=clock.now() - timedelta(milliseconds=1))
    refused(client.get(back), 409, "took more than ten minutes")
    assert entries(ours)[0].detail["because"] == "late"


def test_an_answer_that_comes_back_to_another_organisation_is_not_taken(ours, provider, mara):
    other = factories.tenant("other")
    use(other, provider)
    client = Client()
    back = at_provider(gone(client))
    refused(client.get(back.replace("/acme/", "/other/")), 409)
    assert entries(ours)[0].detail["because"] == "organisation"


@pytest.mark.parametrize("sent", [{}, {"state": "x", "code": "y"}, {"state": "a\u0430\0", "code": "y"}, {"code": "y"}])
def test_a_way_back_that_nobody_began_leads_nowhere(ours, client, sent):
    refused(client.get("/sign-in/provider/back/acme/", sent), 409, "begin again")


def test_a_provider_that_was_changed_on_the_way_is_not_asked(ours, provider, mara):
    client = Client()
    back = at_provider(gone(client))
    from access.services.provider import provider_end
    from audit.core.actor import SYSTEM

    provider_end(actor=SYSTEM("test", ours.id))
    refused(client.get(back), 409, "The provider was changed in the meantime")
    assert client.get("/sign-in/provider/to/acme/").status_code == 404


# -- who is not let in -------------------------------------------------------------------------------------------------


def test_nobody_is_known_by_their_address_alone(ours, provider, mara):
    provider.subject = SUBJECTS[1]
    provider.claims = lambda claims: claims | {"email": mara.email, "email_verified": True}
    refused(came_in(Client()), 403, "nobody here is linked to this account of yours")
    assert entries(ours)[0].detail["code"] == "PROVIDER_NOT_LINKED"


def test_a_member_who_was_switched_off_is_told_so(ours, provider, mara):
    people.member_change(actor=ours.admin.actor, membership_id=mara.membership_id, active=False)
    refused(came_in(Client()), 403, "Your account is switched off in this organisation")
    assert entries(ours)[0].detail["code"] == "NO_TENANT"


def test_a_link_of_another_organisation_opens_nothing_here(ours, provider, mara):
    other = factories.tenant("other")
    use(other, provider)
    refused(came_in(Client(), "other"), 403, "nobody here is linked")


def test_a_session_that_a_provider_opened_works_in_its_organisation_alone(ours, provider, mara):
    other = factories.tenant("other")
    people.member_add(actor=other.admin.actor, email=mara.email, name="", roles=["admin"])
    client = Client()
    came_in(client)
    answer = client.post("/switch-tenant/", {"tenant": other.id})
    assert "which opens no other" in words(text(answer, 403))
    # Behind the service, which would end the session as well.
    Membership.objects.filter(id=mara.membership_id).update(is_active=False)
    assert client.get("/runs/").status_code == 302, "not even where the membership of this one has ended"
    Membership.objects.filter(id=mara.membership_id).update(is_active=True)
    assert client.get("/runs/").status_code == 200


# -- nothing leaks -----------------------------------------------------------------------------------------------------


def test_no_secret_code_or_token_is_in_a_page_the_log_or_a_log_line(ours, provider, mara, signed_in, caplog):
    caplog.set_level(logging.DEBUG)
    admin = signed_in(ours.admin)
    made: list[str] = []
    keep = provider.signed
    provider.sign = lambda claims: made.append(keep(claims)) or made[-1]
    client = Client()
    back = at_provider(gone(client))
    code = query(back)["code"]
    client.get(back)
    provider.claims = lambda claims: claims | {"nonce": "wrong"}
    seen = came_in(Client()).content.decode()
    seen += admin.get("/access/provider/").content.decode() + client.get("/account/security/").content.decode()
    log = str([one.detail for one in entries_page(ours.id, EntryFilters())]) + caplog.text
    assert made
    assert len(code) > 20
    for secret in (SECRET, code, *made, *[one.split(".")[2] for one in made]):
        assert secret not in seen
        assert secret not in log


def test_a_session_of_the_way_names_no_person(ours, provider, mara):
    client = Client()
    gone(client)
    assert session_name(client.session.session_key)
    assert set(client.session.keys()) == {"provider_browser"}


def test_the_way_there_is_a_link_or_a_redirect_and_forms_lead_here_alone(ours, provider, signed_in):
    person = factories.person(ours)
    browser = signed_in(person)
    browser.post("/account/confirm/", {"password": person.password})
    answer = browser.post("/account/provider/", {"verb": "link"})
    assert answer.status_code == 200
    assert "form-action 'self'" in answer["Content-Security-Policy"]
    assert way_of(browser, "link").startswith(provider.issuer)
