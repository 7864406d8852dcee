"""A foreign id answers like an unknown one, at every address there is (S62)."""

import asyncio
import json
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from access.models import BrowserSession
from access.services.delegation import delegation_give
from access.services.sessions import session_open
from approvals.services.candidate import candidate_store
from approvals.services.policy_draft import policy_draft_create
from approvals.services.publisher import publisher_key_add
from approvals.services.replay import replay_ask
from audit.store import clock
from runs.live.routing import websocket_urlpatterns
from runs.services.stop import stop_set
from tests.api.client import bearer, browser
from tests.flows.addresses import (
    FOR_ANYBODY,
    SEARCHED,
    WITH_IDS,
    WITHOUT_IDS,
    WS_WITH_IDS,
    WS_WITHOUT_IDS,
    Ask,
    Ids,
    routes,
    written,
)
from tests.live.sockets import opened
from tests.support import factories
from tests.support.contracts import demo_document
from tests.support.publishers import Publisher
from tests.support.unknown import lost
from tests.support.world import POLICY

ROLES = ["reviewer", "operator", "admin", "auditor"]
LAST = ("retire", "decide", "withdraw", "cancel", "revoke")
"""Words of addresses that stop something which others look at; the first comes last."""
OWN_ONLY = (
    "switch-tenant/",
    "account/sessions/end/",
    "inbox/views/<uuid:view_id>/",
    "policies/versions/<int:number>/",
    "proposals/<uuid:proposal_id>/signatures/<uuid:decision_id>/",
)
"""Whatever is named there must be the caller's own: tests/web/test_sign_in.py, test_account.py, test_inbox_narrowed.py
and test_policies.py (an organisation counts its own versions). Nothing here is signed; test_authenticate.py signs."""


class Caller:
    """Somebody who sends requests: an agent by its token, or a person by their session."""

    def __init__(self, *, token: str = "", person: factories.Person | None = None) -> None:
        self.kind = "agent" if token else "person"
        self.client = browser(person)
        self.headers = bearer(token) if token else {}

    def send(self, route: str, ask: Ask, ids: Ids) -> Any:
        """The response."""
        path = written(route, ids)
        if ask.method == "GET":
            return self.client.get(path, ask.query(ids), headers=self.headers)
        body = ask.body(ids) if ask.body else {}
        if route.startswith("api/"):
            return self.client.post(path, json.dumps(body), content_type="application/json", headers=self.headers)
        return self.client.post(path, body)


@pytest.fixture
def ours(world, owner_sql) -> Ids:
    """The ids of an organisation at work: a run with a call that waits for people."""
    # A number that stands nowhere else on a page, so that it can be taken out of an answer like the other ids.
    owner_sql("ALTER SEQUENCE audit_entry_id RESTART 7100000000001")
    call = world.held()
    pair = world.agent.pair(on_behalf_of=world.asker.user_id)
    factories.group(world.tenant, "group-of-ours")
    session_open(actor=world.asker.actor, session_key="a" * 32, address="", browser="")
    browser_session = BrowserSession.objects.get(session_key="a" * 32)
    return Ids(
        str(call.run_id),
        call.call_id,
        str(call.proposal_id),
        pair.session_id,
        world.tenant.id,
        call.digest,
        world.asker.membership_id,
        world.asker.user_id,
        world.agent.id,
        str(browser_session.id),
        "group-of-ours",
        str(owner_sql("SELECT min(id) FROM audit_entry WHERE call_id = %s", [call.call_id])[0][0]),
        str(stop_set(actor=world.admin, kind="tool", subject="get_order", reason="Of ours.").stop.id),
        str(lost(world).id),
        delegation_id=str(delegated(world)),
        candidate_id=str(candidate_store(actor=world.admin, source=another_contract(world)).id),
        key_id=publisher_key(world),
        tool_name="tool_of_ours",
        draft_id=str(policy_draft_create(actor=world.admin, name="Of ours").id),
        replay_id=str(replay_ask(actor=world.admin, source=POLICY).id),
    )


def delegated(world: Any) -> Any:
    """One reviewer decides for another."""
    giver, delegate = factories.person(world.tenant, groups=["finance"]), factories.person(world.tenant)
    end = clock.now() + timedelta(days=1)
    return delegation_give(actor=giver.actor, to_user_id=delegate.user_id, ends_at=end)


