"""What was recorded is what the same reducer makes of it today."""

import json
from pathlib import Path

from runs.core.kinds import FINAL_CALLS
from runs.core.reducer import REDUCERS, State
from runs.core.replay import replay
from runs.core.status import detail, run_status
from tests.core.runs.history import FILES, events, every_history, load


@every_history
def test_a_recorded_history_gives_the_same_commands_the_same_statuses_and_the_same_end(path: Path):
    history = load(path)
    reducer = REDUCERS[history["reducer"]]
    state = reducer.initial_state()
    for step, event in zip(history["steps"], events(history), strict=True):
        state, commands = reducer.fold(state, event)
        assert [command.identity for command in commands] == step["commands"], event
        assert run_status(state) == step["status"], event
    assert state.to_json() == history["expect"]["state"]
    assert detail(state) == history["expect"]["detail"]


@every_history
def test_a_checkpoint_in_a_recorded_history_changes_nothing(path: Path):
    history = load(path)
    told = events(history)
    whole = replay(told, version=history["reducer"])
    for position in range(0, len(told), 3):
        written = json.dumps(replay(told[:position], version=history["reducer"]).to_json())
        assert replay(told[position:], since=State.from_json(json.loads(written))) == whole


def test_what_must_be_told_is_told():
    told = {path.stem for path in FILES}
    assert told >= {
        "approve_and_succeed",
        "reject",
        "expire",
        "withdraw",
        "cancel_while_waiting",
        "cancel_while_started",
        "unknown_then_happened",
        "unknown_then_retry",
        "late_result",
        "direct_read",
        "refused_at_dispatch_then_new_round",
        "three_approvals",
    }


@every_history
def test_a_recorded_run_that_is_over_has_only_final_calls(path: Path):
    expected = load(path)["expect"]["state"]
    if State.from_json(expected).finished:
        assert {call["state"] for call in expected["calls"]} <= {state.value for state in FINAL_CALLS}
