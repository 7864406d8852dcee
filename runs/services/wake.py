"""A worker's turn at a run: take up what was decided, do what is ready, until the run waits (data rule 5)."""

import logging
from uuid import UUID

from django.db import transaction

from runs.core.kinds import EventKind as K
from runs.core.reducer import IllegalTransition
from runs.services.evaluate import evaluate_call
from runs.services.exhausted import dispatch_exhausted
from runs.services.reconcile import reconcile_call
from runs.services.resolution import resolutions_take_up
from runs.services.sending import dispatch_call
from runs.services.work import Job
from runs.store import claims, draining
from runs.store.append import FenceLost, append, lock_run
from runs.store.claims import Claim
from runs.store.connection import release_all

log = logging.getLogger(__name__)

TURN = 200
"""Rows a worker does in one turn; a run with more gets another turn, so that it cannot keep a worker for ever."""
FAULT_PAUSE_MS = 2000


def run_wake(*, run_id: UUID) -> int:
    """Fold a run until it waits: consume its resolutions, claim and do its ready rows. How many rows were done.

    Any number of workers may do this for one run at once: each row has one holder, each event one sequence. In a
    process that is about to end nothing more is claimed (services/drain.py).
    """
    done = 0
    with draining.turn():
        try:
            while done < TURN and not draining.asked():
                resolutions_take_up(run_id=run_id)
                claim = claims.claim_next(worker=claims.boot_id(), run_id=run_id)
                if claim is None:
                    break
                if draining.asked():
                    # Claimed at the very moment: what was given back for this process did not hold it yet.
                    claims.give_back(claim, wait_ms=0, count_attempt=False)
                    break
                wake_claimed(claim=claim)
                done += 1
        finally:
            release_all()
    return done


def wake_claimed(*, claim: Claim) -> None:
    """Do one claimed row. A fault of ours gives it back with the attempt counted; at the limit the call ends."""
    try:
        if claim.kind == "evaluate":
            evaluate_call(claim=claim)
        elif claim.kind == "dispatch":
            dispatch_call(claim=claim)
        elif claim.kind == "look_up":
            reconcile_call(claim=claim)
        else:
            _timer_due(claim)
    except FenceLost:
        log.info("Row %s (%s) was taken over by another worker.", claim.id, claim.kind)
    except Exception as error:
        log.exception("Row %s (%s) failed.", claim.id, claim.kind)
        _fault(claim, f"{type(error).__name__}: {error}")


def _fault(claim: Claim, error: str) -> None:
    """Neither call does anything to a row that has started: its outcome is open, and its lease ends it."""
    if claim.kind == "timer" or claim.attempts < claim.max_attempts:
        claims.give_back(claim, wait_ms=FAULT_PAUSE_MS * claim.attempts, count_attempt=True, error=error)
        return
    with transaction.atomic():
        loaded = lock_run(claim.run_id)
        if claims.close(claim, dead=True, error=error):
            dispatch_exhausted(loaded=loaded, job=Job.of(claim))


def _timer_due(claim: Claim) -> None:
    job = Job.of(claim)
    with transaction.atomic():
        loaded = lock_run(claim.run_id)
        try:
            append(loaded, [(K.TIMER_DUE, {"call_id": job.call.call_id})], actor=job.actor, guard=job.guard)
        except IllegalTransition:
            log.info("The timer of call %s found nothing to wake.", job.call.call_id)
        claims.close(claim)
