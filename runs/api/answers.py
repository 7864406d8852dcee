"""Runs, calls and events as JSON, and the HTTP status that a call's end has."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.urls import reverse
from rest_framework.response import Response

from approvals.api.answers import tool_form
from approvals.selectors.frozen import freeze_of
from approvals.selectors.links import ProposalLink, proposal_link
from audit.core.actor import Actor
from audit.core.entry import utc_text
from runs.core.kinds import CallState
from runs.core.standing import call_told, run_told
from runs.selectors.rows import CallRow, RunRow
from runs.selectors.run_tools import OpenTurnRow, TurnRow
from runs.selectors.runs import EventRow
from runs.selectors.stops import stop_of_call

# A refusal's status where neither its rule nor its state says it.
_BY_CODE: Mapping[str, int] = {
    "AGENT_INACTIVE": 403,
    "SESSION_REVOKED": 403,
    "PRINCIPAL_REFUSED": 403,
    "SCOPE_MISSING": 403,
    "REJECTED_BEFORE": 409,
    "CONTRACT_ALTERED": 409,
    "DIGEST_MISMATCH": 409,
    "CALL_DAMAGED": 409,
    "CALL_ALTERED": 409,
    "PROPOSAL_ALTERED": 409,
    "TARGET_UNAVAILABLE": 503,
    "UNAVAILABLE": 503,
}
_HELD_BACK = (CallState.WAITING, CallState.READY)
_BY_STATE: Mapping[CallState, int] = {
    CallState.REFUSED: 422,
    CallState.FAILED: 502,
    CallState.REJECTED: 409,
    CallState.EXPIRED: 409,
    CallState.WITHDRAWN: 409,
    CallState.SUPERSEDED: 409,
    CallState.CANCELLED: 409,
}


def run_form(run: RunRow) -> dict[str, Any]:
    """A run's head (`RunAnswer`)."""
    acting = {"id": run.acting_user_id, "name": run.acting_user_name} if run.acting_user_id else None
    return {
        "id": run.id,
        "title": run.title,
        "state": run.status,
        "detail": run.detail,
        "meaning": run_told(run.status, {})[1],
        "seq": run.seq,
        "agent": {"id": run.agent_id, "name": run.agent_name},
        "on_behalf_of": acting,
        "client_ref": run.client_ref,
        "deadline": run.deadline,
        "opened_at": run.created_at,
        "updated_at": run.updated_at,
        "finished_at": run.finished_at,
        "url": settings.BASE_URL + reverse("run", args=[run.id]),
        "repeated": run.repeated,
    }


def turn_form(turn: TurnRow) -> dict[str, Any]:
    """An open turn (`TurnAnswer`)."""
    return {
        "run_id": turn.run_id,
        "turn_id": turn.turn_id,
        "number": turn.number,
        "narrowed": turn.narrowed,
        "opened_at": turn.opened_at,
        "tools": [tool_form(tool) for tool in turn.tools],
        "repeated": turn.repeated,
    }


def open_turn_form(found: OpenTurnRow) -> dict[str, Any]:
    """Which turn is open (`OpenTurnAnswer`)."""
    return {
        "turn": turn_form(found.turn) if found.turn else None,
        "shown": list(found.shown),
        "until": found.until,
    }


def call_form(actor: Actor, call: CallRow) -> dict[str, Any]:
    """A call (`CallAnswer`): its result labelled as what it is, content from outside (E4)."""
    answer = dict(call.answer or {})
    label = dict(answer.get("result") or {})
    value = label.pop("value", None)
    error = answer.get("error")
    link = proposal_link(actor, call.proposal_id) if call.proposal_id else None
    return {
        "id": call.id,
        "run_id": call.run_id,
        "call_id": call.call_id,
        "tool": call.tool,
        "contract_version": call.contract_version,
        "state": call.state,
        "meaning": call_told(call.state)[2],
        "final": call.final,
        "digest": call.digest,
        "idempotency_key": call.key,
        "target": call.target,
        "accepted_at": call.created_at,
        "settled_at": call.settled_at,
        "deadline": call.deadline,
        "version": call.version,
        "repeated": call.repeated,
        "outcome": answer.get("outcome", "none"),
        "retry_safe": answer.get("retry_safe", False),
        "proposal": _proposal(link) if link else None,
        "question": _question(link) if link and call.state in _HELD_BACK else None,
        "edited": _edited(link) if link else None,
        "stopped": _stopped(actor, call) if call.state in _HELD_BACK else None,
        "frozen": _frozen(actor, link) if link and call.state in _HELD_BACK else None,
        "result": value,
        "result_label": label or None,
        "receipt": answer.get("receipt"),
        "problems": answer.get("problems", []),
        "error": {"detail": {}, **error} if error else None,
    }


