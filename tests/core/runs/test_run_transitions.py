"""The run around its calls: opening, steering, pausing, cancelling, killing, ending."""

import pytest

from runs.core.kinds import CallState, EffectState, EventKind, RunPhase, RunStatus
from runs.core.reducer import IllegalTransition, fold
from tests.core.runs.story import READ, REFUND, Story, kinds, moment

E = EventKind


def test_nothing_happens_before_the_run_is_created():
    story = Story()
    assert "does not exist" in story.refuses(E.CANCEL_ASKED).sentence


def test_a_run_is_created_once():
    Story().open().refuses(E.RUN_CREATED, scope={})


def test_a_pending_run_takes_no_calls():
    story = Story().create(place=3)
    refusal = story.refuses(E.CALL_PROPOSED, call_id="c1", key="k", **REFUND)
    assert "pending" in refusal.sentence


def test_a_run_that_drives_itself_is_admitted_without_a_command():
    story = Story().create(managed=False)
    assert story.tell(E.RUN_ADMITTED) == ()


def test_a_run_that_we_drive_asks_its_model_first():
    story = Story().create(managed=True)
    assert kinds(story.tell(E.RUN_ADMITTED)) == ["ask_model"]


def test_a_gap_in_the_sequence_is_refused():
    story = Story().open()
    event = story.event(E.PAUSE_ASKED)
    story.tell(E.USER_STEERED, text="Be kind.")
    with pytest.raises(IllegalTransition, match="does not follow"):
        fold(story.state, event)


def test_steering_tells_the_agent_and_moves_nothing_else():
    story = Story().open()
    assert kinds(story.tell(E.USER_STEERED, text="Only this one.")) == ["tell_agent"]
    assert (story.state.steers, story.status) == (1, RunStatus.READY)


def test_one_question_to_the_model_at_a_time_and_its_own_answer():
    story = Story().open()
    story.tell(E.MODEL_ASKED, ask_id="m1")
    assert story.status is RunStatus.WAITING_MODEL
    story.refuses(E.MODEL_ASKED, ask_id="m2")
    story.refuses(E.MODEL_ANSWERED, ask_id="m2")
    story.tell(E.MODEL_ANSWERED, ask_id="m1")
    story.refuses(E.MODEL_ANSWERED, ask_id="m1")


# Completing and failing.


@pytest.mark.parametrize("begin", ["waiting", "granted", "started", "unknown"])
def test_a_run_is_not_completed_over_a_call_that_is_open_and_the_sentence_names_it(begin: str):
    story = getattr(Story(), begin)()
    assert "c1" in story.refuses(E.RUN_COMPLETED).sentence


def test_a_run_whose_calls_are_final_completes_and_orders_nothing():
    story = Story().started()
    story.succeed()
    assert story.tell(E.RUN_COMPLETED, summary="Refunded.") == ()
    assert story.status is RunStatus.COMPLETED


def test_a_run_is_not_completed_while_its_model_is_asked():
    story = Story().open()
    story.tell(E.MODEL_ASKED, ask_id="m1")
    assert "m1" in story.refuses(E.RUN_COMPLETED).sentence


def test_a_failed_run_cancels_what_was_not_sent_and_tells_which():
    story = Story().waiting("c1").granted("c2")
    (told,) = story.tell(E.RUN_FAILED, code="BUDGET_SPENT", message="Ten calls were allowed.")
    assert story.status is RunStatus.FAILED
    assert [(moved["call_id"], moved["was"], moved["state"]) for moved in told.body["moved"]] == [
        ("c1", "waiting", "cancelled"),
        ("c2", "ready", "cancelled"),
    ]


@pytest.mark.parametrize("begin", ["started", "unknown"])
def test_a_run_does_not_fail_over_an_open_effect(begin: str):
    story = getattr(Story(), begin)()
    assert "c1" in story.refuses(E.RUN_FAILED, code="X", message="Y").sentence


@pytest.mark.parametrize("end", [E.RUN_COMPLETED, E.RUN_FAILED, E.RUN_QUIESCENT])
def test_a_finished_run_takes_evidence_only_and_orders_nothing(end: EventKind):
    story = Story().started()
    story.fail("connect_refused", retry_at=moment(30))
    story.resolve("rejected")
    if end is E.RUN_QUIESCENT:
        story.tell(E.CANCEL_ASKED)
    story.tell(end, **({"code": "X", "message": "Y"} if end is E.RUN_FAILED else {}))
    status = story.status
    assert story.state.phase is RunPhase.FINISHED
    assert story.tell(E.LATE_RESULT_KEPT, call_id="c1", fence=1, outcome="succeeded") == ()
    assert story.resolve("granted") == ()
    assert story.tell(E.BUDGET_SETTLED, budget="money", amount=45) == ()
    assert story.tell(E.RUN_FORKED, fork_run_id="r2") == ()
    for kind in (E.PAUSE_ASKED, E.CANCEL_ASKED, E.KILL_ASKED, E.RESUME_ASKED, E.RUN_COMPLETED, E.KILL_DONE):
        assert "stays so" in story.refuses(kind).sentence
    story.refuses(E.CALL_PROPOSED, call_id="c2", key="k", **REFUND)
    assert (story.status, story.where()) == (status, CallState.REJECTED)


