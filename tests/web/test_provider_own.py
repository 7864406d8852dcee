"""Linking an account to the organisation's own sign-in, confirming by it, requiring it, and the admin's page."""

from dataclasses import replace
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from access.core.confirm import session_name
from access.core.throttle import PROVIDER_ADDRESS, PROVIDER_TEST
from access.models import BrowserSession, IdentityLink, IdentityProvider, Membership, SecondFactor
from access.selectors.confirmation import fresh_end
from access.services import people
from access.store import cipher, throttle
from access.store import provider as talk
from audit.selectors.entries import EntryFilters, entries_page
from tests.support import factories
from tests.support.oidc_provider import CLIENT, SECRET, SUBJECTS
from tests.support.provider_rounds import LINK, at_provider, came_in, confirmed, linked, query, use, way_of
from tests.web.test_proposal import text, words
from tests.web.test_provider import entries, refused, with_second_step

PAGE = "/access/provider/"


def form(provider, **changed):
    return {"verb": "set", "issuer": provider.issuer, "client_id": CLIENT, "secret": SECRET} | changed


@pytest.fixture
def admin(acme, signed_in):
    client = signed_in(acme.admin)
    confirmed(client, acme.admin)
    return client


# -- the account -------------------------------------------------------------------------------------------------------


def test_an_account_is_linked_by_its_owner_who_confirmed_that_it_is_they(ours, provider, signed_in):
    person = factories.person(ours)
    client = signed_in(person)
    assert "Not linked." in words(text(client.get("/account/security/")))
    assert "confirm it is you" in words(text(client.post(LINK, {"verb": "link"}), 403))
    linked(client, person)
    seen = words(text(client.get("/account/security/")))
    assert f"to {SUBJECTS[0]} at {provider.issuer}" in seen
    [entry] = entries(ours, "identity.linked", "ok")
    assert (entry.actor_id, entry.detail["issuer"]) == (person.user_id, provider.issuer)
    assert "Your account is linked already" in words(text(client.post(LINK, {"verb": "link"}), 409))


def test_one_identity_is_linked_to_one_person_in_an_organisation(ours, provider, mara, signed_in):
    other = factories.person(ours)
    client = signed_in(other)
    confirmed(client, other)
    answer = client.get(at_provider(way_of(client, "link")))
    assert "linked to somebody else here" in words(text(answer, 409))
    assert entries(ours, "identity.linked")[0].detail["code"] == "IDENTITY_TAKEN"
    assert not IdentityLink.objects.filter(user_id=other.user_id).exists()


def test_a_link_that_somebody_began_is_not_finished_as_somebody_else(ours, provider, mara, signed_in):
    begun = factories.person(ours)
    client = signed_in(begun)
    confirmed(client, begun)
    provider.subject = SUBJECTS[1]
    back = at_provider(way_of(client, "link"))
    client.post("/sign-in/", {"username": mara.email, "password": mara.password})
    client.post("/sign-out/")
    client.post("/sign-in/", {"username": mara.email, "password": mara.password})
    assert client.get(back).status_code == 409
    assert not IdentityLink.objects.filter(subject=SUBJECTS[1]).exists()


def test_unlinked_the_provider_opens_nothing_and_what_it_opened_has_ended(ours, provider, mara, signed_in):
    by_provider, client = Client(), signed_in(mara)
    came_in(by_provider)
    assert "confirm it is you" in words(text(client.post(LINK, {"verb": "unlink"}), 403))
    confirmed(client, mara)
    assert client.post(LINK, {"verb": "unlink"}).status_code == 302
    assert by_provider.get("/runs/").status_code == 302
    assert client.get("/runs/").status_code == 200, "the password's session goes on"
    refused(came_in(Client()), 403, "nobody here is linked")
    linked(client, mara)


def test_an_admin_ends_a_members_link_and_cannot_make_one(ours, provider, mara, admin):
    by_provider = Client()
    came_in(by_provider)
    page = f"/access/people/{mara.membership_id}/"
    assert SUBJECTS[0] in text(admin.get(page))
    assert admin.post(page, {"verb": "unlink"}).status_code == 302
    assert by_provider.get("/runs/").status_code == 302
    assert admin.post(page, {"verb": "link"}).status_code == 422
    assert entries(ours, "identity.unlinked", "ok")[0].actor_id == ours.admin.user_id


# -- confirming --------------------------------------------------------------------------------------------------------


def actor_of(client, person):
    return replace(person.actor, session_id=session_name(client.session.session_key))


