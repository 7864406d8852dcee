"""Trying a text on past calls, by the evaluator that judges real ones (A8). No tool is called and nothing is decided.

`runs` hands the calls in (`runs/services/replay.py`): approvals knows what they were judged by, and judges. A replay is
a row: asked for, worked on by one worker at a time, and taken up behind the last batch where one has died.
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from access.core.rights import require_admin
from access.selectors.actors import requester_facts
from approvals.core.contract_types import Contract
from approvals.core.digest import digest, snapshot_hash
from approvals.core.exposure import subjects_of
from approvals.core.policy import Policy, Request, bindings_of, evaluate
from approvals.core.policy_names import call_money, run_facts
from approvals.core.replay import STARTED, Past, Tally, tally_from
from approvals.core.replay_needs import Needs, needs_of
from approvals.core.rolling import LONGEST, Rolling
from approvals.models import PolicyDraft, PolicyReplay
from approvals.selectors.catalogue import contract_version
from approvals.selectors.judging import principal_of_requester
from approvals.selectors.policies import rules_of
from approvals.selectors.policy_look import parse_source
from approvals.selectors.replays import ReplayRow, replay_row
from approvals.signals import announce_replay
from approvals.store import replays
from approvals.store.replays import HeldThen, JudgedBy, Taken
from approvals.store.rows import active_policy_number
from audit.core.actor import Actor
from audit.core.canonical import sha256_hex
from audit.core.jsondoor import Json
from audit.core.refusal import Conflict, Invalid, NotFound, Refusal
from audit.services.record import audit_record, audit_refusals
from audit.store import clock

logger = logging.getLogger(__name__)

LONGEST_SPAN_DAYS = 366
MOST_OPEN = 3
"""So many replays of one organisation may wait or run at once: each takes a worker for a while."""


def replay_ask(*, actor: Actor, source: str, days: int = 30, draft_id: UUID | None = None) -> ReplayRow:
    """Ask for `source` to be tried on the calls of the last `days` days, beside the version in force; for admins.

    One that is open for the same draft is cancelled: its text is not wanted any more. Raises Forbidden (ROLE_MISSING),
    Invalid (POLICY_INVALID with `detail.findings`, SPAN_INVALID), NotFound for a foreign draft, and Conflict
    (REPLAYS_OPEN).
    """
    with audit_refusals(actor=actor, action="policy.replay_asked", object_type="policy", object_id=actor.tenant_id):
        require_admin(actor)
        if not 1 <= days <= LONGEST_SPAN_DAYS:
            raise Invalid(f"A replay looks back 1 to {LONGEST_SPAN_DAYS} days.", code="SPAN_INVALID")
        if draft_id is not None and not PolicyDraft.objects.filter(tenant_id=actor.tenant_id, pk=draft_id).exists():
            raise NotFound
        parse_source(source)
        now = clock.now()
        open_ = PolicyReplay.objects.filter(tenant_id=actor.tenant_id, status__in=["waiting", "running"])
        if draft_id is not None:
            before = open_.filter(draft_id=draft_id)
            before.update(status="cancelled", finished_at=now, said="Another one was asked for.")
        if open_.count() >= MOST_OPEN:
            raise Conflict(
                f"{MOST_OPEN} replays are under way here. Wait for one of them, or cancel it.", code="REPLAYS_OPEN"
            )
        row = PolicyReplay.objects.create(
            id=uuid4(),
            tenant_id=actor.tenant_id,
            draft_id=draft_id,
            source=source,
            source_digest=sha256_hex(source.encode("utf-8", "surrogatepass")),
            against_number=active_policy_number(actor.tenant_id, hold=False),
            since=now - timedelta(days=days),
            until=now,
            asked_by=actor.name,
            asked_by_id=actor.id,
            asked_at=now,
        )
        audit_record(
            actor=actor,
            action="policy.replay_asked",
            object_type="policy",
            object_id=row.pk,
            detail={"days": days, "digest": row.source_digest, "against": row.against_number},
        )
        announce_replay(row.pk)
    return replay_row(row)


def replay_cancel(*, actor: Actor, replay_id: UUID) -> ReplayRow:
    """End a replay that waits or runs; one that has ended stays as it is. For admins. Raises NotFound, Forbidden."""
    with audit_refusals(actor=actor, action="policy.replay_cancelled", object_type="policy", object_id=replay_id):
        require_admin(actor)
        mine = PolicyReplay.objects.filter(tenant_id=actor.tenant_id, pk=replay_id)
        if not mine.exists():
            raise NotFound
        open_ = mine.filter(status__in=["waiting", "running"])
        if open_.update(status="cancelled", finished_at=clock.ClearanceNow(), said=f"{actor.name} cancelled it."):
            audit_record(
                actor=actor, action="policy.replay_cancelled", object_type="policy", object_id=replay_id, detail={}
            )
        return replay_row(mine.get())


def replays_left_alone(*, limit: int = 10) -> list[UUID]:
    """Replays whose hint was lost or whose worker is gone; for the sweep."""
    return replays.left_alone(limit=limit)


def replay_begin(*, replay_id: UUID) -> "Replaying | None":
    """Take up a replay; None where there is nothing to do. One that cannot be judged at all is closed as failed."""
    taken = replays.take(replay_id)
    if taken is None:
        return None
    try:
        return Replaying(taken, rules_of(taken.tenant_id, taken.against_number), parse_source(taken.source))
    except Refusal as refusal:
        _fail(taken, refusal.message)
        return None


def _fail(taken: Taken, said: str) -> None:
    replays.keep(
        taken, judged=taken.judged, total=0, result=taken.result, after_at=taken.after_at, after_id=taken.after_id,
        status="failed", said=said,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Tool:
    """A contract with what the two policies together need of a call."""

    contract: Contract
    needs: Needs


@dataclass(slots=True)
class Replaying:
    """A replay that is being worked on: `feed` it with calls in their order (by `at`, then `id`), then `end` it."""

    taken: Taken
    active: Policy
    draft: Policy
    total: int = 0
    judged: int = 0
    tally: Tally = field(default_factory=Tally)
    _place: tuple[datetime, UUID] | None = None
    _tools: dict[tuple[str, int], _Tool | None] = field(default_factory=dict)
    _principals: dict[tuple[object, ...], dict[str, Json]] = field(default_factory=dict)
    _rolling: Rolling = field(default_factory=Rolling)

    def __post_init__(self) -> None:
        taken = self.taken
        self.judged, self.tally = taken.judged, tally_from(taken.result)
        if taken.after_at is not None and taken.after_id is not None:
            self._place = (taken.after_at, taken.after_id)

    @property
    def tenant_id(self) -> UUID:
        return self.taken.tenant_id

    @property
    def begins(self) -> datetime:
        """From when on calls are wanted: where sums of the past are asked for, they are counted from earlier calls."""
        first = self._place[0] if self._place else self.taken.since
        sums = any("exposure" in rule.when for policy in (self.active, self.draft) for rule in policy.rules)
        sums = sums or any(limit.window != "call" for limit in (*self.active.limits, *self.draft.limits))
        return first - LONGEST if sums else first

    @property
    def until(self) -> datetime:
        return self.taken.until

    @property
    def since(self) -> datetime:
        """The span that was asked for begins here; calls of before are only counted."""
        return self.taken.since

    def feed(self, calls: Sequence[Past]) -> bool:
        """Judge these, and write down how far it is. False where it was cancelled or another one does it."""
        kept = replays.judged_by([(call.run_id, call.call_id) for call in calls])
        held = replays.held_then([call.proposal_id for call in calls if call.proposal_id])
        for call in calls:
            judged = kept.get((call.run_id, call.call_id))
            self._one(call, judged, held.get(call.proposal_id) if call.proposal_id else None)
        return self._keep("running")

    def end(self) -> bool:
        """It is done. False as for `feed`."""
        return self._keep("done")

    def fail(self, said: str) -> None:
        """It cannot be brought to its end."""
        _fail(self.taken, said)

    def _keep(self, status: str) -> bool:
        at, id_ = self._place or (None, None)
        return replays.keep(
            self.taken, judged=self.judged, total=self.total, result=self.tally.as_dict(), after_at=at, after_id=id_,
            status=status,
        )  # fmt: skip

    def _one(self, call: Past, judged: JudgedBy | None, held: HeldThen | None) -> None:
        place = (call.at, call.id)
        # Seen before this replay was taken up again, or before its span: it counts for sums only.
        only_count = call.at < self.taken.since or (self._place is not None and place <= self._place)
        tool = self._tool(call.tool, call.contract_version)
        missing, target, arguments, state = "", "", {}, None
        if tool is None:
            missing = "contract"
        else:
            try:
                if digest(call.canonical) != call.digest:
                    raise ValueError
                said = json.loads(call.canonical)
                arguments, target = said["arguments"], said["target"]
            except (ValueError, KeyError, TypeError):
                missing = "damaged"
        if tool is not None and not missing:
            state, missing = _state(tool, judged, held)
        if only_count:
            if tool is not None and not missing:
                self._count(call, tool.contract, arguments, state)
            return
        self._place = place
        self.judged += 1
        if missing or tool is None:
            self.tally.leave_out(missing, call=call, target=target)
            return
        self._judge(call, tool, arguments, state, target, judged, held)
        self._count(call, tool.contract, arguments, state)

    def _judge(
        self,
        call: Past,
        tool: _Tool,
        arguments: dict[str, Json],
        state: dict[str, Json] | None,
        target: str,
        judged: JudgedBy | None,
        held: HeldThen | None,
    ) -> None:
        if judged is not None:
            principal: dict[str, Json] = dict(judged.principal)
        else:
            principal = self._principal(call)
            self.tally.as_now += 1
        exposure = {}
        if tool.needs.exposure:
            subjects = subjects_of(tool.contract, arguments=arguments, state=state, agent_id=str(call.agent_id))
            exposure = self._rolling.before(tool=call.tool, subjects=subjects, at=call.at)
        request = Request(
            tool=call.tool,
            contract=tool.contract,
            arguments=arguments,
            state=state,
            principal=principal,
            run=run_facts(
                run_id=call.run_id, title=call.run_title, agent_version=call.agent_version, reason=call.reason
            ),
            exposure=exposure,
            now=call.at,
        )
        bindings = bindings_of(request)
        self.tally.add(
            evaluate(self.active, request, bindings),
            evaluate(self.draft, request, bindings),
            call=call,
            money=call_money(tool.contract, arguments),
            rejected=held is not None and held.status == "rejected",
            target=target,
        )

    def _count(self, call: Past, contract: Contract, arguments: dict[str, Json], state: dict[str, Json] | None) -> None:
        tool = self._tools[call.tool, call.contract_version]
        if tool is None or not tool.needs.exposure or contract.read_only or call.state not in STARTED:
            return
        subjects = subjects_of(contract, arguments=arguments, state=state, agent_id=str(call.agent_id))
        self._rolling.add(tool=call.tool, subjects=subjects, at=call.at, money=call_money(contract, arguments))

    def _tool(self, name: str, number: int) -> _Tool | None:
        key = (name, number)
        if key not in self._tools:
            try:
                found = contract_version(self.tenant_id, name, number)
            except Conflict:
                found = None
            self._tools[key] = found and _Tool(
                found.contract, needs_of(self.active, found.contract) | needs_of(self.draft, found.contract)
            )
        return self._tools[key]

    def _principal(self, call: Past) -> dict[str, Json]:
        """The agent's name, version and scopes of then; the person's roles and groups of now."""
        key = (call.agent_id, call.agent_name, call.agent_version, call.acting_user_id, call.scopes)
        if key not in self._principals:
            facts = requester_facts(
                tenant_id=self.tenant_id, agent_id=call.agent_id, acting_user_id=call.acting_user_id
            )
            then = {"name": call.agent_name, "version": call.agent_version}
            facts = replace(facts, scopes=frozenset(call.scopes), agent={**facts.agent, **then})
            self._principals[key] = principal_of_requester(facts, str(self.tenant_id))
        return self._principals[key]


def _state(tool: _Tool, judged: JudgedBy | None, held: HeldThen | None) -> tuple[dict[str, Json] | None, str]:
    """What the target said that day, and what is missing of it."""
    try:
        if judged is not None:
            # Append-only and our own: it is read as it was written.
            return (None if judged.state is None else json.loads(judged.state)["state"]), ""
        if held is not None:
            if snapshot_hash(held.snapshot) != held.snapshot_hash:
                return None, "state_damaged"
            return json.loads(held.snapshot)["state"], ""
    except (ValueError, KeyError, TypeError):
        return None, "state_damaged"
    return None, "state" if tool.needs.state else ""
