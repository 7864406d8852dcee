"""Opening, completing and cancelling a run: what an external agent, or an operator, says about it as a whole."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction

from access.selectors.actors import RequesterFacts, requester_facts
from approvals.selectors.catalogue import tools_for
from approvals.services.proposal import proposal_cancel_for_run
from audit.core.actor import Actor
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound, Refusal
from audit.services.record import audit_record, audit_record_or_owe, audit_refusals
from audit.store import clock
from runs.core.answers import ended
from runs.core.kinds import OPEN_CALLS
from runs.core.kinds import EventKind as K
from runs.models import Run
from runs.selectors.rows import RunRow, run_row
from runs.selectors.run_tools import narrowed_to
from runs.selectors.runs import visible_runs
from runs.store.append import append, as_conflict, lock_run

LONGEST_TITLE = 200
LONGEST_REFERENCE = 200
_YOURS = "that you are shown. Leave it out; GET tools lists yours"


def run_open(
    *,
    actor: Actor,
    title: str,
    client_ref: str = "",
    deadline: datetime | None = None,
    tools: Sequence[str] | None = None,
) -> RunRow:
    """Open a run for the agent `actor`. The same `client_ref` of the same agent gives the run that is there already.

    `deadline` is absolute. `tools` narrows what the run may call to these of the agent's tools, for good; it never
    widens: what the agent is not shown is refused here.
    Raises Forbidden (AGENT_REQUIRED, or why the agent may not ask), Invalid (TITLE_INVALID, CLIENT_REF_INVALID,
    DEADLINE_PASSED, TOOLS_INVALID), Conflict (CLIENT_REF_REUSED: that run acts for somebody else).
    """
    reference = client_ref or "new"
    with audit_refusals(actor=actor, action="run.opened", object_type="run", object_id=reference):
        requester = _agent(actor)
        title = title.strip()
        if not 0 < len(title) <= LONGEST_TITLE:
            raise Invalid(f"A run's title has 1 to {LONGEST_TITLE} characters.", code="TITLE_INVALID")
        if len(client_ref) > LONGEST_REFERENCE:
            raise Invalid(f"A client_ref has at most {LONGEST_REFERENCE} characters.", code="CLIENT_REF_INVALID")
        if deadline is not None and deadline <= clock.now():
            raise Invalid("The run's deadline has passed. Give a later one or none.", code="DEADLINE_PASSED")
        narrowed = None if tools is None else narrowed_to(tools_for(actor), tools, _YOURS)
        run, is_new = _find_or_make(actor, requester, title, client_ref, deadline)
        if is_new:
            _begin(run, actor, requester, narrowed)
        audit_record(
            actor=actor,
            action="run.opened",
            object_type="run",
            object_id=run.id,
            verdict="ok" if is_new else "duplicate",
            run_id=run.id,
            detail={"title": run.title, "client_ref": client_ref},
        )
        run.refresh_from_db()
        return run_row(run, repeated=not is_new)


def run_complete(*, actor: Actor, run_id: UUID, summary: str = "") -> RunRow:
    """The agent says that it is done. Saying it again changes nothing.

    Raises NotFound, Forbidden (AGENT_REQUIRED), Conflict (NOT_IN_THIS_STATE; the sentence names the calls that are
    still open).
    """
    with audit_refusals(actor=actor, action="run.completed", object_type="run", object_id=run_id, run_id=run_id):
        _visible(actor, run_id)
        if actor.kind != "agent":
            raise Forbidden("Only the run's own agent completes it. An operator can cancel it.", code="AGENT_REQUIRED")
        loaded = lock_run(run_id)
        if loaded.state.completed:
            return run_row(loaded.run, repeated=True)
        with as_conflict():
            append(loaded, [(K.RUN_COMPLETED, {"summary": summary[:2000]})], actor=actor)
        audit_record(actor=actor, action="run.completed", object_type="run", object_id=run_id, run_id=run_id)
        return _fresh(run_id)


def run_cancel(*, actor: Actor, run_id: UUID, reason: str = "") -> RunRow:
    """Nothing new is started; what was not sent is cancelled, what was sent is listed until its outcome is known (R6).

    For the run's agent, an operator or an admin. Works while no audit entry can be written: the entry is owed then
    (S69). Saying it again changes nothing. Raises NotFound, Forbidden (missing `operator`), Conflict
    (NOT_IN_THIS_STATE: the run has completed or failed).
    """
    with audit_refusals(actor=actor, action="run.cancelled", object_type="run", object_id=run_id, run_id=run_id):
        _visible(actor, run_id)
        if actor.kind == "person" and not actor.has_role("operator", "admin"):
            raise Forbidden("Cancelling a run takes the role operator. Ask an admin for it.", missing=["operator"])
        loaded = lock_run(run_id)
        if loaded.state.stop_asked:
            return run_row(loaded.run, repeated=True)
        # Stopping is not refused for a character that no database keeps: it goes without it.
        reason = reason.replace("\0", "").strip()
        open_calls = [call for call in loaded.state.calls.values() if call.state in OPEN_CALLS]
        answer = ended("cancelled", _cancelled(actor, reason).as_dict())
        with as_conflict():
            appended = append(
                loaded,
                [(K.CANCEL_ASKED, {"reason": reason[:2000]}), (K.CANCEL_ACKNOWLEDGED, {})],
                actor=actor,
                answers={call.call_id: answer for call in open_calls},
            )
        if any(call.proposal_id for call in open_calls):
            proposal_cancel_for_run(actor=actor, run_id=run_id)
        audit_record_or_owe(
            actor=actor,
            action="run.cancelled",
            object_type="run",
            object_id=run_id,
            run_id=run_id,
            detail={
                "reason": reason[:2000],
                "cancelled": [call.call_id for call in open_calls][:100],
                "in_flight": appended.state.in_flight,
                "unresolved": appended.state.unresolved,
            },
        )
        return _fresh(run_id)


def _cancelled(actor: Actor, reason: str) -> Refusal:
    because = f" ({reason[:200]})" if reason else ""
    return Refusal(
        f"The run was cancelled by {actor.name}{because} before this call was sent. "
        "Open another run if it is still wanted.",
        code="RUN_CANCELLED",
        status=409,
    )


def _agent(actor: Actor) -> RequesterFacts:
    if actor.kind != "agent":
        raise Forbidden("Runs are opened by agents, with an access token.", code="AGENT_REQUIRED")
    requester = requester_facts(
        tenant_id=actor.tenant_id,
        agent_id=actor.id,
        acting_user_id=actor.on_behalf_of or None,
        token_session_id=actor.session_id or None,
    )
    if not requester.ok:
        raise Forbidden(requester.message, code=requester.code)
    return requester


def _find_or_make(
    actor: Actor, requester: RequesterFacts, title: str, client_ref: str, deadline: datetime | None
) -> tuple[Run, bool]:
    found = _by_reference(actor, client_ref)
    if found is not None:
        return found, False
    at = clock.now()
    user: dict[str, Any] = dict(requester.user or {})
    run = Run(
        id=uuid4(),
        tenant_id=UUID(actor.tenant_id),
        title=title,
        agent_id=UUID(actor.id),
        agent_name=requester.agent["name"],
        agent_version=requester.agent["version"],
        acting_user_id=UUID(actor.on_behalf_of) if actor.on_behalf_of else None,
        acting_user_name=user.get("name", ""),
        token_session_id=UUID(actor.session_id) if actor.session_id else None,
        client_ref=client_ref,
        deadline=deadline,
        created_at=at,
        updated_at=at,
    )
    try:
        # A savepoint: the agent's second request may have come first, and its run is then the one.
        with transaction.atomic():
            run.save(force_insert=True)
    except IntegrityError:
        found = _by_reference(actor, client_ref)
        if found is None:
            raise
        return found, False
    return run, True


def _by_reference(actor: Actor, client_ref: str) -> Run | None:
    if not client_ref:
        return None
    found = Run.objects.filter(agent_id=actor.id, tenant_id=actor.tenant_id, client_ref=client_ref).first()
    if found is not None and str(found.acting_user_id or "") != actor.on_behalf_of:
        raise Conflict(
            f"Your run with client_ref {client_ref} acts for somebody else. Use another client_ref.",
            code="CLIENT_REF_REUSED",
        )
    return found


def _begin(run: Run, actor: Actor, requester: RequesterFacts, tools: list[str] | None) -> None:
    scope: dict[str, Any] = {
        "tenant": actor.tenant_id,
        "agent": actor.id,
        "acting_user": actor.on_behalf_of,
        "session": actor.session_id,
        "scopes": sorted(requester.scopes),
    }
    if tools is not None:
        scope["tools"] = tools
    created = {
        "scope": scope,
        "agent": run.agent_name,
        "deadline": run.deadline.isoformat() if run.deadline else None,
    }
    append(lock_run(run.id), [(K.RUN_CREATED, created), (K.RUN_ADMITTED, {})], actor=actor)


def _visible(actor: Actor, run_id: UUID) -> None:
    if not visible_runs(actor).filter(pk=run_id).exists():
        raise NotFound


def _fresh(run_id: UUID) -> RunRow:
    return run_row(Run.objects.get(pk=run_id))