def event_form(event: EventRow) -> dict[str, Any]:
    """A fact of the history (`EventAnswer`)."""
    return {"seq": event.seq, "kind": event.kind, "at": event.at, "actor": event.actor, "body": event.body}


def call_read(actor: Actor, call: CallRow) -> Response:
    """The call to whoever reads it: 200 when it is final, whatever its end, else 202."""
    return Response(call_form(actor, call), status=200 if call.final else 202)


def call_asked(actor: Actor, call: CallRow) -> Response:
    """The call to whoever asks for it: 200 with its result, 202 while there is none, or its refusal (E3)."""
    form = call_form(actor, call)
    if not call.final:
        return Response(form, status=202)
    if form["error"] is None:
        return Response(form, status=200)
    retry_after = form["error"]["retry_after"]
    return Response(
        {"error": form["error"], "call": form},
        status=status_of(CallState(call.state), form["error"]),
        headers={} if retry_after is None else {"Retry-After": str(retry_after)},
    )


def status_of(state: CallState, error: Mapping[str, Any]) -> int:
    """The HTTP status of a call that ended without a result.

    A check of the call's meaning is 422, the policy's word 403; what happened to it since it was asked is 409.
    """
    rule = (error.get("detail") or {}).get("rule")
    if state is CallState.REFUSED and rule is not None:
        return 422 if str(rule).startswith("check:") and error["code"] != "POLICY_ERROR" else 403
    return _BY_CODE.get(error["code"], _BY_STATE.get(state, 409))


def _stopped(actor: Actor, call: CallRow) -> dict[str, Any] | None:
    stop = stop_of_call(actor, run_id=call.run_id, tool=call.tool)
    if stop is None:
        return None
    return {
        "kind": stop.kind,
        "by": stop.set_by_name,
        "since": stop.set_at,
        "reason": stop.reason,
        "message": f"{stop.what} is stopped by {stop.set_by_name} since {utc_text(stop.set_at)}: {stop.reason} "
        "The call is not refused: it goes on when the stop is lifted, if its time has not run out by then.",
    }


def _frozen(actor: Actor, link: ProposalLink) -> dict[str, Any] | None:
    freeze = freeze_of(tenant_id=actor.tenant_id, proposal_id=link.id)
    if freeze is None:
        return None
    return {
        "rule": f"freeze:{freeze.id}",
        "until": freeze.until,
        "message": f"The policy starts nothing of this kind until {utc_text(freeze.until)} ({freeze.id}). "
        "The call is not refused: it can be decided, and approved it goes on then, if its time has not run out.",
    }


def _proposal(link: ProposalLink) -> dict[str, Any]:
    return {
        "id": link.id,
        "url": settings.BASE_URL + reverse("proposal", args=[link.id]),
        "state": link.status,
        "round": link.round,
        "expires_at": link.expires_at,
        "digest": link.digest,
    }


def _question(link: ProposalLink) -> dict[str, Any] | None:
    asked = link.question
    return {"id": asked.id, "text": asked.text, "by": asked.by, "at": asked.at} if asked else None


def _edited(link: ProposalLink) -> dict[str, Any] | None:
    edit = link.edited
    if edit is None:
        return None
    return {
        "call_id": edit.call_id,
        "of": edit.of,
        "revision": edit.revision,
        "by": edit.by,
        "at": edit.at,
        "reason": edit.reason,
        "digest": edit.digest,
        "changes": edit.changes,
    }
