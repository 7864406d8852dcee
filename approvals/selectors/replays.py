"""Replays as pages and the command show them: how far, what changed, and whether it still answers the question."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from approvals.core.money import money_text
from approvals.core.replay import MISSING
from approvals.models import PolicyDraft, PolicyHead, PolicyReplay
from approvals.selectors.policy_drafts import require_policy_reader
from audit.core.actor import Actor
from audit.core.canonical import sha256_hex

WORDS = {"allow": "allow", "ask": "ask", "deny": "deny"}
LOOSER = frozenset({("deny", "allow"), ("ask", "allow"), ("deny", "ask")})


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleRow:
    """A call that would be judged differently, or that is left out. `money` is "" where it carries none."""

    run_id: UUID
    call_id: str
    proposal_id: UUID | None
    tool: str
    target: str
    money: str
    at: datetime
    state: str
    rejected: bool
    from_rule: str
    to_rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRow:
    """Calls that would go from one effect to another. `sums` in words, one a currency; `rules` are (rule today, rule
    of the draft, calls)."""

    before: str
    after: str
    looser: bool
    calls: int
    sums: tuple[str, ...]
    rejected: int
    rules: tuple[tuple[str, str, int], ...]
    examples: tuple[ExampleRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Calls that cannot be judged as on their day."""

    why: str
    calls: int
    examples: tuple[ExampleRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRow:
    """A replay. `status` is waiting, running, done, cancelled or failed; `stale` a sentence, "" where it answers for
    the version in force and the draft as they are now. `as_now`: calls whose person's roles and groups are today's."""

    id: UUID
    draft_id: UUID | None
    status: str
    said: str
    stale: str
    against_number: int
    source_digest: str
    since: datetime
    until: datetime
    asked_by: str
    asked_at: datetime
    finished_at: datetime | None
    total: int
    judged: int
    same: int
    as_now: int
    moves: tuple[MoveRow, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def open(self) -> bool:
        """Whether there is something to wait for."""
        return self.status in ("waiting", "running")

    @property
    def percent(self) -> int:
        """How far it is; 100 only once it is done."""
        if self.status == "done":
            return 100
        return min(self.judged * 100 // self.total, 99) if self.total else 0

    @property
    def changed(self) -> int:
        """Calls whose verdict would be another one."""
        return sum(move.calls for move in self.moves)

    @property
    def days(self) -> int:
        """The length of the span."""
        return (self.until - self.since).days


def replay_get(actor: Actor, replay_id: UUID) -> ReplayRow | None:
    """A replay of the actor's organisation; None for an unknown or foreign id. For admins and auditors."""
    require_policy_reader(actor)
    row = PolicyReplay.objects.filter(tenant_id=actor.tenant_id, pk=replay_id).first()
    return None if row is None else replay_row(row)


def replay_latest(actor: Actor, draft_id: UUID) -> ReplayRow | None:
    """The newest replay of a draft; None if there was none. Raises Forbidden unless an admin or an auditor."""
    require_policy_reader(actor)
    mine = PolicyReplay.objects.filter(tenant_id=actor.tenant_id, draft_id=draft_id)
    row = mine.order_by("-asked_at").first()
    return None if row is None else replay_row(row)


def replay_row(row: PolicyReplay) -> ReplayRow:
    """The row as pages know it."""
    result: Mapping[str, Any] = row.result
    return ReplayRow(
        id=row.pk,
        draft_id=row.draft_id,
        status=row.status,
        said=row.said,
        stale=_stale(row),
        against_number=row.against_number,
        source_digest=row.source_digest,
        since=row.since,
        until=row.until,
        asked_by=row.asked_by,
        asked_at=row.asked_at,
        finished_at=row.finished_at,
        total=row.total,
        judged=row.judged,
        same=sum(result.get("same", {}).values()),
        as_now=int(result.get("as_now", 0)),
        moves=tuple(_move(item) for item in result.get("moves", [])),
        left_out=tuple(_left_out(item) for item in result.get("left_out", [])),
    )


def _stale(row: PolicyReplay) -> str:
    active = PolicyHead.objects.filter(tenant_id=row.tenant_id).values_list("active_number", flat=True).first() or 0
    if active != row.against_number:
        return f"Version {active} is in force since; this was compared with version {row.against_number}."
    if row.draft_id is None:
        return ""
    source = PolicyDraft.objects.filter(pk=row.draft_id).values_list("source", flat=True).first()
    if source is None or sha256_hex(source.encode("utf-8", "surrogatepass")) != row.source_digest:
        return "The draft was changed since; this is about its text of before."
    return ""


def _move(item: Mapping[str, Any]) -> MoveRow:
    pair = (item["from"], item["to"])
    return MoveRow(
        before=WORDS[pair[0]],
        after=WORDS[pair[1]],
        looser=pair in LOOSER,
        calls=item["calls"],
        sums=tuple(money_text(amount, currency) for currency, amount in sorted(item["sums"].items())),
        rejected=item["rejected"],
        rules=tuple((rule["from"], rule["to"], rule["calls"]) for rule in item["rules"]),
        examples=tuple(_example(example) for example in item["examples"]),
    )


def _left_out(item: Mapping[str, Any]) -> LeftOut:
    examples = tuple(_example(example) for example in item["examples"])
    return LeftOut(why=MISSING[item["missing"]], calls=item["calls"], examples=examples)


def _example(item: Mapping[str, Any]) -> ExampleRow:
    amount = item["amount"]
    return ExampleRow(
        run_id=UUID(item["run_id"]),
        call_id=item["call_id"],
        proposal_id=UUID(item["proposal_id"]) if item["proposal_id"] else None,
        tool=item["tool"],
        target=item["target"],
        money="" if amount is None else money_text(amount, item["currency"]),
        at=datetime.fromisoformat(item["at"]),
        state=item["state"],
        rejected=item["rejected"],
        from_rule=item.get("from_rule", ""),
        to_rule=item.get("to_rule", ""),
    )
