"""A call that makes up for one whose outcome is unknown: prepared by an operator, judged, approved and sent like any
other, and, once it has succeeded, the end of the question.

The operator asks in the run's agent's place and with the agent's rights of that moment; who prepared it never decides
it (A9). While it is under way the other call stays unknown.
"""

from uuid import uuid4

from access.selectors.actors import requester_facts
from approvals.core.digest import idempotency_key as derived_key
from approvals.services.judge import call_prepare
from approvals.services.proposal import proposal_withdraw
from approvals.services.settling import permit_settle
from audit.core.actor import Actor
from audit.core.jsondoor import Json
from audit.core.refusal import Conflict, Forbidden, Invalid, Refusal
from audit.services.record import audit_record
from runs.core.answers import ended
from runs.core.kinds import FINAL_CALLS, OPEN_CALLS, SENT_CALLS, CallState
from runs.core.kinds import EventKind as K
from runs.core.state import CallMachine
from runs.models import Call, Run
from runs.selectors.compensation import compensating, prepared_by
from runs.store import resources
from runs.store.append import Appended, Loaded, append, as_conflict

LONGEST_STEM = 110
"""With its ending, an id that fits into every address."""


def compensation_prepare_in(
    *, loaded: Loaded, call: Call, actor: Actor, tool: str, arguments: Json, reason: str
) -> tuple[Call, Appended]:
    """Propose `tool` with `arguments` as what makes up for `call`; in the caller's transaction, under the run's head.

    Raises Conflict (COMPENSATION_UNDER_WAY; NOT_IN_THIS_STATE: the run takes no more calls), Forbidden (why the agent
    may not ask, SCOPE_MISSING), Invalid and NotFound as call_prepare; Invalid READS_ONLY.
    """
    under_way = [one for one in _others(loaded, call) if one.state not in FINAL_CALLS]
    if under_way:
        raise Conflict(
            f"{under_way[0].call_id} is to make up for it already and is {under_way[0].state}. Wait for its end first.",
            code="COMPENSATION_UNDER_WAY",
            detail={"call_id": under_way[0].call_id},
        )
    run = loaded.run
    prepared = call_prepare(
        actor=_in_place_of(run),
        tool=tool,
        arguments=arguments,
        acting_user=str(run.acting_user_id or ""),
        shown_only=False,
    )
    contract = prepared.contract
    if contract.read_only:
        raise Invalid(f"{contract.name} only reads; it makes up for nothing. Choose another tool.", code="READS_ONLY")
    call_id = _free_id(run, call.call_id)
    made = Call.objects.create(
        id=uuid4(),
        run=run,
        tenant_id=run.tenant_id,
        call_id=call_id,
        tool=contract.name,
        contract_version=prepared.contract_version,
        canonical=prepared.canonical,
        given=prepared.given,
        digest=prepared.digest,
        key=derived_key(str(run.id), call_id, contract.name),
        target=prepared.target,
        resource=prepared.resource,
        reason=reason,
        scopes=list(contract.scopes),
        created_at=loaded.at,
        version=0,
    )
    proposed = {
        "call_id": call_id,
        "tool": contract.name,
        "contract_version": prepared.contract_version,
        "digest": prepared.digest,
        "key": made.key,
        "side_effect": contract.side_effect,
        "retry_class": contract.retry.retry_class,
        "read_only": False,
        "compensates": call.call_id,
    }
    with as_conflict():
        appended = append(loaded, [(K.CALL_PROPOSED, proposed)], actor=actor)
    return made, appended


def compensation_settle_in(*, loaded: Loaded, actor: Actor, call_id: str) -> Loaded:
    """`call_id` has succeeded: whatever it was prepared to make up for is compensated now, unless that was settled
    otherwise meanwhile. In the caller's transaction, under the run's head."""
    machine = loaded.state.calls[call_id]
    other = loaded.state.calls.get(machine.compensates or "")
    if other is None or other.state is not CallState.UNKNOWN:
        return loaded
    by = prepared_by(loaded.run.id, loaded.state, call_id) or {"name": actor.name}
    return compensation_record_in(
        loaded=loaded, actor=actor, call_id=other.call_id, made_good_by=machine, by=by["name"] or "an operator", body={}
    ).loaded


