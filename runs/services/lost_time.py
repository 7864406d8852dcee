"""After a restore: what of a run may have happened in the time between the backup and its restore (docs/backup.md).

The restored history does not know of that time; only the target does. So a call with an effect, in a run of before, is
looked up by its key before it is sent for the first time, and while it waits for people. What the target shows is
recorded as having happened; what it does not show goes on as usual: an approval of before is void, people decide anew.

A call of after the restore has no such past. But the leases of records (R9) are rows too, and lost: what holds a record
may be a request of the lost time whose call is not in the backup, or stands there as one that let go of it. So nothing
starts on a record, whoever asks, before no request of that time can arrive any more; only then is its state the last.
"""

import logging
import random
from dataclasses import replace
from datetime import datetime

from django.db import transaction

from approvals.services.epoch import EpochRow, epoch_last, proposal_found
from audit.services.record import audit_record
from audit.store import clock
from runs.core import leases
from runs.core.kinds import OPEN_CALLS, CallState
from runs.core.kinds import EventKind as K
from runs.selectors.restored import LONGEST, last_arrival, quiet_at
from runs.services.dispatch import dispatch_look_up
from runs.services.outcome import Ending, dispatch_unknown_answer
from runs.services.reconcile import LEASE_MS, SLOWEST_MS
from runs.services.recording import dispatch_end_in
from runs.services.work import Gone, Work
from runs.store import claims
from runs.store.append import append, lock_run
from runs.tools.outcome import LookedUp

log = logging.getLogger(__name__)


def lost_time_pass(*, work: Work) -> Work | None:
    """A claimed *dispatch* on its way to be sent: the work to go on with, or None when there is nothing to send now.

    Costs nothing where no backup was ever restored, or where it is long ago and the run is younger. None: the target
    shows the effect and the call has succeeded; or it is too early to prove anything, or to start on its record, or the
    target does not answer, and the row was given back; or it cannot be asked at all and nobody approved the call, so it
    is unknown and an operator decides. Raises FenceLost.
    """
    restored_at = work.claim.restored_at
    if restored_at is None or work.contract.read_only:
        return work
    if not _may_have_happened(work, restored_at):
        return _when_its_record_is_quiet(work, restored_at)
    if not claims.extend(work.claim, lease_until=leases.after(work.claim.claimed_at, LEASE_MS)):
        return None
    asked_at = clock.now()
    found = dispatch_look_up(work=work, attempt=None)
    conclusive_at = _quiet_at(work, restored_at)
    if found.found:
        try:
            _adopt(work, found, epoch=epoch_last(), guarded=True)
        except Gone:
            claims.close(work.claim)
    elif found.code == "NO_LOOK_UP":
        passed = _without_look_up(work, restored_at)
        return None if passed is None else _when_its_record_is_quiet(passed, restored_at)
    elif asked_at < conclusive_at:
        _too_early(work, conclusive_at)
    elif found.status == "nothing":
        # The lease counts from the claim, and the question took its time: it counts from now for what follows.
        return replace(work, claim=replace(work.claim, claimed_at=clock.now()))
    else:
        since_ms = (asked_at - restored_at).total_seconds() * 1000
        wait = round(min(max(since_ms / 4, 1000), SLOWEST_MS) * (0.9 + random.random() / 5))  # noqa: S311
        claims.give_back(work.claim, wait_ms=wait, count_attempt=False, error=found.message)
    return None


def lost_time_look(*, work: Work) -> bool:
    """While a call waits for people: True if the target shows that it has happened, which is then recorded (S80)."""
    epoch = epoch_last()
    if epoch.number < 2 or not _may_have_happened(work, epoch.raised_at):
        return False
    found = dispatch_look_up(work=work, attempt=None)
    if not found.found:
        return False
    try:
        _adopt(work, found, epoch=epoch, guarded=False)
    except Gone:
        return False
    return True


def _may_have_happened(work: Work, restored_at: datetime) -> bool:
    harmless = work.contract.side_effect in ("read", "idempotent")
    return not harmless and work.run.created_at < restored_at


def _quiet_at(work: Work, restored_at: datetime) -> datetime:
    return quiet_at(tenant_id=work.tenant_id, contract=work.contract, resource=work.resource, restored_at=restored_at)


def _when_its_record_is_quiet(work: Work, restored_at: datetime) -> Work | None:
    """The work, once what is read of its record is the last that the lost time has made; else its row is given back."""
    now = work.claim.claimed_at
    if now >= last_arrival(restored_at, *LONGEST):
        return work
    until = _quiet_at(work, restored_at)
    if now >= until:
        return work
    _too_early(work, until)
    return None


def _too_early(work: Work, until: datetime) -> None:
    wait_ms = round((until - clock.now()).total_seconds() * 1000) + 1
    claims.give_back(work.claim, wait_ms=max(wait_ms, 0), count_attempt=False, error="too early after a restore")


def _adopt(work: Work, found: LookedUp, *, epoch: EpochRow, guarded: bool) -> None:
    """It happened in the lost time: the call ends as succeeded, with the reference that the target shows."""
    with transaction.atomic():
        loaded = lock_run(work.run.id)
        machine = work.standing(loaded, *OPEN_CALLS)
        ending = Ending.looked_up(work=work, found=found, now=clock.now())
        ending = replace(ending, body={**ending.body, "epoch": epoch.number})
        dispatch_end_in(
            loaded=loaded, work=work, machine=machine, ending=ending, outcome=found.as_outcome(), guarded=guarded
        )
        if machine.proposal_id:
            told = {"reference": found.reference, "key": work.call.key, "found_by": "look-up", "epoch": epoch.number}
            proposal_found(proposal_id=machine.proposal_id, told=told)
    log.warning("Call %s had happened before the restore (%s).", work.call.id, found.reference)


def _without_look_up(work: Work, restored_at: datetime) -> Work | None:
    """The target cannot be asked. Where it keeps our key, the same request has no second effect; what people approved
    since the restore they approved knowing of it; everything else is for an operator."""
    if work.contract.enforced_by_target:
        return work
    with transaction.atomic():
        loaded = lock_run(work.run.id)
        try:
            machine = work.standing(loaded, CallState.READY)
        except Gone:
            claims.close(work.claim)
            return None
        if machine.proposal_id is not None:
            return work
        reason = "A backup was restored, and the target cannot be asked whether this was sent in the lost time"
        sent = {
            "call_id": work.call.call_id, "dispatch_id": str(work.claim.id), "fence": work.claim.fence,
            "attempt": machine.attempt + 1, "key": work.call.key,
            "deadline": leases.request_deadline(restored_at, work.contract.timeout_ms).isoformat(),
        }  # fmt: skip
        lost = {"call_id": work.call.call_id, "dispatch_id": str(work.claim.id), "reason": reason}
        append(
            loaded,
            [(K.DISPATCH_STARTED, sent), (K.OUTCOME_UNKNOWN, lost)],
            actor=work.actor,
            guard=work.guard,
            answers={
                work.call.call_id: dispatch_unknown_answer(work=work, reason=reason, detail={"cause": "RESTORED"})
            },
        )
        audit_record(
            actor=work.actor, action="call.unknown", verdict="unknown", detail={"code": "RESTORED", "message": reason},
            **work.audit,
        )  # fmt: skip
    return None
