"""Pages of people, groups, agents, tokens, credentials and mail: for admins, in words, with what a change means."""

import re
from uuid import uuid4

import pytest

from access.core.needs import GroupNeed
from access.selectors.actors import group_members
from access.services import agents, people
from access.services.token import token_verify
from access.signals import groups_needed
from audit.core.refusal import Unauthenticated
from tests.support import factories
from tests.support.smtp import mail_server

PAGES = [
    "/access/people/",
    "/access/people/add/",
    "/access/groups/",
    "/access/agents/",
    "/access/agents/add/",
    "/access/tokens/",
    "/access/credentials/",
    "/access/mail/",
    "/access/delegations/",
    "/access/webhook/",
]


@pytest.fixture
def admin(acme, signed_in):
    return signed_in(acme.admin)


@pytest.fixture
def anna(acme):
    return factories.person(acme, groups=["finance"], name="Anna Berg")


@pytest.fixture
def waiting():
    """Three proposals wait for finance."""

    def tell(sender, tenant_id, **_):
        return {"finance": GroupNeed(waiting=3, most=1)}

    groups_needed.connect(tell, weak=False)
    yield
    groups_needed.disconnect(tell)


def page(client, path):
    answer = client.get(path)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def person_path(person):
    return f"/access/people/{person.membership_id}/"


def warned(html, verb):
    """The mark of the warnings that stand in the form of this verb."""
    form = re.search(rf'value="{verb}">(?:(?!</form>).)*?name="warned" value="([^"]*)"', html, re.DOTALL)
    assert form, f"no form for {verb}"
    return form[1]


@pytest.mark.parametrize("path", PAGES)
def test_a_page_needs_somebody(client, db, path):
    assert client.get(path)["Location"].startswith("/sign-in/?next=")


@pytest.mark.parametrize("path", PAGES)
def test_who_is_no_admin_gets_a_sentence_and_changes_nothing(acme, signed_in, path):
    client = signed_in(factories.person(acme, ["reviewer", "operator", "auditor"]))
    answers = [client.get(path)]
    if path not in ("/access/people/", "/access/agents/", "/access/tokens/"):
        answers.append(client.post(path, {"name": "x", "slug": "x", "secret": "x", "email": "x@acme.example"}))
    for answer in answers:
        assert answer.status_code == 403
        assert "admin" in answer.content.decode()
        assert "Traceback" not in answer.content.decode()


@pytest.mark.parametrize("path", PAGES)
def test_an_admin_sees_the_page_with_a_title_a_place_and_no_inline_script_or_style(admin, path):
    html = page(admin, path)
    assert re.search(r"<title>[^<]+ · Clearance</title>", html)
    assert html.count('aria-current="page"') >= 1
    assert not re.search(r"<script(?! src)|<style|\sstyle=|\son\w+=", html)


def test_the_navigation_offers_these_pages_to_admins_alone(acme, admin, signed_in):
    assert 'href="/access/people/"' in page(admin, "/")
    other = signed_in(factories.person(acme, ["reviewer", "operator", "auditor"]))
    assert "/access/" not in page(other, "/")
    assert 'href="/account/"' in page(other, "/")


def test_a_person_is_added_with_roles_groups_and_a_link_shown_once(acme, admin, client):
    factories.group(acme, "finance")
    form = {"email": "ida@acme.example", "name": "Ida", "roles": ["reviewer", "auditor"], "groups": ["finance"]}
    answer = admin.post("/access/people/add/", form)
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    html = answer.content.decode()
    link = re.search(r'<code id="once"[^>]*>http://localhost:8000(/password/new/\?link=[^<]+)</code>', html)[1]
    assert "Mail is not set up, so it was not sent" in html
    assert client.get(link).status_code == 200
    assert [name for _, name in group_members(acme.id, "finance")] == ["Ida"]
    people_html = page(admin, "/access/people/")
    assert "invited" in people_html
    assert link not in people_html


