"""What an adapter hands back. Plain values: frozen, made of JSON types, ready to be stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from audit.core.canonical import canonical_bytes
from audit.core.jsondoor import Json
from audit.core.pointers import follow
from runs.tools.meaning import Status

type LookUpStatus = Literal["found", "duplicate", "nothing", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Labelled:
    """Content of a target: untrusted, named after its source, cut at the tool's byte cap with the cut marked (E4).

    `value` is the whole JSON value, or None when `cut`; then `excerpt` holds the first bytes of its canonical text.
    `size_bytes` is the size of the whole.
    """

    source: str
    value: Json
    cut: bool
    excerpt: str
    size_bytes: int

    def as_dict(self) -> dict[str, Json]:
        """For an event, an API answer or a page; `untrusted` says that nobody may read it as an instruction."""
        form: dict[str, Json] = {
            "source": self.source,
            "untrusted": True,
            "cut": self.cut,
            "size_bytes": self.size_bytes,
            "value": self.value,
        }
        return form | {"excerpt": self.excerpt} if self.cut else form


@dataclass(frozen=True, slots=True)
class Observation:
    """The target's state as the contract names it, and the rows of reference tables it was read by.

    Store `names` with the dispatch and give them to `look_up`: the table may say something else by then, and the
    question must go to the place where the effect was sent.
    """

    state: dict[str, Json]
    names: dict[str, Json]
    duration_ms: int = 0
    received_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one execution ended (docs/boundaries.md, *What an answer means*).

    `error_class` is a word of `runs.core.retry.ErrorClass`, "" on success. `reference` is the target's own id of the
    effect, "" where there is none. `http_status` is 0 without an answer. For a tool that only reads, *unknown* means
    no more than *no usable answer*.
    """

    status: Status
    reference: str = ""
    result: Labelled | None = None
    error_class: str = ""
    code: str = ""
    message: str = ""
    http_status: int = 0
    retry_after: int | None = None
    duration_ms: int = 0
    result_bytes: int = 0


@dataclass(frozen=True, slots=True)
class LookedUp:
    """What the target says about our key.

    `nothing` only when every page was read whole. `found` and `duplicate` hold even when a later page failed; then
    `complete` is false and `count` a lower bound. `reference` and `result` belong to the first match. `matches` holds
    the target's own items between reading and mapping, and is empty in what an adapter returns.
    """

    status: LookUpStatus
    count: int = 0
    reference: str = ""
    references: tuple[str, ...] = ()
    result: Labelled | None = None
    complete: bool = True
    code: str = ""
    message: str = ""
    pages: int = 0
    duration_ms: int = 0
    matches: tuple[Json, ...] = field(default=(), repr=False)

    @property
    def found(self) -> bool:
        """At least one effect carries our key."""
        return self.count > 0

    def as_outcome(self) -> Outcome:
        """How the call ended, where it is found."""
        return Outcome(
            "succeeded",
            reference=self.reference,
            result=self.result,
            code=self.code,
            message=self.message,
            duration_ms=self.duration_ms,
            result_bytes=self.result.size_bytes if self.result else 0,
        )


def label(value: Json, *, source: str, cap_bytes: int) -> Labelled:
    """`value` as untrusted content of `source`, cut at `cap_bytes` of its canonical text."""
    text = canonical_bytes(value)
    if len(text) <= cap_bytes:
        return Labelled(source, value, cut=False, excerpt="", size_bytes=len(text))
    return Labelled(source, None, cut=True, excerpt=text[:cap_bytes].decode(errors="ignore"), size_bytes=len(text))


def pick(pointers: Mapping[str, str], value: Json) -> dict[str, Json]:
    """The named places of `value`. A place that is not there is left out: whether it had to be is the schema's word."""
    picked: dict[str, Json] = {}
    for name, place in pointers.items():
        try:
            picked[name] = follow(value, place)  # type: ignore[assignment]
        except KeyError:
            continue
    return picked


def reference_at(value: Json, place: str) -> str:
    """The target's id at a pointer as text; "" when it is not there, or is no id."""
    try:
        found = follow(value, place)
    except KeyError:
        return ""
    if isinstance(found, str):
        return found
    return str(found) if isinstance(found, int) and not isinstance(found, bool) else ""