def publisher_key(world: Any) -> str:
    """A publisher's key of ours."""
    team = Publisher()
    row = publisher_key_add(actor=world.admin, publisher=team.name, public_key=team.public, at_console=True)
    return str(row.id)


def another_contract(world: Any) -> str:
    """A tool of a name that stands nowhere else on a page is admitted; its contract with another title."""
    world.admit("get_order", lambda document: document.update(name="tool_of_ours"))
    document = demo_document("get_order", world.stripe.host)
    return json.dumps(document | {"name": "tool_of_ours", "title": "Look an order up"})


@pytest.fixture
def strangers() -> list[Caller]:
    """Another organisation's agent and its person with every role and group there is."""
    other = factories.tenant()
    person = factories.person(other, ROLES, groups=["finance"])
    agent = factories.agent(other, acts_for=[person])
    return [Caller(token=agent.token(on_behalf_of=person.email)), Caller(token=agent.token()), Caller(person=person)]


def without(text: str, ids: Ids) -> str:
    """The text without these ids and without times."""
    for value in vars(ids).values():
        if len(value) > 2:  # a version's number names nothing by itself, and stands in times
            text = text.replace(value, "ID")
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)", "TIME", text)
    return re.sub(r"\d{8}T\d{6}Z|\d{4}-\d\d-\d\dT\d\d%3A\d\d", "TIME", text)


def read(response: Any, ids: Ids) -> tuple[int, dict[str, str], str]:
    """What a caller gets to see, without the ids that it sent itself and what differs from request to request."""
    headers = {
        name: without(value, ids)
        for name, value in response.headers.items()
        if name not in ("Content-Length", "Content-Security-Policy", "Date")
    }
    body = b"".join(response) if response.streaming else response.content
    text = re.sub(r'(csrfmiddlewaretoken" value="|"X-CSRFToken": ")[^"]+', r"\1…", body.decode())
    return response.status_code, headers, without(text, ids)


def everything(owner_sql: Any) -> list[Any]:
    """The rows that a request could have changed."""
    return owner_sql(
        "SELECT (SELECT jsonb_agg(to_jsonb(r) ORDER BY id) FROM runs_run r)::text,"
        " (SELECT jsonb_agg(to_jsonb(c) ORDER BY id) FROM runs_call c)::text,"
        " (SELECT count(*) FROM runs_event),"
        " (SELECT jsonb_agg(to_jsonb(p) ORDER BY id) FROM approvals_proposal p)::text,"
        " (SELECT count(*) FROM approvals_decision),"
        " (SELECT jsonb_agg(to_jsonb(d) ORDER BY id) FROM approvals_policydraft d)::text,"
        " (SELECT jsonb_agg(to_jsonb(t) ORDER BY id) FROM approvals_tool t)::text,"
        " (SELECT jsonb_agg(to_jsonb(t) ORDER BY id) FROM approvals_toolcandidate t)::text,"
        " (SELECT count(*) FROM approvals_publisherkeyend),"
        " (SELECT count(*) FROM approvals_versionsignature),"
        " (SELECT jsonb_agg(to_jsonb(t) ORDER BY id) FROM approvals_agenttools t)::text,"
        " (SELECT jsonb_agg(to_jsonb(s) ORDER BY id) FROM access_tokensession s)::text,"
        " (SELECT jsonb_agg(to_jsonb(s) ORDER BY id) FROM runs_stop s)::text,"
        " (SELECT jsonb_agg(to_jsonb(m) ORDER BY id) FROM access_membership m)::text,"
        " (SELECT jsonb_agg(to_jsonb(g) ORDER BY id) FROM access_groupmember g)::text,"
        " (SELECT jsonb_agg(to_jsonb(a) ORDER BY id) FROM access_agent a)::text,"
        " (SELECT jsonb_agg(to_jsonb(p) ORDER BY id) FROM access_agentprincipal p)::text,"
        " (SELECT jsonb_agg(to_jsonb(b) ORDER BY id) FROM access_browsersession b)::text"
    )


def test_every_address_is_in_the_table():
    known = set(WITH_IDS) | set(SEARCHED) | WITHOUT_IDS | FOR_ANYBODY
    found = set(routes())
    assert found - known == set(), "a new address: add it to tests/flows/addresses.py"
    assert known - found == set(), "an address that is gone"
    takes_ids = {route for route in found if "<" in route}
    assert takes_ids <= set(WITH_IDS) | FOR_ANYBODY, "an address with an id in its path belongs to WITH_IDS"


