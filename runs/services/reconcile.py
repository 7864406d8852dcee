"""Asking the target what became of a call whose outcome nobody knows (R7, S40, S80). Never sends it again.

A look-up that finds the effect settles the question at any time. One that finds nothing proves nothing before the old
request's deadline plus the target's settling time; after that the row ends, the call stays *unknown* and an operator
decides. While the target cannot be asked, it is asked again, ever more slowly.
"""

import logging
import random
from datetime import datetime
from uuid import UUID

from django.db import transaction

from approvals.selectors.catalogue import contract_version
from approvals.services.settling import permit_settle
from audit.core.refusal import Refusal
from audit.services.record import audit_record
from audit.store import clock
from runs.core import leases
from runs.core.answers import ended
from runs.core.kinds import CallState
from runs.core.reducer import CallMachine
from runs.models import Dispatch
from runs.selectors.history import folded
from runs.selectors.look_ups import Note
from runs.selectors.restored import LONGEST, last_deadline
from runs.services.dispatch import LOOK_UP_SECONDS, dispatch_look_up
from runs.services.outcome import Ending
from runs.services.recording import dispatch_end_in
from runs.services.work import Gone, Job, Work
from runs.store import claims, look_ups, resources
from runs.store.append import Loaded, lock_run, tell_call
from runs.store.claims import Claim
from runs.tools.outcome import LookedUp

log = logging.getLogger(__name__)

LEASE_MS = round((LOOK_UP_SECONDS + 5) * 1000)
SLOWEST_MS = 60_000


def reconcile_call(*, claim: Claim) -> None:
    """Look up the call of a claimed row and record what is found, or give the row back for later."""
    job = Job.of(claim)
    if not claims.extend(claim, lease_until=leases.after(claim.claimed_at, LEASE_MS)):
        return
    machine = folded(job.run).calls.get(job.call.call_id)
    if machine is None or machine.state is not CallState.UNKNOWN:
        claims.close(claim)
        return
    try:
        work = Work.verified(job)
    except Refusal as refusal:
        # Edited rows: the target cannot be asked by them. People look, once nothing can arrive any more.
        unasked = LookedUp("inconclusive", code=refusal.code, message=refusal.message)
        try:
            _settle(job, machine, unasked, clock.now(), again=False)
        except Gone:
            claims.close(claim)
        return
    attempt = Dispatch.objects.filter(pk=machine.dispatch_id or UUID(int=0)).first()
    asked_at = clock.now()
    found = dispatch_look_up(work=work, attempt=attempt)
    try:
        if found.found:
            _happened(work, found)
        else:
            _settle(work, machine, found, asked_at, again=found.status != "nothing" and found.code != "NO_LOOK_UP")
    except Gone:
        claims.close(claim)


def _settle(job: Job, machine: CallMachine, found: LookedUp, asked_at: datetime, *, again: bool) -> None:
    """Nothing was found. `again`: the target may still answer when it is asked later."""
    conclusive_at = _conclusive_at(job, machine)
    if asked_at < conclusive_at:
        _note(job, found, asked_at, conclusive=False)
        wait_ms = round((conclusive_at - clock.now()).total_seconds() * 1000) + 1
        claims.give_back(
            job.claim, wait_ms=max(wait_ms, 0), count_attempt=False, error="too early to prove that nothing happened"
        )
    elif again:
        _note(job, found, asked_at, conclusive=False)
        claims.give_back(job.claim, wait_ms=_pause_ms(job, asked_at), count_attempt=False, error=found.message)
    else:
        _leave_to_people(job, found, asked_at)


def _conclusive_at(job: Job, machine: CallMachine) -> datetime:
    """When a look-up that finds nothing begins to prove something: by the contract that the history names, whatever the
    call's row says now; where that one was altered, by the most patient one that is ever admitted."""
    if machine.request_deadline is None:  # cannot be: only what was started is unknown
        raise RuntimeError(f"call {job.call.call_id} is unknown and was never started")
    try:
        admitted = contract_version(job.call.tenant_id, machine.tool, machine.contract_version)
    except Refusal:
        admitted = None
    timeout_ms, settle_ms = LONGEST
    if admitted is not None:
        timeout_ms, settle_ms = admitted.contract.timeout_ms, admitted.contract.settle_after_ms
    return leases.conclusive_at(last_deadline(datetime.fromisoformat(machine.request_deadline), timeout_ms), settle_ms)


def _pause_ms(job: Job, now: datetime) -> int:
    """A quarter of the time it has been unknown for, between one second and one minute, spread by a fifth."""
    [since] = Dispatch.objects.filter(pk=job.claim.id).values_list("created_at", flat=True)
    unknown_ms = (now - since).total_seconds() * 1000
    return round(min(max(unknown_ms / 4, 1000), SLOWEST_MS) * (0.9 + random.random() / 5))  # noqa: S311


def _happened(work: Work, found: LookedUp) -> None:
    with transaction.atomic():
        loaded = lock_run(work.run.id)
        machine = work.standing(loaded, CallState.UNKNOWN)
        dispatch_end_in(
            loaded=loaded,
            work=work,
            machine=machine,
            ending=Ending.looked_up(work=work, found=found, now=clock.now()),
            outcome=found.as_outcome(),
            guarded=True,
        )


def _note(job: Job, found: LookedUp, asked_at: datetime, *, conclusive: bool) -> None:
    """Keep the answer for the operator's page."""
    said = Note(asked_at=asked_at, status=found.status, code=found.code, message=found.message, conclusive=conclusive)
    look_ups.note(job.claim.id, said)


def _leave_to_people(job: Job, found: LookedUp, asked_at: datetime) -> None:
    with transaction.atomic():
        loaded = lock_run(job.run.id)
        if claims.close(job.claim):
            reconcile_leave_in(loaded=loaded, job=job, found=found, asked_at=asked_at)


def reconcile_leave_in(*, loaded: Loaded, job: Job, found: LookedUp, asked_at: datetime | None = None) -> None:
    """The call stays unknown and an operator decides; in the caller's transaction, under the run's head. Raises Gone.

    Its resource is free again if nothing of the old request can arrive any more; else whoever settles the call frees
    it. `asked_at`: when the target was asked; None where it was not.
    """
    nothing = found.status == "nothing"
    _note(job, found, asked_at or loaded.at, conclusive=nothing)
    told = (
        "The target was asked and shows nothing under this call's key"
        if nothing
        else f"The target cannot be asked about it ({found.message.rstrip('.') or found.code})"
    )
    refusal = Refusal(
        f"Whether {job.call.tool} happened is not known. {told}. An operator decides; do not send it again under "
        "another call id.",
        code="OUTCOME_UNKNOWN",
        status=202,
        outcome="unknown",
        detail={"looked_up": found.status, "code": found.code},
    )
    machine = job.standing(loaded, CallState.UNKNOWN)
    if _conclusive_at(job, machine) <= loaded.at:
        resources.free(machine.dispatch_id)
    tell_call(loaded, job.call.call_id, ended("unknown", refusal.as_dict()))
    detail = {"looked_up": found.status, "conclusive": nothing, "code": found.code, "message": told}
    if machine.proposal_id:
        permit_settle(proposal_id=machine.proposal_id, outcome="unknown", detail=detail | {"call": str(job.call.id)})
    audit_record(
        actor=job.actor, action="call.looked_up", verdict="unknown", detail=detail,
        duration_ms=found.duration_ms, **job.audit,
    )  # fmt: skip
