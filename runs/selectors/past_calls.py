"""The last calls of a tool with what is kept of the target's state: what a new text of its contract is looked at on."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef

from approvals.core.digest import check_call_bytes
from approvals.selectors.snapshots import JudgedOn, judged_on, states_of
from audit.core.actor import Actor
from audit.core.refusal import Conflict, NotFound
from runs.core.answers import sound
from runs.models import Call, Dispatch, Run
from runs.selectors.runs import visible_runs

MOST = 5
_RUNS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PastCall:
    """One call. `given` is what the agent sent, `state` what the target said of it last (None: nothing is kept, or the
    tool reads none), `state_at` when. `judged` is the first judgement, None where none is kept; `ended` the error that
    its agent was given as its end, (code, message), ("", "") if there is none. Nothing is redacted here."""

    run_id: UUID
    call_id: str
    tool: str
    at: datetime
    given: Any
    agent_id: UUID
    acting_user_id: UUID | None
    token_session_id: UUID | None
    contract_version: int
    key: str
    reason: str
    proposal_id: UUID | None
    state: dict[str, Any] | None
    state_at: datetime | None
    judged: JudgedOn | None = None
    ended: tuple[str, str] = ("", "")


def past_calls(actor: Actor, tool: str, *, limit: int = MOST) -> list[PastCall]:
    """The last calls of a tool in the runs that the actor may see, the newest first. Found by the runs that changed
    last, so that a long history is not sorted for it; at most those of the last few runs that called the tool."""
    called = Call.objects.filter(tenant_id=actor.tenant_id, tool=tool, run_id=OuterRef("pk"))
    runs = list(visible_runs(actor).filter(Exists(called)).order_by("-updated_at")[:_RUNS])
    rows = Call.objects.filter(tenant_id=actor.tenant_id, tool=tool, run__in=runs).select_related("run")
    return _read(actor, list(rows.order_by("-created_at", "-id")[:limit]))


def past_call(actor: Actor, run_id: UUID, call_id: str) -> PastCall:
    """One call of a run that the actor may see. Raises NotFound; Conflict (DIGEST_MISMATCH, CALL_DAMAGED) for stored
    bytes that are not what was written."""
    rows = Call.objects.filter(run__in=visible_runs(actor), run_id=run_id, call_id=call_id).select_related("run")
    call = rows.first()
    if call is None:
        raise NotFound
    check_call_bytes(bytes(call.canonical), call.digest)
    return _read(actor, [call])[0]


def _read(actor: Actor, calls: Sequence[Call]) -> list[PastCall]:
    kept = states_of(actor.tenant_id, [call.proposal_id for call in calls if call.proposal_id is not None])
    rows = Dispatch.objects.filter(call__in=calls, observed__isnull=False).order_by("created_at")
    sent = dict(rows.values_list("call_id", "observed"))
    judged = judged_on(actor.tenant_id, [(call.run_id, call.call_id) for call in calls])
    found = (_one(call, call.run, sent.get(call.id), kept, judged.get((call.run_id, call.call_id))) for call in calls)
    return [past for past in found if past is not None]


def _one(call: Call, run: Run, observed: dict[str, Any] | None, kept: Any, judged: JudgedOn | None) -> PastCall | None:
    # Refused when it was judged, or allowed and not sent yet: what it was judged on is all that there is.
    state, at = (None, None) if judged is None else (judged.state, judged.at)
    state, at = kept.get(call.proposal_id, (state, at))
    if observed is not None:  # nearer to the effect than what was approved on
        state, at = observed.get("state"), datetime.fromisoformat(observed["read_at"])
    try:
        check_call_bytes(bytes(call.canonical), call.digest)
        given = json.loads(bytes(call.given))
    except (Conflict, ValueError):
        return None  # not what was written: nothing is shown on it
    return PastCall(
        run_id=run.id,
        call_id=call.call_id,
        tool=call.tool,
        at=call.created_at,
        given=given,
        agent_id=run.agent_id,
        acting_user_id=run.acting_user_id,
        token_session_id=call.token_session_id,
        contract_version=call.contract_version,
        key=call.key,
        reason=call.reason,
        proposal_id=call.proposal_id,
        state=state or None,
        state_at=at if state else None,
        judged=judged,
        ended=_ended(call),
    )


def _ended(call: Call) -> tuple[str, str]:
    error = (sound(call.answer) or {}).get("error")
    return (str(error.get("code", "")), str(error.get("message", ""))) if isinstance(error, dict) else ("", "")
