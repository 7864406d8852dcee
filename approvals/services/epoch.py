"""A restored backup begins a new epoch: no approval of before is executed without being given anew.

`runs` calls this in the transaction in which it also gives up what was under way; see docs/backup.md for what a restore
means and how it is noticed.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Count, F

from approvals.models import Permit, Proposal
from approvals.store import epochs, rounds
from approvals.store.epochs import EpochRow
from approvals.store.rounds import Because
from approvals.store.rows import change, lock_proposal
from audit.core.actor import SYSTEM
from audit.core.redact import redact_secrets
from audit.store import clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """A new epoch: its number, when, and how many unused permits of each tenant it made void."""

    number: int
    raised_at: datetime
    void: dict[UUID, int]


def epoch_last() -> EpochRow:
    """The newest epoch, and whether it is of this very database."""
    return epochs.last_epoch()


def epoch_raise(*, because: str, always: bool, not_before: datetime | None = None) -> Raised | None:
    """Begin the next epoch in the caller's transaction: every unused permit is void, every open question is looked at.

    None where this database is where its epoch was raised, unless `always`. The proposals stay *granted*, with a permit
    that is void: at its dispatch the call is looked up, and asked anew if it did not happen. `not_before`: a time that
    the epoch must not lie before (the newest one in the data; the clock of another machine may be behind).
    """
    if not connection.in_atomic_block:
        raise RuntimeError("an epoch is raised in the transaction that gives up what was under way")
    epochs.lock_epochs()
    last = epochs.last_epoch()
    if last.here and not always:
        return None
    now = clock.now()
    raised_at = max(now, not_before) if not_before else now
    epochs.add_epoch(number=last.number + 1, raised_at=raised_at, because=because)
    unused = Permit.objects.filter(status="ready")
    counted = unused.values_list("proposal__tenant_id").annotate(count=Count("id"))
    void = dict(counted.values_list("proposal__tenant_id", "count"))
    proposals = list(unused.values_list("proposal_id", flat=True))
    unused.update(status="void", void_because=rounds.RESTORED.message)
    Proposal.objects.filter(pk__in=proposals).update(version=F("version") + 1)
    # Whether the call happened in the time that the backup does not know of is asked of the target now, so that people
    # do not decide about something that has happened (S80).
    Proposal.objects.filter(status="pending").update(refresh_asked_at=clock.ClearanceNow())
    return Raised(number=last.number + 1, raised_at=raised_at, void=void)


def proposal_found(*, proposal_id: UUID | str, told: dict[str, Any]) -> None:
    """The target shows that the call happened in the time that the restored backup does not know of.

    In the run's transaction, which has recorded it already. A pending proposal is closed: there is nothing to decide
    any more. Whatever its status, its outcome is that the call succeeded.
    """
    proposal = lock_proposal(UUID(str(proposal_id)))
    if proposal is None:
        return
    now = clock.now()
    if proposal.status == "pending":
        because = Because(
            code="ALREADY_HAPPENED",
            message="It had happened before a backup of the database was restored: the target shows it under this "
            "call's key. It is not executed again.",
        )
        rounds.close(proposal, "refused", actor=SYSTEM("worker", str(proposal.tenant_id)), now=now, because=because)
    detail = {**(proposal.outcome_detail or {}), **redact_secrets(told)}  # type: ignore[dict-item]
    change(proposal, outcome="succeeded", outcome_at=now, outcome_detail=detail)
