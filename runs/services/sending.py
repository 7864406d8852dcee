"""One claimed dispatch, from the last re-check to the recorded outcome.

    read the target's state                          no lock, no transaction
    one transaction: lock the head, redeem the permit or judge again, lease the resource, record the intent
    arm the kernel timer, look at deadline and fence once more, send             no transaction
    one transaction: the outcome, the answer, the permit's settling, the audit entry

A crash between the two transactions leaves a started row without an outcome; the sweep then makes it *unknown* and it
is looked up, never sent again (R7). What this does not prevent stands in architecture.md under the guarantees.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from approvals.services.exposure import exposure_count
from approvals.services.judge import call_judge
from approvals.services.permit import Redeemed, permit_redeem
from approvals.services.permit import Refused as PermitRefused
from audit.core.refusal import Refusal, Unavailable
from audit.services.record import audit_record
from audit.store import clock
from runs.core import leases
from runs.core.kinds import CallState
from runs.core.kinds import EventKind as K
from runs.core.reducer import CallMachine
from runs.services.dispatch import Observed, dispatch_held_in, dispatch_hold, dispatch_send
from runs.services.frozen import dispatch_frozen, dispatch_wait_frozen
from runs.services.in_doubt import dispatch_in_doubt_in
from runs.services.lost_time import lost_time_pass
from runs.services.observing import dispatch_observe
from runs.services.recording import dispatch_record
from runs.services.refusing import dispatch_refuse, dispatch_refuse_in, dispatch_try_again
from runs.services.work import Gone, Job, Work
from runs.store import claims, resources, stops
from runs.store.append import FenceLost, Loaded, append, lock_run
from runs.store.claims import Claim

LEASE_MARGIN_MS = 1000


class _Stale(Exception):
    """The target's state has grown too old while we waited for a lock. Rolls back; it is read again."""


class _Stopped(Exception):
    """People have stopped what this call belongs to. Rolls back; it waits until they lift it."""


class _Frozen(Exception):
    """A freeze has begun since the look before. Rolls back: the permit stays ready, the call waits until it is over."""


class _Busy(Exception):
    """Another dispatch holds the resource, or held it since the claim. Rolls back: the permit stays ready."""


def dispatch_call(*, claim: Claim) -> None:
    """Carry out one claimed dispatch row to its end, or give it back for later.

    Raises FenceLost when it was taken over, and what nobody foresaw: the claim then ends with its lease.
    """
    job = Job.of(claim)
    try:
        work = Work.verified(job)
    except Refusal as refusal:
        dispatch_refuse(job=job, refusal=refusal)
        return
    if work.deadline is not None and work.deadline <= claim.claimed_at:
        # Before the target is asked for anything: a stopped call comes here only to be told that it is too late.
        dispatch_refuse(job=work, refusal=_late(), final="expired")
        return
    if dispatch_frozen(work=work):
        return
    if resources.is_held(tenant_id=work.call.tenant_id, resource=work.resource):
        _wait_for_resource(work)
        return
    passed = lost_time_pass(work=work)
    if passed is None:
        return
    work = passed
    observed = dispatch_observe(work=work)
    if observed is None:
        return
    try:
        deadline = _start(work, observed, since=claim.claimed_at)
    except _Busy:
        _wait_for_resource(work)
    except _Stopped:
        claims.give_back(claim, wait_ms=0, count_attempt=False, error="stopped")
    except _Frozen:
        dispatch_wait_frozen(work=work)
    except _Stale as stale:
        if not dispatch_try_again(work=work, refusal=Unavailable(str(stale), code="STATE_TOO_OLD")):
            dispatch_refuse(job=work, refusal=Unavailable(str(stale), code="STATE_TOO_OLD"))
    except Gone:
        claims.close(claim)
    else:
        if deadline is not None:
            dispatch_record(work=work, outcome=dispatch_send(work=work, observed=observed))


def _late() -> Refusal:
    return Refusal(
        "The call's deadline passed before it could be sent; nothing was done.", code="DEADLINE_PASSED", status=409
    )


def _wait_for_resource(work: Work) -> None:
    # Nothing was tried, so no attempt is counted. The longer it has waited, the less often it looks.
    waited_s = (clock.now() - work.call.created_at).total_seconds()
    wait_ms = round(min(max(waited_s / 10, 0.2), 5.0) * 1000)
    claims.give_back(work.claim, wait_ms=wait_ms, count_attempt=False, error="another call holds the resource")