def test_what_is_wrong_with_a_new_person_is_said_and_what_was_typed_is_kept(admin, anna):
    form = {"email": anna.email, "name": "Somebody", "roles": ["operator"]}
    answer = admin.post("/access/people/add/", form)
    assert answer.status_code == 409
    html = answer.content.decode()
    assert "is a member already" in html
    assert 'value="Somebody"' in html
    assert re.search(r'value="operator" checked', html)
    assert admin.post("/access/people/add/", {**form, "email": "nonsense"}).status_code == 422


def test_a_person_with_an_account_elsewhere_gets_a_place_and_no_link(acme, admin):
    other = factories.person(factories.tenant("globex"), name="Gus")
    html = admin.post("/access/people/add/", {"email": other.email, "name": "x", "roles": []}).content.decode()
    assert "had an account already" in html
    assert "link=" not in html


def test_people_are_searched(admin, anna):
    assert "Anna Berg" in page(admin, "/access/people/?q=berg")
    assert "Nobody fits" in page(admin, "/access/people/?q=zzz")
    for number in ("0", "x", "99999999", "-1"):
        page(admin, f"/access/people/?page={number}")


def test_roles_are_changed_from_the_persons_page(admin, anna):
    answer = admin.post(person_path(anna), {"verb": "roles", "roles": ["reviewer", "operator"]})
    assert answer["Location"] == person_path(anna)
    assert anna.actor.roles == {"reviewer", "operator"}
    assert "The roles of Anna Berg are changed" in page(admin, person_path(anna))


def test_the_last_admin_cannot_take_the_role_from_themselves(acme, admin):
    html = page(admin, person_path(acme.admin))
    assert "The last active admin" in html
    assert "Deactivate…" not in html
    answer = admin.post(person_path(acme.admin), {"verb": "roles", "roles": []})
    assert answer.status_code == 409
    assert "Make somebody else an admin first" in answer.content.decode()
    assert acme.admin.actor.has_role("admin")


def test_before_the_last_reviewer_goes_the_page_says_how_many_proposals_wait(acme, admin, anna, waiting):
    html = page(admin, person_path(anna))
    assert "The group finance would have nobody left who may decide: 3 proposals wait for it." in html
    mark = warned(html, "off")
    assert mark
    assert admin.post(person_path(anna), {"verb": "off", "warned": mark})["Location"] == person_path(anna)
    assert "is deactivated" in page(admin, person_path(anna))
    assert group_members(acme.id, "finance") == []


@pytest.mark.parametrize(
    "form",
    [{"verb": "off"}, {"verb": "roles", "roles": ["operator"]}, {"verb": "leave", "group": "finance"}],
)
def test_a_change_whose_meaning_was_not_shown_is_held_back_and_told(acme, admin, anna, waiting, form):
    answer = admin.post(person_path(anna), form)
    assert answer.status_code == 409
    assert "3 proposals wait for it" in answer.content.decode()
    assert anna.actor.roles == {"reviewer"}
    assert anna.actor.groups == {"finance"}


def test_a_group_tells_what_taking_somebody_out_means(acme, admin, anna, waiting):
    path = "/access/groups/finance/"
    html = page(admin, path)
    assert "would have nobody left" in html
    assert admin.post(path, {"verb": "remove", "user": anna.user_id}).status_code == 409
    form = {"verb": "remove", "user": anna.user_id, "warned": warned(html, "remove")}
    assert admin.post(path, form)["Location"] == path
    html = page(admin, path)
    assert "Nobody is in it" in html
    assert "what waits for it will expire" in html
    assert admin.post(path, {"verb": "add", "user": anna.user_id})["Location"] == path
    assert group_members(acme.id, "finance") == [(anna.user_id, "Anna Berg")]


def test_a_person_is_activated_again_with_what_they_had(acme, admin, anna):
    people.member_change(actor=acme.admin.actor, membership_id=anna.membership_id, active=False)
    assert "Activate Anna Berg" in re.sub(r"</?bdi>", "", page(admin, person_path(anna)))
    admin.post(person_path(anna), {"verb": "on"})
    assert anna.actor.groups == {"finance"}


