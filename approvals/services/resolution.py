"""The outbox of decided proposals: `runs` consumes a row in its own transaction, under the run's head (data rule 5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from approvals.models import Resolution
from audit.store import clock


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionRow:
    """What became of a round. `kind` is granted, rejected, expired, withdrawn, superseded, cancelled or refused; `by`
    has `name` ("" where nobody did it) and `reason`, and `id` of a person who decided."""

    id: int
    proposal_id: UUID
    run_id: UUID
    call_id: str
    round: int
    kind: str
    by: Mapping[str, Any]


def resolutions_open(*, limit: int = 100, run_id: UUID | None = None, older_than_s: float = 0) -> list[ResolutionRow]:
    """Rows that nobody has consumed, oldest first; of one run only if `run_id` is given.

    `older_than_s`: only those that were written longer ago, by the database's clock; their hint was lost.
    """
    rows = Resolution.objects.filter(consumed_at=None).select_related("proposal").order_by("id")
    if older_than_s:
        rows = rows.filter(at__lte=clock.ClearanceNow() - timedelta(seconds=older_than_s))
    if run_id is not None:
        rows = rows.filter(proposal__run_id=run_id)
    return [_row(row) for row in rows.defer("proposal__canonical", "proposal__given", "proposal__snapshot")[:limit]]


def resolution_consume(*, resolution_id: int) -> ResolutionRow | None:
    """Take the row for the caller's transaction; None if somebody else did.

    A conditional UPDATE: of any number who find the same row one gets it, and it is open again if that one rolls back.
    What was written last counts: a grant that was withdrawn before it was taken up comes back as withdrawn.
    """
    taken = Resolution.objects.filter(pk=resolution_id, consumed_at=None).update(consumed_at=clock.ClearanceNow())
    if taken != 1:
        return None
    return _row(Resolution.objects.select_related("proposal").get(pk=resolution_id))


def _row(row: Resolution) -> ResolutionRow:
    return ResolutionRow(
        id=row.pk,
        proposal_id=row.proposal_id,
        run_id=row.proposal.run_id,
        call_id=row.proposal.call_id,
        round=row.round,
        kind=row.kind,
        by=row.by,
    )
