"""The target's states that are kept: with proposals what a worker read last of each, with judgements what a call was
first judged on, for whoever looks at a past call."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from approvals.core.digest import parse_snapshot
from approvals.models import Judgement, Proposal
from approvals.selectors.standing import EXECUTED
from audit.core.refusal import Conflict


def states_of(
    tenant_id: UUID | str, proposal_ids: Iterable[UUID]
) -> Mapping[UUID, tuple[dict[str, Any] | None, datetime]]:
    """(state, when it was read) by proposal; the state None for a tool that reads none. One whose bytes are not what
    was written is left out."""
    rows = Proposal.objects.filter(tenant_id=tenant_id, pk__in=list(proposal_ids))
    found = {}
    columns = ("id", "snapshot", "snapshot_at", "observed", "observed_at")
    for id_, snapshot, at, observed, observed_at in rows.values_list(*columns):
        # Read anew by a worker since somebody looked at the proposal.
        data, read_at = (snapshot, at) if observed is None else (observed, observed_at)
        try:
            found[id_] = (parse_snapshot(bytes(data)), read_at)
        except Conflict:
            continue
    return found


@dataclass(frozen=True, slots=True)
class JudgedOn:
    """What a call was first judged on and what came of it. `state` None: the tool reads none, or the stored bytes are
    not what was written, which `damaged` says."""

    state: dict[str, Any] | None
    at: datetime
    effect: str
    code: str
    policy_number: int
    damaged: bool = False


def judged_on(tenant_id: UUID | str, calls: Collection[tuple[UUID, str]]) -> Mapping[tuple[UUID, str], JudgedOn]:
    """By (run, call id), of those whose judgement is kept. Of a call that was refused by its own checks, or by the
    policy, nothing else holds the state."""
    runs, wanted = {run for run, _ in calls}, set(calls)
    rows = Judgement.objects.filter(tenant_id=tenant_id, run_id__in=runs, call_id__in={call for _, call in calls})
    found = {}
    for row in rows:
        if (row.run_id, row.call_id) in wanted:
            found[row.run_id, row.call_id] = _judged(row)
    return found


def _judged(row: Judgement) -> JudgedOn:
    state, damaged = None, False
    try:
        state = None if row.state is None else parse_snapshot(bytes(row.state))
    except Conflict:
        damaged = True
    return JudgedOn(state, row.at, row.effect, row.code, row.policy_number, damaged)


def executed_before(tenant_id: UUID | str, digest: str) -> tuple[UUID, str, datetime] | None:
    """(proposal, outcome, when it was asked) of the newest proposal with this digest whose call was started."""
    found = Proposal.objects.filter(tenant_id=tenant_id, digest=digest, outcome__in=EXECUTED).order_by("-created_at")
    return found.values_list("id", "outcome", "created_at").first()
