"""Judging a proposed call: read the target's state, ask the policy of now, and refuse, hold or allow it."""

from django.db import transaction

from approvals.core.boundary import boundary_for
from approvals.services.judge import call_judge
from approvals.services.judged import judgement_keep
from audit.core.refusal import Forbidden, Refusal
from audit.services.record import audit_record
from runs.core.kinds import CallState
from runs.core.kinds import EventKind as K
from runs.services.dispatch import Observed, dispatch_hold
from runs.services.observing import dispatch_observe
from runs.services.refusing import dispatch_refuse, dispatch_refuse_in
from runs.services.work import Gone, Job, Work
from runs.store import claims
from runs.store.append import append, lock_run
from runs.store.claims import Claim


def evaluate_call(*, claim: Claim) -> None:
    """Judge the call of a claimed row, or give the row back for later.

    The target is read outside any transaction. Raises FenceLost when the claim was taken over.
    """
    job = Job.of(claim)
    try:
        work = Work.verified(job)
        if not work.asked_by.ok:
            # Before the target is asked anything: authorisation comes first (E2).
            raise Forbidden(work.asked_by.message, code=work.asked_by.code)
    except Refusal as refusal:
        dispatch_refuse(job=job, refusal=refusal)
        return
    observed = dispatch_observe(work=work)
    if observed is None:
        return
    try:
        _judge(work, observed)
    except Gone:
        claims.close(claim)


def _judge(work: Work, observed: Observed) -> None:
    with transaction.atomic():
        loaded = lock_run(work.run.id)
        work.standing(loaded, CallState.NEW)
        if work.deadline is not None and work.deadline <= loaded.at:
            late = Refusal(
                "The call's deadline passed before it was judged; nothing was done.", code="DEADLINE_PASSED", status=409
            )
            dispatch_refuse_in(loaded=loaded, job=work, refusal=late, final="expired")
            return
        requester = work.requester()
        verdict = call_judge(
            tenant_id=work.tenant_id,
            tool_version_id=work.tool_version_id,
            canonical=bytes(work.call.canonical),
            state=observed.state,
            requester=requester,
            **work.judged_as,
        )
        judgement_keep(
            tenant_id=work.tenant_id,
            run_id=work.run.id,
            call_id=work.call.call_id,
            state=observed.state,
            requester=requester,
            verdict=verdict,
        )
        if verdict.effect == "deny":
            dispatch_refuse_in(loaded=loaded, job=work, refusal=verdict.refusal())
            return
        if verdict.effect == "ask":
            dispatch_hold(work=work, loaded=loaded, observed=observed, verdict=verdict, requester=requester)
            return
        allowed = {
            "call_id": work.call.call_id,
            "rule_id": verdict.rule_id,
            "policy_number": verdict.policy_number,
            "boundary": boundary_for(work.contract, verdict.effect).kind,
        }
        append(
            loaded,
            [observed.fact(work.call.call_id), (K.CALL_ALLOWED, allowed)],
            actor=work.actor,
            guard=work.guard,
        )
        audit_record(
            actor=work.actor,
            action="call.allowed",
            detail={
                "rule": verdict.rule_id, "policy": verdict.policy_number, "digest": work.call.digest,
                **({"notes": [note.as_dict() for note in verdict.notes]} if verdict.notes else {}),
            },
            **work.audit,
        )  # fmt: skip
