"""One call from its proposal to its end: what moves it, what the move orders, and what is refused with which words."""

import pytest

from runs.core.kinds import FINAL_CALLS, CallState, EffectState, EventKind
from tests.core.runs.story import READ, REFUND, Story, kinds, moment

E = EventKind


def test_a_proposed_call_is_read_and_judged():
    story = Story().open()
    commands = story.propose()
    assert story.where() is CallState.NEW
    assert kinds(commands) == ["read_state", "evaluate"]


def test_every_command_about_a_call_carries_what_the_audit_of_an_effect_needs():
    story = Story().granted()
    (dispatch,) = story.commands[-1]
    assert dispatch.call_id == "c1"
    assert dispatch.body["actor"] == {"kind": "agent", "id": "support-agent"}
    assert dispatch.body["scope"] == {"tenant": "acme", "user": "jon", "on_behalf_of": "anna"}
    assert (dispatch.body["proposal_id"], dispatch.body["round"], dispatch.body["rule_id"]) == ("p-c1", 1, "refund")
    assert (dispatch.body["attempt"], dispatch.body["key"], dispatch.body["digest"]) == (1, "clr_c1", "a1f39c07")


def test_a_call_id_is_used_once_in_a_run():
    story = Story().waiting()
    refusal = story.refuses(E.CALL_PROPOSED, call_id="c1", key="clr_c1", **(REFUND | {"digest": "another"}))
    assert "taken" in refusal.sentence


def test_an_event_about_a_call_that_nobody_proposed_is_refused():
    story = Story().open()
    assert "not in this run" in story.refuses(E.CALL_WITHDRAWN, call_id="c9").sentence


def test_a_read_goes_straight_through_and_speaks_of_no_effect():
    story = Story().open()
    story.propose(like=READ)
    story.observe()
    assert kinds(story.allow()) == ["dispatch"]
    story.start()
    assert kinds(story.succeed(reference=None)) == ["tell_agent"]
    assert (story.where(), story.call().effect) == (CallState.SUCCEEDED, None)


def test_an_approved_refund_reads_intended_then_committed():
    story = Story().granted()
    assert (story.where(), story.call().effect) == (CallState.READY, None)
    story.start()
    assert story.call().effect is EffectState.INTENDED
    story.succeed()
    assert (story.where(), story.call().effect, story.call().reference) == (
        CallState.SUCCEEDED,
        EffectState.COMMITTED,
        "re_881",
    )


def test_a_target_that_recognised_the_key_makes_a_duplicate_not_a_second_effect():
    story = Story().started()
    story.succeed(duplicate=True)
    assert story.call().effect is EffectState.DUPLICATE


def test_a_refused_call_tells_the_agent_and_nobody_else():
    story = Story().open()
    story.propose()
    (told,) = story.refuse()
    assert story.where() is CallState.REFUSED
    assert (told.body["state"], told.body["code"]) == ("refused", "AMOUNT_EXCEEDS_LEFT")


@pytest.mark.parametrize("word", ["rejected", "expired", "withdrawn", "superseded", "cancelled", "refused"])
@pytest.mark.parametrize("begin", ["waiting", "granted"])
def test_a_resolution_other_than_a_grant_is_the_calls_last_word(word: str, begin: str):
    story = getattr(Story(), begin)()
    commands = story.resolve(word, reason="Not today.")
    assert story.where() == word
    assert story.call().message == "Not today."
    assert kinds(commands) == ["tell_agent"]


def test_a_resolution_of_another_proposal_moves_nothing():
    story = Story().waiting("c1").waiting("c2")
    refusal = story.refuses(E.RESOLUTION_CONSUMED, **story.resolution("granted", "c1", proposal_id="p-c2"))
    assert "p-c1" in refusal.sentence


def test_a_grant_is_consumed_once():
    story = Story().granted()
    assert "granted already" in story.refuses(E.RESOLUTION_CONSUMED, **story.resolution("granted")).sentence


def test_a_call_that_nobody_asked_people_about_consumes_no_resolution():
    story = Story().open()
    story.propose()
    story.refuses(E.RESOLUTION_CONSUMED, **story.resolution("granted"))


@pytest.mark.parametrize("begin", ["started", "unknown"])
@pytest.mark.parametrize("word", ["granted", "rejected", "expired"])
def test_nobody_decides_about_a_call_that_may_have_happened(begin: str, word: str):
    """S80: no approve or reject while the outcome is open."""
    story = getattr(Story(), begin)()
    story.refuses(E.RESOLUTION_CONSUMED, **story.resolution(word))


