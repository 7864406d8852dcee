"""runs/services/resolution.py: a decision is taken up once, whatever has become of its call meanwhile."""

import logging

import pytest

from approvals.services.resolution import resolutions_open
from approvals.services.revoking import permit_revoke
from runs.models import Event
from runs.services import resolution
from runs.services.patience import Patience
from runs.services.resolution import WORDS, resolution_take, resolutions_consume, resolutions_take_up
from runs.services.run import run_cancel
from runs.services.sweep import sweep_decided
from tests.support.world import kinds, live_rows


def test_a_grant_makes_the_call_ready_and_a_second_taking_finds_nothing(world):
    call = world.held()
    world.decide(call)
    assert resolutions_consume(run_id=call.run_id) == 1
    assert resolutions_consume(run_id=call.run_id) == 0
    assert (world.look(call).state, live_rows(call)) == ("ready", [("dispatch", "ready")])


def test_only_the_runs_own_decisions_are_taken_up(world):
    mine, other = world.held(), world.held()
    for call in (mine, other):
        world.decide(call)
    assert resolutions_consume(run_id=mine.run_id) == 1
    assert world.look(other).state == "waiting"
    assert resolutions_consume() == 1


def test_a_rejection_tells_the_agent_who_and_why_and_nothing_is_safe_to_retry(world, owner_sql):
    call = world.held()
    world.decide(call, "reject", reason="Used for a year.")
    resolutions_consume()
    error = world.look(call).answer["error"]
    assert (error["code"], error["outcome"], error["retry_safe"]) == ("REJECTED", "none", False)
    assert "Rita Reviewer" in error["message"]
    assert "Used for a year." in error["message"]
    body = Event.objects.get(run_id=call.run_id, kind="resolution_consumed").body
    assert (body["resolution"], body["by"], body["round"]) == ("rejected", "Rita Reviewer", 1)
    assert owner_sql("SELECT verdict FROM audit_entry WHERE action = 'call.resolved'") == [("ok",)]


def test_a_grant_that_was_taken_back_before_it_was_taken_up_is_no_grant(world):
    call = world.held()
    world.decide(call)
    permit_revoke(actor=world.admin, proposal_id=call.proposal_id, reason="Wait.")
    world.work(call)
    assert world.look(call).state == "waiting"
    assert "dispatch_started" not in kinds(call.run_id)


def test_a_decision_for_a_call_that_has_ended_is_consumed_and_moves_nothing(world, owner_sql):
    call = world.held()
    world.decide(call)
    [row] = resolutions_open(run_id=call.run_id)
    run_cancel(actor=world.agent_actor, run_id=call.run_id)
    resolution_take(row=row)
    assert resolutions_open() == []
    assert world.look(call).state == "cancelled"
    assert owner_sql("SELECT verdict FROM audit_entry WHERE action = 'call.resolved'") == [("duplicate",)]


def test_one_run_that_cannot_be_read_keeps_no_other_waiting(world, owner_sql, caplog):
    broken, fine = world.held(), world.held()
    for call in (broken, fine):
        world.decide(call)
    owner_sql("UPDATE runs_run SET seq = seq + 1 WHERE id = %s", [broken.run_id])  # a head without its last event
    with caplog.at_level(logging.ERROR):
        assert resolutions_consume() == 1
    assert "could not be taken up" in caplog.text
    assert world.look(fine).state == "ready"
    assert len(resolutions_open()) == 1  # kept for when it can


def test_a_decision_that_cannot_be_taken_up_is_told_ever_more_seldom(world, owner_sql, caplog, monkeypatch):
    times = [0.0]
    monkeypatch.setattr(resolution, "_damaged", Patience(clock=lambda: times[0]))
    call = world.held()
    world.decide(call)
    owner_sql("UPDATE runs_run SET seq = seq + 1 WHERE id = %s", [call.run_id])
    with caplog.at_level(logging.ERROR):
        for second in range(63):
            times[0] = float(second)
            resolutions_consume()
            looked = sweep_decided(older_than_s=0)
            assert looked == []  # no thread of the sweep is kept busy by it
    assert caplog.text.count("could not be taken up") == 6  # after 0, 1, 3, 7, 15 and 31 seconds
    times[0] = 63.0
    assert sweep_decided(older_than_s=0) == [call.run_id]


def test_a_worker_at_the_run_leaves_it_alone_for_as_long(world, owner_sql, caplog, monkeypatch):
    times = [0.0]
    monkeypatch.setattr(resolution, "_damaged", Patience(clock=lambda: times[0]))
    call = world.held()
    world.decide(call)
    owner_sql("UPDATE runs_run SET seq = seq + 1 WHERE id = %s", [call.run_id])
    with caplog.at_level(logging.ERROR):
        for second in range(7):
            times[0] = float(second)
            resolutions_take_up(run_id=call.run_id)
    assert caplog.text.count("could not be taken up") == 3  # after 0, 1 and 3 seconds


@pytest.mark.parametrize("kind", WORDS)
def test_every_word_has_a_code_and_a_sentence_that_says_nothing_was_executed(kind):
    code, sentence = WORDS[kind]
    assert code.isupper()
    told = sentence.format(by=" by Ada", because=": why")
    assert "othing" in told
    assert "{" not in told
