"""Simulating a call through every guard, and asking why a past one was refused or held."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from access.selectors.names import agent_rights
from access.selectors.people_names import people_names
from access.web.forms import field
from access.web.requests import PersonRequest, signed_in
from approvals.core.contract_text import written
from approvals.selectors.catalogue import active_contract
from approvals.selectors.tool_readers import require_reader
from audit.core.actor import Actor
from audit.core.jsondoor import Json, open_json
from audit.core.redact import redact_for_audit
from audit.core.refusal import Conflict, Invalid, NotFound, Refusal, TooMany
from runs.selectors.past_calls import PastCall, past_call
from runs.selectors.state_offer import read_offer
from runs.services.simulation import Question, Walked, call_walk

LONGEST = 262_144
"""Bytes of arguments or of a state that the form takes."""
SOURCES = ("", "given", "read")
"""Where the state comes from: what stands in the form ("" as well), or the target, asked now."""


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def tool_simulate(request: PersonRequest, tool_name: str) -> HttpResponse:
    """The form, and after it was sent the way of the call. Sending it changes nothing; an admin may have the target
    asked for its state by it."""
    require_reader(request.actor)
    admitted = active_contract(request.actor.tenant_id, tool_name)
    if admitted is None:
        raise NotFound
    typed, walked, refusal = _begun(request, tool_name), None, None
    if request.method == "POST":
        typed = {name: field(request, name, LONGEST + 1) for name in typed}
        try:
            walked = call_walk(actor=request.actor, question=_question(request.actor, tool_name, typed))
        except (Conflict, Invalid, TooMany) as error:
            refusal = error
    context = {
        "place": "tools",
        "tool_name": tool_name,
        "typed": typed,
        "walked": walked,
        "read": _read(walked) if walked else "",
        "offer": read_offer(request.actor, admitted.contract),
        "problem": refusal.message if refusal else "",
        "agents": [(str(id_), name, active) for id_, name, active, _ in agent_rights(request.actor.tenant_id)],
        "people": people_names(request.actor.tenant_id),
    }
    return render(request, "runs/simulate.html", context, status=refusal.status if refusal else 200)


@require_safe
@signed_in
def call_why(request: PersonRequest, run_id: UUID, call_id: str) -> HttpResponse:
    """A past call through every guard as they answer now, on the state that is kept of it."""
    require_reader(request.actor)
    call = past_call(request.actor, run_id, call_id)
    walked, problem = None, ""
    try:
        walked = call_walk(actor=request.actor, question=_of_past(call))
    except NotFound:
        problem = f"{call.tool} is retired: every new call of it is refused, and nothing that waits is sent."
    except Refusal as refusal:
        problem = refusal.message
    context = {
        "place": "runs",
        "call": call,
        "walked": walked,
        "problem": problem,
        "arguments": written(_redacted(request.actor, call)),
        "again": _again(call) if walked else "",
        "unkept": _unkept(call, walked),
    }
    return render(request, "runs/why.html", context)


def _unkept(call: PastCall, walked: Walked | None) -> str:
    """Why there is no state to walk the call on, as far as that can be known; "" where there is one or none is read."""
    reads = walked is not None and walked.simulated.contract.adapter.read_state is not None
    if call.state is not None or not reads:
        return ""
    if call.judged is not None and call.judged.damaged:
        return "The state that it was judged on is not what was written, so nothing is told on it."
    if call.judged is not None:
        return "It was judged under a contract that read none."
    if call.ended[0]:
        return "It ended before it was judged, or before judgements were kept: no state of it was ever stored."
    return "It has not been judged yet."


def _again(call: PastCall) -> str:
    query = urlencode({"run": str(call.run_id), "call": call.call_id})
    return f"{reverse('tool-simulate', args=[call.tool])}?{query}"


def _of_past(call: PastCall) -> Question:
    return Question(
        tool=call.tool,
        given=call.given,
        agent_id=call.agent_id,
        acting_user=str(call.acting_user_id or ""),
        state=call.state,
        run_id=call.run_id,
        call_id=call.call_id,
        past=True,
        session_id=call.token_session_id,
        reason=call.reason,
    )


def _begun(request: PersonRequest, tool_name: str) -> dict[str, str]:
    """What the form begins with: a past call's facts where the address names one."""
    typed = {"arguments": "{}", "state": "", "agent": "", "acting": "", "source": "given"}
    run_id, call_id = str(request.GET.get("run", ""))[:40], str(request.GET.get("call", ""))[:200]
    if not run_id:
        return typed
    try:
        call = past_call(request.actor, UUID(run_id), call_id)
    except (ValueError, Refusal):
        raise NotFound from None
    if call.tool != tool_name:
        raise NotFound
    return {
        "arguments": written(_redacted(request.actor, call)),
        "state": written(redact_for_audit(call.state, ())) if call.state is not None else "",
        "agent": str(call.agent_id),
        "acting": str(call.acting_user_id or ""),
        "source": "given",
    }


def _redacted(actor: Actor, call: PastCall) -> Any:
    try:
        found = active_contract(actor.tenant_id, call.tool)
    except Refusal:
        found = None
    # Without a contract nobody knows what is to be kept back: then all of it.
    return redact_for_audit(call.given, found.contract.redaction if found else ("/**",))


def _question(actor: Actor, tool_name: str, typed: dict[str, str]) -> Question:
    agents = {str(id_): id_ for id_, *_ in agent_rights(actor.tenant_id)}
    if typed["agent"] not in agents:
        raise Invalid("Choose the agent that asks.", code="AGENT_UNKNOWN")
    if typed["source"] not in SOURCES:
        raise Invalid("Choose where the target's state comes from.", code="STATE_INVALID")
    read_now = typed["source"] == "read"
    state = _json(typed["state"], "state") if typed["state"].strip() and not read_now else None
    if state is not None and not isinstance(state, dict):
        raise Invalid("The state is a JSON object, written { … }.", code="STATE_INVALID")
    return Question(
        tool=tool_name,
        given=_json(typed["arguments"], "arguments"),
        agent_id=agents[typed["agent"]],
        acting_user=typed["acting"],
        state=state,
        read_now=read_now,
    )


def _read(walked: Walked) -> str:
    """The state that was read, as much of it as the contract lets out and without what it keeps back."""
    simulated = walked.simulated
    if simulated.reading is None or simulated.reading.state is None:
        return ""
    text = written(redact_for_audit(dict(simulated.reading.state), simulated.contract.redaction))
    most = simulated.contract.output_cap_bytes
    return text if len(text) <= most else f"{text[:most]}\n… cut after {most:,} characters"


def _json(text: str, what: str) -> Json:
    try:
        return open_json(text.encode("utf-8", "surrogatepass"), limit=LONGEST)
    except Refusal as refusal:
        raise Invalid(f"The {what}: {refusal.message}", code=refusal.code) from None
