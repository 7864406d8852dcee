"""A turn narrows what may be asked, while it is open and for what is asked in it (R10)."""

import json

import pytest

from runs.core.kinds import EventKind, RunStatus
from runs.core.reducer import State
from runs.core.replay import replay
from runs.core.turns import TURN_ID, open_turn, turn_standing
from tests.core.runs.story import READ, REFUND, Story

E = EventKind


def turn(story: Story, turn_id: str, *tools: str, narrowed: bool = True) -> None:
    """The next turn; it orders nothing."""
    number = len(story.state.turns) + 1
    assert story.tell(E.TURN_OPENED, turn_id=turn_id, number=number, tools=list(tools), narrowed=narrowed) == ()


def refused(story: Story, **body: object) -> str:
    return story.refuses(E.CALL_PROPOSED, **({"call_id": "c9", "key": "clr_c9"} | REFUND | body)).sentence


def test_a_run_without_turns_has_none_open_and_takes_calls_as_ever():
    story = Story().open()
    assert open_turn(story.state) is None
    story.propose()
    assert story.call().turn is None
    assert "turn" not in story.state.to_json()


def test_a_turn_is_open_until_the_next_one():
    story = Story().open()
    turn(story, "t1", "get_order")
    turn(story, "t2", "get_order", "refund_order", narrowed=False)
    found = open_turn(story.state)
    assert found is not None
    assert (found.turn_id, found.number, found.tools, found.narrowed) == ("t2", 2, ("get_order", "refund_order"), False)
    assert found.at == story.events[-1].at
    assert (dict(story.state.turns), story.status) == ({"t1": 1, "t2": 2}, RunStatus.READY)


def test_a_turn_stands_while_its_run_is_paused_and_no_more_once_it_is_being_stopped():
    story = Story().open()
    assert turn_standing(story.state) is None
    turn(story, "t1", "get_order")
    story.propose("c1", turn="t1", **READ)
    story.tell(E.PAUSE_ASKED, by="Ola")
    assert turn_standing(story.state) == open_turn(story.state) is not None
    story.tell(E.RESUME_ASKED, by="Ola")
    assert turn_standing(story.state) is not None
    story.tell(E.CANCEL_ASKED, by="Ola", reason="Enough.")
    assert (turn_standing(story.state), open_turn(story.state) is None) == (None, False)


def test_a_call_is_asked_in_the_turn_that_it_names_and_stays_of_that_turn():
    story = Story().open()
    turn(story, "t1", "get_order", "refund_order")
    story.propose("c1", turn="t1")
    turn(story, "t2")
    story.hold("c1")
    story.resolve("granted", "c1")
    story.start("c1")
    story.succeed("c1")
    assert (story.where("c1"), story.call("c1").turn) == ("succeeded", "t1")


def test_a_tool_that_the_turn_does_not_show_is_not_asked_for_in_it():
    story = Story().open()
    turn(story, "t1", "get_order")
    assert refused(story, turn="t1") == "Turn t1 does not show refund_order."
    story.propose("c1", READ, turn="t1")


def test_a_turn_that_is_over_or_was_never_opened_takes_no_call():
    story = Story().open()
    assert "not the one that is open" in refused(story, turn="t1")
    turn(story, "t1", "refund_order")
    turn(story, "t2", "refund_order")
    assert "not the one that is open" in refused(story, turn="t1")


def test_a_call_that_names_no_turn_is_not_held_to_one():
    """What a person edits or prepares; the service names the open turn for everything that an agent asks."""
    story = Story().open()
    turn(story, "t1")
    story.propose("c1")
    assert story.call("c1").turn is None


def test_an_id_opens_one_turn_and_numbers_have_no_gap():
    story = Story().open()
    turn(story, "t1")
    turn(story, "t2")
    again = {"turn_id": "t1", "number": 3, "tools": [], "narrowed": True}
    assert story.refuses(E.TURN_OPENED, **again).sentence == "Id t1 opened turn 1; a new turn needs a new id."
    assert "number 3" in story.refuses(E.TURN_OPENED, **again | {"turn_id": "t3", "number": 4}).sentence


@pytest.mark.parametrize(
    ("kind", "words"),
    [(E.PAUSE_ASKED, "paused; resume it first"), (E.CANCEL_ASKED, "being stopped"), (E.RUN_COMPLETED, "stays so")],
)
def test_a_run_that_asks_no_model_opens_no_turn(kind: EventKind, words: str):
    story = Story().open()
    story.tell(kind)
    body = {"turn_id": "t1", "number": 1, "tools": [], "narrowed": True}
    assert words in story.refuses(E.TURN_OPENED, **body).sentence


def test_a_pending_run_opens_no_turn():
    body = {"turn_id": "t1", "number": 1, "tools": [], "narrowed": True}
    assert "pending" in Story().create().refuses(E.TURN_OPENED, **body).sentence


def test_a_checkpoint_keeps_the_open_turn_and_the_ids_of_all():
    story = Story().open()
    turn(story, "t1", "get_order")
    turn(story, "t2", "refund_order")
    story.propose("c1", turn="t2")
    for position in range(len(story.events) + 1):
        written = json.dumps(replay(story.events[:position]).to_json())
        assert replay(story.events[position:], since=State.from_json(json.loads(written))) == story.state


@pytest.mark.parametrize("turn_id", ["t", "msg_01:3", "A-1.b~c@d+e=", "9" * 128])
def test_what_an_id_of_a_turn_may_be(turn_id: str):
    assert TURN_ID.fullmatch(turn_id)


@pytest.mark.parametrize(
    "turn_id",
    ["", " t", "t ", "t\n", "-t", "a/b", "..", "a b", "\u00e4", "t\u200b", "t\u202e1", "t\0", "\u0442", "9" * 129],
)
def test_what_no_id_of_a_turn_can_be(turn_id: str):
    assert TURN_ID.fullmatch(turn_id) is None