def test_an_admin_who_steps_down_is_led_out_of_these_pages(acme, admin):
    factories.person(acme, ["admin"])
    answer = admin.post(person_path(acme.admin), {"verb": "roles", "roles": ["operator"]})
    assert answer["Location"] == "/"
    assert admin.get("/access/people/").status_code == 403


def test_an_invitation_is_made_anew_while_no_password_is_set(acme, admin, anna, client):
    row = people.member_add(actor=acme.admin.actor, email="i@acme.example", name="Ida", roles=[], invite=True)
    answer = admin.post(f"/access/people/{row.membership_id}/", {"verb": "invite"})
    assert "Invitation link, shown only now" in answer.content.decode()
    assert client.get(f"/password/new/?link={row.link}").status_code == 404
    assert admin.post(person_path(anna), {"verb": "invite"}).status_code == 409


@pytest.mark.parametrize("path", ["people/{}/", "agents/{}/", "tokens/{}/revoke/", "groups/{}/"])
def test_an_unknown_id_is_unknown_and_an_unknown_verb_too(acme, admin, anna, path):
    assert admin.post("/access/" + path.format(uuid4()), {"verb": "off"}).status_code == 404
    assert admin.post(person_path(anna), {"verb": "promote"}).status_code == 422


def test_a_group_is_made_once(acme, admin):
    assert admin.post("/access/groups/", {"slug": "legal", "name": "Legal"})["Location"] == "/access/groups/legal/"
    answer = admin.post("/access/groups/", {"slug": "legal", "name": "Legal again"})
    assert answer.status_code == 409
    assert 'value="Legal again"' in answer.content.decode()
    assert admin.post("/access/groups/", {"slug": "Not A Slug", "name": "x"}).status_code == 422


def test_an_agent_is_registered_and_its_secret_shown_once(acme, admin, anna):
    form = {"name": "Helper", "version": "3", "scopes": "orders:read, refunds:write\n", "acts_for": [anna.user_id]}
    answer = admin.post("/access/agents/add/", form)
    html = answer.content.decode()
    secret = re.search(r'<code id="once"[^>]*>(clrs_[^<]+)</code>', html)[1]
    client_id = re.search(r"agt_[0-9a-f]+", html)[0]
    token = factories.Agent(acme.id, "", "", client_id, secret).token(on_behalf_of=anna.email)
    actor = token_verify(raw=token)
    assert actor.scopes == {"orders:read", "refunds:write"}
    assert "no-store" in answer["Cache-Control"]
    path = f"/access/agents/{actor.id}/"
    assert secret not in page(admin, path)
    assert "Anna Berg" in page(admin, path)
    assert admin.post("/access/agents/add/", form).status_code == 409
    assert admin.post("/access/agents/add/", {**form, "name": "B", "scopes": "all!"}).status_code == 422


def test_the_verbs_of_an_agent_do_what_they_say(acme, admin, anna):
    agent = factories.agent(acme)
    path = f"/access/agents/{agent.id}/"
    old = agent.token()

    def change(verb, **more):
        answer = admin.post(path, {"verb": verb, **more})
        assert answer.status_code in (200, 302), answer.content
        return answer.content.decode()

    change("scopes", scopes="orders:read")
    assert token_verify(raw=old).scopes == {"orders:read"}
    change("principal-add", user=anna.user_id)
    assert agent.actor(on_behalf_of=anna.email).on_behalf_of == anna.user_id
    change("principal-remove", user=anna.user_id)
    change("owner", user=anna.user_id)
    assert agents.agent_scopes_set(actor=acme.admin.actor, agent_id=agent.id, scopes=[]).owner_user_id == anna.user_id
    assert re.search(r"clrs_\S+", change("rotate"))
    with pytest.raises(Unauthenticated):
        token_verify(raw=old)
    change("off", because="it loops")
    assert "deactivated" in page(admin, path)
    change("on")
    assert admin.post(path, {"verb": "scopes", "scopes": "no scope!"}).status_code == 422


