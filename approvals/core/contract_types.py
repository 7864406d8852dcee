"""The shape of an admitted tool contract (R10). Made only by `approvals.core.contract.parse_contract`."""

from dataclasses import dataclass, field
from typing import Literal

import jsonschema_rs

from audit.core.jsondoor import Json

type SideEffect = Literal["read", "idempotent", "reversible", "irreversible"]
type Approval = Literal["policy", "always", "never"]
type RetryClass = Literal["never", "before_effect", "safe"]


@dataclass(frozen=True, slots=True)
class Money:
    """Pointers to an amount (integer minor units, or decimal text) and its currency in the arguments."""

    amount: str
    currency: str


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and how far apart the same request may be sent again, and when at all (data rule 3)."""

    retry_class: RetryClass
    attempts: int
    base_ms: int
    factor: int


@dataclass(frozen=True, slots=True)
class Breaker:
    """The circuit breaker's figures (G3)."""

    window_s: int
    min_requests: int
    failure_percent: int
    open_s: int
    probes: int


@dataclass(frozen=True, slots=True)
class Check:
    """A condition that must be true of args, state and principal; false refuses with `code` and `message` (E2)."""

    id: str
    when: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Compare:
    """One before → after row: CEL over args and state; `money` gives the currency of both, or is ""."""

    label: str
    now: str
    after: str
    money: str


@dataclass(frozen=True, slots=True)
class Presentation:
    """How a call is told to people, by the server and never by a model."""

    sentence: str
    labels: dict[str, str]
    money: dict[str, str]
    compare: tuple[Compare, ...]
    effect_note: str


@dataclass(frozen=True, slots=True)
class Request:
    """A request template. `path` is filled by `render_path`; of `form` and `json` at most one is not None."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    query: dict[str, Json]
    form: dict[str, Json] | None
    json: Json


@dataclass(frozen=True, slots=True)
class Reference:
    """A server-side table: the record under `key` is available to templates as `alias`."""

    table: str
    key: str
    alias: str


@dataclass(frozen=True, slots=True)
class ReadState:
    """How the target's state is read: pointers into the answer, further templates, and CEL over args and state."""

    request: Request
    state: dict[str, str]
    also: dict[str, Json]
    derived: dict[str, str]


@dataclass(frozen=True, slots=True)
class Execute:
    """The effect. `success` is CEL over result, args and state ("" for a read): a 2xx alone is no success (R10)."""

    request: Request
    result: dict[str, str]
    reference: str
    success: str


@dataclass(frozen=True, slots=True)
class Cursor:
    """The next page: query parameter `param` set to what `from_pointer` names in the last item."""

    param: str
    from_pointer: str


@dataclass(frozen=True, slots=True)
class LookUp:
    """How the target is asked whether our key took effect. `more` ("" if there is one page) must read false at the
    end; an item matches where `match_pointer` equals the filled `match_equals`."""

    request: Request
    items: str
    more: str
    cursor: Cursor | None
    match_pointer: str
    match_equals: str
    result: dict[str, str]
    reference: str


@dataclass(frozen=True, slots=True)
class HttpAdapter:
    """What the HTTP adapter needs to know of one tool. `postcondition` is CEL over before, state, args and result."""

    base_url: str
    allowed_hosts: tuple[str, ...]
    credential: str
    reference: Reference | None
    read_state: ReadState | None
    execute: Execute
    look_up: LookUp | None
    postcondition: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the tool comes from and who reviewed it (admission judges both)."""

    kind: Literal["builtin", "reviewed", "mcp"]
    publisher: str
    reviewed_by: str


@dataclass(frozen=True, slots=True)
class Contract:
    """One admitted version of a tool. Times are milliseconds unless the name says seconds (`_s`).

    `digest` is the SHA-256 of the document's canonical bytes: equal contracts have equal digests. `customer` is a
    template over args and state for whom exposure is counted, "" where the contract names nobody.
    """

    name: str
    title: str
    description: str
    side_effect: SideEffect
    scopes: tuple[str, ...]
    approval: Approval
    input_schema: dict[str, Json]
    output_schema: dict[str, Json]
    money: tuple[Money, ...]
    timeout_ms: int
    settle_after_ms: int
    output_cap_bytes: int
    retry: Retry
    enforced_by_target: bool
    sandbox_profile: str | None
    alternatives: tuple[str, ...]
    breaker: Breaker
    redaction: tuple[str, ...]
    resource: str
    target: str
    expires_in_s: int
    checks: tuple[Check, ...]
    presentation: Presentation
    adapter: HttpAdapter
    origin: Origin
    digest: str
    customer: str
    input_validator: jsonschema_rs.Draft202012Validator = field(repr=False, compare=False)
    output_validator: jsonschema_rs.Draft202012Validator = field(repr=False, compare=False)

    @property
    def read_only(self) -> bool:
        """True if the tool changes nothing outside."""
        return self.side_effect == "read"


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason against a contract or a policy. `path` is a JSON pointer; `line` and `column` count from 1, 0 if not
    known. `inside`: the text that stands at `path` and the character of it, from 0, that this is about; None where it
    is about all of it."""

    path: str
    code: str
    message: str
    line: int = 0
    column: int = 0
    inside: tuple[str, int] | None = None

    def as_dict(self) -> dict[str, object]:
        found: dict[str, object] = {"path": self.path, "code": self.code, "message": self.message}
        if self.line:
            found["line"] = self.line
        if self.column:
            found["column"] = self.column
        return found
