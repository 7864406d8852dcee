"""The parts of a policy document beside its rules: who must approve, freezes, limits, and notes of advisory rules."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from approvals.core.matched import Match
from approvals.core.terms import Approver

type Effect = Literal["allow", "ask", "deny"]
type Level = Literal["absolute", "overridable", "advisory"]
type Per = Literal["customer", "agent", "tool"]
type Window = Literal["call", "24h", "30d"]


@dataclass(frozen=True, slots=True)
class Freeze:
    """From `start` until before `end` the named tools are refused; "*" is every tool that does not only read."""

    id: str
    start: datetime
    end: datetime
    tools: tuple[str, ...]
    message: str


@dataclass(frozen=True, slots=True)
class Limit:
    """What calls of one tool may come to, by themselves or together over a window.

    `amount` has (currency, minor units); a currency that it does not name has the limit nothing. `calls` counts this
    call too. Over it the call is refused, or held for `approvers`.
    """

    id: str
    tool: str
    per: Per
    window: Window
    amount: tuple[tuple[str, int], ...]
    calls: int | None
    over: Literal["deny", "ask"]
    approvers: tuple[Approver, ...]
    message: str


@dataclass(frozen=True, slots=True)
class Note:
    """What an advisory rule that matched has to say beside the verdict."""

    rule_id: str
    message: str
    matched: tuple[Match, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """JSON for a stored verdict."""
        return {
            "rule_id": self.rule_id,
            "message": self.message,
            "matched": [match.as_dict() for match in self.matched],
        }


def approvers_of(given: dict[str, Any]) -> tuple[Approver, ...]:
    """Who a rule, a tier or a limit names."""
    return tuple(Approver(item["group"], item["count"]) for item in given.get("approvers", []))


def freeze_of(given: dict[str, Any]) -> Freeze:
    """A freeze of a document of the right shape. Raises ValueError for a time that is none or has no zone."""
    start, end = moment(given["from"]), moment(given["to"])
    return Freeze(given["id"], start, end, tuple(given["tools"]), given.get("message", ""))


def limit_of(given: dict[str, Any]) -> Limit:
    """A limit of a document of the right shape."""
    return Limit(
        id=given["id"],
        tool=given["tool"],
        per=given.get("per", "tool"),
        window=given["window"],
        amount=tuple(sorted(given.get("amount", {}).items())),
        calls=given.get("calls"),
        over=given["over"],
        approvers=approvers_of(given),
        message=given.get("message", ""),
    )


def moment(text: str) -> datetime:
    """A time with its zone, such as 2026-12-24T18:00:00+11:00. Raises ValueError."""
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(f"{text} has no time zone")
    return found
