"""An attempt whose worker will not be heard of again: its outcome is unknown; it is looked up, never repeated (R7)."""

from audit.core.refusal import Refusal
from audit.store import clock
from runs.core.kinds import CallState
from runs.core.kinds import EventKind as K
from runs.core.retry import ErrorClass
from runs.services.outcome import Ending
from runs.services.recording import dispatch_end_in
from runs.services.work import Job, Work
from runs.store.append import Loaded, append
from runs.store.claims import Expired
from runs.tools.outcome import Outcome


def dispatch_lost_in(
    *,
    loaded: Loaded,
    row: Expired,
    code: str = "LEASE_ENDED",
    message: str = "The worker that sent it stopped answering",
) -> None:
    """In the caller's transaction, under the run's head, for a row that is still *started*. Raises Gone."""
    job = Job.of(row.claim())
    machine = job.standing(loaded, CallState.STARTED)
    lost = Outcome("unknown", error_class=ErrorClass.LEASE_ENDED, code=code, message=message)
    try:
        work = Work.verified(job)
    except Refusal:
        unknown = {"call_id": job.call.call_id, "dispatch_id": str(row.id), "reason": lost.message}
        append(loaded, [(K.OUTCOME_UNKNOWN, unknown)], actor=job.actor)
        return
    ending = Ending.of(work=work, machine=machine, outcome=lost, now=clock.now(), stopping=loaded.state.stop_asked)
    dispatch_end_in(loaded=loaded, work=work, machine=machine, ending=ending, outcome=lost, guarded=False)
