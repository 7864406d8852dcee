"""What an operator says about a call whose outcome nobody knows (screens.md, Needs reconciliation; R7, S40, S80).

Everything is judged under the run's head, after the lock: the operator's rights of that moment, whether the call is
still unknown and still in the attempt that the page showed, and, for *it did not happen* and *retry*, whether the
look-up is conclusive (`runs.core.proof`). Decision, answer to the agent, permit, resource and audit entry are one
transaction. What remains as a risk of a retry stands in `runs.core.proof.RISKS`.
"""

from functools import partial
from typing import Literal
from uuid import UUID

from django.db import transaction

from access.selectors.actors import decider_facts
from approvals.core.reasons import reason_of
from audit.core.actor import Actor
from audit.core.jsondoor import Json
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound
from audit.services.record import audit_refusals
from runs.core.kinds import CallState
from runs.core.proof import clock_text
from runs.core.state import CallMachine
from runs.models import Call
from runs.selectors.proving import proving
from runs.selectors.settled import Decided, decision_on
from runs.services.choices import Case, ReconciledRow
from runs.signals import work_waits
from runs.store import look_ups
from runs.store.append import Loaded, lock_run

CHOICES = ("happened", "did_not_happen", "retry", "compensate", "link", "leave")
"""*compensate* prepares the call that makes up for it, *link* names one of the run that has done so already."""
OUTCOME_OF = {"compensate": "compensated", "link": "compensated"}

type Choice = Literal["happened", "did_not_happen", "retry", "compensate", "link", "leave"]


def reconciliation_decide(
    *,
    actor: Actor,
    unresolved_id: UUID,
    choice: Choice,
    attempt: int,
    reason: str,
    reference: str = "",
    tool: str = "",
    arguments: Json = None,
    call_id: str = "",
) -> ReconciledRow:
    """Record what the operator says of the call with row id `unresolved_id`, in the attempt that was shown.

    `reference` (happened) is the provider's own; `tool` and `arguments` (compensate) of the call that makes up for it;
    `call_id` (link) of the run's call that has. The same again by the same person is a normal answer (`repeated`).

    Raises NotFound; Forbidden PERSON_REQUIRED, INACTIVE, ROLE_MISSING (`missing`: operator), or why the agent may not
    ask in whose place a compensating call is prepared; Invalid CHOICE_UNKNOWN, REASON_REQUIRED, REASON_TOO_LONG,
    REASON_INVALID, REFERENCE_REQUIRED, REFERENCE_INVALID, TOOL_REQUIRED, READS_ONLY and what call_prepare raises;
    Conflict ALREADY_DECIDED (`detail.by`, `detail.at`, `detail.outcome`), NOT_UNKNOWN, ATTEMPT_CHANGED,
    NOT_CONCLUSIVE (`detail.conclusive_at`, `retry_after`), DEADLINE_PASSED, RUN_STOPPED, COMPENSATION_UNDER_WAY,
    CALL_ALTERED and its like, NOT_IN_THIS_STATE. Each is in the audit log as refused.
    """
    asked: dict[str, object] = {"choice": str(choice)[:20]}
    with audit_refusals(
        actor=actor, action="call.reconciled", object_type="call", object_id=unresolved_id, detail=asked
    ):
        call, loaded = _locked(actor, unresolved_id)
        if choice not in CHOICES:
            raise Invalid(f"A choice is one of {', '.join(CHOICES)}.", code="CHOICE_UNKNOWN")
        machine = loaded.state.calls.get(call.call_id)
        if machine is None or machine.state is not CallState.UNKNOWN or machine.attempt != attempt:
            return _too_late(actor, call, machine, choice, attempt)
        case = Case(actor=actor, call=call, loaded=loaded, machine=machine, reason=reason_of(reason, required=True))
        if choice == "happened":
            return case.happened(reference)
        if choice == "did_not_happen":
            return case.did_not_happen()
        if choice == "retry":
            return case.retry()
        if choice == "compensate":
            return case.compensate(tool, arguments)
        if choice == "link":
            return case.link(call_id)
        return case.leave()


