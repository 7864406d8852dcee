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

    @classmethod
    def unknown(cls) -> "Ids":
        """Ids that nobody has."""
        return cls(str(uuid4()), "call-unknown", str(uuid4()), str(uuid4()), str(uuid4()), "0" * 64)


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
VERDICT = {"verdict": "reject", "reason": "No."}

WITH_IDS: dict[str, list[Ask]] = {
    "switch-tenant/": [Ask("POST", lambda ids: {"tenant": ids.tenant_id}, who=PERSON)],
    "proposals/<uuid:proposal_id>/": [Ask(who=PERSON)],
    "proposals/<uuid:proposal_id>/decide/": [
        Ask("POST", lambda ids: {**VERDICT, "digest": ids.digest, "round": "1"}, who=PERSON)
    ],
    "runs/<uuid:run_id>/": [Ask(who=PERSON), Ask(query=lambda _: {"before": "3"}, who=PERSON)],
    "runs/<uuid:run_id>/cancel/": [Ask("POST", lambda _: {"reason": "Stop."}, who=PERSON)],
    "api/v1/token/revoke": [Ask("POST", lambda ids: {"session_id": ids.session_id})],
    "api/v1/proposals/<uuid:proposal_id>": [GET],
    "api/v1/proposals/<uuid:proposal_id>/decide": [Ask("POST", lambda ids: {**VERDICT, "digest": ids.digest})],
    "api/v1/runs/<uuid:run_id>": [GET],
    "api/v1/runs/<uuid:run_id>/complete": [POST],
    "api/v1/runs/<uuid:run_id>/cancel": [POST],
    "api/v1/runs/<uuid:run_id>/events": [GET, Ask(query=lambda _: {"after": "1"})],
    "api/v1/runs/<uuid:run_id>/calls": [CALL],
    "api/v1/runs/<uuid:run_id>/calls/<str:call_id>": [GET, Ask(query=lambda _: {"wait": "0.2"})],
    "api/v1/runs/<uuid:run_id>/calls/<str:call_id>/withdraw": [POST],
}
# Lists, where an id may be looked for: what is found must be what an unknown id finds.
SEARCHED: dict[str, list[Ask]] = {
    "": [
        Ask(query=lambda ids: {"view": "mine", "q": ids.proposal_id}, who=PERSON),
        Ask(query=lambda ids: {"view": "all", "q": ids.proposal_id}, who=PERSON),
        Ask(query=lambda ids: {"view": "decided", "q": ids.proposal_id}, who=PERSON),
    ],
    "runs/": [Ask(query=lambda ids: {"q": ids.run_id}, who=PERSON)],
    "api/v1/proposals": [Ask(query=lambda ids: {"search": ids.proposal_id}), GET],
}
# Nothing in these names a thing of an organisation.
WITHOUT_IDS = {
    "sign-in/",
    "sign-out/",
    "styleguide/",
    "api/v1/token",
    "api/v1/tools",
    "api/v1/runs",
    "api/v1/schema/",
    "api/v1/",
}

WS_WITH_IDS: dict[str, Callable[[Ids], dict[str, Any]]] = {
    "ws/proposals/<uuid:proposal_id>/": lambda _: {"seen": "of yesterday"},
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
        route = route.replace(f"<uuid:{name}>", value).replace(f"<str:{name}>", value)
    return "/" + route
