"""What became of a schedule, judged from the payment server and the tables: nothing here asks the product's own words.

An effect is authorised when it was made for exactly the approved arguments, by the one dispatch that redeemed the
permit of that round, in that dispatch's time, and when nobody had lost the right or tightened the rule before it.
"""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.drills.ground import Ground
from tests.drills.people import Crowd, Lost

ON_THE_WAY = timedelta(seconds=1.5)
"""Written before its deadline, a request is read by the door of the payment server this much later at most."""
READ_BEFORE = timedelta(seconds=0.5)
"""The agent's own rights are read this long before the permit is redeemed, at most."""


@dataclass
class Figures:
    """The counts of some schedules; the first six have to be 0.

    `untrue_words`: a call says that it happened and it did not, or the other way round. `odd_answers`: something that
    the faults do not explain, a failure of ours at every attempt among them, so that nothing passes by not being tried.
    """

    duplicate_effects: int = 0
    unauthorised_effects: int = 0
    lost_decisions: int = 0
    stuck_runs: int = 0
    untrue_words: int = 0
    odd_answers: int = 0
    schedules: int = 0
    runs: int = 0
    effects: int = 0
    decisions: int = 0
    unknown_surfaced: int = 0
    ended_by_timer: int = 0
    slowest_unknown_s: float = 0.0
    slowest_recovery_s: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    changes: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    reasons: list[str] = field(default_factory=list)

    MUST_BE_ZERO = (
        "duplicate_effects",
        "unauthorised_effects",
        "lost_decisions",
        "stuck_runs",
        "untrue_words",
        "odd_answers",
    )

    @property
    def red(self) -> bool:
        """Whether a figure that has to be 0 is not."""
        return any(getattr(self, name) for name in self.MUST_BE_ZERO)

    def count(self, what: str, because: str) -> None:
        """One more of a figure that has to be 0."""
        setattr(self, what, getattr(self, what) + 1)
        self.reasons.append(f"{what.replace('_', ' ')}: {because}")

    def add(self, other: "Figures") -> None:
        """Take in another schedule's counts."""
        for name, value in vars(other).items():
            mine = getattr(self, name)
            setattr(self, name, max(mine, value) if name.startswith("slowest") else mine + value)


@dataclass(frozen=True)
class Start:
    """One `dispatch_started` of a call."""

    seq: int
    at: datetime
    deadline: datetime
    dispatch_id: str


@dataclass(frozen=True)
class CallFacts:
    """A call as its row and its run's history have it."""

    pk: Any
    run_id: Any
    call_id: str
    agent_id: str
    canonical: bytes
    digest: str
    key: str
    state: str
    proposal_id: Any
    deadline: datetime | None
    code: str
    starts: tuple[Start, ...]
    cancelled_seq: int | None
    proven_nothing: bool


def judge(ground: Ground, crowd: Crowd) -> Figures:
    """Every count of a schedule that has come to its end."""
    figures = Figures(schedules=1, runs=len(crowd.asked))
    calls = _calls(ground, crowd.world.tenant.id)
    refunds = _refunds(crowd)
    by_key = {call.key: call for call in calls}
    for key in refunds.keys() - by_key.keys():
        figures.count("unauthorised_effects", f"a refund under the key {key!r}, which no call has")
    for call in calls:
        made = refunds.get(call.key, [])
        figures.ends[f"{call.state} {call.code}".strip()] += 1
        figures.effects += len(made)
        for _ in made[1:]:
            figures.count("duplicate_effects", f"{call.call_id} was refunded {len(made)} times")
        for refund in made:
            if why := _unauthorised(ground, crowd, call, refund):
                figures.count("unauthorised_effects", f"{call.call_id}: {why}")
        for at in [at for key, at in ground.arrived if key == call.key]:
            if not any(start.at <= at <= start.deadline + ON_THE_WAY for start in call.starts):
                figures.count("unauthorised_effects", f"{call.call_id} was sent at {at:%T.%f}, in no dispatch's time")
        if call.state == "succeeded" and not made:
            figures.count("untrue_words", f"{call.call_id} reads succeeded and nothing happened")
        if made and (call.state not in ("succeeded", "unknown") or (call.state == "unknown" and call.proven_nothing)):
            figures.count("untrue_words", f"{call.call_id} reads {call.state} and was refunded")
        if not _has_ended(call):
            figures.count("stuck_runs", f"run {call.run_id} with {call.call_id}, which is {call.state}")
        if call.code == "ATTEMPTS_EXHAUSTED":
            figures.count("odd_answers", f"{call.call_id} failed on our side at every attempt")
    if not figures.effects:
        figures.count("odd_answers", "nothing was refunded at all, so nothing was tried")
    _decisions(ground, crowd, figures)
    _unknown(ground, crowd, figures)
    for sentence in crowd.wrong:
        figures.count("odd_answers", sentence)
    return figures


