"""Recorded histories: what a numbered reducer made of a run, kept for ever (R1).

A file holds the steps (event, the identities of the commands that followed, the status after it) and the final
state. A history is added when a behaviour is added; one that no longer replays is a changed behaviour, which needs a
new reducer version and not a new recording.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runs.core.events import Event
from runs.core.kinds import EventKind
from runs.core.reducer import CALL_INDEX, NO_CALL, REACHING, REDUCERS, RUN_INDEX, State
from runs.core.table import Row, choose

FOLDER = Path(__file__).parents[2] / "histories"
FILES = sorted(FOLDER.glob("v*/*.json"))
every_history = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)

# A line of a table with the event that took it, and the states it led from and to.
Transition = tuple[Row, str, EventKind, str]


def load(path: Path) -> dict[str, Any]:
    history: dict[str, Any] = json.loads(path.read_text())
    return history


def events(history: dict[str, Any]) -> list[Event]:
    return [Event.from_json(step["event"]) for step in history["steps"]]


def transitions(history: dict[str, Any]) -> Iterator[Transition]:
    """Every line of the tables that the history takes."""
    reducer = REDUCERS[history["reducer"]]
    state = reducer.initial_state()
    for event in events(history):
        after, _ = reducer.fold(state, event)
        row = choose(RUN_INDEX, state.phase, event, state)
        assert row is not None
        yield row, state.phase, event.kind, after.phase
        yield from _of_calls(state, event, after)
        state = after


def _of_calls(state: State, event: Event, after: State) -> Iterator[Transition]:
    reached = list(state.calls) if event.kind in REACHING else [event.body.get("call_id", "")]
    for call_id in reached:
        call = state.calls.get(call_id)
        where = call.state if call else NO_CALL
        if (where, event.kind) in CALL_INDEX:
            row = choose(CALL_INDEX, where, event, state, call)
            assert row is not None
            yield row, where, event.kind, after.calls[call_id].state