def reconciliation_ask(*, actor: Actor, unresolved_id: UUID) -> ReconciledRow:
    """Record the wish that the target is asked now; a worker or the sweep does it. Again: no change.

    Raises NotFound, Forbidden (PERSON_REQUIRED, INACTIVE, ROLE_MISSING), Conflict (NOT_UNKNOWN; CANNOT_BE_ASKED).
    """
    with audit_refusals(actor=actor, action="call.look_up_asked", object_type="call", object_id=unresolved_id):
        call, loaded = _locked(actor, unresolved_id)
        machine = loaded.state.calls.get(call.call_id)
        if machine is None or machine.state is not CallState.UNKNOWN:
            stands = machine.state if machine else call.state
            raise Conflict(f"The outcome of this call is not in question: it is {stands}.", code="NOT_UNKNOWN")
        if not proving(call, machine, loaded.at).can_be_asked:
            raise Conflict(
                f"The contract of {call.tool} declares no look-up, so the target cannot be asked by us. Look there "
                "yourself.",
                code="CANNOT_BE_ASKED",
            )
        case = Case(actor=actor, call=call, loaded=loaded, machine=machine, reason="")
        wish = look_ups.ask_now(call_pk=call.id, run_id=call.run_id, now=loaded.at)
        if wish == "asked":
            case.record("call.look_up_asked")
            transaction.on_commit(partial(work_waits.send_robust, sender=None, run_id=call.run_id), robust=True)
        message = {
            "asked": "The target is asked now; its answer appears here.",
            "under_way": "The target is being asked already; its answer appears here.",
            "just_asked": "The target was asked a moment ago; look at what it said.",
        }[wish]
        return case.row("ask", CallState.UNKNOWN, message)


def _locked(actor: Actor, unresolved_id: UUID) -> tuple[Call, Loaded]:
    """The call and its run's head, locked, for somebody who may decide (rights of now, S17)."""
    if actor.kind != "person" or actor.via != "session":
        raise Forbidden(
            "This needs a person in their own browser session; no token reconciles.", code="PERSON_REQUIRED"
        )
    call = (
        Call.objects.select_related("run").filter(pk=unresolved_id, tenant_id=actor.tenant_id).first()
        if actor.roles
        else None
    )
    if call is None:
        raise NotFound
    loaded = lock_run(call.run_id)
    call.refresh_from_db()
    facts = decider_facts(tenant_id=actor.tenant_id, user_id=actor.id)
    if facts is None or not facts.active:
        raise Forbidden("Your account is not active.", code="INACTIVE")
    if "operator" not in facts.roles:
        raise Forbidden(
            "Settling an unknown outcome takes the role operator. Ask an admin for it, or tell an operator.",
            code="ROLE_MISSING",
            missing=["operator"],
        )
    return call, loaded


def _too_late(actor: Actor, call: Call, machine: CallMachine | None, choice: str, attempt: int) -> ReconciledRow:
    decided = decision_on(call.run_id, call.call_id, attempt=attempt)
    if decided is None:
        if machine is not None and machine.state is CallState.UNKNOWN:
            raise Conflict(
                f"The page showed attempt {attempt} and this is attempt {machine.attempt}. Load it again and decide on "
                "what it shows now.",
                code="ATTEMPT_CHANGED",
                detail={"attempt": machine.attempt},
            )
        stands = machine.state if machine else call.state
        raise Conflict(
            f"The outcome of this call is not in question: it is {stands}. Nothing was changed.", code="NOT_UNKNOWN"
        )
    if decided.actor_id == actor.id and decided.outcome == OUTCOME_OF.get(choice, choice):
        return ReconciledRow(
            id=call.id,
            run_id=call.run_id,
            call_id=call.call_id,
            choice=choice,
            state=call.state,
            message=f"You said so at {clock_text(decided.at)}. It is recorded once.",
            repeated=True,
        )
    raise _already(decided)


def _already(decided: Decided) -> Conflict:
    who = "The look-up found at" if decided.by_look_up else f"{decided.by} decided at"
    return Conflict(
        f"{who} {clock_text(decided.at)}: {decided.words}. Your click came after it and changed nothing.",
        code="ALREADY_DECIDED",
        detail={"by": decided.by, "at": decided.at.isoformat(), "outcome": decided.outcome, "reason": decided.reason},
    )
