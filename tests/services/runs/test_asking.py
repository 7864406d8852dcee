"""runs/services/asking.py: a question wakes the agent once, and its answer stands in the history (S20)."""

import pytest

from approvals.services.question import questions_untold
from audit.core.refusal import Conflict, Forbidden, NotFound
from runs.models import Event
from runs.services.asking import call_answer, questions_consume
from runs.services.sweep import sweep_decided
from tests.support import factories
from tests.support.handling import ask
from tests.support.world import kinds


def answer(world, call, text="The second one.", **changes):
    asked = {"actor": world.agent_actor, "run_id": call.run_id, "call_id": call.call_id, "text": text} | changes
    return call_answer(**asked)


def test_a_question_raises_the_calls_version_once_however_often_the_run_is_woken(world):
    call = world.held()
    ask(world.reviewer, call.proposal_id)
    before = world.look(call).version
    for _ in range(3):
        world.work(call)
    assert world.look(call).version == before + 1
    assert kinds(call.run_id).count("question_asked") == 1


def test_twenty_tell_one_question_and_one_event_is_written(world, race):
    call = world.held()
    ask(world.reviewer, call.proposal_id)
    told = race(lambda _: questions_consume(run_id=call.run_id))
    assert sorted(told) == [0] * 19 + [1]
    assert kinds(call.run_id).count("question_asked") == 1


def test_the_answer_stands_in_the_history_and_the_call_goes_on(world):
    order = world.order()
    call = world.held(order)
    ask(world.reviewer, call.proposal_id)
    world.work(call)
    answered = answer(world, call)
    assert answered.version == world.look(call).version > call.version
    body = Event.objects.get(run_id=call.run_id, kind="question_answered").body
    assert body["text"] == "The second one."
    world.decide(call)
    world.work(call)
    assert world.look(call).state == "succeeded"


def test_an_answer_that_comes_before_the_history_told_of_the_question_writes_both(world):
    call = world.held()
    ask(world.reviewer, call.proposal_id)
    answer(world, call)
    assert kinds(call.run_id)[-2:] == ["question_asked", "question_answered"]
    assert questions_untold() == []


def test_the_same_answer_again_changes_nothing(world):
    call = world.held()
    ask(world.reviewer, call.proposal_id)
    assert not answer(world, call).repeated
    assert answer(world, call).repeated
    assert kinds(call.run_id).count("question_answered") == 1


def test_a_question_about_a_call_that_was_decided_meanwhile_is_told_to_nobody(world):
    call = world.held()
    ask(world.reviewer, call.proposal_id)
    world.decide(call, "reject", by=world.second_reviewer)
    world.work(call)
    assert "question_asked" not in kinds(call.run_id)
    assert questions_untold() == []
    with pytest.raises(Conflict) as caught:
        answer(world, call)
    assert caught.value.code == "CLOSED"


def test_a_lost_hint_of_a_question_is_found_by_the_sweep(world):
    call = world.held()
    ask(world.reviewer, call.proposal_id)
    assert sweep_decided(older_than_s=0) == [call.run_id]


def test_only_the_runs_own_agent_answers(world):
    call = world.held()
    ask(world.reviewer, call.proposal_id)
    with pytest.raises(NotFound):
        answer(world, call, actor=factories.agent(world.tenant).actor())
    with pytest.raises(Forbidden) as caught:
        answer(world, call, actor=world.reviewer.actor)
    assert caught.value.code == "AGENT_REQUIRED"
    with pytest.raises(NotFound):
        answer(world, call, call_id="another")