def test_an_owner_rotates_and_stops_their_agent_and_no_more(acme, signed_in, anna):
    agent, other = factories.agent(acme, owner=anna), factories.agent(acme)
    client = signed_in(anna)
    assert agent.name in page(client, "/access/agents/")
    assert other.name not in page(client, "/access/agents/")
    path = f"/access/agents/{agent.id}/"
    assert "Set the scopes" not in page(client, path)
    assert client.post(path, {"verb": "rotate"}).status_code == 200
    assert client.post(path, {"verb": "off", "because": "x"}).status_code == 302
    assert client.post(path, {"verb": "on"}).status_code == 403
    assert client.get(f"/access/agents/{other.id}/").status_code == 404


def test_a_token_is_revoked_with_a_reason_at_the_next_call(acme, admin):
    agent = factories.agent(acme, acts_for=[acme.admin])
    pair = agent.pair(on_behalf_of=acme.admin.email)
    assert token_verify(raw=pair.access_token)
    html = page(admin, "/access/tokens/")
    assert agent.name in html
    answer = admin.post(f"/access/tokens/{pair.session_id}/revoke/", {"because": "laptop <b>lost</b>"})
    assert answer["Location"] == "/access/tokens/"
    with pytest.raises(Unauthenticated):
        token_verify(raw=pair.access_token)
    assert "No session is open" in page(admin, "/access/tokens/")
    assert "laptop &lt;b&gt;lost&lt;/b&gt;" in page(admin, "/access/tokens/?ended=1")
    admin.post(f"/access/tokens/{pair.session_id}/revoke/", {"because": "again"})
    assert "revoked already" in page(admin, "/access/tokens/")


def test_a_link_cannot_revoke(acme, admin):
    pair = factories.agent(acme).pair()
    assert admin.get(f"/access/tokens/{pair.session_id}/revoke/").status_code == 405


def test_a_credential_is_stored_replaced_and_never_shown(acme, admin):
    for secret, words in (("sk_live_first", "is stored"), ("sk_live_second", "is replaced")):
        assert admin.post("/access/credentials/", {"name": "payments", "secret": secret}).status_code == 302
        html = page(admin, "/access/credentials/")
        assert words in html
        assert "sk_live" not in html
        assert acme.admin.name in html
    for form in ({"name": "Not A Slug", "secret": "sk_live_x"}, {"name": "ok", "secret": "sk_live_\nx"}):
        answer = admin.post("/access/credentials/", form)
        assert answer.status_code == 422
        assert "sk_live" not in answer.content.decode()


def test_the_mail_page_says_what_is_set_up_and_what_the_server_said(acme, admin, settings, monkeypatch):
    from config import env

    assert "Mail is not set up" in page(admin, "/access/mail/")
    assert admin.post("/access/mail/").status_code == 503
    with mail_server() as server:
        monkeypatch.setenv("CLEARANCE_EMAIL_URL", server.url.replace("//", "//bot:hunter2@"))
        settings.MAIL = env.mail("CLEARANCE_EMAIL_URL", sender="c@example.org")
        html = page(admin, "/access/mail/")
        assert f"port {server.port}" in html
        assert "hunter2" not in html
        monkeypatch.setenv("CLEARANCE_EMAIL_URL", server.url)
        settings.MAIL = env.mail("CLEARANCE_EMAIL_URL", sender="c@example.org")
        settings.MAILERS = {"default": settings.MAIL.mailer}
        assert admin.post("/access/mail/").status_code == 302
        assert f"To: {acme.admin.email}." in page(admin, "/access/mail/")
        server.answers["RCPT"] = "550 <script>no</script>"
        answer = admin.post("/access/mail/")
        assert answer.status_code == 503
        assert "550 &lt;script&gt;no&lt;/script&gt;" in answer.content.decode()
    assert len(server.mails) == 1
