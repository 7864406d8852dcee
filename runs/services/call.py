"""An agent asks for a tool call, or takes it back. Nothing here touches a target: whatever does runs in a worker."""

from datetime import datetime
from uuid import UUID, uuid4

from approvals.core.digest import idempotency_key as derived_key
from approvals.core.revisions import is_revision_id
from approvals.services.judge import Prepared, call_prepare
from approvals.services.proposal import proposal_withdraw
from audit.core.actor import Actor
from audit.core.jsondoor import Json
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound, Refusal
from audit.services.record import audit_record, audit_refusals
from runs.core.answers import ended
from runs.core.kinds import EventKind as K
from runs.models import Call, Run
from runs.selectors.rows import CallRow, call_row_of
from runs.selectors.runs import visible_runs
from runs.services.exposed import require_in_run, require_in_turn
from runs.store.append import Loaded, append, as_conflict, lock_run

LONGEST_ID = 200


def call_submit(
    *,
    actor: Actor,
    run_id: UUID,
    call_id: str,
    tool: str,
    arguments: Json,
    message_id: str = "",
    trace_id: str = "",
    deadline: datetime | None = None,
    idempotency_key: str = "",
    reason: str = "",
    turn: str = "",
) -> CallRow:
    """Record that the run's agent asks for `tool`; a worker judges it. The envelope of E1.

    Order (E2): shape, token and scopes, then whether the call is there already. The same call id with the same tool
    and arguments is the same call and gives its row (`repeated`); with others it is a conflict and nothing changes.
    `deadline` is absolute. `idempotency_key` may be left out: in a run it is derived (E6), and another one than the
    derived one contradicts it. `turn` is the id of the turn that it is asked in, "" for the one that is open; whether
    that shows the tool is judged of a new call alone, so that repeating is safe when the turn is over.

    Raises NotFound, Forbidden (PRINCIPAL_DIFFERS, SCOPE_MISSING, NOT_EXPOSED, …), Invalid (CALL_ID_INVALID,
    ARGUMENTS_INVALID, DEADLINE_PASSED, KEY_CONTRADICTS, …), Conflict (CALL_ID_REUSED; TURN_NOT_OPEN;
    NOT_IN_THIS_STATE: the run takes no more calls).
    """
    with audit_refusals(
        actor=actor,
        action="call.submitted",
        object_type="call",
        object_id=call_id,
        run_id=run_id,
        call_id=call_id[:LONGEST_ID],
        tool=tool[:LONGEST_ID],
    ):
        run = own_run(actor=actor, run_id=run_id)
        _check_envelope(call_id, message_id, trace_id, reason, turn)
        prepared = call_prepare(actor=actor, tool=tool, arguments=arguments, acting_user=actor.on_behalf_of)
        key = _key(run.id, call_id, tool, idempotency_key)
        loaded = lock_run(run.id)
        require_in_run(actor=actor, state=loaded.state, contract=prepared.contract)
        call = Call.objects.filter(run=run, call_id=call_id).first()
        is_new = call is None
        if call is None:
            asked_in = require_in_turn(actor=actor, state=loaded.state, contract=prepared.contract, named=turn)
            call = _record(actor, loaded, call_id, prepared, key, message_id, trace_id, deadline, reason, asked_in)
        elif not _is_same(call, prepared):
            raise Conflict(
                f"Call id {call_id} was used in this run for another call. "
                "A new call needs a new id; nothing was changed.",
                code="CALL_ID_REUSED",
                detail={"tool": call.tool, "digest": call.digest},
            )
        audit_record(
            actor=actor,
            action="call.submitted",
            object_type="call",
            object_id=call.id,
            verdict="ok" if is_new else "duplicate",
            run_id=run.id,
            call_id=call_id,
            tool=tool,
            detail={"digest": call.digest, "key": call.key, "contract_version": call.contract_version},
        )
        call.refresh_from_db()
        return call_row_of(call, repeated=not is_new)


def call_withdraw(*, actor: Actor, run_id: UUID, call_id: str, reason: str = "") -> CallRow:
    """The agent takes back a call that was not sent; its proposal leaves the queue as withdrawn. Again: no change.

    Raises NotFound, Forbidden, Conflict (NOT_IN_THIS_STATE: it was sent, or has ended otherwise).
    """
    with audit_refusals(
        actor=actor, action="call.withdrawn", object_type="call", object_id=call_id, run_id=run_id, call_id=call_id
    ):
        run = own_run(actor=actor, run_id=run_id)
        loaded = lock_run(run.id)
        call = Call.objects.filter(run=run, call_id=call_id).first()
        if call is None:
            raise NotFound
        if call.state == "withdrawn":
            return call_row_of(call, repeated=True)
        withdrawn = Refusal(
            f"The agent took this call back{f' ({reason[:200]})' if reason else ''}.", code="WITHDRAWN", status=409
        )
        with as_conflict():
            append(
                loaded,
                [(K.CALL_WITHDRAWN, {"call_id": call_id, "by": actor.name, "reason": reason[:2000]})],
                actor=actor,
                answers={call_id: ended("withdrawn", withdrawn.as_dict())},
            )
        if call.proposal_id is not None:
            proposal_withdraw(actor=actor, run_id=run.id, call_id=call_id)
        audit_record(
            actor=actor,
            action="call.withdrawn",
            object_type="call",
            object_id=call.id,
            run_id=run.id,
            call_id=call_id,
            tool=call.tool,
            detail={"reason": reason[:2000]},
        )
        call.refresh_from_db()
        return call_row_of(call)


