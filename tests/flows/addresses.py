"""Every address that takes an id of somebody's, and a request that names one. A new address must be added here.

`test_foreign_ids.py` walks the resolver: an address that is in neither table fails the suite (S62).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import uuid4

from django.urls import URLPattern, URLResolver, get_resolver

type Who = Literal["agent", "person"]


@dataclass(frozen=True)
class Ids:
    """The ids of one organisation's things; `unknown()` has the same forms and names nothing."""

    run_id: str
    call_id: str
    proposal_id: str
    session_id: str
    tenant_id: str
    digest: str
    membership_id: str
    user_id: str
    agent_id: str
    browser_session: str
    slug: str
    entry_id: str = "7999999999999"  # nobody's, as it stands
    stop_id: str = "7d3b2a10-5f4e-4c6d-9a8b-0c1d2e3f4a5b"  # nobody's, as it stands
    unresolved_id: str = "5c1e8d72-9b3a-4f60-8e2d-1a7b6c5d4e3f"  # nobody's, as it stands
    view_id: str = "2b9d4c61-7e0f-4a35-9c18-6d5e4f3a2b10"  # nobody's, as it stands
    number: str = "7700077"  # of a version: an organisation counts its own
    replay_id: str = "3c5d8b17-0e9f-4a62-9b4d-7f6a1c2e5d80"  # nobody's, as it stands
    draft_id: str = "8a6c3f15-1d2e-4b7a-9f40-3c2b1a0d9e8f"  # nobody's, as it stands
    decision_id: str = "6a1d8e35-4b9c-4f72-a0e6-2c7f5b3d9e81"  # nobody's, as it stands
    passkey_id: str = "9b6f2d41-3c7e-4a58-b1d0-5e8f7a2c6d93"  # nobody's, as it stands
    delegation_id: str = "4e7a1c93-2d5b-4f68-8a0e-9b3c6d1f7e25"  # nobody's, as it stands
    key_id: str = "6d2c9a84-7b1e-4f53-9c0d-8e4a3b5f7c16"  # nobody's, as it stands
    candidate_id: str = "1f4e7d90-6a2b-4c8d-b3e5-9a0c7d6e5f42"  # nobody's, as it stands
    tool_name: str = "tool_of_nobody"
    version: str = "1"  # of a contract: each tool counts its own

    @classmethod
    def unknown(cls) -> "Ids":
        """Ids that nobody has."""
        return cls(
            run_id=str(uuid4()),
            call_id="call-unknown",
            proposal_id=str(uuid4()),
            session_id=str(uuid4()),
            tenant_id=str(uuid4()),
            digest="0" * 64,
            membership_id=str(uuid4()),
            user_id=str(uuid4()),
            agent_id=str(uuid4()),
            browser_session=str(uuid4()),
            slug="group-of-nobody",
        )


@dataclass(frozen=True)
class Ask:
    """One request. `body` is JSON below /api/ and a form elsewhere; `who` says which kinds of callers send it."""

    method: str = "GET"
    body: Callable[[Ids], dict[str, Any]] | None = None
    query: Callable[[Ids], dict[str, Any]] = field(default=lambda _: {})
    who: tuple[Who, ...] = ("agent", "person")


PERSON: tuple[Who, ...] = ("person",)
GET = Ask()
POST = Ask("POST", lambda _: {})
CALL = Ask(
    "POST",
    lambda ids: {
        "call_id": ids.call_id,
        "tool": "refund_order",
        "arguments": {"order_id": "ord_1029", "amount": 4500, "currency": "AUD"},
    },
)
LEFT = {"choice": "leave", "attempt": 1, "reason": "Later."}
# Of the right form, by a key that nobody registered.
SIGNATURE = (
    "eyJhbGciOiJFZERTQSIsImI2NCI6ZmFsc2UsImNyaXQiOlsiYjY0Il0sImZvcm1hdCI6MSwia2lkIjoiYWVmMjM3ZDVkYWY1OGU2ZDA3NDM5OGNm"
    "MDk2MmU3NzY0ZTA2MGEzMjIxYzYwYWM5NGVkZmNiOWEzYjczODVkNSIsInR5cCI6ImNsZWFyYW5jZS1jb250cmFjdCtqd3MifQ..LvsZ4yeOmxEE"
    "N0-CzG-IRqjcgwcIXPSePL13EMOKrhqUh5h5XhdSUc_xZrCwOtVusZsNFaQrx61qB8Q-tYx4DA"
)
VERDICT = {"verdict": "reject", "reason": "No."}


