"""Ending a call that was not sent: the event, the agent's answer, its proposal, the audit entry, in one transaction."""

import random

from django.db import transaction

from approvals.services.settling import permit_settle
from audit.core.refusal import Refusal, Unavailable
from audit.services.record import audit_record
from audit.store import clock
from runs.core import leases
from runs.core.answers import ended
from runs.core.kinds import CallState
from runs.core.kinds import EventKind as K
from runs.services.in_doubt import dispatch_in_doubt_in
from runs.services.work import Gone, Job, Work
from runs.store import claims
from runs.store.append import Appended, Loaded, append, lock_run

NOT_SENT = (CallState.NEW, CallState.READY)


def dispatch_refuse(*, job: Job, refusal: Refusal, final: str = "refused", guarded: bool = True) -> None:
    """End the call, unless somebody settled it meanwhile. `final` is its last word, refused or expired.

    `guarded=False` where no claim is left to append by: the row's attempts were used up by workers that died. Raises
    FenceLost when the claim was taken over.
    """
    with transaction.atomic():
        loaded = lock_run(job.run.id)
        try:
            dispatch_refuse_in(loaded=loaded, job=job, refusal=refusal, final=final, guarded=guarded)
        except Gone:
            claims.close(job.claim)


def dispatch_refuse_in(
    *,
    loaded: Loaded,
    job: Job,
    refusal: Refusal,
    final: str = "refused",
    guarded: bool = True,
    settled: bool = False,
) -> Appended:
    """The same in the caller's transaction, under the run's head. Raises Gone. A call that was sent before and may have
    happened is left unknown instead, and looked up: a refusal says that nothing was done.

    `settled`: approvals has moved the proposal itself, when it refused to redeem the permit.
    """
    machine = job.standing(loaded, *NOT_SENT)
    if isinstance(job, Work):
        left_open = dispatch_in_doubt_in(
            loaded=loaded, work=job, machine=machine, because=refusal.message, guarded=guarded
        )
        if left_open is not None:
            return left_open
        refusal = job.with_alternatives(refusal)
    told = refusal.as_dict()
    appended = append(
        loaded,
        [
            (
                K.CALL_REFUSED,
                {"call_id": job.call.call_id, "code": refusal.code, "message": refusal.message, "final": final},
            )
        ],
        actor=job.actor,
        guard=job.guard if guarded else None,
        answers={job.call.call_id: ended(final, told)},
    )
    if machine.proposal_id and not settled:
        permit_settle(proposal_id=machine.proposal_id, outcome="refused", detail=told)
    audit_record(
        actor=job.actor,
        action="call.refused",
        verdict="refused",
        detail={"code": refusal.code, "message": refusal.message, "final": final},
        **job.audit,
    )
    return appended


def dispatch_try_again(*, work: Work, refusal: Refusal) -> bool:
    """Give the row back for a later try if the target was only out of reach and tries and time are left.

    Nothing was started, so this is safe for every tool. False: the call has to end.
    """
    if not isinstance(refusal, Unavailable):
        return False
    retry, now = work.contract.retry, clock.now()
    due = leases.next_attempt(
        now=now,
        attempt=work.claim.attempts,
        attempts=min(retry.attempts, work.claim.max_attempts),
        base_ms=retry.base_ms,
        factor=retry.factor,
        dice=random.random(),  # noqa: S311 - spreads retries, protects nothing
        deadline=work.deadline,
    )
    if due is None:
        return False
    wait_ms = round((due - now).total_seconds() * 1000)
    # False here means that the claim is not ours any more: then there is nothing to end either.
    claims.give_back(work.claim, wait_ms=wait_ms, count_attempt=True, error=str(refusal))
    return True


def dispatch_unreachable(*, refusal: Refusal) -> Refusal:
    """What an agent is told when the target stayed out of reach: nothing happened, and it may ask again later."""
    if not isinstance(refusal, Unavailable):
        return refusal
    return Unavailable(
        refusal.message,
        code="TARGET_UNAVAILABLE",
        retry_after=refusal.retry_after,
        detail={"cause": refusal.code, **refusal.detail},
    )
