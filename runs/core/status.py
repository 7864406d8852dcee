"""The run's status, computed from its facts and its calls ("Run: first line that applies"), with its detail in words.

Several are true at once, so they stand in an order: what asks for somebody's attention hides what would go on alone.
"""

from collections.abc import Callable, Mapping

from runs.core.kinds import CallState, RunPhase, RunStatus
from runs.core.state import State

S = RunStatus
# The first line whose condition holds is the status; one of the last two always does.
_LINES: tuple[tuple[RunStatus, Callable[[State], bool]], ...] = (
    (S.COMPLETED, lambda state: state.completed),
    (S.FAILED, lambda state: state.failed),
    (S.CANCELLED, lambda state: state.cancelled),
    (S.CANCELLING, lambda state: state.cancelling and (state.in_flight > 0 or not state.unresolved)),
    (S.NEEDS_RECONCILIATION, lambda state: state.unresolved > 0),
    (S.PAUSED, lambda state: state.paused),
    (S.WAITING_APPROVAL, lambda state: state.count(CallState.WAITING) > 0),
    (S.WAITING_TOOL, lambda state: state.count(CallState.STARTED, CallState.READY) > 0),
    (S.WAITING_MODEL, lambda state: state.ask_id is not None),
    (S.RUNNING, lambda state: state.count(CallState.NEW) > 0),
    (S.READY, lambda state: state.admitted_at is not None),
    (S.CREATED, lambda state: state.admitted_at is None),
)
PRECEDENCE = tuple(status for status, _ in _LINES)


def run_status(state: State) -> RunStatus:
    """The one word for where the run stands (R3). Total: every state has one.

    *running* means that a proposed call is being judged; a fold itself is over before anybody can see it.
    """
    return next(status for status, holds in _LINES if holds(state))


def detail(state: State) -> str:
    """What the word leaves out, in a few words for people: "pausing, 1 in flight", "pending, place 3". May be empty.

    A waiting tool is told with its deadline. Times stay ISO 8601 text; pages format them.
    """
    status = run_status(state)
    if status is RunStatus.CREATED:
        return "pending" if state.place is None else f"pending, place {state.place}"
    if status is RunStatus.PAUSED:
        return f"pausing, {state.in_flight} in flight" if state.in_flight else "drained"
    if status is RunStatus.CANCELLING:
        verb = "killing" if state.kill_asked_at is not None else "cancelling"
        return f"{verb}, {state.in_flight} in flight"
    if status is RunStatus.NEEDS_RECONCILIATION:
        return f"{state.unresolved} unresolved"
    if status is RunStatus.WAITING_APPROVAL:
        return f"{state.count(CallState.WAITING)} for people"
    if status is RunStatus.WAITING_TOOL:
        return _tools(state)
    if status is RunStatus.RUNNING:
        return f"{state.count(CallState.NEW)} being judged"
    if status is RunStatus.FAILED:
        return state.code or ""
    return ""


def _tools(state: State) -> str:
    started = [call for call in state.calls.values() if call.state is CallState.STARTED]
    if not started:
        return f"{state.count(CallState.READY)} ready to be sent"
    first = min(started, key=lambda call: call.request_deadline or "")
    more = f", {len(started) - 1} more" if len(started) > 1 else ""
    return f"{first.tool} until {first.request_deadline}{more}"


def counts(state: State) -> Mapping[str, int]:
    """The numbers behind the word: calls by state (only those that occur), and what runs now."""
    return {where.value: number for where, number in state.counts.items()} | {"in_flight": state.in_flight}


def waits(state: State) -> bool:
    """Whether the run stands still until a person acts, which may take days. Such a run holds no lease."""
    return run_status(state) in (RunStatus.WAITING_APPROVAL, RunStatus.PAUSED, RunStatus.NEEDS_RECONCILIATION)


def quiescent_due(state: State) -> bool:
    """Whether `run_quiescent` belongs into the history now: stopping, and nothing owned runs any more."""
    return state.phase is RunPhase.STOPPING and state.in_flight == 0


def drain_due(state: State) -> bool:
    """Whether `pause_drained` belongs into the history now."""
    return state.phase is RunPhase.PAUSED and state.drained_at is None and state.in_flight == 0
