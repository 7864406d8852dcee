"""S20: a question about a held call is one fact, one answer ends it, and one is open at a time."""

import pytest

from runs.core.kinds import CallState, EventKind
from runs.core.state import State
from tests.core.runs.story import Story, kinds

E = EventKind


def asked(story: Story, question_id: str = "q1", **body: str) -> list[str]:
    told = {"proposal_id": "p-c1", "question_id": question_id, "text": "Why twice?", "by": "Ida"} | body
    return kinds(story.tell(E.QUESTION_ASKED, call_id="c1", **told))


def test_a_question_tells_the_agent_once_and_moves_nothing():
    story = Story().waiting()
    assert asked(story) == ["tell_agent"]
    assert (story.where(), story.call().question_id) == (CallState.WAITING, "q1")
    assert State.from_json(story.state.to_json()).calls["c1"].question_id == "q1"


def test_a_second_question_waits_for_the_answer_to_the_first():
    story = Story().waiting()
    asked(story)
    body = {"call_id": "c1", "proposal_id": "p-c1", "question_id": "q2", "text": "And?", "by": "Ida"}
    assert "one is open at a time" in story.refuses(E.QUESTION_ASKED, **body).sentence
    story.tell(E.QUESTION_ANSWERED, call_id="c1", question_id="q1", text="It broke.")
    assert asked(story, "q2") == ["tell_agent"]


@pytest.mark.parametrize("question_id", ["q2", "q1"])
def test_an_answer_is_to_the_open_question(question_id):
    story = Story().waiting()
    if question_id == "q2":
        asked(story)
    refusal = story.refuses(E.QUESTION_ANSWERED, call_id="c1", question_id=question_id, text="It broke.")
    assert "answer that one" in refusal.sentence


def test_a_question_about_another_proposal_is_refused():
    story = Story().waiting()
    body = {"call_id": "c1", "proposal_id": "p-c9", "question_id": "q1", "text": "Why?", "by": "Ida"}
    assert "not for p-c9" in story.refuses(E.QUESTION_ASKED, **body).sentence


def test_nobody_asks_about_a_call_that_was_sent_or_has_ended():
    story = Story().started()
    body = {"call_id": "c1", "proposal_id": "p-c1", "question_id": "q1", "text": "Why?", "by": "Ida"}
    story.refuses(E.QUESTION_ASKED, **body)
    story.succeed()
    story.refuses(E.QUESTION_ASKED, **body)


def test_a_question_may_be_answered_while_the_run_is_paused():
    story = Story().waiting()
    asked(story)
    story.tell(E.PAUSE_ASKED)
    story.tell(E.QUESTION_ANSWERED, call_id="c1", question_id="q1", text="It broke.")
    assert story.call().question_id is None
