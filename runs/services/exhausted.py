"""A row that every one of its workers failed at: the call ends, or is left to people, and nobody begins again (S35)."""

import logging

from audit.core.refusal import Refusal
from runs.services.reconcile import reconcile_leave_in
from runs.services.refusing import dispatch_refuse_in
from runs.services.work import Gone, Job, Work
from runs.store.append import Loaded
from runs.tools.outcome import LookedUp

log = logging.getLogger(__name__)


def dispatch_exhausted(*, loaded: Loaded, job: Job) -> None:
    """In the caller's transaction, under the run's head, after the row was marked dead."""
    attempts = job.claim.attempts
    log.error("Row %s (%s) failed %d times and is not tried again.", job.claim.id, job.claim.kind, attempts)
    try:
        if job.claim.kind == "look_up":
            message = f"each of {attempts} look-ups failed on our side"
            reconcile_leave_in(
                loaded=loaded, job=job, found=LookedUp("inconclusive", code="ATTEMPTS_EXHAUSTED", message=message)
            )
        else:
            dispatch_refuse_in(loaded=loaded, job=_verified(job), refusal=_refusal(attempts), guarded=False)
    except Gone:
        log.info("Call %s had ended before its attempts were used up.", job.call.call_id)


def _verified(job: Job) -> Job:
    """With its contract, where the stored call is sound: then what may have happened is looked up, not refused."""
    try:
        return Work.verified(job)
    except Refusal:
        return job


def _refusal(attempts: int) -> Refusal:
    return Refusal(
        f"Our side failed {attempts} times with this call before it was sent. Nothing was done; tell an operator.",
        code="ATTEMPTS_EXHAUSTED",
        status=500,
    )