def _start(work: Work, observed: Observed, *, since: datetime) -> datetime | None:
    """Re-check everything and record the intent. The request's deadline; None when the call has been settled or held.

    `since`: when the row was claimed, before the resource was found free and the state was read.
    Raises _Stopped, _Frozen, _Busy, Gone, FenceLost; each rolls everything back.
    """
    claim, call_id = work.claim, work.call.call_id
    with transaction.atomic():
        loaded = lock_run(work.run.id)
        machine = work.standing(loaded, CallState.READY)
        if machine.fence >= claim.fence:
            raise FenceLost  # whoever took it over has tried it already, and it is ready once more
        if loaded.state.paused:
            claims.close(claim)  # in this transaction: a resume that comes next orders it again
            return None
        if work.deadline is not None and work.deadline <= loaded.at:
            dispatch_refuse_in(loaded=loaded, job=work, refusal=_late(), final="expired")
            return None
        if stops.look(tenant_id=work.call.tenant_id, agent_id=work.run.agent_id, tool=work.call.tool) is not None:
            raise _Stopped
        may = _authorised(work, loaded, machine, observed)
        if may is None:
            return None
        exposure_count(
            tenant_id=work.tenant_id,
            key=work.call.key,
            contract=work.contract,
            arguments=work.arguments,
            state=observed.state,
            agent_id=work.run.agent_id,
        )
        if not resources.take(tenant_id=work.call.tenant_id, resource=work.resource, dispatch_id=claim.id):
            raise _Busy
        if resources.was_used(tenant_id=work.call.tenant_id, resource=work.resource, dispatch_id=claim.id, since=since):
            raise _Busy  # the state that was read may be the one from before that dispatch's effect
        deadline = may.deadline
        attempt = machine.attempt + 1
        append(
            loaded,
            [
                observed.fact(call_id),
                (
                    K.DISPATCH_STARTED,
                    {
                        "call_id": call_id,
                        "dispatch_id": str(claim.id),
                        "fence": claim.fence,
                        "attempt": attempt,
                        "deadline": deadline.isoformat(),
                        "key": work.call.key,
                    },
                ),
            ],
            actor=work.actor,
            guard=work.guard,
        )
        # The lease ends behind the request's deadline, so that whoever takes over finds that deadline passed.
        ours = claims.mark_started(
            claim,
            started_at=may.at,
            request_deadline=deadline,
            lease_until=leases.after(deadline, LEASE_MARGIN_MS),
            observed=observed.as_dict(),
        )
        if not ours:
            raise FenceLost
        audit_record(
            actor=work.actor,
            action="call.started",
            detail={"fence": claim.fence, "attempt": attempt, "key": work.call.key, "digest": work.call.digest},
            **work.audit,
        )
    return deadline


@dataclass(frozen=True, slots=True)
class _May:
    """It may be sent: since when, and until when its request must have been answered or ended."""

    at: datetime
    deadline: datetime


def _authorised(work: Work, loaded: Loaded, machine: CallMachine, observed: Observed) -> _May | None:
    """Redeem the permit, or judge again with the rights and the policy of now (A5). None: it was refused or held."""
    requester = work.requester()
    if machine.proposal_id is not None:
        redeemed = permit_redeem(
            proposal_id=machine.proposal_id,
            canonical=bytes(work.call.canonical),
            digest=work.call.digest,
            dispatch_id=work.claim.id,
            state=observed.state,
            state_read_at=observed.read_at,
            requester=requester,
            request_ms=leases.timing(work.contract.timeout_ms).request_deadline_ms,
        )
        if isinstance(redeemed, Redeemed):
            return _May(redeemed.at, redeemed.deadline)
        _not_redeemed(work, loaded, machine, observed, redeemed)
        return None
    verdict = call_judge(
        tenant_id=work.tenant_id,
        tool_version_id=work.tool_version_id,
        canonical=bytes(work.call.canonical),
        state=observed.state,
        requester=requester,
        **work.judged_as,
        acting=True,
    )
    if verdict.effect == "allow":
        at = clock.now()
        return _May(at, leases.request_deadline(at, work.contract.timeout_ms))
    if verdict.effect == "deny":
        dispatch_refuse_in(loaded=loaded, job=work, refusal=verdict.refusal())
    elif dispatch_in_doubt_in(loaded=loaded, work=work, machine=machine, because=verdict.message) is None:
        dispatch_hold(work=work, loaded=loaded, observed=observed, verdict=verdict, requester=requester)
    return None


def _not_redeemed(work: Work, loaded: Loaded, machine: CallMachine, observed: Observed, refused: PermitRefused) -> None:
    """What approvals says instead of the permit becomes the call's next step, in the same transaction."""
    if refused.kind == "retry_read":
        raise _Stale(refused.message)
    if refused.kind == "frozen":
        raise _Frozen
    if refused.code == "SUPERSEDED":
        raise Gone  # it was edited: its resolution ends this call and begins the revision
    if refused.kind == "ask_again" and refused.proposal is not None:
        verdict = refused.verdict
        dispatch_held_in(
            loaded=loaded,
            work=work,
            observed=observed,
            proposal_id=refused.proposal.id,
            round_=refused.proposal.round,
            expires_at=refused.proposal.expires_at,
            rule_id=verdict.rule_id if verdict else machine.rule_id or "",
            policy_number=verdict.policy_number if verdict else machine.policy_number or 0,
        )
        audit_record(
            actor=work.actor,
            action="call.held_again",
            verdict="refused",
            detail={"code": refused.code, "message": refused.message, "round": refused.proposal.round},
            **work.audit,
        )
        return
    dispatch_refuse_in(
        loaded=loaded,
        job=work,
        refusal=refused.refusal(),
        final="expired" if refused.kind == "expired" else "refused",
        # *taken* cannot be: under the head's lock a ready call has no dispatch under way. If it is so all the same, an
        # effect may exist that this history does not know of, and nothing is sent.
        settled=refused.kind != "taken",
    )