def test_every_socket_is_in_the_table():
    found = {str(pattern.pattern) for pattern in websocket_urlpatterns}
    assert found == set(WS_WITH_IDS) | WS_WITHOUT_IDS


def test_a_foreign_id_answers_like_an_unknown_one_everywhere(ours, strangers, owner_sql, subtests):
    before = everything(owner_sql)
    asked = 0
    for route, asks in {**WITH_IDS, **SEARCHED}.items():
        for number, ask in enumerate(asks):
            for caller in strangers:
                if caller.kind not in ask.who:
                    continue
                with subtests.test(route=route or "/", ask=number, caller=caller.kind):
                    unknown = Ids.unknown()
                    foreign = read(caller.send(route, ask, ours), ours)
                    assert foreign == read(caller.send(route, ask, unknown), unknown)
                    if route in WITH_IDS:
                        assert foreign[0] in (403, 404), "a foreign id must not be served"
                asked += 1
    assert asked > 40
    assert everything(owner_sql) == before, "nothing of ours was changed"


def test_half_foreign_ids_answer_like_unknown_ones_too(ours, strangers, world):
    """The caller's own run with a foreign call's id, and a foreign run with its own call's id."""
    agent = strangers[0]
    run = agent.client.post(
        "/api/v1/runs", {"title": "x"}, content_type="application/json", headers=agent.headers
    ).json()
    call = "api/v1/runs/<uuid:run_id>/calls/<str:call_id>"
    for ids in (replace(ours, run_id=run["id"]), replace(Ids.unknown(), run_id=ours.run_id)):
        assert agent.send(call, Ask(), ids).status_code == 404
        assert agent.send(f"{call}/withdraw", Ask("POST", lambda _: {}), ids).status_code == 404


def test_the_same_addresses_do_serve_those_whom_they_belong_to(ours, world, subtests):
    """Otherwise every address could answer 404 to everybody and the walk would prove nothing."""
    own = {
        "agent": Caller(token=world.agent.token(on_behalf_of=world.asker.user_id)),
        "person": Caller(person=factories.person(world.tenant, ROLES, groups=["finance"])),
    }
    # What stops things comes last: it changes what the others look at.
    order = sorted(WITH_IDS, key=lambda route: [word in route for word in LAST])
    for route in order:
        for number, ask in enumerate(WITH_IDS[route]):
            for kind in ask.who:
                with subtests.test(route=route, ask=number, caller=kind):
                    assert own[kind].send(route, ask, ours).status_code != 404 or route in OWN_ONLY


def test_nobody_is_told_which_ids_exist(ours, subtests):
    nobody = Client()
    for route, asks in WITH_IDS.items():
        for ask in asks:
            with subtests.test(route=route):
                answers = []
                for ids in (ours, Ids.unknown()):
                    path = written(route, ids)
                    response = (
                        nobody.get(path, ask.query(ids))
                        if ask.method == "GET"
                        else nobody.post(path, ask.body(ids) if ask.body else {}, content_type="application/json")
                    )
                    answers.append(read(response, ids))
                assert answers[0] == answers[1]
                assert answers[0][0] in (302, 401, 403)


async def listened(path: str, hello: dict[str, Any], client: Client) -> list[Any]:
    """What a socket says within a second: refused, closed with a code, or its messages."""
    heard: list[Any] = []
    async with opened(path, client) as socket:
        if socket is None:
            return ["refused"]
        await socket.hello(**hello)
        while not await socket.silent(1.0):
            message = await socket.inner.receive_output(1.0)
            heard.append(message.get("code") or message.get("text"))
            if message["type"] == "websocket.close":
                break
    return heard


@pytest.mark.parametrize("route", sorted(WS_WITH_IDS))
def test_a_socket_tells_a_stranger_of_a_foreign_id_what_it_tells_of_an_unknown_one(ours, strangers, world, route):
    stranger = strangers[-1].client
    answers = []
    for ids in (ours, Ids.unknown()):
        heard = asyncio.run(listened(written(route, ids), WS_WITH_IDS[route](ids), stranger))
        answers.append(without(json.dumps(heard), ids))
    assert answers[0] == answers[1]
    own = browser(factories.person(world.tenant, ROLES, groups=["finance"]))
    mine = asyncio.run(listened(written(route, ours), WS_WITH_IDS[route](ours), own))
    assert without(json.dumps(mine), ours) != answers[0], "it does tell those whom it belongs to"
    assert any(isinstance(said, str) and said != "refused" for said in mine)