def own_run(*, actor: Actor, run_id: UUID) -> Run:
    """The agent's own run, for the person that its token acts for. Raises NotFound, Forbidden."""
    run = visible_runs(actor).filter(pk=run_id).first()
    if run is None:
        raise NotFound
    if actor.kind != "agent":
        raise Forbidden(
            "Calls are asked for, and turns opened, by the run's agent, with an access token.", code="AGENT_REQUIRED"
        )
    if str(run.acting_user_id or "") != actor.on_behalf_of:
        raise Forbidden(
            "This run acts for somebody else than your token does. Use a token for that person, or a run of your own.",
            code="PRINCIPAL_DIFFERS",
        )
    return run


def _check_envelope(call_id: str, message_id: str, trace_id: str, reason: str, turn: str) -> None:
    if not 0 < len(call_id) <= LONGEST_ID or "\0" in call_id:
        raise Invalid(f"A call id has 1 to {LONGEST_ID} characters.", code="CALL_ID_INVALID", missing=["call_id"])
    if is_revision_id(call_id):
        raise Invalid(
            "Call ids that end in ~r and a number are those of calls that people have edited; use another one.",
            code="CALL_ID_INVALID",
            missing=["call_id"],
        )
    for name, value, longest in (
        ("message_id", message_id, LONGEST_ID),
        ("trace_id", trace_id, LONGEST_ID),
        ("reason", reason, 2000),
        ("turn", turn, LONGEST_ID),
    ):
        if len(value) > longest:
            raise Invalid(f"{name} has at most {longest} characters.", code="ENVELOPE_INVALID", detail={"field": name})


def _key(run_id: UUID, call_id: str, tool: str, given: str) -> str:
    derived = derived_key(str(run_id), call_id, tool)
    if given and given != derived:
        raise Invalid(
            "In a run the idempotency key is derived from run, call id and tool. Leave idempotency_key out.",
            code="KEY_CONTRADICTS",
            detail={"derived": derived},
        )
    return derived


def _is_same(call: Call, prepared: Prepared) -> bool:
    """Whether a repeated call id names the same call (E7).

    A contract admitted since then gives the repetition another digest, but the agent has asked for nothing else.
    """
    if call.digest == prepared.digest:
        return True
    return call.tool == prepared.contract.name and bytes(call.given) == prepared.given


def _record(
    actor: Actor,
    loaded: Loaded,
    call_id: str,
    prepared: Prepared,
    key: str,
    message_id: str,
    trace_id: str,
    deadline: datetime | None,
    reason: str,
    turn: str | None,
) -> Call:
    contract, run = prepared.contract, loaded.run
    for name, until in (("call", deadline), ("run", run.deadline)):
        if until is not None and until <= loaded.at:
            raise Invalid(
                f"The {name}'s deadline has passed; nothing was started.",
                code="DEADLINE_PASSED",
                detail={"deadline": until.isoformat()},
            )
    call = Call.objects.create(
        id=uuid4(),
        run=run,
        tenant_id=run.tenant_id,
        call_id=call_id,
        message_id=message_id,
        trace_id=trace_id,
        tool=contract.name,
        contract_version=prepared.contract_version,
        canonical=prepared.canonical,
        given=prepared.given,
        digest=prepared.digest,
        key=key,
        target=prepared.target,
        resource=prepared.resource,
        reason=reason,
        scopes=list(contract.scopes),
        token_session_id=UUID(actor.session_id) if actor.session_id else None,
        deadline=deadline,
        created_at=loaded.at,
        version=0,
    )
    proposed = {
        "call_id": call_id,
        "tool": contract.name,
        "contract_version": prepared.contract_version,
        "digest": prepared.digest,
        "key": key,
        "side_effect": contract.side_effect,
        "retry_class": contract.retry.retry_class,
        "read_only": contract.read_only,
        "message_id": message_id or None,
        "deadline": deadline.isoformat() if deadline else None,
        "turn": turn,
    }
    with as_conflict():
        append(loaded, [(K.CALL_PROPOSED, proposed)], actor=actor)
    return call
