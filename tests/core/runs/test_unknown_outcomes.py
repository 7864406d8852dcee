"""A call of which nobody knows whether it happened: looked up first, settled by proof or by an operator, never blindly
repeated (R7, S10, S40, S80)."""

import pytest

from runs.core.kinds import CallState, EffectState, EventKind
from tests.core.runs.story import REFUND, Story

E = EventKind


def test_a_lost_outcome_is_looked_up_first():
    story = Story().started()
    look_up, _ = story.lose()
    assert (story.where(), story.call().effect) == (CallState.UNKNOWN, EffectState.UNKNOWN)
    assert (look_up.kind, look_up.body["key"], look_up.body["request_deadline"]) == (
        "look_up",
        "clr_c1",
        story.call().request_deadline,
    )


def test_a_look_up_can_be_repeated_by_a_timer_and_each_time_is_its_own_command():
    story = Story().unknown()
    first = story.commands[-1][0]
    (second,) = story.tell(E.TIMER_DUE, call_id="c1")
    assert (second.kind, story.where()) == ("look_up", CallState.UNKNOWN)
    assert first.identity != second.identity


def test_a_look_up_that_finds_it_ends_the_question():
    story = Story().unknown()
    story.reconcile("happened", reference="re_881", conclusive=False)
    assert (story.where(), story.call().effect, story.call().reference) == (
        CallState.SUCCEEDED,
        EffectState.COMMITTED,
        "re_881",
    )


@pytest.mark.parametrize("outcome", ["did_not_happen", "retry"])
def test_a_look_up_that_finds_nothing_too_early_proves_nothing(outcome: str):
    story = Story().unknown()
    refusal = story.refuses(E.OUTCOME_RECONCILED, **story.reconciliation(outcome, conclusive=False))
    assert "settling" in refusal.sentence


def test_a_conclusive_look_up_that_finds_nothing_closes_the_call():
    story = Story().unknown()
    story.reconcile("did_not_happen")
    assert (story.where(), story.call().effect) == (CallState.FAILED, EffectState.REFUSED)


def test_an_operators_retry_keeps_the_key_and_names_the_fence_to_rise_above():
    story = Story().unknown()
    (dispatch,) = story.reconcile("retry")
    assert (story.where(), dispatch.kind, dispatch.body["key"]) == (CallState.READY, "dispatch", "clr_c1")
    assert (dispatch.body["attempt"], dispatch.body["fence"]) == (2, 1)


def test_an_operators_retry_whose_approval_no_longer_holds_asks_people_again():
    story = Story().unknown()
    (hold,) = story.reconcile("retry", approval="void")
    assert (story.where(), hold.kind, hold.body["round"], hold.body["proposal_id"]) == (
        CallState.WAITING,
        "hold_proposal",
        2,
        None,
    )
    story.refuses(E.RESOLUTION_CONSUMED, **story.resolution("granted"))
    again, _ = story.hold(proposal_id="p-new")
    assert again.identity == hold.identity
    story.resolve("granted", proposal_id="p-new")
    assert story.where() is CallState.READY


def test_the_policy_of_today_may_refuse_an_operators_retry():
    story = Story().unknown()
    story.reconcile("retry", approval="void")
    story.refuse(code="REFUND_TOO_LARGE", message="Refunds over A$1,000 are made by hand.")
    assert story.where() is CallState.REFUSED


def test_an_unknown_outcome_is_compensated_only_by_a_call_that_succeeded():
    story = Story().unknown()
    assert "compensated_by" in story.refuses(E.OUTCOME_RECONCILED, **story.reconciliation("compensated")).sentence
    story.propose("c2", compensates="c1")
    story.hold("c2")
    done = story.reconciliation("compensated", compensated_by="c2")
    assert "has to succeed first" in story.refuses(E.OUTCOME_RECONCILED, **done).sentence
    story.resolve("granted", "c2")
    story.start("c2")
    story.succeed("c2")
    story.tell(E.OUTCOME_RECONCILED, **done)
    assert story.where() is CallState.COMPENSATED


def test_a_call_that_compensates_another_one_is_no_proof_for_a_third():
    story = Story().unknown("c1")
    story.started("c2")
    story.succeed("c2")
    story.refuses(E.OUTCOME_RECONCILED, **story.reconciliation("compensated", compensated_by="c2"))


def test_only_an_unknown_outcome_is_compensated():
    story = Story().started()
    refusal = story.refuses(E.CALL_PROPOSED, call_id="c2", key="clr_c2", compensates="c1", **REFUND)
    assert "no unknown outcome" in refusal.sentence


def test_a_call_that_an_operator_names_makes_up_for_one_call_and_only_once_it_has_succeeded():
    story = Story().unknown("c1")
    named = story.reconciliation("compensated", compensated_by="c2", linked=True)
    story.started("c2")
    assert "has to succeed first" in story.refuses(E.OUTCOME_RECONCILED, **named).sentence
    story.succeed("c2")
    itself = story.reconciliation("compensated", compensated_by="c1", linked=True)
    assert "compensated_by" in story.refuses(E.OUTCOME_RECONCILED, **itself).sentence
    story.tell(E.OUTCOME_RECONCILED, **named)
    assert story.where("c1") is CallState.COMPENSATED
    story.unknown("c3")
    twice = story.reconciliation("compensated", "c3", compensated_by="c2", linked=True)
    assert "another call already" in story.refuses(E.OUTCOME_RECONCILED, **twice).sentence