def test_who_is_asked_anew_by_the_provider_confirmed_it_there_and_for_nothing_of_their_account(
    ours, provider, mara, signed_in
):
    client = signed_in(mara)
    assert "Confirm at 127.0.0.1" in words(text(client.get("/account/confirm/?next=/runs/")))
    away = way_of(client, "confirm", "/runs/")
    assert (query(away)["prompt"], query(away)["max_age"]) == ("login", "0")
    assert client.get(at_provider(away))["Location"] == "/runs/"
    actor = actor_of(client, mara)
    assert fresh_end(actor, by_provider=True) is not None
    assert fresh_end(actor) is None, "adding a passkey, or unlinking, is another matter"
    elsewhere = factories.tenant("other")
    assert fresh_end(replace(actor, tenant_id=elsewhere.id), by_provider=True) is None
    assert client.post(LINK, {"verb": "unlink"}).status_code == 403
    [entry] = [one for one in entries(ours, "person.confirmed", "ok") if one.detail["by"] == "provider"]
    assert entry.actor_id == mara.user_id
    confirmed(client, mara)
    assert fresh_end(actor) is not None, "a password counts everywhere"


@pytest.mark.parametrize(
    ("lie", "because"),
    [
        (lambda claims: claims | {"auth_time": claims["auth_time"] - 3600}, "auth_time"),
        (lambda claims: {name: value for name, value in claims.items() if name != "auth_time"}, "auth_time"),
        (lambda claims: claims | {"sub": SUBJECTS[1]}, ""),
    ],
)
def test_a_provider_that_did_not_ask_or_names_somebody_else_confirms_nothing(
    ours, provider, mara, signed_in, lie, because
):
    client = signed_in(mara)
    provider.claims = lie
    answer = client.get(at_provider(way_of(client, "confirm")))
    assert answer.status_code == 403
    assert fresh_end(actor_of(client, mara), by_provider=True) is None
    assert entries(ours, "person.confirmed")[0].detail["because"] == because


def test_who_is_not_linked_confirms_by_other_means(ours, provider, signed_in):
    client = signed_in(factories.person(ours))
    assert "Confirm at" not in words(text(client.get("/account/confirm/")))
    assert client.post(LINK, {"verb": "confirm"}).status_code == 409
    assert client.post(LINK, {"verb": "steal"}).status_code == 422


# -- required ----------------------------------------------------------------------------------------------------------


def sign_in(person):
    client = Client()
    return client, client.post("/sign-in/", {"username": person.email, "password": person.password, "next": "/runs/"})


def test_where_it_is_required_a_right_password_is_not_enough(ours, provider, mara):
    use(ours, provider, required=True)
    _, answer = sign_in(mara)
    refused(answer, 422, "Your password was right, but it does not open your account")
    assert entries(ours)[0].detail["code"] == "PROVIDER_REQUIRED"
    assert came_in(Client()).status_code == 302


def test_who_is_not_linked_yet_links_after_their_password_and_comes_in(ours, provider):
    person = factories.person(ours)
    use(ours, provider, required=True)
    client, answer = sign_in(person)
    assert answer["Location"] == "/sign-in/provider/first/"
    assert client.get("/runs/").status_code == 302, "nobody is signed in yet"
    page = client.get("/sign-in/provider/first/")
    assert "Your password was right." in words(text(page))
    answer = client.get(at_provider(page.context["way"]))
    assert (answer.status_code, answer["Location"]) == (302, "/runs/")
    assert client.get("/runs/").status_code == 200
    assert client.session["provider_tenant"] == ours.id
    assert IdentityLink.objects.get(user_id=person.user_id).used_at is not None
    assert Client().get("/sign-in/provider/first/")["Location"] == "/sign-in/"


def test_a_password_that_was_changed_on_the_way_links_nobody(ours, provider):
    from access.models import User

    person = factories.person(ours)
    use(ours, provider, required=True)
    client, _ = sign_in(person)
    back = at_provider(client.get("/sign-in/provider/first/").context["way"])
    user = User.objects.get(id=person.user_id)
    user.set_password("another-long-password")
    user.save()
    refused(client.get(back), 403, "Sign in again")
    assert not IdentityLink.objects.exists()


def test_the_second_step_comes_before_the_link_and_is_not_gone_around(ours, provider):
    person = factories.person(ours)
    [code, *_] = with_second_step(person)
    use(ours, provider, required=True)
    client, answer = sign_in(person)
    assert answer["Location"] == "/sign-in/second/"
    assert client.get("/sign-in/provider/first/")["Location"] == "/sign-in/"
    assert client.post("/sign-in/second/", {"code": code})["Location"] == "/sign-in/provider/first/"
    assert "_auth_user_id" not in client.session
    back = at_provider(client.get("/sign-in/provider/first/").context["way"])
    assert client.get(back)["Location"] == "/runs/", "it is asked for once"


