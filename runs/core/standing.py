"""Where a run or a call stands, in the words and the tone of its tag.

The words of `runs.core.kinds` are stored for ever and are the API's; a page says them as people do. A run that its
agent called complete is green only when everything that it asked for happened.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from runs.core.kinds import CallState, RunStatus
from runs.core.meanings import CALL_MEANING, RUN_MEANING
from runs.core.words import CALL_TONE, RUN_TONE, Tone

RUN_WORD: Mapping[RunStatus, str] = {
    RunStatus.CREATED: "Not admitted yet",
    RunStatus.READY: "Idle",
    RunStatus.RUNNING: "Being judged",
    RunStatus.WAITING_MODEL: "Waiting for the model",
    RunStatus.WAITING_TOOL: "Waiting for a tool",
    RunStatus.WAITING_APPROVAL: "Waiting for people",
    RunStatus.PAUSED: "Paused",
    RunStatus.CANCELLING: "Cancelling",
    RunStatus.COMPLETED: "Completed",
    RunStatus.FAILED: "Failed",
    RunStatus.CANCELLED: "Cancelled",
    RunStatus.NEEDS_RECONCILIATION: "Needs reconciliation",
}

CALL_WORD: Mapping[CallState, str] = {
    CallState.NEW: "Being judged",
    CallState.WAITING: "Waiting for people",
    CallState.READY: "About to be sent",
    CallState.STARTED: "Under way",
    CallState.UNKNOWN: "Outcome unknown",
    CallState.SUCCEEDED: "Succeeded",
    CallState.FAILED: "Failed",
    CallState.REFUSED: "Refused",
    CallState.REJECTED: "Rejected",
    CallState.EXPIRED: "Expired",
    CallState.WITHDRAWN: "Withdrawn",
    CallState.SUPERSEDED: "Replaced by a revision",
    CallState.CANCELLED: "Cancelled",
    CallState.COMPENSATED: "Made up for",
}


@dataclass(frozen=True, slots=True)
class Standing:
    """A tag: its word, its tone, and what stands beside it when the run's own detail says nothing ("1 refused")."""

    word: str
    tone: Tone
    beside: str = ""


UNREADABLE = "Cannot be read"
UNREADABLE_RUN = (
    "A stored row of this run is not what was written, so what follows from it cannot be said and nothing more is done "
    "with it. Tell an operator."
)
UNREADABLE_CALL = "The stored row of this call is not what was written. Tell an operator."


def run_told(status: str, calls: Mapping[str, int]) -> tuple[Standing, str]:
    """Tag and meaning of a run by what its row says; a status that is none is told as such, blanking nothing (S87)."""
    try:
        known = RunStatus(status)
    except ValueError:
        return Standing(UNREADABLE, "bad"), UNREADABLE_RUN
    return run_standing(known, calls), RUN_MEANING[known]


def call_told(state: str) -> tuple[str, Tone, str]:
    """Word, tone and meaning of a call's state, likewise."""
    try:
        known = CallState(state)
    except ValueError:
        return UNREADABLE, "bad", UNREADABLE_CALL
    return CALL_WORD[known], CALL_TONE[known], CALL_MEANING[known]


def run_standing(status: RunStatus, calls: Mapping[str, int]) -> Standing:
    """The tag of a run. `calls` are its calls by state (`runs.core.kinds.CallState` values; read for a completed run
    only, so they may be missing for every other)."""
    if status is not RunStatus.COMPLETED:
        return Standing(RUN_WORD[status], RUN_TONE[status])
    told = {state: calls[state] for state in CallState if calls.get(state)}
    if not told:
        return Standing(RUN_WORD[status], "still", "asked for nothing")
    happened = told.get(CallState.SUCCEEDED, 0)
    if len(told) == 1 and happened:
        return Standing(RUN_WORD[status], RUN_TONE[status])
    word = RUN_WORD[status] if happened else "Ended, nothing ran"
    return Standing(word, "still", ", ".join(f"{number} {state.value}" for state, number in told.items()))
