"""runs/selectors/runs.py: what each actor may read, and that a foreign id answers like an unknown one (S62)."""

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.core.refusal import Invalid, NotFound
from runs.selectors.runs import (
    RunFilter,
    call_row,
    calls_of_interest,
    calls_page,
    last_seq,
    run_get,
    run_read,
    runs_by_id,
    runs_page,
    timeline,
)
from tests.support import factories


def test_an_agent_sees_its_own_runs_a_person_the_tenants_and_a_stranger_none(world, payments):
    mine = world.run()
    colleague = factories.agent(world.tenant, acts_for=[world.asker]).actor(on_behalf_of=world.asker.user_id)
    outsider = type(world)(payments)
    assert [run.id for run in runs_page(world.agent_actor).rows] == [mine.id]
    assert [run.id for run in runs_page(world.reviewer.actor).rows] == [mine.id]
    for actor in (colleague, outsider.agent_actor, outsider.asker.actor):
        assert runs_page(actor).rows == []
        assert runs_by_id(actor, [mine.id]) == []


def test_a_member_without_any_role_sees_no_runs(world):
    run = world.run()
    nobody = factories.person(world.tenant, roles=[])
    assert runs_page(nobody.actor).rows == []
    with pytest.raises(NotFound):
        run_get(nobody.actor, run.id)


def test_a_foreign_an_unknown_and_a_malformed_id_answer_alike(world, payments):
    call = world.held()
    outsider = type(world)(payments).asker.actor
    answers = set()
    for run_id in (call.run_id, uuid.uuid4(), "not an id"):
        for read in (run_get, run_read, timeline, last_seq, calls_page, lambda a, r: call_row(a, r, call.call_id)):
            with pytest.raises(NotFound) as caught:
                read(outsider, run_id)
            answers.add(str(caught.value.as_dict()))
    assert len(answers) == 1


def test_a_call_of_another_run_is_not_found_under_this_one(world):
    call, other = world.held(), world.run()
    with pytest.raises(NotFound):
        call_row(world.agent_actor, other.id, call.call_id)


def test_pages_of_runs_follow_each_other_newest_first_without_gap_or_repeat(world):
    runs = [world.run().id for _ in range(7)]
    seen, cursor = [], ""
    while True:
        page = runs_page(world.reviewer.actor, cursor=cursor, limit=3)
        seen += [run.id for run in page.rows]
        cursor = page.next
        if not cursor:
            break
    assert seen == list(reversed(runs))


def test_runs_are_found_by_status_title_agent_and_id(world):
    waiting = world.held()
    other = world.run()
    actor = world.reviewer.actor
    assert [run.id for run in runs_page(actor, RunFilter(state="waiting_approval")).rows] == [waiting.run_id]
    assert len(runs_page(actor, RunFilter(q="refund a cust")).rows) == 2
    assert len(runs_page(actor, RunFilter(q="SUPPORT AGENT")).rows) == 2
    assert [run.id for run in runs_page(actor, RunFilter(q=str(other.id))).rows] == [other.id]
    assert runs_page(actor, RunFilter(q="nothing like it")).rows == []


def test_a_page_mark_that_is_not_ours_is_refused(world):
    for cursor in ("x", "bm90IGEgdGltZQ==", "☃"):
        with pytest.raises(Invalid) as caught:
            runs_page(world.reviewer.actor, cursor=cursor)
        assert caught.value.code == "CURSOR_INVALID"


def test_a_run_in_full_has_its_calls_and_what_the_history_says_of_each(world):
    call = world.held(call_id="refund-1")
    detail = run_read(world.reviewer.actor, call.run_id)
    assert [row.call_id for row in calls_of_interest(call.run_id, limit=5)] == ["refund-1"]
    machine = detail.state.calls["refund-1"]
    assert (machine.rule_id, machine.policy_number, machine.round) == ("refund", 1, 1)
    assert detail.counts["waiting"] == 1
    assert detail.run.status == "waiting_approval"


def test_a_timeline_goes_on_from_a_sequence_in_words(world):
    call = world.held()
    world.decide(call)
    world.work(call)
    actor = world.reviewer.actor
    events = timeline(actor, call.run_id)
    assert [event.seq for event in events] == list(range(1, last_seq(actor, call.run_id) + 1))
    assert timeline(actor, call.run_id, after=events[-3].seq) == events[-2:]
    assert timeline(actor, call.run_id, after=events[-1].seq) == []
    assert [event.seq for event in timeline(actor, call.run_id, limit=2)] == [1, 2]
    said = ["".join(segment.value for segment in event.line.segments) for event in events]
    assert any("refund_order" in line and "was approved by Rita Reviewer" in line for line in said)


def test_a_timeline_costs_three_queries_whatever_its_length(world):
    run = world.run()
    for _ in range(5):
        world.refund(run, world.order())
    world.work(run)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert len(timeline(world.reviewer.actor, run.id)) > 15
    # The rights of the actor were read before; here the head, the events, the tools' names.
    assert len(queries) - 1 <= 4


def test_calls_come_in_the_order_in_which_they_were_asked_for(world):
    run, order = world.run(), world.order()
    names = [world.submit(run, "get_order", {"order_id": order}, f"c{n}").call_id for n in range(5)]
    actor = world.agent_actor
    assert [call.call_id for call in calls_page(actor, run.id)] == names
    assert [call.call_id for call in calls_page(actor, run.id, after="c2")] == ["c3", "c4"]
    assert [call.call_id for call in calls_page(actor, run.id, limit=2)] == ["c0", "c1"]
    with pytest.raises(NotFound):
        calls_page(actor, run.id, after="none")


def test_rows_cannot_be_changed_by_whoever_reads_them(world):
    run = world.run()
    with pytest.raises(AttributeError):
        run.status = "completed"