def test_an_admin_with_a_password_and_a_second_step_always_gets_in(ours, provider):
    [code, *_] = with_second_step(ours.admin)
    other = factories.person(ours, roles=["admin"])
    use(ours, provider, required=True)
    provider.down = True
    client, answer = sign_in(ours.admin)
    assert answer["Location"] == "/sign-in/second/"
    assert client.post("/sign-in/second/", {"code": code})["Location"] == "/runs/"
    assert client.get(PAGE).status_code == 200
    _, answer = sign_in(other)
    assert answer["Location"] == "/sign-in/provider/first/", "an admin without a second step does not"


def test_a_password_of_another_organisation_does_not_lead_around_it(ours, provider, mara):
    other = factories.tenant("other")
    people.member_add(actor=other.admin.actor, email=mara.email, name="", roles=["reviewer"])
    use(ours, provider, required=True)
    client, answer = sign_in(mara)
    assert answer["Location"] == "/runs/"
    assert client.session["tenant_id"] == other.id, "the one that a password opens"
    answer = client.post("/switch-tenant/", {"tenant": ours.id})
    assert "asks its people to sign in through its own provider" in words(text(answer, 403))
    # Behind the service, which would end the session as well.
    Membership.objects.filter(tenant_id=other.id, user_id=mara.user_id).update(is_active=False)
    assert client.get("/runs/").status_code == 302, "not even where that membership has ended"


def test_to_require_it_an_admin_needs_a_second_step_of_their_own(acme, provider, admin):
    answer = admin.post(PAGE, form(provider, required="yes"))
    assert "Turn on the second step of your own account first" in words(text(answer, 409))
    assert not IdentityProvider.objects.exists()
    with_second_step(acme.admin)
    assert admin.post(PAGE, form(provider, required="yes")).status_code == 302
    assert "Required: a password alone opens nobody's account here." in words(text(admin.get(PAGE)))
    SecondFactor.objects.update(at_sign_in=False)
    assert "No admin has a second step." in words(text(admin.get(PAGE)))


# -- the admin's page --------------------------------------------------------------------------------------------------


def test_an_admin_sets_the_provider_and_tries_it_and_sees_no_secret(acme, provider, admin):
    assert "None yet." in words(text(admin.get(PAGE)))
    assert admin.post(PAGE, form(provider, domains="acme.example")).status_code == 302
    said = words(text(admin.post(PAGE, {"verb": "test"})))
    for part in (f"It calls itself {provider.issuer}", "It shows 1 usable key (EC).", "It takes the client id and the"):
        assert part in said
    assert "/sign-in/provider/back/acme/" in said
    row = IdentityProvider.objects.get()
    assert SECRET.encode() not in bytes(row.ciphertext)
    assert cipher.unseal(tenant_id=acme.id, name="identity-provider", ciphertext=bytes(row.ciphertext)) == SECRET
    assert SECRET not in text(admin.get(PAGE))
    [entry] = entries(acme, "provider.set", "ok")
    assert SECRET not in str(entry.detail)
    assert len(entries(acme, "provider.tested", "ok")) == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda p: p.says.update(issuer="https://login.example.org"), "letter by letter"),
        (lambda p: p.says.update(jwks_uri="http://169.254.169.254/keys"), "its jwks_uri is no https address"),
        (lambda p: p.says.update(jwks_uri=p.issuer + "/nothing"), "answered 404"),
        (lambda p: p.says.update(token_endpoint="https://10.0.0.7/token"), "which is not a public address"),
        (lambda p: p.shown.clear(), "shows no key"),
        (lambda p: setattr(p, "down", True), "cannot be reached"),
        (lambda p: p.says.update(pad="x" * 300_000), "more than 256 KiB"),
    ],
)
def test_what_is_wrong_with_a_provider_is_said_when_it_is_tried(acme, provider, admin, wrong, said):
    admin.post(PAGE, form(provider))
    wrong(provider)
    assert said in words(text(admin.post(PAGE, {"verb": "test"}), 422))
    assert len(entries(acme, "provider.tested")) == 1


def test_a_wrong_secret_is_told_and_is_changed_without_typing_the_rest(acme, provider, admin):
    admin.post(PAGE, form(provider, secret="wrong"))
    assert "does not take the client id and the secret" in words(text(admin.post(PAGE, {"verb": "test"}), 422))
    admin.post(PAGE, form(provider))
    assert admin.post(PAGE, form(provider, secret="")).status_code == 302, "the one that is there stays"
    assert "It takes the client id" in words(text(admin.post(PAGE, {"verb": "test"})))


def test_a_secret_is_never_sent_to_another_issuer_or_as_another_client(acme, provider, admin):
    admin.post(PAGE, form(provider))
    for changed in ({"issuer": provider.issuer + "/b"}, {"client_id": "another"}):
        answer = admin.post(PAGE, form(provider, secret="", **changed))
        assert "Type the client secret" in words(text(answer, 422))
    assert IdentityProvider.objects.get().issuer == provider.issuer