def open_calls(ground: Ground, tenant_id: str) -> int:
    """How many calls have not come to their end."""
    return sum(not _has_ended(call) for call in _calls(ground, tenant_id))


def _has_ended(call: CallFacts) -> bool:
    return call.state not in ("new", "waiting", "ready", "started", "unknown")


def _calls(ground: Ground, tenant_id: str) -> list[CallFacts]:
    events: dict[Any, list[tuple[int, str, dict[str, Any], datetime]]] = {}
    for run_id, *event in ground.sql(
        "SELECT e.run_id, e.seq, e.kind, e.body, e.at FROM runs_event e JOIN runs_run r ON r.id = e.run_id "
        "WHERE r.tenant_id = %s ORDER BY e.run_id, e.seq",
        [tenant_id],
    ):
        events.setdefault(run_id, []).append(tuple(event))  # type: ignore[arg-type]
    rows = ground.sql(
        "SELECT c.id, c.run_id, c.call_id, r.agent_id::text, c.canonical, c.digest, c.key, c.state, c.proposal_id, "
        "c.deadline, coalesce(c.answer->'error'->>'code', ''), "
        "coalesce(c.answer->'error'->'detail'->>'looked_up', '') = 'nothing' "
        "FROM runs_call c JOIN runs_run r ON r.id = c.run_id WHERE c.tenant_id = %s AND c.tool = 'refund_order'",
        [tenant_id],
    )
    return [
        CallFacts(
            pk, run_id, call_id, agent_id, bytes(canonical), digest, key, state, proposal_id, deadline, code,
            tuple(_start(*event) for event in events[run_id] if event[1] == "dispatch_started" and _of(event, call_id)),
            next((event[0] for event in events[run_id] if event[1] == "cancel_asked"), None), proven,
        )
        for pk, run_id, call_id, agent_id, canonical, digest, key, state, proposal_id, deadline, code, proven in rows
    ]  # fmt: skip


def _of(event: tuple[int, str, dict[str, Any], datetime], call_id: str) -> bool:
    return event[2].get("call_id") == call_id


def _start(seq: int, kind: str, body: dict[str, Any], at: datetime) -> Start:
    return Start(seq, at, datetime.fromisoformat(body["deadline"]), body["dispatch_id"])


def _refunds(crowd: Crowd) -> dict[str, list[dict[str, Any]]]:
    """What the payment server did, by key."""
    found: dict[str, list[dict[str, Any]]] = {}
    for order in crowd.orders:
        for refund in crowd.world.refunds(order):
            found.setdefault(refund["metadata"].get("clearance_key", ""), []).append(refund)
    return found


