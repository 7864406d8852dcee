"""What a lost hint, a dead worker or a passed deadline left behind, found and finished (data rule 5, R7).

Each chore is a function of its own that may be called at any time, by any number of sweeps: it reads without locks and
then acts on each row under the run's head, only if the row is still as it was read (S38). `manage.py sweep` calls them
every second; one that fails is told in the log and does not stop the others.
"""

import logging
from uuid import UUID

from django.db import transaction

from approvals.services.proposal import ToRefresh, proposal_observe, proposals_to_refresh
from audit.core.actor import Actor
from audit.core.refusal import Refusal
from audit.store import clock
from runs.models import Call
from runs.services.asking import questions_late
from runs.services.dispatch import dispatch_read_state
from runs.services.exhausted import dispatch_exhausted
from runs.services.lost import dispatch_lost_in
from runs.services.lost_time import lost_time_look
from runs.services.patience import Patience
from runs.services.resolution import resolutions_late
from runs.services.wake import run_wake
from runs.services.work import Job, Work
from runs.signals import work_waits
from runs.store import claims
from runs.store.append import HeadBusy, lock_run
from runs.store.claims import Expired, system_actor
from runs.store.connection import release_all

log = logging.getLogger(__name__)
_damaged: Patience[UUID] = Patience()

HINT_AFTER_S = 0.75
"""A row that has been ready for longer has lost its hint: workers are told again."""
DECIDED_AFTER_S = 0.3
"""A decision that nobody has taken up for longer has lost its hint."""
WORK_AFTER_S = 3.0
"""A row that has been ready for longer finds no worker: the sweep does it."""
BATCH = 200


def sweep_actor() -> Actor:
    """The sweep itself, where it acts for no tenant."""
    return system_actor("")


def sweep_expired_leases(*, limit: int = BATCH) -> int:
    """Take rows away from workers that have stopped answering; how many.

    *Claimed* becomes ready again, or, its attempts used up, ends the call (S35). *Started* becomes unknown and is
    looked up, never sent again (R7).
    """
    taken = 0
    for row in claims.expired(limit=limit, without=_damaged.left_alone()):
        try:
            taken += _take_over(row)
        except HeadBusy:
            continue  # found again in a second
        except Exception:
            pause_s = _damaged.failed(row.id)
            log.exception(
                "The lease of row %s of run %s is over and could not be taken over; tried again in %d s.",
                row.id, row.run_id, pause_s,
            )  # fmt: skip
        else:
            _damaged.settled(row.id)
    return taken


def sweep_ready(*, older_than_s: float = HINT_AFTER_S, limit: int = BATCH) -> list[UUID]:
    """Tell workers again of runs whose rows wait. The runs that the caller has to work on itself: those that nobody
    could be told of, and those that wait though they were told."""
    mine = []
    for waiting in claims.waiting(older_than_s=older_than_s, limit=limit):
        answers = work_waits.send_robust(sender=None, run_id=waiting.run_id)
        told = any(answer is True for _, answer in answers)
        if waiting.age_s > WORK_AFTER_S or not told:
            mine.append(waiting.run_id)
    return mine


def sweep_decided(*, older_than_s: float = DECIDED_AFTER_S, limit: int = BATCH) -> list[UUID]:
    """Runs with decisions, or with questions to their agents, that nobody has taken up: their hint was lost, so the
    caller works on them itself (S36)."""
    decided = resolutions_late(limit=limit, older_than_s=older_than_s)
    asked = questions_late(limit=limit, older_than_s=older_than_s)
    return list(dict.fromkeys([*decided, *asked]))


def sweep_work(*, run_id: UUID) -> int:
    """Do a run's ready rows in this process."""
    return run_wake(run_id=run_id)


def sweep_refresh(*, wish: ToRefresh) -> bool:
    """Read the target's state for a proposal that somebody is looking at. False when it could not be read."""
    try:
        call = Call.objects.select_related("run").filter(run_id=wish.run_id, call_id=wish.call_id).first()
        if call is None:
            return False
        work = Work.verified(Job.looking_at(call))
        if lost_time_look(work=work):
            return True
        observed = dispatch_read_state(work=work)
    except Refusal as refusal:
        proposal_observe(proposal_id=wish.proposal_id, state=None, read_at=clock.now())
        log.info("The state for proposal %s could not be read: %s", wish.proposal_id, refusal)
        return False
    else:
        proposal_observe(proposal_id=wish.proposal_id, state=observed.state, read_at=observed.read_at)
        return True
    finally:
        release_all()


def sweep_wishes(*, limit: int = 50) -> list[ToRefresh]:
    """Proposals whose state somebody wants to see anew."""
    return proposals_to_refresh(limit=limit)


def _take_over(row: Expired) -> bool:
    with transaction.atomic():
        loaded = lock_run(row.run_id, wait=False)
        job = Job.of(row.claim())
        if row.status == "claimed":
            if not claims.take_from_dead_worker(row):
                return False
            if row.exhausted:
                dispatch_exhausted(loaded=loaded, job=job)
            return True
        if not claims.is_still_expired(row):
            return False
        dispatch_lost_in(loaded=loaded, row=row)
    return True