def change(verb: str, **more: str) -> Ask:
    """A verb of a page of access, sent by an admin."""
    return Ask("POST", lambda _: {"verb": verb, **more}, who=PERSON)


def of_user(verb: str) -> Ask:
    """A verb of a page of access that names a person."""
    return Ask("POST", lambda ids: {"verb": verb, "user": ids.user_id}, who=PERSON)


WITH_IDS: dict[str, list[Ask]] = {
    "account/security/": [
        Ask("POST", lambda ids: {"verb": "rename", "passkey": ids.passkey_id, "name": "Mine"}, who=PERSON),
        Ask("POST", lambda ids: {"verb": "remove", "passkey": ids.passkey_id}, who=PERSON),
    ],
    "account/sessions/end/": [Ask("POST", lambda ids: {"session": ids.browser_session}, who=PERSON)],
    "account/delegations/": [
        Ask("POST", lambda ids: {"verb": "revoke", "delegation": ids.delegation_id}, who=PERSON),
        Ask("POST", lambda ids: {"verb": "give", "to": ids.user_id, "ends_at": "2099-01-01T09:00"}, who=PERSON),
    ],
    "access/delegations/": [
        Ask("POST", lambda ids: {"verb": "revoke", "delegation": ids.delegation_id}, who=PERSON),
        Ask("POST", lambda ids: {"verb": "give", "from": ids.user_id, "to": ids.user_id}, who=PERSON),
    ],
    "access/people/<uuid:membership_id>/": [
        Ask(who=PERSON),
        change("roles", roles="operator"),
        change("on"),
        Ask("POST", lambda ids: {"verb": "join", "group": ids.slug}, who=PERSON),
    ],
    "access/groups/<slug:slug>/": [Ask(who=PERSON), of_user("add"), of_user("remove")],
    "access/agents/<uuid:agent_id>/": [
        Ask(who=PERSON),
        change("scopes", scopes="orders:read"),
        change("on"),
        change("rotate", keep_sessions="1"),
        of_user("principal-add"),
        of_user("owner"),
    ],
    "access/agents/<uuid:agent_id>/tools/": [
        Ask(who=PERSON),
        Ask("POST", lambda _: {"which": "listed", "tool": "get_order", "version": "0"}, who=PERSON),
    ],
    "tools/<slug:tool_name>/": [Ask(who=PERSON)],
    "tools/<slug:tool_name>/versions/<int:version>/": [Ask(who=PERSON)],
    "tools/<slug:tool_name>/compare/": [
        Ask(query=lambda ids: {"old": "1", "new": "1"}, who=PERSON),
        Ask(query=lambda ids: {"old": "1", "new": ids.candidate_id}, who=PERSON),
    ],
    "tools/<slug:tool_name>/edit/": [
        Ask(query=lambda ids: {"of": ids.candidate_id}, who=PERSON),
        Ask("POST", lambda ids: {"source": "name: x", "replaces": ids.candidate_id}, who=PERSON),
    ],
    "tools/<slug:tool_name>/candidates/<uuid:candidate_id>/": [
        Ask(who=PERSON),
        Ask("POST", lambda _: {"verb": "admit", "in_force": "1", "waiting": "9"}, who=PERSON),
        Ask("POST", lambda _: {"verb": "sign", "signature": SIGNATURE}, who=PERSON),
        Ask("POST", lambda _: {"verb": "unsign", "reason": "Wrong."}, who=PERSON),
    ],
    "tools/<slug:tool_name>/preview/": [Ask(query=lambda ids: {"of": ids.candidate_id}, who=PERSON)],
    "tools/<slug:tool_name>/simulate/": [
        Ask(who=PERSON),
        Ask("POST", lambda ids: {"agent": ids.agent_id, "arguments": "{}"}, who=PERSON),
    ],
    "tools/<slug:tool_name>/return/": [
        Ask("POST", lambda _: {"number": "1", "in_force": "1", "reason": "Back."}, who=PERSON)
    ],
    "tools/<slug:tool_name>/sign/": [
        Ask("POST", lambda ids: {"number": ids.version, "signature": SIGNATURE}, who=PERSON)
    ],
    "tools/publisher-keys/": [
        Ask("POST", lambda ids: {"verb": "revoke", "key": ids.key_id, "because": "Gone."}, who=PERSON),
    ],
    "tools/<slug:tool_name>/retire/": [Ask("POST", lambda _: {"reason": "Gone."}, who=PERSON)],
    "runs/<uuid:run_id>/calls/<str:call_id>/why/": [Ask(who=PERSON)],
    "access/tokens/<uuid:session_id>/revoke/": [Ask("POST", lambda _: {"because": "lost"}, who=PERSON)],
    "switch-tenant/": [Ask("POST", lambda ids: {"tenant": ids.tenant_id}, who=PERSON)],
    "inbox/chosen/": [
        Ask(query=lambda ids: {"id": ids.proposal_id}, who=PERSON),
        Ask(
            "POST",
            lambda ids: {"choice": f"{ids.proposal_id}:{ids.digest}:1", "verdict": "reject", "reason": "No."},
            who=PERSON,
        ),
    ],
    "inbox/views/<uuid:view_id>/": [change("rename", name="Mine"), change("delete")],
    "proposals/<uuid:proposal_id>/": [Ask(who=PERSON)],
    "proposals/<uuid:proposal_id>/decide/": [
        Ask("POST", lambda ids: {**VERDICT, "digest": ids.digest, "round": "1"}, who=PERSON)
    ],
    "proposals/<uuid:proposal_id>/confirm/": [Ask("POST", lambda _: {"reason": "Typed."}, who=PERSON)],
    "proposals/<uuid:proposal_id>/sign/": [Ask("POST", lambda ids: {"digest": ids.digest, "round": "1"}, who=PERSON)],
    "proposals/<uuid:proposal_id>/signatures/": [Ask(who=PERSON)],
    "proposals/<uuid:proposal_id>/signatures/<uuid:decision_id>/": [Ask(who=PERSON)],
    "proposals/<uuid:proposal_id>/revoke/": [Ask("POST", lambda _: {"reason": "Stop."}, who=PERSON)],
    "proposals/<uuid:proposal_id>/ask/": [
        Ask(who=PERSON),
        Ask("POST", lambda ids: {"text": "Why?", "digest": ids.digest, "round": "1"}, who=PERSON),
    ],
    "proposals/<uuid:proposal_id>/edit/": [
        Ask(who=PERSON),
        Ask("POST", lambda ids: {"v.amount": "1", "verb": "save", "digest": ids.digest, "round": "1"}, who=PERSON),
    ],
    "proposals/<uuid:proposal_id>/claim/": [change("claim"), change("release")],
    "policies/draft/<uuid:draft_id>/": [
        Ask(who=PERSON),
        change("save", source="version: 1", revision="1"),
        change("publish", source="version: 1", revision="1", reason="Now."),
    ],
    "policies/draft/<uuid:draft_id>/check/": [Ask("POST", lambda _: {"source": "version: 1"}, who=PERSON)],
    "policies/draft/<uuid:draft_id>/tests/": [Ask(who=PERSON), change("remove", remove="0")],
    "policies/draft/<uuid:draft_id>/replay/": [Ask("POST", lambda _: {"days": "7"}, who=PERSON)],
    "policies/replays/<uuid:replay_id>/": [Ask(who=PERSON)],
    "policies/replays/<uuid:replay_id>/panel/": [Ask(who=PERSON)],
    "policies/replays/<uuid:replay_id>/cancel/": [Ask("POST", lambda _: {}, who=PERSON)],
    "policies/test-of/<uuid:proposal_id>/": [Ask(who=PERSON), change("add", name="x", effect="ask", draft="")],
    "policies/versions/<int:number>/": [Ask(who=PERSON), change("back", based_on="1", reason="Now.")],
    "policies/compare/": [Ask(query=lambda ids: {"left": ids.draft_id, "right": ids.draft_id}, who=PERSON)],
    "guards/stop/": [
        Ask("POST", lambda ids: {"kind": "agent", "subject": ids.agent_id, "reason": "Stop."}, who=PERSON)
    ],
    "guards/<uuid:stop_id>/lift/": [Ask("POST", lambda _: {"reason": "Go on."}, who=PERSON)],
    "unresolved/<uuid:unresolved_id>/": [Ask(who=PERSON)],
    "unresolved/<uuid:unresolved_id>/ask/": [Ask("POST", lambda _: {}, who=PERSON)],
    "unresolved/<uuid:unresolved_id>/decide/": [Ask("POST", lambda _: LEFT, who=PERSON)],
    "api/v1/unresolved/<uuid:unresolved_id>": [GET],
    "api/v1/unresolved/<uuid:unresolved_id>/ask": [POST],
    "api/v1/unresolved/<uuid:unresolved_id>/decide": [Ask("POST", lambda _: LEFT)],
    "runs/<uuid:run_id>/": [Ask(who=PERSON), Ask(query=lambda _: {"at": "3"}, who=PERSON)],
    "runs/<uuid:run_id>/calls/": [Ask(who=PERSON), Ask(query=lambda ids: {"after": ids.call_id}, who=PERSON)],
    "runs/<uuid:run_id>/calls/<str:call_id>/test/": [Ask(who=PERSON)],
    "runs/<uuid:run_id>/events/": [Ask(query=lambda _: {"first": "1", "last": "3"}, who=PERSON)],
    "runs/<uuid:run_id>/events/raw/": [Ask(query=lambda _: {"seq": "1"}, who=PERSON)],
    "runs/<uuid:run_id>/cancel/": [Ask("POST", lambda _: {"reason": "Stop."}, who=PERSON)],
    "audit/<int:entry_id>/": [Ask(who=PERSON)],
    "audit/path/": [Ask(query=lambda ids: {"run": ids.run_id, "call": ids.call_id}, who=PERSON)],
    "api/v1/token/revoke": [Ask("POST", lambda ids: {"session_id": ids.session_id})],
    "api/v1/proposals/<uuid:proposal_id>": [GET],
    "api/v1/proposals/<uuid:proposal_id>/decide": [Ask("POST", lambda ids: {**VERDICT, "digest": ids.digest})],
    "api/v1/proposals/<uuid:proposal_id>/revoke": [Ask("POST", lambda _: {"reason": "Stop."})],
    "api/v1/stops": [Ask("POST", lambda ids: {"kind": "agent", "subject": ids.agent_id, "reason": "Stop."})],
    "api/v1/stops/<uuid:stop_id>/lift": [Ask("POST", lambda _: {"reason": "Go on."})],
    "api/v1/runs/<uuid:run_id>": [GET],
    "api/v1/runs/<uuid:run_id>/tools": [GET],
    "api/v1/runs/<uuid:run_id>/turns": [GET, Ask("POST", lambda _: {"turn_id": "t1", "tools": ["get_order"]})],
    "api/v1/runs/<uuid:run_id>/complete": [POST],
    "api/v1/runs/<uuid:run_id>/cancel": [POST],
    "api/v1/runs/<uuid:run_id>/events": [GET, Ask(query=lambda _: {"after": "1"})],
    "api/v1/runs/<uuid:run_id>/calls": [CALL],
    "api/v1/runs/<uuid:run_id>/calls/<str:call_id>": [GET, Ask(query=lambda _: {"wait": "0.2"})],
    "api/v1/runs/<uuid:run_id>/calls/<str:call_id>/withdraw": [POST],
    "api/v1/runs/<uuid:run_id>/calls/<str:call_id>/answer": [Ask("POST", lambda _: {"text": "Yes."})],
}
# Lists, where an id may be looked for: what is found must be what an unknown id finds.
SEARCHED: dict[str, list[Ask]] = {
    "": [
        Ask(query=lambda ids: {"view": "mine", "q": ids.proposal_id}, who=PERSON),
        Ask(query=lambda ids: {"view": "all", "q": ids.proposal_id}, who=PERSON),
        Ask(query=lambda ids: {"view": "decided", "q": ids.proposal_id}, who=PERSON),
        Ask(query=lambda ids: {"view": "all", "agent": ids.agent_id}, who=PERSON),
        Ask(query=lambda ids: {"view": "all", "group": ids.slug}, who=PERSON),
    ],
    "runs/": [
        Ask(query=lambda ids: {"q": ids.run_id}, who=PERSON),
        Ask(query=lambda ids: {"agent": ids.agent_id, "stuck": "1"}, who=PERSON),
    ],
    "policies/": [Ask(who=PERSON)],
    "policies/coverage/": [
        Ask(who=PERSON),
        Ask(query=lambda ids: {"agent": ids.agent_id}, who=PERSON),
        Ask(query=lambda ids: {"q": ids.tool_name}, who=PERSON),
    ],
    "guards/": [Ask(who=PERSON)],
    "tools/": [Ask(who=PERSON)],
    "unresolved/": [Ask(who=PERSON)],
    "api/v1/unresolved": [GET],
    "guards/banner/": [
        Ask(query=lambda ids: {"proposal_id": ids.proposal_id, "seen": "x"}, who=PERSON),
        Ask(query=lambda ids: {"run_id": ids.run_id, "seen": "x"}, who=PERSON),
    ],
    "access/people/": [Ask(query=lambda ids: {"q": ids.user_id}, who=PERSON)],
    "access/agents/": [Ask(who=PERSON)],
    "access/tokens/": [Ask(who=PERSON), Ask(query=lambda _: {"ended": "1"}, who=PERSON)],
    # Done things only: that somebody asked for a foreign id and was refused stands in their own log.
    "audit/": [
        Ask(query=lambda ids: {"verdict": "ok", "object": ids.proposal_id}, who=PERSON),
        Ask(query=lambda ids: {"verdict": "ok", "run": ids.run_id}, who=PERSON),
        Ask(query=lambda ids: {"verdict": "ok", "call": ids.call_id}, who=PERSON),
    ],
    "audit/export/": [Ask(query=lambda ids: {"verdict": "ok", "run": ids.run_id}, who=PERSON)],
    "api/v1/audit/entries": [Ask(query=lambda ids: {"verdict": "ok", "run": ids.run_id, "call": ids.call_id})],
    "api/v1/audit/export": [Ask(query=lambda ids: {"verdict": "ok", "object": ids.proposal_id})],
    "api/v1/proposals": [Ask(query=lambda ids: {"search": ids.proposal_id}), GET],
}
# Nothing in these names a thing of an organisation.
WITHOUT_IDS = {
    "policies/draft/",
    "sign-in/",
    "sign-out/",
    "inbox/views/",
    "password/forgotten/",
    "password/new/",
    "account/",
    "account/password/",
    "account/security/options/",
    "account/confirm/",
    "account/confirm/options/",
    "sign-in/provider/",
    "sign-in/provider/first/",
    "account/provider/",
    "access/provider/",
    "sign-in/second/",
    "sign-in/second/options/",
    "account/sessions/",
    "access/people/add/",
    "access/groups/",
    "access/agents/add/",
    "access/credentials/",
    "access/mail/",
    "access/webhook/",
    "access/second-step/",
    "tools/import-contract/",
    "tools/import-contract/preview/",
    "styleguide/",
    "health/",
    "api/v1/health",
    "api/v1/token",
    "api/v1/tools",
    "api/v1/runs",
    "api/v1/schema/",
    "api/v1/",
}
# For whoever is not signed in: the short name is an organisation's, which its people type; it names nothing of theirs.
FOR_ANYBODY = {"sign-in/provider/to/<slug:slug>/", "sign-in/provider/back/<slug:slug>/"}