# Pausing (S30).


def test_a_paused_run_starts_nothing_lets_active_calls_finish_and_drains():
    story = Story().started("c1").granted("c2")
    assert kinds(story.tell(E.PAUSE_ASKED)) == ["tell_agent"]
    assert "paused" in story.refuses(E.DISPATCH_STARTED, **story.dispatch("c2")).sentence
    assert "c1" in story.refuses(E.PAUSE_DRAINED).sentence
    story.succeed("c1")
    story.tell(E.PAUSE_DRAINED)
    story.refuses(E.PAUSE_DRAINED)
    assert story.status is RunStatus.PAUSED


def test_what_a_pause_held_back_comes_when_it_is_resumed():
    story = Story().granted("c1")
    before = story.commands[-1][0]
    story.tell(E.PAUSE_ASKED)
    assert story.propose("c2") == ()
    story.waiting("c3")
    assert story.resolve("granted", "c3") == ()
    resumed = story.tell(E.RESUME_ASKED)
    assert [(command.kind, command.call_id) for command in resumed] == [
        ("read_state", "c2"),
        ("evaluate", "c2"),
        ("dispatch", "c1"),
        ("dispatch", "c3"),
        ("tell_agent", None),
    ]
    assert resumed[2].identity == before.identity


def test_a_call_in_back_off_is_not_sent_by_a_resume_but_by_its_timer():
    story = Story().started()
    story.fail("connect_refused", retry_at=moment(30))
    story.tell(E.PAUSE_ASKED)
    assert kinds(story.tell(E.RESUME_ASKED)) == ["tell_agent"]
    assert kinds(story.tell(E.TIMER_DUE, call_id="c1")) == ["dispatch"]


def test_a_timer_that_is_due_in_a_pause_is_made_up_for_by_the_resume():
    story = Story().started()
    story.fail("connect_refused", retry_at=moment(30))
    story.tell(E.PAUSE_ASKED)
    assert story.tell(E.TIMER_DUE, call_id="c1") == ()
    assert kinds(story.tell(E.RESUME_ASKED)) == ["dispatch", "tell_agent"]


def test_people_go_on_deciding_and_outcomes_are_looked_up_while_a_run_is_paused():
    story = Story().started("c1")
    story.propose("c2")
    story.tell(E.PAUSE_ASKED)
    assert kinds(story.hold("c2")) == ["hold_proposal", "tell_agent"]
    assert kinds(story.lose("c1")) == ["look_up", "tell_agent"]


def test_a_pause_is_asked_once_and_only_a_paused_run_is_resumed():
    story = Story().open()
    story.refuses(E.RESUME_ASKED)
    story.tell(E.PAUSE_ASKED)
    assert "resume it first" in story.refuses(E.PAUSE_ASKED).sentence


# Cancelling.


def test_cancel_ends_what_was_not_sent_in_one_event_and_tells_which():
    story = Story().open()
    story.propose("c1")
    story.waiting("c2").granted("c3").started("c4")
    stop, told = story.tell(E.CANCEL_ASKED, reason="Wrong customer.")
    assert [story.where(call_id) for call_id in ("c1", "c2", "c3", "c4")] == [
        "cancelled",
        "cancelled",
        "cancelled",
        "started",
    ]
    assert (stop.kind, stop.body["calls"], stop.body["kill"]) == ("stop_children", ["c4"], False)
    assert [(moved["call_id"], moved["proposal_id"]) for moved in told.body["moved"]] == [
        ("c1", None),
        ("c2", "p-c2"),
        ("c3", "p-c3"),
    ]
    assert told.body["in_flight"] == ["c4"]


def test_cancel_with_nothing_in_flight_stops_nobody():
    story = Story().waiting()
    assert kinds(story.tell(E.CANCEL_ASKED)) == ["tell_agent"]


def test_a_cancelled_run_is_quiet_only_when_nothing_owned_runs():
    story = Story().started()
    story.tell(E.CANCEL_ASKED)
    story.tell(E.CANCEL_ACKNOWLEDGED)
    assert "c1" in story.refuses(E.RUN_QUIESCENT).sentence
    assert story.status is RunStatus.CANCELLING
    story.succeed()
    story.tell(E.RUN_QUIESCENT)
    assert (story.status, story.where()) == (RunStatus.CANCELLED, CallState.SUCCEEDED)


