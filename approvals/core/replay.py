"""A policy tried on past calls: what is judged, and what is kept of the verdicts (S72, A8).

Two policies judge the same call with the same inputs; what differs is counted by transition. Nothing here calls a tool.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from approvals.core.policy import Verdict

MOVES = (
    ("deny", "allow"),
    ("ask", "allow"),
    ("deny", "ask"),
    ("allow", "ask"),
    ("allow", "deny"),
    ("ask", "deny"),
    ("ask", "ask"),
)
"""Transitions in the order in which people look at them: what a draft lets through comes first. From ask to ask: other
people, another number of them, less time, other terms."""
EXAMPLES = 10
RULES = 40
"""So many pairs of rules are counted by name for a transition; the others together."""
STARTED = frozenset({"started", "unknown", "succeeded", "compensated"})
"""States of a call that count for exposure: something was or may have been started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A call as it was asked for. `at` is when; `state` the word for where it stands today; `scopes` those of then.
    `canonical` are its bytes, `digest` their recorded SHA-256. Of `proposal_id` None nobody was ever asked."""

    id: UUID
    run_id: UUID
    call_id: str
    at: datetime
    tool: str
    contract_version: int
    canonical: bytes
    digest: str
    agent_id: UUID
    agent_name: str
    agent_version: str
    acting_user_id: UUID | None
    scopes: tuple[str, ...]
    run_title: str
    reason: str
    state: str
    proposal_id: UUID | None


@dataclass(slots=True)
class Move:
    """What one transition has come to."""

    calls: int = 0
    rejected: int = 0
    sums: dict[str, int] = field(default_factory=dict)
    rules: dict[tuple[str, str], int] = field(default_factory=dict)
    examples: list[dict[str, Any]] = field(default_factory=list)

    def add(self, before: Verdict, after: Verdict, *, money: tuple[int | None, str], rejected: bool) -> bool:
        """Count a call; True if it is to be shown as an example."""
        self.calls += 1
        self.rejected += rejected
        amount, currency = money
        if amount is not None:
            self.sums[currency] = self.sums.get(currency, 0) + amount
        pair = (_named(before), _named(after))
        if pair not in self.rules and len(self.rules) >= RULES:
            pair = ("…", "…")
        self.rules[pair] = self.rules.get(pair, 0) + 1
        return len(self.examples) < EXAMPLES


@dataclass(slots=True)
class Tally:
    """The result so far. `same` counts verdicts that do not change, by effect; `left_out` calls that cannot be judged
    as on that day, by what is missing; `as_now` calls whose person's roles and groups are those of today."""

    same: dict[str, int] = field(default_factory=dict)
    moves: dict[tuple[str, str], Move] = field(default_factory=dict)
    left_out: dict[str, Move] = field(default_factory=dict)
    as_now: int = 0

    def add(
        self,
        before: Verdict,
        after: Verdict,
        *,
        call: Past,
        money: tuple[int | None, str],
        rejected: bool,
        target: str,
    ) -> None:
        """Count what the two policies say of one call."""
        if before.effect == after.effect and not _asks_differently(before, after):
            self.same[after.effect] = self.same.get(after.effect, 0) + 1
            return
        move = self.moves.setdefault((before.effect, after.effect), Move())
        if move.add(before, after, money=money, rejected=rejected):
            rules = {"from_rule": _named(before), "to_rule": _named(after)}
            move.examples.append(_example(call, money, target, rejected) | rules)

    def leave_out(self, missing: str, *, call: Past, target: str = "") -> None:
        """Count a call that is not judged; `missing` is a word of `MISSING`."""
        found = self.left_out.setdefault(missing, Move())
        found.calls += 1
        if len(found.examples) < EXAMPLES:
            found.examples.append(_example(call, (None, ""), target, False))

    @property
    def changed(self) -> int:
        """Calls whose verdict would be another."""
        return sum(move.calls for move in self.moves.values())

    def as_dict(self) -> dict[str, Any]:
        """JSON that `tally_from` reads."""
        ordered = [key for key in MOVES if key in self.moves]
        return {
            "same": self.same,
            "as_now": self.as_now,
            "moves": [{"from": key[0], "to": key[1], **_move_dict(self.moves[key])} for key in ordered],
            "left_out": [{"missing": missing, **_move_dict(found)} for missing, found in self.left_out.items()],
        }


MISSING = {
    "contract": "The version of the contract that the call was made for is not there.",
    "damaged": "The stored call is not the one that was recorded.",
    "state": "What the target said that day was not kept, and rules or checks ask for it.",
    "state_damaged": "What was kept of the target's state is not what was written.",
}
"""Why a call is left out, in words."""


def tally_from(stored: Mapping[str, Any]) -> Tally:
    """The tally that `Tally.as_dict` wrote; an empty one for nothing."""
    return Tally(
        same={str(effect): int(count) for effect, count in stored.get("same", {}).items()},
        as_now=int(stored.get("as_now", 0)),
        moves={(item["from"], item["to"]): _move_from(item) for item in stored.get("moves", [])},
        left_out={item["missing"]: _move_from(item) for item in stored.get("left_out", [])},
    )


def _named(verdict: Verdict) -> str:
    """The rule, or why there is none."""
    return verdict.rule_id or verdict.code


def _asks_differently(before: Verdict, after: Verdict) -> bool:
    if before.effect != "ask":
        return False
    return (set(before.approvers), before.expires_in_s, before.terms) != (
        set(after.approvers), after.expires_in_s, after.terms,
    )  # fmt: skip


def _example(call: Past, money: tuple[int | None, str], target: str, rejected: bool) -> dict[str, Any]:
    return {
        "run_id": str(call.run_id), "call_id": call.call_id, "tool": call.tool, "at": call.at.isoformat(),
        "proposal_id": str(call.proposal_id) if call.proposal_id else "", "target": target[:200],
        "amount": money[0], "currency": money[1], "state": call.state, "rejected": rejected,
    }  # fmt: skip


def _move_dict(move: Move) -> dict[str, Any]:
    rules = sorted(move.rules.items(), key=lambda item: -item[1])
    return {
        "calls": move.calls, "rejected": move.rejected, "sums": move.sums, "examples": move.examples,
        "rules": [{"from": pair[0], "to": pair[1], "calls": count} for pair, count in rules],
    }  # fmt: skip


def _move_from(stored: Mapping[str, Any]) -> Move:
    rules: Iterable[Mapping[str, Any]] = stored["rules"]
    return Move(
        calls=int(stored["calls"]),
        rejected=int(stored["rejected"]),
        sums=dict(stored["sums"]),
        rules={(item["from"], item["to"]): int(item["calls"]) for item in rules},
        examples=list(stored["examples"]),
    )
