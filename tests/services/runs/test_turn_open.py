"""runs/services/turn.py and exposed.py: what a turn shows may be asked for in it, and nothing else (R10)."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import transaction

from approvals.services.contract import contract_admit, contract_retire
from approvals.services.shown_tools import shown_tools_set
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound
from audit.selectors.entries import EntryFilters, entries_page
from audit.store import clock
from runs.core.kinds import EventKind as K
from runs.models import Call, Event
from runs.selectors.run_tools import tools_in_run
from runs.selectors.timeline import Narrowed, events_shown
from runs.services.call import call_submit
from runs.services.run import run_cancel, run_complete, run_open
from runs.services.turn import turn_open
from runs.store.append import append, lock_run
from tests.core.approvals.documents import refund_document
from tests.support import approvals, factories
from tests.support.world import kinds

ORDER = {"order_id": "ord_1029"}
REFUND = {"order_id": "ord_1029", "amount": 4_500}


@pytest.fixture
def acme(db):
    return approvals.world()


def begun(acme, **more):
    return run_open(actor=acme.actor, title="Refund", **more)


def opened(acme, run, turn_id, tools=None, actor=None):
    return turn_open(actor=actor or acme.actor, run_id=run.id, turn_id=turn_id, tools=tools)


def names(turn):
    return [tool.name for tool in turn.tools]


def asked(acme, run, tool, call_id, turn="", **more):
    arguments = (ORDER if tool == "get_order" else REFUND) | more
    return call_submit(actor=acme.actor, run_id=run.id, call_id=call_id, tool=tool, arguments=arguments, turn=turn)


def refused(kind, code, function, *args, **more):
    with pytest.raises(kind) as caught:
        function(*args, **more)
    assert caught.value.code == code, caught.value.message
    return caught.value


def test_a_turn_shows_what_was_chosen_and_takes_no_call_of_another_tool(acme):
    run = begun(acme)
    turn = opened(acme, run, "t1", ["get_order"])
    assert (turn.number, turn.narrowed, turn.repeated, names(turn)) == (1, True, False, ["get_order"])
    assert turn.tools[0].input_schema["required"] == ["order_id"]
    refusal = refused(Forbidden, "NOT_EXPOSED", asked, acme, run, "refund_order", "c1")
    assert "turn t1 shows. Use" in refusal.message
    assert "open the next turn with it" in refusal.message
    assert refusal.alternatives == ["get_order"]
    assert Call.objects.count() == 0
    asked(acme, run, "get_order", "c2")
    body = Event.objects.get(run_id=run.id, kind="call_proposed").body
    assert (body["tool"], body["turn"]) == ("get_order", "t1")


def test_without_a_choice_a_turn_shows_all_of_the_run_and_the_next_one_ends_it(acme):
    run = begun(acme)
    opened(acme, run, "t1", [])
    refused(Forbidden, "NOT_EXPOSED", asked, acme, run, "get_order", "c1")
    turn = opened(acme, run, "t2")
    assert (turn.number, turn.narrowed, names(turn)) == (2, False, ["get_order", "refund_order"])
    asked(acme, run, "refund_order", "c1", turn="t2")
    assert kinds(run.id)[2:] == ["turn_opened", "turn_opened", "call_proposed"]
    told = events_shown(run.id, Narrowed(group="model"), after=0, until=5)
    assert ["".join(part.value for part in event.line.segments) for event in told] == [
        "Turn 2: shown get_order, refund_order: all that the run may call",
        "Turn 1: shown no tool",
    ]


def test_a_run_whose_agent_opens_no_turn_is_as_it_was(acme):
    run = begun(acme)
    asked(acme, run, "refund_order", "c1")
    assert Event.objects.get(run_id=run.id, kind="call_proposed").body["turn"] is None


def test_a_turn_never_widens_what_the_run_was_opened_with(acme):
    run = begun(acme, tools=["get_order"])
    refusal = refused(Invalid, "TOOLS_INVALID", opened, acme, run, "t1", ["get_order", "refund_order"])
    assert refusal.detail == {"tools": ["refund_order"]}
    assert names(opened(acme, run, "t1")) == ["get_order"]
    refusal = refused(Forbidden, "NOT_EXPOSED", asked, acme, run, "refund_order", "c1")
    assert "this run is shown" in refusal.message


def test_a_turn_never_widens_what_an_admin_or_the_scopes_show(acme):
    run = begun(acme)
    shown_tools_set(actor=acme.tenant.admin.actor, agent_id=UUID(acme.agent.id), tools=["get_order"])
    refused(Invalid, "TOOLS_INVALID", opened, acme, run, "t1", ["refund_order"])
    reader = factories.agent(acme.tenant, scopes=["orders:read"])
    own = run_open(actor=reader.actor(), title="Look")
    refused(Invalid, "TOOLS_INVALID", opened, acme, own, "t1", ["refund_order"], actor=reader.actor())
    assert names(opened(acme, own, "t1", actor=reader.actor())) == ["get_order"]


def test_a_tool_that_nobody_has_reads_like_one_that_is_not_shown_and_nothing_is_written(acme):
    run = begun(acme, tools=["get_order"])
    unknown = refused(Invalid, "TOOLS_INVALID", opened, acme, run, "t1", ["erase_all"])
    hidden = refused(Invalid, "TOOLS_INVALID", opened, acme, run, "t1", ["refund_order"])
    assert unknown.message.replace("erase_all", "refund_order") == hidden.message
    assert "turn_opened" not in kinds(run.id)


def test_what_an_admin_takes_away_is_gone_from_the_open_turn(acme):
    run = begun(acme)
    opened(acme, run, "t1")
    shown_tools_set(actor=acme.tenant.admin.actor, agent_id=UUID(acme.agent.id), tools=["get_order"])
    assert names(opened(acme, run, "t1")) == ["get_order"]
    refusal = refused(Forbidden, "NOT_EXPOSED", asked, acme, run, "refund_order", "c1")
    assert "this agent is shown" in refusal.message


def test_what_is_added_after_a_turn_was_opened_is_in_the_next_one(acme):
    """The model was not shown it."""
    run = begun(acme)
    contract_retire(actor=acme.tenant.admin.actor, tool="refund_order")
    assert names(opened(acme, run, "t1")) == ["get_order"]
    contract_admit(actor=acme.tenant.admin.actor, document=refund_document())
    assert [tool.name for tool in tools_in_run(acme.actor, run.id)] == ["get_order", "refund_order"]
    refused(Forbidden, "NOT_EXPOSED", asked, acme, run, "refund_order", "c1")
    opened(acme, run, "t2")
    asked(acme, run, "refund_order", "c1")


def test_a_call_that_was_taken_goes_on_when_its_turn_is_over(world):
    """Exposure is judged when a call is asked for, not when it is sent."""
    run = world.run()
    turn_open(actor=world.agent_actor, run_id=run.id, turn_id="t1", tools=["refund_order"])
    call = world.refund(run, world.order(), call_id="c1")
    turn_open(actor=world.agent_actor, run_id=run.id, turn_id="t2", tools=[])
    world.work(run)
    world.decide(world.look(call))
    world.work(run)
    assert world.look(call).state == "succeeded"


def test_a_call_is_repeated_safely_when_its_turn_is_over(acme):
    run = begun(acme)
    opened(acme, run, "t1", ["refund_order"])
    first = asked(acme, run, "refund_order", "c1", turn="t1")
    opened(acme, run, "t2", [])
    again = asked(acme, run, "refund_order", "c1", turn="t1")
    assert (again.id, again.repeated) == (first.id, True)
    refused(Conflict, "CALL_ID_REUSED", asked, acme, run, "refund_order", "c1", turn="t1", amount=1)


def test_a_call_that_names_a_turn_that_is_over_is_refused_whatever_the_open_one_shows(acme):
    run = begun(acme)
    opened(acme, run, "t1", ["refund_order"])
    opened(acme, run, "t2")
    refusal = refused(Conflict, "TURN_NOT_OPEN", asked, acme, run, "refund_order", "c1", turn="t1")
    assert refusal.message.startswith("Turn t1 is over since turn t2 was opened.")
    assert refusal.detail == {"open": {"turn_id": "t2", "number": 2}}
    assert Call.objects.count() == 0


def test_a_call_that_names_a_turn_that_was_never_opened_is_refused(acme):
    run = begun(acme)
    refusal = refused(Conflict, "TURN_NOT_OPEN", asked, acme, run, "refund_order", "c1", turn="t9")
    assert refusal.detail == {"open": None}
    opened(acme, run, "t1")
    refusal = refused(Conflict, "TURN_NOT_OPEN", asked, acme, run, "refund_order", "c1", turn="t9")
    assert "No turn t9 was opened" in refusal.message


def test_the_same_turn_again_changes_nothing(acme):
    run = begun(acme)
    first = opened(acme, run, "t1", ["refund_order", "get_order", "get_order"])
    again = opened(acme, run, "t1", ["get_order", "refund_order"])
    assert (again.number, again.opened_at, again.repeated) == (1, first.opened_at, True)
    assert kinds(run.id).count("turn_opened") == 1
    verdicts = [e.verdict for e in entries_page(acme.tenant.id, EntryFilters(action="run.turn_opened"))]
    assert sorted(verdicts) == ["duplicate", "ok"]


def test_the_open_turns_id_with_other_tools_is_a_conflict(acme):
    """All tools by name are others than no choice: tomorrow the two may differ."""
    run = begun(acme)
    both = ["get_order", "refund_order"]
    others = [(["get_order"], ["refund_order"]), (["get_order"], None), (None, []), (None, both), (both, None)]
    for number, (first, second) in enumerate(others, 1):
        opened(acme, run, f"t{number}", first)
        refusal = refused(Conflict, "TURN_ID_REUSED", opened, acme, run, f"t{number}", second)
        assert "open with other tools" in refusal.message
        assert kinds(run.id).count("turn_opened") == number


def test_a_request_that_comes_late_opens_no_earlier_turn_again(acme):
    """It could show more than the turn that is open."""
    run = begun(acme)
    opened(acme, run, "t1")
    opened(acme, run, "t2", ["get_order"])
    refusal = refused(Conflict, "TURN_ID_REUSED", opened, acme, run, "t1")
    assert "Turn t1 is over since turn t2" in refusal.message
    refused(Forbidden, "NOT_EXPOSED", asked, acme, run, "refund_order", "c1")


def test_an_id_in_which_something_can_hide_is_refused(acme):
    run = begun(acme)
    for turn_id in ("", "a b", "t\n", "t\u200b", "t\u202e1", "t\0", "\u0442", "x" * 129):
        refused(Invalid, "TURN_ID_INVALID", opened, acme, run, turn_id)
    assert "turn_opened" not in kinds(run.id)


def test_a_run_that_is_over_or_being_stopped_opens_no_turn_and_repeats_none(acme):
    done, stopped = begun(acme), begun(acme)
    for run in (done, stopped):
        opened(acme, run, "t1", ["get_order"])
    run_complete(actor=acme.actor, run_id=done.id)
    run_cancel(actor=acme.actor, run_id=stopped.id)
    for run, words in ((done, "completed and stays so"), (stopped, "cancelled and stays so")):
        for turn_id in ("t1", "t2"):
            refusal = refused(Conflict, "NOT_IN_THIS_STATE", opened, acme, run, turn_id, ["get_order"])
            assert words in refusal.message
        # That the run takes no call comes before what its last turn showed.
        refused(Conflict, "NOT_IN_THIS_STATE", asked, acme, run, "refund_order", "c1")


def test_a_paused_run_opens_no_turn_and_its_open_one_goes_on_cutting(acme):
    run = begun(acme)
    opened(acme, run, "t1", ["get_order"])
    with transaction.atomic():
        append(lock_run(run.id), [(K.PAUSE_ASKED, {"reason": "Look."})], actor=acme.tenant.admin.actor)
    refusal = refused(Conflict, "NOT_IN_THIS_STATE", opened, acme, run, "t2")
    assert "paused; resume it first" in refusal.message
    refused(Forbidden, "NOT_EXPOSED", asked, acme, run, "refund_order", "c1")
    asked(acme, run, "get_order", "c2", turn="t1")


def test_behind_the_runs_deadline_no_turn_is_opened(acme, stand_at):
    run = begun(acme, deadline=clock.now() + timedelta(hours=1))
    opened(acme, run, "t1")
    stand_at(run.deadline)
    refused(Invalid, "DEADLINE_PASSED", opened, acme, run, "t2")
    assert opened(acme, run, "t1").repeated


def test_only_the_runs_own_agent_opens_its_turns(acme):
    run = begun(acme)
    other = factories.agent(acme.tenant, acts_for=[acme.customer_care])
    foreign = factories.agent(factories.tenant())
    for actor in (other.actor(on_behalf_of=acme.customer_care.user_id), foreign.actor()):
        refused(NotFound, "NOT_FOUND", opened, acme, run, "t1", actor=actor)
    refused(Forbidden, "PRINCIPAL_DIFFERS", opened, acme, run, "t1", actor=acme.agent.actor())
    refused(Forbidden, "AGENT_REQUIRED", opened, acme, run, "t1", actor=acme.tenant.admin.actor)
    with pytest.raises(NotFound):
        turn_open(actor=acme.actor, run_id=uuid4(), turn_id="t1")
    assert kinds(run.id) == ["run_created", "run_admitted"]


def test_each_turn_and_each_refusal_is_recorded(acme):
    run = begun(acme)
    opened(acme, run, "t1", ["get_order"])
    refused(Invalid, "TOOLS_INVALID", opened, acme, run, "t2", ["nothing"])
    entries = entries_page(acme.tenant.id, EntryFilters(action="run.turn_opened"))
    found = {entry.verdict: entry.detail for entry in entries}
    assert found["ok"] == {"turn_id": "t1", "number": 1, "narrowed": True, "tools": ["get_order"]}
    assert found["refused"]["code"] == "TOOLS_INVALID"
