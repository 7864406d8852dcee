"""runs/receivers.py: after the commit, workers and live pages are told; numbers only."""

import uuid

import pytest

from approvals.signals import policy_published, proposal_changed, replay_waits
from runs.live import hints
from runs.services.run import run_open
from runs.signals import run_advanced, work_waits
from tests.support.broker import own_broker


@pytest.fixture
def told(tmp_path, monkeypatch):
    """Everything that this process hands to its hint thread."""
    seen = []
    with own_broker(tmp_path / "valkey") as (_, app):
        own = hints.Hints(app=app)
        put = own._put

        def keep(item):
            seen.append(item)
            return put(item)

        monkeypatch.setattr(own, "_put", keep)
        monkeypatch.setattr(hints, "wake", own.wake)
        monkeypatch.setattr(hints, "task", own.task)
        monkeypatch.setattr(hints, "publish", own.publish)
        yield seen


RUN, TENANT, CALL = uuid.uuid4(), uuid.uuid4(), uuid.uuid4()
WAKE = ("task", (hints.WAKE_TASK, str(RUN)))


def test_an_advanced_run_wakes_workers_only_if_there_is_work(told):
    run_advanced.send(None, run_id=RUN, tenant_id=TENANT, seq=5, calls=[(CALL, 2)], work=False)
    assert told == [("live", ("run", str(TENANT), str(RUN)), 5), ("live", ("call", str(TENANT), str(CALL)), 2)]
    told.clear()
    run_advanced.send(None, run_id=RUN, tenant_id=TENANT, seq=6, calls=[], work=True)
    assert told[0] == WAKE


def test_a_changed_proposal_wakes_its_run_and_moves_page_and_inbox(told):
    proposal = uuid.uuid4()
    proposal_changed.send(None, tenant_id=TENANT, proposal_id=proposal, version=3, run_id=RUN)
    assert told == [
        WAKE,
        ("live", ("proposal", str(TENANT), str(proposal)), 3),
        ("live", ("inbox", str(TENANT), str(TENANT)), 3),
    ]


def test_what_a_worker_at_the_run_itself_changed_calls_no_other_worker(told):
    proposal = uuid.uuid4()
    proposal_changed.send(None, tenant_id=TENANT, proposal_id=proposal, version=3, run_id=RUN, for_run=False)
    assert told == [
        ("live", ("proposal", str(TENANT), str(proposal)), 3),
        ("live", ("inbox", str(TENANT), str(TENANT)), 3),
    ]


def test_workers_are_called_for_a_decision_and_not_for_what_they_did_themselves(told, world):
    run = world.run()
    call = world.refund(run, world.order())
    wake = ("task", (hints.WAKE_TASK, str(run.id)))
    told.clear()
    world.work(run)
    assert wake not in told
    world.decide(world.look(call))
    assert wake in told
    told.clear()
    # Taking up the decision orders the dispatch: that, and nothing that follows, tells of work.
    world.work(run)
    assert world.look(call).state == "succeeded"
    assert told.count(wake) == 1


def test_waiting_work_answers_whether_workers_could_be_told(told):
    [(_, answer)] = work_waits.send(None, run_id=RUN)
    assert answer is True
    assert told == [WAKE]


def test_nothing_is_told_of_what_rolled_back(told, world):
    actor = world.agent_actor
    told.clear()
    with pytest.raises(Exception, match="title"):
        run_open(actor=actor, title="")
    assert told == []


def test_a_committed_call_tells_a_worker_and_the_pages(told, world):
    run = world.run()
    told.clear()
    call = world.refund(run, "ord_1")
    assert ("task", (hints.WAKE_TASK, str(run.id))) in told
    assert ("live", ("call", str(run.tenant_id), str(call.id)), 1) in told
    assert ("live", ("run", str(run.tenant_id), str(run.id)), 3) in told


def test_a_published_policy_and_a_replay_that_waits_tell_a_worker(told):
    policy_published.send(None, tenant_id=TENANT)
    replay_waits.send(None, replay_id=CALL)
    assert told == [
        ("task", ("runs.tasks.judge_open", str(TENANT))),
        ("task", ("runs.tasks.replay", str(CALL))),
    ]