WS_WITH_IDS: dict[str, Callable[[Ids], dict[str, Any]]] = {
    "ws/proposals/<uuid:proposal_id>/": lambda _: {"seen": "of yesterday"},
    "ws/unresolved/<uuid:unresolved_id>/": lambda _: {"seen": "of yesterday"},
    "ws/unresolved/": lambda _: {"seen": "of yesterday"},
    "ws/runs/<uuid:run_id>/": lambda _: {"after": 0},
    "ws/inbox/": lambda ids: {"view": "all", "q": "", "rows": {ids.proposal_id: 0}, "whole": False},
    "ws/runs/": lambda ids: {"view": "", "q": "", "rows": {ids.run_id: 0}, "since": "2020-01-01T00:00:00+00:00"},
}
WS_WITHOUT_IDS = {""}  # where no other route takes the address


def routes(patterns: list[Any] | None = None, prefix: str = "") -> Iterator[str]:
    """Every address as the resolver knows it: `api/v1/runs/<uuid:run_id>`."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        address = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, address)
        elif isinstance(pattern, URLPattern):
            yield address


def written(route: str, ids: Ids) -> str:
    """The address with its ids."""
    for name, value in vars(ids).items():
        for kind in ("uuid", "str", "slug", "int"):
            route = route.replace(f"<{kind}:{name}>", value)
    return "/" + route
