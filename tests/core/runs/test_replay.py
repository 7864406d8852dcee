"""A run again from its history, and checkpoints that do not change it."""

import json
from dataclasses import replace

import pytest

from runs.core.kinds import CallState, EventKind, RunStatus
from runs.core.reducer import CallMachine, IllegalTransition, State
from runs.core.replay import checkpoint_due, replay
from runs.core.state import changed
from runs.core.status import run_status
from tests.core.runs.story import Story, moment

E = EventKind


def busy() -> Story:
    """A run with a call in every kind of end and one that is still unknown."""
    story = Story().unknown("c1").waiting("c2").started("c3")
    story.succeed("c3")
    story.resolve("rejected", "c2")
    story.started("c4")
    story.fail("connect_refused", "c4", retry_at=moment(90))
    story.tell(E.USER_STEERED, text="Only what is left.")
    story.tell(E.LATE_RESULT_KEPT, call_id="c4", fence=1, outcome="succeeded")
    story.tell(E.CANCEL_ASKED)
    story.tell(E.RUN_QUIESCENT)
    return story


def test_a_history_replays_to_the_state_that_it_made():
    story = busy()
    assert replay(story.events) == story.state
    assert run_status(replay(story.events)) is RunStatus.NEEDS_RECONCILIATION


def test_a_checkpoint_at_any_position_gives_the_same_state():
    story = busy()
    for position in range(len(story.events) + 1):
        written = json.dumps(replay(story.events[:position]).to_json())
        restored = State.from_json(json.loads(written))
        assert restored == replay(story.events[:position])
        assert restored.restored_at == position
        assert replay(story.events[position:], since=restored) == story.state


def test_a_tail_that_does_not_follow_its_checkpoint_is_refused():
    story = busy()
    with pytest.raises(IllegalTransition, match="does not follow"):
        replay(story.events[7:], since=replay(story.events[:5]))


def test_an_unknown_reducer_version_is_named():
    with pytest.raises(LookupError, match="version 9"):
        replay([], version=9)


@pytest.mark.parametrize("version", [None, 2, "1"])
def test_a_checkpoint_of_another_version_is_not_read(version: object):
    written = busy().state.to_json() | {"version": version}
    with pytest.raises(ValueError, match="replay"):
        State.from_json(written)


def test_a_checkpoint_leaves_out_what_was_never_said():
    written = Story().waiting().state.to_json()
    assert "completed_at" not in written
    assert "restored_at" not in written
    assert "late" not in written["calls"][0]


def test_a_call_comes_back_from_json_with_its_words_as_words():
    call = Story().started().call()
    again = CallMachine.from_json(json.loads(json.dumps(call.to_json())))
    assert again == call
    assert (type(again.state), type(again.effect)) == (type(call.state), type(call.effect))


def _steered(count: int) -> Story:
    story = Story().open()
    for _ in range(count - story.state.seq):
        story.tell(E.USER_STEERED, text="on")
    return story


def test_a_checkpoint_is_due_after_fifty_events():
    assert not checkpoint_due(49, _steered(49).state)
    assert checkpoint_due(50, _steered(50).state)


def test_the_fifty_are_counted_from_the_checkpoint_that_the_state_came_from():
    story = _steered(60)
    story.state = State.from_json(story.state.to_json())
    assert not checkpoint_due(60, story.state)
    for _ in range(49):
        story.tell(E.USER_STEERED, text="on")
    assert not checkpoint_due(109, story.state)
    story.tell(E.USER_STEERED, text="on")
    assert checkpoint_due(110, story.state)
    assert not checkpoint_due(110, story.state.checkpointed())


def test_a_run_that_begins_to_wait_for_people_is_written_down():
    story = Story().waiting()
    assert checkpoint_due(story.state.seq, story.state)
    assert not checkpoint_due(story.state.seq, story.state.checkpointed())


def test_a_run_that_a_worker_goes_on_with_is_not_written_down_at_every_step():
    story = Story().granted()
    assert not checkpoint_due(story.state.seq, story.state)


def test_what_checkpoints_write_grows_with_the_steps_and_not_with_their_square():
    """Data rule 9. With a fixed gap the bytes for each call would be four times as many in the longer run."""
    short, long = (_written_by(calls) / calls for calls in (200, 800))
    assert long < 1.5 * short


def _written_by(calls: int) -> int:
    story, written = Story().open(), 0
    for number in range(calls):
        story.started(f"c{number}")
        story.succeed(f"c{number}")
        if checkpoint_due(story.state.seq, story.state):
            written += len(json.dumps(story.state.to_json()))
            story.state = story.state.checkpointed()
    return written


def test_a_changed_value_is_what_the_library_would_make_of_it():
    """`changed` stands in for `dataclasses.replace` because a long history is mostly that."""
    call = CallMachine(
        call_id="c", state=CallState.NEW, tool="t", contract_version=1, digest="d", key="k", side_effect="read",
        retry_class="never", read_only=True, message_id="m",
    )  # fmt: skip
    changes = {"state": CallState.READY, "fence": 7}
    assert changed(call, changes) == replace(call, **changes) != call
    assert changed(call, {}) == call
    with pytest.raises(TypeError):
        changed(call, {"no_such_field": 1})
