"""The second transaction of a dispatch: what came of it, or, from a worker that has lost its claim, evidence."""

import logging
import time

from django.db import DatabaseError, InterfaceError, transaction

from approvals.services.exposure import exposure_settle
from approvals.services.settling import permit_settle
from audit.services.record import audit_record
from runs.core.kinds import CallState
from runs.core.kinds import EventKind as K
from runs.core.reducer import CallMachine
from runs.services.compensating import compensation_settle_in
from runs.services.outcome import Ending
from runs.services.work import Gone, Work
from runs.store import resources
from runs.store.append import FenceLost, Loaded, append, lock_run
from runs.store.connection import release
from runs.tools.outcome import Outcome

log = logging.getLogger(__name__)

TRIES = 5
PAUSE_S = 0.2


def dispatch_record(*, work: Work, outcome: Outcome) -> None:
    """Record `outcome` of this worker's attempt. The state moves only if the claim still holds; else it is evidence.

    A database that is away for a moment is tried again: the effect may be there already, and a receipt in hand is worth
    more than a look-up. If it stays away, the claim ends with its lease and the call becomes unknown; raises
    the DatabaseError of the last try.
    """
    for attempt in range(1, TRIES + 1):
        try:
            _record_or_keep(work, outcome)
            return
        except (DatabaseError, InterfaceError):
            if attempt == TRIES:
                log.exception(
                    "The outcome of dispatch %s could not be recorded (%s, reference %s); it will be looked up.",
                    work.claim.id, outcome.status, outcome.reference or "none",
                )  # fmt: skip
                raise
            release()
            time.sleep(PAUSE_S * attempt)


def _record_or_keep(work: Work, outcome: Outcome) -> None:
    try:
        _record(work, outcome)
    except (FenceLost, Gone):
        _keep(work, outcome)


def _record(work: Work, outcome: Outcome) -> None:
    with transaction.atomic():
        loaded = lock_run(work.run.id)
        machine = work.standing(loaded, CallState.STARTED)
        if machine.fence != work.claim.fence:
            raise Gone
        ending = Ending.of(work=work, machine=machine, outcome=outcome, now=loaded.at, stopping=loaded.state.stop_asked)
        dispatch_end_in(loaded=loaded, work=work, machine=machine, ending=ending, outcome=outcome, guarded=True)


def dispatch_end_in(
    *, loaded: Loaded, work: Work, machine: CallMachine, ending: Ending, outcome: Outcome, guarded: bool
) -> None:
    """Write an ending in the caller's transaction, under the run's head.

    `guarded=False`: said by the sweep of an attempt whose lease is over. Raises FenceLost.
    """
    appended = append(
        loaded,
        [(ending.kind, dict(ending.body))],
        actor=work.actor,
        guard=work.guard if guarded else None,
        answers={work.call.call_id: ending.answer} if ending.answer else None,
    )
    if machine.proposal_id:
        permit_settle(proposal_id=machine.proposal_id, outcome=ending.settled, detail=_told(ending, outcome, work))
    if outcome.status != "unknown":  # what is sent again though it may have happened stays counted
        exposure_settle(tenant_id=work.tenant_id, key=work.call.key, settled=ending.settled)
    if ending.frees:
        resources.free(machine.dispatch_id)
    if machine.compensates and ending.settled == "succeeded":
        compensation_settle_in(loaded=appended.loaded, actor=work.actor, call_id=work.call.call_id)
    audit_record(
        actor=work.actor,
        action=ending.action,
        verdict=ending.verdict,
        detail={
            "fence": machine.fence,
            "attempt": machine.attempt,
            "key": work.call.key,
            "reference": outcome.reference,
            "code": outcome.code,
            "message": outcome.message,
            "http_status": outcome.http_status,
        },
        result_bytes=outcome.result_bytes,
        duration_ms=outcome.duration_ms,
        **work.audit,
    )


def _told(ending: Ending, outcome: Outcome, work: Work) -> dict[str, object]:
    """What the proposal's page shows of it."""
    told: dict[str, object] = {
        "reference": outcome.reference,
        "key": work.call.key,
        "duration_ms": outcome.duration_ms,
        "code": outcome.code,
        "message": outcome.message,
    }
    if ending.kind in (K.OUTCOME_RECONCILED, K.OUTCOME_UNKNOWN):
        told["call"] = str(work.call.id)
    if ending.kind is K.OUTCOME_RECONCILED:
        told["found_by"] = "look-up"
    if ending.kind is K.DISPATCH_FAILED:
        told["retry_at"] = ending.body.get("retry_at")
    return told


def _keep(work: Work, outcome: Outcome) -> None:
    """The lease was over: whatever this worker brings moves nothing, and is kept (R2, S37)."""
    with transaction.atomic():
        loaded = lock_run(work.run.id)
        late = {
            "call_id": work.call.call_id,
            "fence": work.claim.fence,
            "outcome": outcome.status,
            "reference": outcome.reference or None,
            "code": outcome.code,
        }
        append(loaded, [(K.LATE_RESULT_KEPT, late)], actor=work.actor)
        audit_record(
            actor=work.actor,
            action="call.late_result",
            verdict="duplicate" if outcome.status == "succeeded" else "unknown",
            detail={"fence": work.claim.fence, "outcome": outcome.status, "reference": outcome.reference},
            result_bytes=outcome.result_bytes,
            duration_ms=outcome.duration_ms,
            **work.audit,
        )
    log.warning("Dispatch %s answered after its lease was over (%s); kept as evidence.", work.claim.id, outcome.status)
