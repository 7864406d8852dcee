"""One word for a run in which several things are true at once, and what the word leaves out."""

import pytest

from runs.core.kinds import EventKind, RunStatus
from runs.core.status import PRECEDENCE, counts, detail, drain_due, quiescent_due, run_status, waits
from tests.core.runs.story import Story, moment

E = EventKind


def test_the_order_is_the_stated_one():
    stated = """completed failed cancelled cancelling needs_reconciliation paused waiting_approval waiting_tool
    waiting_model running ready created"""
    assert [str(status) for status in PRECEDENCE] == stated.split()


def test_every_status_of_the_requirement_has_its_line():
    assert set(PRECEDENCE) == set(RunStatus)


def test_a_pending_run_says_its_place():
    assert (Story().create(place=3).status, detail(Story().create(place=3).state)) == ("created", "pending, place 3")
    assert detail(Story().create().state) == "pending"
    assert detail(Story().state) == "pending"


def test_an_admitted_run_is_ready_and_a_judged_call_makes_it_running():
    story = Story().open(place=2)
    assert (story.status, detail(story.state)) == (RunStatus.READY, "")
    story.propose()
    assert (story.status, detail(story.state)) == (RunStatus.RUNNING, "1 being judged")


def test_people_come_before_tools_tools_before_the_model_and_the_model_before_judging():
    story = Story().open()
    story.propose("c1")
    story.tell(E.MODEL_ASKED, ask_id="m1")
    story.allow("c1")
    story.waiting("c2")
    asked, allowed, *_, held = story.statuses[3:]
    assert (asked, allowed, held) == ("waiting_model", "waiting_tool", "waiting_approval")
    assert detail(story.state) == "1 for people"


def test_a_waiting_tool_is_named_with_its_deadline():
    story = Story().granted("c1")
    assert detail(story.state) == "1 ready to be sent"
    story.start("c1", deadline=moment(40))
    assert detail(story.state) == f"refund_order until {moment(40)}"
    story.granted("c2")
    story.start("c2", deadline=moment(30))
    assert detail(story.state) == f"refund_order until {moment(30)}, 1 more"


def test_a_pause_hides_waiting_and_says_whether_it_has_drained():
    """S30: "pausing, 1 in flight", then "drained"."""
    story = Story().started("c1").waiting("c2")
    story.tell(E.PAUSE_ASKED)
    assert (story.status, detail(story.state), drain_due(story.state)) == (
        RunStatus.PAUSED,
        "pausing, 1 in flight",
        False,
    )
    story.succeed("c1")
    assert (detail(story.state), drain_due(story.state)) == ("drained", True)
    story.tell(E.PAUSE_DRAINED)
    assert not drain_due(story.state)


def test_an_unknown_effect_comes_before_a_pause():
    story = Story().unknown("c1").waiting("c2")
    story.tell(E.PAUSE_ASKED)
    assert (story.status, detail(story.state)) == (RunStatus.NEEDS_RECONCILIATION, "1 unresolved")


def test_cancelling_comes_before_an_unknown_effect_as_long_as_something_owned_runs():
    story = Story().unknown("c1").started("c2")
    story.tell(E.CANCEL_ASKED)
    assert (story.status, detail(story.state)) == (RunStatus.CANCELLING, "cancelling, 1 in flight")
    assert not quiescent_due(story.state)
    story.succeed("c2")
    assert (story.status, quiescent_due(story.state)) == (RunStatus.NEEDS_RECONCILIATION, True)
    story.tell(E.RUN_QUIESCENT)
    assert (story.status, quiescent_due(story.state)) == (RunStatus.NEEDS_RECONCILIATION, False)


def test_a_kill_says_that_it_kills():
    story = Story().started()
    story.tell(E.KILL_ASKED)
    assert detail(story.state) == "killing, 1 in flight"


def test_a_failed_run_says_its_code():
    story = Story().open()
    story.tell(E.RUN_FAILED, code="BUDGET_SPENT", message="Ten calls were allowed.")
    assert (story.status, detail(story.state)) == (RunStatus.FAILED, "BUDGET_SPENT")


def test_the_numbers_behind_the_word_are_told():
    story = Story().started("c1").waiting("c2").waiting("c3")
    assert counts(story.state) == {"started": 1, "waiting": 2, "in_flight": 1}


@pytest.mark.parametrize(
    ("begin", "still"), [("waiting", True), ("granted", False), ("started", False), ("unknown", True), ("open", False)]
)
def test_a_run_waits_when_only_a_person_can_move_it(begin: str, still: bool):
    assert waits(getattr(Story(), begin)().state) is still


def test_the_status_is_computed_from_a_restored_state_as_well():
    story = Story().unknown()
    assert run_status(type(story.state).from_json(story.state.to_json())) is RunStatus.NEEDS_RECONCILIATION