def test_another_issuer_ends_the_links_and_turning_it_off_ends_its_sessions(ours, provider, mara, admin):
    client = Client()
    came_in(client)
    admin.post(PAGE, form(provider))
    assert client.get("/runs/").status_code == 200
    assert admin.post(PAGE, {"verb": "end"}).status_code == 302
    assert client.get("/runs/").status_code == 302
    assert "Turned off." in words(text(admin.get(PAGE)))
    assert "There is no provider that is on" in words(text(admin.post(PAGE, {"verb": "end"}), 422))
    admin.post(PAGE, form(provider))
    assert came_in(client).status_code == 302
    admin.post(PAGE, form(provider, issuer=provider.issuer + "/b"))
    assert client.get("/runs/").status_code == 302
    assert IdentityLink.objects.get().ended_because == "another provider was set"
    assert entries(ours, "provider.set", "ok")[0].detail["links_ended"] == 1
    assert not BrowserSession.objects.filter(link__isnull=False, ended_at=None).exists()


@pytest.mark.parametrize("verb", ["set", "test", "end"])
def test_nobody_but_an_admin_who_confirmed_comes_here(acme, provider, signed_in, verb):
    client = signed_in(factories.person(acme, roles=["reviewer", "operator", "auditor"]))
    assert client.get(PAGE).status_code == 403
    assert client.post(PAGE, form(provider, verb=verb)).status_code == 403
    if verb != "test":
        use(acme, provider)
        unconfirmed = signed_in(acme.admin)
        assert "confirm it is you" in words(text(unconfirmed.post(PAGE, form(provider, verb=verb)), 403))


@pytest.mark.parametrize("issuer", ["http://10.0.0.7/", "ftp://x", "https://a b", "http://login.example.org", ""])
def test_an_issuer_that_is_none_is_refused_and_stays_in_its_field(acme, provider, admin, issuer):
    answer = admin.post(PAGE, form(provider, issuer=issuer))
    assert "An issuer is an https address" in words(text(answer, 422))
    assert f'value="{issuer}"' in text(answer, 422)


def test_this_machine_is_no_provider_where_it_is_not_for_trying_out(acme, provider, admin, settings):
    admin.post(PAGE, form(provider))
    settings.OIDC_LOOPBACK = False
    assert admin.post(PAGE, form(provider)).status_code == 422
    assert "which is not a public address" in words(text(admin.post(PAGE, {"verb": "test"}), 422))
    talk.forget()
    assert Client().get("/sign-in/provider/to/acme/").status_code == 502


def test_too_many_tries_wait(acme, provider, admin):
    admin.post(PAGE, form(provider))
    for _ in range(PROVIDER_TEST.burst):
        throttle.take(PROVIDER_TEST, f"{acme.id} {acme.admin.user_id}")
    assert "That was tried often." in words(text(admin.post(PAGE, {"verb": "test"}), 429))


# -- finding it, and the command line ----------------------------------------------------------------------------------


def test_the_sign_in_is_found_by_short_name_or_domain_and_tells_nothing_of_people(ours, provider, mara, client):
    def found(typed):
        return words(text(client.get("/sign-in/provider/", {"organisation": typed}))).replace(typed, "")

    assert "Acme at 127.0.0.1" in found("acme")
    assert found(mara.email.split("@")[0] + "@acme.example") == found("nobody@acme.example")
    assert "No sign-in belongs to that" in found("nobody@elsewhere.example")
    assert "No sign-in belongs to that" in found("b\0")
    assert "own sign-in" in text(client.get("/sign-in/"))


def test_ways_that_are_begun_are_counted(ours, provider, client):
    for _ in range(PROVIDER_ADDRESS.burst):
        throttle.take(PROVIDER_ADDRESS, "127.0.0.1")
    assert client.get("/sign-in/provider/to/acme/").status_code == 429


def test_an_operator_tries_it_and_turns_it_off_at_the_command_line(ours, provider, mara):
    def said(*arguments):
        out = StringIO()
        call_command("oidc", *arguments, stdout=out)
        return out.getvalue()

    assert "It takes the client id and the secret." in said("--test", "acme")
    provider.down = True
    with pytest.raises(CommandError, match="cannot be reached"):
        said("--test", "acme")
    use(ours, provider, required=True)
    assert "passwords are enough" in said("--off", "acme")
    assert sign_in(mara)[1]["Location"] == "/runs/"
    with pytest.raises(CommandError, match="no organisation"):
        said("--off", "nobody")
    [entry] = entries_page(ours.id, EntryFilters(action="provider.ended", verdict="ok"))
    assert entry.actor_name == "operator"