def _unauthorised(ground: Ground, crowd: Crowd, call: CallFacts, refund: dict[str, Any]) -> str:
    """Why this effect should not be there; "" when it should."""
    if hashlib.sha256(call.canonical).hexdigest() != call.digest:
        return "its bytes have another digest"
    asked = json.loads(call.canonical)["arguments"]
    charge = crowd.world.orders[asked["order_id"]]["charge"]
    if (refund["amount"], refund["charge"]) != (asked["amount"], charge):
        return f"{refund['amount']} of {refund['charge']} is not what was approved"
    permits = ground.sql(
        "SELECT t.round, t.dispatch_id::text, t.redeemed_at, p.digest, p.canonical, p.requires, p.expires_at "
        "FROM approvals_permit t JOIN approvals_proposal p ON p.id = t.proposal_id AND p.round = t.round "
        "WHERE p.id = %s AND t.status = 'redeemed'",
        [call.proposal_id],
    )
    if len(permits) != 1:
        return f"{len(permits)} permits of its proposal's round were used up"
    round_, dispatch_id, redeemed_at, digest, canonical, requires, expires_at = permits[0]
    start = next((start for start in call.starts if start.dispatch_id == dispatch_id), None)
    if start is None:
        return "the permit was redeemed for a dispatch that never started"
    if digest != call.digest or bytes(canonical) != call.canonical:
        return "the proposal was for other arguments"
    if redeemed_at >= expires_at or (call.deadline is not None and start.at >= call.deadline):
        return "its time was over"
    if call.cancelled_seq is not None and start.seq > call.cancelled_seq:
        return "its run was cancelled before it started"
    voters = {
        reviewer
        for reviewer, at in ground.sql(
            "SELECT reviewer_id::text, at FROM approvals_decision "
            "WHERE proposal_id = %s AND round = %s AND verdict = 'approve' AND digest = %s",
            [call.proposal_id, round_, call.digest],
        )
        if at <= redeemed_at
    }
    needed = max([each["count"] for each in requires] or [1])
    for lost in crowd.lost:
        if redeemed_at > lost.at:
            if why := _no_more(lost, call, asked["amount"], redeemed_at, round_):
                return why
            needed = max(needed, 2) if lost.what == "two" else needed
            voters -= {lost.what} if lost.kind.startswith("reviewer") else set()
    return "" if len(voters) >= needed else f"{len(voters)} of {needed} approvals counted when it started"


def _no_more(lost: Lost, call: CallFacts, amount: int, redeemed_at: datetime, round_: int) -> str:
    if lost.kind == "agent deactivated" and lost.what == call.agent_id and redeemed_at > lost.at + READ_BEFORE:
        return "its agent was deactivated before"
    if amount > lost.above:
        return "the policy refused it since before it started"
    if lost.what.startswith(f"{call.proposal_id} ") and round_ < int(lost.what.split()[-1]):
        return "its approval was taken back before"
    return ""


def _decisions(ground: Ground, crowd: Crowd, figures: Figures) -> None:
    tenant = crowd.world.tenant.id
    there = {
        tuple(map(str, row))
        for row in ground.sql(
            "SELECT d.proposal_id, d.round, d.reviewer_id, d.verdict FROM approvals_decision d "
            "JOIN approvals_proposal p ON p.id = d.proposal_id WHERE p.tenant_id = %s",
            [tenant],
        )
    }
    figures.decisions = len(there)
    for said in crowd.answered:
        if (said.proposal_id, str(said.round), said.reviewer_id, said.verdict) not in there:
            figures.count("lost_decisions", f"{said} was answered and is not there")
    for proposal_id, kind in ground.sql(
        "SELECT s.proposal_id, s.kind FROM approvals_resolution s JOIN approvals_proposal p ON p.id = s.proposal_id "
        "WHERE p.tenant_id = %s AND s.consumed_at IS NULL",
        [tenant],
    ):
        figures.count("lost_decisions", f"proposal {proposal_id} was {kind} and its run never took it up")


def _unknown(ground: Ground, crowd: Crowd, figures: Figures) -> None:
    for body, at in ground.sql(
        "SELECT e.body, e.at FROM runs_event e JOIN runs_run r ON r.id = e.run_id "
        "WHERE r.tenant_id = %s AND e.kind = 'outcome_unknown'",
        [crowd.world.tenant.id],
    ):
        figures.unknown_surfaced += 1
        late = ground.late_by(str(body.get("dispatch_id", "")), at)
        figures.slowest_unknown_s = max(figures.slowest_unknown_s, late or 0.0)