def test_a_resolution_that_comes_after_the_end_is_kept_and_moves_nothing():
    story = Story().waiting()
    story.tell(E.CALL_WITHDRAWN, call_id="c1")
    before = story.call()
    assert story.resolve("granted") == ()
    assert story.call() == before


def test_a_new_round_voids_the_grant_and_asks_people_again():
    story = Story().granted()
    commands = story.hold()
    assert (story.where(), story.call().round, story.call().key) == (CallState.WAITING, 2, "clr_c1")
    assert kinds(commands) == ["hold_proposal", "tell_agent"]
    assert "is waiting" in story.refuses(E.DISPATCH_STARTED, **story.dispatch()).sentence


def test_a_round_that_was_held_already_is_refused():
    story = Story().granted()
    assert "round 1" in story.refuses(E.CALL_HELD, **story.held(round=1)).sentence


def test_a_waiting_call_is_not_refused_behind_the_back_of_its_proposal():
    story = Story().waiting()
    refusal = story.refuses(E.CALL_REFUSED, call_id="c1", code="NO_RULE", message="No rule allows it.")
    assert "p-c1" in refusal.sentence


def test_a_re_check_before_sending_may_find_the_approval_expired():
    story = Story().granted()
    story.refuse(code="APPROVAL_EXPIRED", message="The approval ran out at 14:15.", final="expired")
    assert story.where() is CallState.EXPIRED


@pytest.mark.parametrize("begin", ["waiting", "granted"])
def test_the_agent_withdraws_what_was_not_sent(begin: str):
    story = getattr(Story(), begin)()
    story.tell(E.CALL_WITHDRAWN, call_id="c1", reason="The customer changed her mind.")
    assert story.where() is CallState.WITHDRAWN


@pytest.mark.parametrize("begin", ["started", "unknown"])
def test_what_was_sent_cannot_be_withdrawn(begin: str):
    getattr(Story(), begin)().refuses(E.CALL_WITHDRAWN, call_id="c1")


# Attempts: fence, key, number, back-off.


def test_a_dispatch_needs_a_fence_above_every_earlier_one():
    story = Story().started()
    story.fail("connect_refused", retry_at=moment(30))
    story.tell(E.TIMER_DUE, call_id="c1")
    assert "fence" in story.refuses(E.DISPATCH_STARTED, **story.dispatch(fence=1)).sentence.lower()
    story.start(fence=7)
    assert story.call().fence == 7


def test_the_key_stays_the_same_through_every_attempt():
    story = Story().granted()
    assert "key" in story.refuses(E.DISPATCH_STARTED, **story.dispatch(key="clr_fresh")).sentence


@pytest.mark.parametrize("attempt", [2, 3])
def test_attempts_are_counted_without_gaps(attempt: int):
    story = Story().granted()
    story.refuses(E.DISPATCH_STARTED, **story.dispatch(attempt=attempt))


def test_a_call_starts_once():
    story = Story().started()
    story.refuses(E.DISPATCH_STARTED, **story.dispatch())


def test_an_outcome_from_a_fence_that_is_not_in_force_is_refused_and_can_be_kept():
    """S37: the first worker continues after a second one took over."""
    story = Story().started()
    old = story.success()
    story.fail("connect_refused", retry_at=moment(30))
    story.tell(E.TIMER_DUE, call_id="c1")
    story.start()
    assert "late result" in story.refuses(E.DISPATCH_SUCCEEDED, **old).sentence
    assert story.tell(E.LATE_RESULT_KEPT, call_id="c1", fence=old["fence"], outcome="succeeded") == ()
    assert (story.where(), story.call().late) == (CallState.STARTED, 1)


def test_an_outcome_of_another_dispatch_with_the_same_fence_is_refused():
    story = Story().started()
    story.refuses(E.DISPATCH_SUCCEEDED, **story.success(dispatch_id="d-other"))


def test_a_lost_outcome_names_the_dispatch_in_force():
    story = Story().started()
    story.refuses(E.OUTCOME_UNKNOWN, **(story.lost() | {"dispatch_id": "d-other"}))


def test_one_attempt_has_one_completion():
    story = Story().started()
    story.succeed()
    story.refuses(E.DISPATCH_SUCCEEDED, **story.success())
    story.refuses(E.DISPATCH_FAILED, **story.failure("validation"))
    story.refuses(E.OUTCOME_UNKNOWN, **story.lost())


def test_a_late_result_of_an_attempt_that_never_was_is_refused():
    story = Story().waiting()
    story.refuses(E.LATE_RESULT_KEPT, call_id="c1", fence=1, outcome="succeeded")
    story.resolve("granted")
    story.start()
    story.refuses(E.LATE_RESULT_KEPT, call_id="c1", fence=2, outcome="succeeded")


