"""Drives the reducer through the model's histories: what each labelled step of the model is in events.

The model knows things that no history records (a clock, a lease, a process that is stopped); such a step is no event.
A few steps are two: what the services append together.
"""

from typing import Any

from runs.core.events import Event
from runs.core.kinds import CallState, EventKind
from runs.core.reducer import State, fold, initial_state
from tests.core.runs.story import REFUND, moment
from tests.model.call_model import Model

E = EventKind
AT = moment(0)
ACTOR = {"kind": "system", "id": "model"}
CALL = {"call_id": "c1"}
Kind = tuple[EventKind, dict[str, Any]]


def tell(state: State, kind: EventKind, body: dict[str, Any]) -> State:
    """The state after one more event."""
    return fold(state, Event(kind, state.seq + 1, AT, ACTOR, body))[0]


def begin() -> State:
    """A run with the model's one call, proposed and not yet judged: the model's *new*."""
    state = tell(initial_state(), E.RUN_CREATED, {"scope": {"tenant": "acme"}})
    state = tell(state, E.RUN_ADMITTED, {})
    return tell(state, E.CALL_PROPOSED, CALL | REFUND | {"key": "clr_1"})


def held(state: State) -> Kind:
    round_ = state.calls["c1"].round + 1
    body = {"proposal_id": f"p{round_}", "round": round_, "expires_at": AT, "rule_id": "refund", "policy_number": 8}
    return E.CALL_HELD, CALL | body


def resolved(state: State, resolution: str) -> Kind:
    return E.RESOLUTION_CONSUMED, CALL | {
        "proposal_id": state.calls["c1"].proposal_id or "p1",
        "resolution": resolution,
    }


def started(state: State, fence: int) -> Kind:
    attempt = state.calls["c1"].attempt + 1
    sent = {"dispatch_id": f"d{attempt}", "fence": fence, "attempt": attempt, "deadline": AT, "key": "clr_1"}
    return E.DISPATCH_STARTED, CALL | sent


def outcome(state: State, fence: int, kind: EventKind, **body: Any) -> Kind:
    return kind, CALL | {"dispatch_id": state.calls["c1"].dispatch_id or "d1", "fence": fence} | body


def succeeded(state: State, fence: int) -> Kind:
    return outcome(state, fence, E.DISPATCH_SUCCEEDED, reference="re_1", result_digest="beef", duration_ms=5)


def not_sent(state: State, fence: int, retry_at: str | None) -> Kind:
    error = {"error_class": "connect_refused", "code": "X", "message": "No.", "before_effect": True}
    return outcome(state, fence, E.DISPATCH_FAILED, **error, retry_at=retry_at)


def reconciled(how: str, s: Model, **body: Any) -> Kind:
    """`conclusive` as the model knows it: whether the old request's deadline has passed."""
    return E.OUTCOME_RECONCILED, CALL | {"outcome": how, "by": "ola", "conclusive": s.past >= s.fence - 1} | body


def refused(final: str) -> Kind:
    return E.CALL_REFUSED, CALL | {"code": "STALE", "message": "It changed.", "final": final}


def follow(state: State, s: Model, label: str) -> State:
    """The reducer's state after the model's step `label` from `s`."""
    worker, _, verb = label.partition(" ")
    if worker in ("w0", "w1"):
        return _worker(state, s, (s.w0 if worker == "w0" else s.w1)[1], verb)
    if label == "proposed":
        return tell(state, *held(state))
    if label == "the run takes up the grant":
        # One that is ready already has nothing to move: the service consumes the row without an event.
        return state if s.ready else tell(state, *resolved(state, "granted"))
    if label == "approve, and the new policy refuses it":
        return tell(state, *resolved(state, "refused"))
    if label == "reject":
        return tell(state, *resolved(state, "rejected"))
    if label == "sweep marks expired":
        later = s.ready and s.permit == "ready" and not s.outbox
        return state if later else tell(state, *resolved(state, "expired"))
    if label == "sweep tells of what is held back":
        return tell(state, *refused("expired")) if s.permit == "void" else tell(state, *held(state))
    if label == "agent withdraws":
        return tell(state, E.CALL_WITHDRAWN, CALL)
    if label == "cancel":
        return tell(state, E.CANCEL_ASKED, {})
    if label == "sweep: outcome unknown":
        lost = {"dispatch_id": state.calls["c1"].dispatch_id, "reason": "lease ended"}
        return tell(state, E.OUTCOME_UNKNOWN, CALL | lost)
    if label == "look-up finds the effect":
        return tell(state, *reconciled("happened", s))
    if label == "operator: it did not happen":
        return tell(state, *reconciled("did_not_happen", s))
    if label == "operator: send it again":
        state = tell(state, *reconciled("retry", s, approval="void" if s.expired else "holds"))
        return tell(state, *held(state)) if s.expired else state
    assert label in {
        "approve",
        "approve, and the new policy asks anew",
        "the approval is taken back",
        "a stop is set",
        "the stop is lifted",
        "look-up finds nothing",
        "clock passes the void time",
        "policy asks for more",
        "policy denies or a right is revoked",
        "the target's record changes",
        "lease ends",
        "the old request's deadline passes",
    }
    return state


def _worker(state: State, s: Model, fence: int, verb: str) -> State:
    if verb == "redeems, started":
        return tell(state, *started(state, fence))
    if verb == "records success":
        return tell(state, *succeeded(state, fence))
    if verb in ("is late, kept as evidence", "is too late to send", "is turned away, too late to record"):
        return tell(state, E.LATE_RESULT_KEPT, CALL | {"fence": fence, "outcome": "succeeded"})
    if verb == "is refused by the target, records it":
        return tell(state, *not_sent(state, fence, retry_at=None))
    if verb == "is turned away before any effect, backs off":
        return tell(tell(state, *not_sent(state, fence, retry_at=AT)), E.TIMER_DUE, CALL)
    if verb == "re-check finds it expired":
        return tell(state, *refused("expired"))
    if verb == "re-check refuses":
        return tell(state, *refused("refused"))
    if verb in ("re-check opens a new round", "finds that it is asked anew"):
        return tell(state, *held(state))
    assert verb in {
        "claims",
        "loses its claim",
        "finds a stop, gives back",
        "checks before sending",
        "sends",
        "killed",
    }
    return state


def expected(s: Model) -> set[CallState]:
    """Where the reducer's call stands when the model stands at `s`."""
    if s.call == "waiting":
        return {CallState.READY if s.ready else CallState.WAITING}
    if s.call == "refused":
        return {CallState.REFUSED, CallState.FAILED}
    return {CallState(s.call)}