def compensation_record_in(
    *, loaded: Loaded, actor: Actor, call_id: str, made_good_by: CallMachine, by: str, body: dict[str, Json]
) -> Appended:
    """Record that a call that has succeeded made up for the unknown one. `body` adds to the event."""
    machine = loaded.state.calls[call_id]
    reference = f", reference {made_good_by.reference}" if made_good_by.reference else ""
    told = Refusal(
        f"Whether {machine.tool} happened was never known. {made_good_by.tool} ({made_good_by.call_id}{reference}) "
        "made up for it. Do not ask for it again.",
        code="COMPENSATED",
        status=409,
        outcome="committed",
        detail={"compensated_by": made_good_by.call_id},
    )
    with as_conflict():
        appended = append(
            loaded,
            [
                (
                    K.OUTCOME_RECONCILED,
                    {
                        "call_id": call_id,
                        "outcome": "compensated",
                        "by": by,
                        "conclusive": False,
                        "compensated_by": made_good_by.call_id,
                        "attempt": machine.attempt,
                        **body,
                    },
                )
            ],
            actor=actor,
            answers={call_id: ended("compensated", told.as_dict())},
        )
    call_pk = Call.objects.values_list("id", flat=True).get(run_id=loaded.run.id, call_id=call_id)
    if machine.proposal_id:
        permit_settle(
            proposal_id=machine.proposal_id,
            outcome="compensated",
            detail={"message": told.message, "code": told.code, "call": str(call_pk)},
        )
    resources.free(machine.dispatch_id)
    audit_record(
        actor=actor,
        action="call.reconciled",
        object_type="call",
        object_id=call_pk,
        verdict="ok",
        run_id=loaded.run.id,
        call_id=call_id,
        tool=machine.tool,
        detail={"outcome": "compensated", "by": by, "compensated_by": made_good_by.call_id, **body},
    )
    return appended


def compensation_drop_in(*, loaded: Loaded, call: Call, actor: Actor) -> Loaded:
    """Take back what was to make up for `call` and was not sent, because nothing happened that has to be made up for.

    Raises Conflict (COMPENSATION_UNDER_WAY) where it was sent: then its outcome comes first.
    """
    for other in _others(loaded, call):
        if other.state in SENT_CALLS:
            raise Conflict(
                f"{other.call_id} makes up for it right now ({other.state}). Wait until its outcome is known.",
                code="COMPENSATION_UNDER_WAY",
                detail={"call_id": other.call_id},
            )
        if other.state not in OPEN_CALLS:
            continue
        because = f"It was to make up for {call.call_id}, which did not happen."
        told = Refusal(because, code="WITHDRAWN", status=409)
        with as_conflict():
            loaded = append(
                loaded,
                [(K.CALL_WITHDRAWN, {"call_id": other.call_id, "by": actor.name, "reason": because})],
                actor=actor,
                answers={other.call_id: ended("withdrawn", told.as_dict())},
            ).loaded
        if other.proposal_id is not None:
            proposal_withdraw(actor=actor, run_id=loaded.run.id, call_id=other.call_id, reason=because)
        audit_record(
            actor=actor,
            action="call.withdrawn",
            object_type="call",
            object_id=Call.objects.values_list("id", flat=True).get(run_id=loaded.run.id, call_id=other.call_id),
            run_id=loaded.run.id,
            call_id=other.call_id,
            tool=other.tool,
            detail={"reason": because},
        )
    return loaded


def _others(loaded: Loaded, call: Call) -> list[CallMachine]:
    return [loaded.state.calls[call_id] for call_id in compensating(loaded.state, call.call_id)]


def _in_place_of(run: Run) -> Actor:
    """The run's agent with its rights of now, without any token's cut. Raises Forbidden when it has lost them."""
    facts = requester_facts(tenant_id=run.tenant_id, agent_id=run.agent_id, acting_user_id=run.acting_user_id)
    if not facts.ok:
        raise Forbidden(
            f"{facts.message} A call in its place would be refused; make up for it at the target by hand.",
            code=facts.code,
        )
    return Actor(
        kind="agent",
        id=str(run.agent_id),
        name=run.agent_name,
        tenant_id=str(run.tenant_id),
        roles=frozenset(),
        groups=frozenset(),
        scopes=facts.scopes,
        on_behalf_of=str(run.acting_user_id or ""),
        via="system",
    )


def _free_id(run: Run, call_id: str) -> str:
    stem = f"{call_id[:LONGEST_STEM]}-made-good"
    taken = set(Call.objects.filter(run=run, call_id__startswith=stem).values_list("call_id", flat=True))
    return next(name for name in (f"{stem}-{n}" for n in range(1, len(taken) + 2)) if name not in taken)