# Failures.


def test_a_failure_before_the_effect_backs_off_and_comes_back_by_its_timer():
    story = Story().started()
    (timer,) = story.fail("connect_refused", retry_at=moment(30))
    assert (story.where(), timer.kind, timer.body["due"]) == (CallState.READY, "set_timer", moment(30))
    assert "backs off" in story.refuses(E.DISPATCH_STARTED, **story.dispatch()).sentence
    assert kinds(story.tell(E.TIMER_DUE, call_id="c1")) == ["dispatch"]
    story.start()
    assert story.call().attempt == 2


def test_a_failure_without_a_next_attempt_is_final():
    story = Story().started()
    story.fail("connect_refused")
    assert (story.where(), story.call().effect) == (CallState.FAILED, EffectState.REFUSED)


def test_a_refusal_of_the_target_is_final_even_when_a_retry_was_planned():
    story = Story().started()
    story.fail("validation", retry_at=moment(30))
    assert story.where() is CallState.FAILED


@pytest.mark.parametrize("error", ["timeout", "connection_lost", "server_error", "a word nobody listed"])
@pytest.mark.parametrize("retry_at", [None, moment(30)])
def test_an_irreversible_call_is_neither_failed_nor_repeated_while_its_outcome_is_open(
    error: str, retry_at: str | None
):
    story = Story().started()
    refusal = story.refuses(E.DISPATCH_FAILED, **story.failure(error, retry_at=retry_at))
    assert "outcome_unknown" in refusal.sentence


def test_before_effect_is_not_believed_of_an_error_that_does_not_prove_it():
    story = Story().started()
    story.refuses(E.DISPATCH_FAILED, **story.failure("timeout", before_effect=True, retry_at=moment(30)))


def test_a_contract_that_never_retries_fails_at_once():
    story = Story().started(like=REFUND | {"retry_class": "never"})
    story.fail("connect_refused", retry_at=moment(30))
    assert story.where() is CallState.FAILED


def test_an_idempotent_tool_may_be_sent_again_with_its_key_after_a_timeout():
    story = Story().started(like=REFUND | {"side_effect": "idempotent", "retry_class": "safe"})
    assert kinds(story.fail("timeout", retry_at=moment(30))) == ["set_timer"]
    assert story.where() is CallState.READY


def test_an_irreversible_tool_that_calls_itself_safe_is_not_believed():
    story = Story().started(like=REFUND | {"retry_class": "safe"})
    story.refuses(E.DISPATCH_FAILED, **story.failure("timeout", retry_at=moment(30)))


def test_a_read_whose_answer_is_lost_fails_and_asks_no_operator():
    story = Story().started(like=READ)
    assert kinds(story.lose()) == ["tell_agent"]
    assert (story.where(), story.call().code) == (CallState.FAILED, "ANSWER_LOST")


# Final is final.


@pytest.mark.parametrize("word", [word for word in FINAL_CALLS if word not in ("succeeded", "failed", "compensated")])
def test_a_late_result_is_kept_beside_whatever_the_call_became(word: CallState):
    """R2: kept as evidence, without moving the state."""
    story = Story().started()
    story.fail("connect_refused", retry_at=moment(30))
    story.resolve(word)
    assert story.tell(E.LATE_RESULT_KEPT, call_id="c1", fence=1, outcome="succeeded", reference="re_1") == ()
    assert (story.where(), story.call().late) == (word, 1)


def test_a_final_call_says_so_to_whatever_comes_after():
    story = Story().started()
    story.succeed()
    refusal = story.refuses(E.STATE_OBSERVED, call_id="c1", snapshot_hash="x", read_at=moment(1))
    assert "succeeded and stays so" in refusal.sentence
    story.refuses(E.TIMER_DUE, call_id="c1")
    story.refuses(E.CALL_HELD, **story.held())


def test_the_target_may_be_read_at_every_moment_before_the_end():
    story = Story().open()
    story.propose()
    for step in (story.hold, lambda: story.resolve("granted"), story.start, story.lose):
        assert story.observe() == ()
        step()
    story.observe()
    assert story.call().snapshot_hash == "5ca1ab1e"


def test_two_calls_of_one_run_do_not_touch_each_other():
    """S1, S9: three approvals in one run give exactly their own results, in whatever order they arrive."""
    story = Story().waiting("c1").waiting("c2").waiting("c3")
    story.resolve("expired", "c3")
    story.resolve("rejected", "c2")
    story.resolve("granted", "c1")
    assert [story.where(call_id) for call_id in ("c1", "c2", "c3")] == ["ready", "rejected", "expired"]