def test_a_call_that_fails_before_its_effect_is_not_tried_again_under_cancel():
    story = Story().started()
    story.tell(E.CANCEL_ASKED)
    story.fail("connect_refused", retry_at=moment(30))
    assert story.where() is CallState.FAILED


def test_an_unknown_outcome_outlives_the_cancel_until_somebody_knows():
    story = Story().started()
    story.tell(E.CANCEL_ASKED)
    story.lose()
    story.tell(E.RUN_QUIESCENT)
    assert story.status is RunStatus.NEEDS_RECONCILIATION
    assert "stopped" in story.refuses(E.OUTCOME_RECONCILED, **story.reconciliation("retry")).sentence
    assert kinds(story.tell(E.TIMER_DUE, call_id="c1")) == ["look_up"]
    story.observe()
    assert kinds(story.reconcile("happened", reference="re_1")) == ["tell_agent"]
    assert story.status is RunStatus.CANCELLED


def test_cancel_is_acknowledged_once_and_never_undone():
    """S86: a resume does not undo a cancel."""
    story = Story().open()
    story.tell(E.PAUSE_ASKED)
    story.tell(E.CANCEL_ASKED)
    story.tell(E.CANCEL_ACKNOWLEDGED)
    story.refuses(E.CANCEL_ACKNOWLEDGED)
    story.refuses(E.CANCEL_ASKED)
    assert "being stopped" in story.refuses(E.RESUME_ASKED).sentence
    for kind in (E.RUN_COMPLETED, E.PAUSE_ASKED):
        story.refuses(kind)


@pytest.mark.parametrize("stop", [E.CANCEL_ASKED, E.KILL_ASKED])
def test_nothing_new_is_scheduled_in_a_run_that_is_being_stopped(stop: EventKind):
    story = Story().unknown("c1").started("c2")
    story.tell(stop)
    story.refuses(E.CALL_PROPOSED, call_id="c3", key="k", **REFUND)
    assert "nothing new" in story.refuses(E.OUTCOME_RECONCILED, **story.reconciliation("retry")).sentence
    story.refuses(E.MODEL_ASKED, ask_id="m1")
    story.refuses(E.USER_STEERED, text="Go on.")


def test_a_run_that_was_never_admitted_can_be_cancelled():
    story = Story().create()
    story.tell(E.CANCEL_ASKED)
    story.tell(E.RUN_QUIESCENT)
    assert story.status is RunStatus.CANCELLED


# Killing.


def test_kill_ends_the_processes_and_leaves_their_effects_in_question():
    story = Story().started("c1").started("c2", like=READ).waiting("c3")
    story.tell(E.MODEL_ASKED, ask_id="m1")
    stop, _ = story.tell(E.KILL_ASKED)
    assert (stop.body["kill"], stop.body["calls"], stop.body["ask_id"]) == (True, ["c1", "c2"], "m1")
    commands = story.tell(E.KILL_DONE)
    assert [story.where(call_id) for call_id in ("c1", "c2", "c3")] == ["unknown", "failed", "cancelled"]
    assert story.call("c1").effect is EffectState.UNKNOWN
    assert [(command.kind, command.call_id) for command in commands] == [("tell_agent", None), ("look_up", "c1")]
    assert story.status is RunStatus.NEEDS_RECONCILIATION
    story.reconcile("did_not_happen")
    assert story.status is RunStatus.CANCELLED


def test_kill_may_follow_a_cancel_that_hangs():
    story = Story().started(like=READ)
    story.tell(E.CANCEL_ASKED)
    story.refuses(E.KILL_DONE)
    story.tell(E.KILL_ASKED)
    story.refuses(E.KILL_ASKED)
    story.tell(E.KILL_DONE)
    assert story.status is RunStatus.CANCELLED


def test_a_kill_is_done_and_not_acknowledged():
    story = Story().started()
    story.tell(E.KILL_ASKED)
    assert "Cancel was not asked" in story.refuses(E.CANCEL_ACKNOWLEDGED).sentence


# Facts that move nothing yet.


def test_a_definition_changes_only_while_nothing_owned_runs():
    story = Story().started()
    change = {"from_version": "v1", "to_version": "v2"}
    story.refuses(E.DEFINITION_MIGRATED, **change)
    story.succeed()
    assert story.tell(E.DEFINITION_MIGRATED, **change) == ()
    assert story.state.definition == "v2"


def test_a_budget_is_reserved_and_topped_up_while_the_run_lives_and_settled_at_any_time():
    story = Story().open()
    story.tell(E.BUDGET_RESERVED, budget="money", amount=45)
    story.tell(E.BUDGET_TOPPED_UP, budget="money", amount=100, by="ola")
    story.tell(E.CANCEL_ASKED)
    story.tell(E.BUDGET_SETTLED, budget="money", amount=45)
    story.refuses(E.BUDGET_RESERVED, budget="money", amount=1)
    story.refuses(E.BUDGET_TOPPED_UP, budget="money", amount=1, by="ola")
