"""approvals/services/permit.py: everything is checked again, and the permit is consumed once (A1, A4, A5)."""

from datetime import timedelta
from uuid import uuid4

import pytest

from access.services import agents, people, token
from approvals.selectors.proposals import proposal_detail
from approvals.services.contract import contract_admit, contract_retire
from approvals.services.permit import Redeemed, Refused, permit_redeem
from approvals.services.resolution import resolutions_open
from audit.selectors.entries import entries_for_object
from audit.store import clock
from tests.core.approvals.documents import refund_document
from tests.support.approvals import ALLOWING, DENYING, POLICY, STATE, asking

REFUNDED = STATE | {"refunded": 2000, "left": 10000}


def shown(acme, held):
    return proposal_detail(acme.mara.actor, held.id)


@pytest.fixture
def granted(acme):
    """An approved call."""
    held = acme.hold()
    acme.decide(held)
    return held


def test_an_approved_call_is_redeemed_and_recorded(acme, granted):
    dispatch_id = uuid4()
    answer = acme.redeem(granted, dispatch_id=dispatch_id)
    assert isinstance(answer, Redeemed)
    assert shown(acme, granted).afterwards.permit == "redeemed"
    entry = entries_for_object(acme.tenant.id, "proposal", str(granted.id))[-1]
    assert (entry.action, entry.detail["dispatch"]) == ("permit.redeemed", str(dispatch_id))


def test_a_permit_is_redeemed_once(acme, granted):
    """S4."""
    acme.redeem(granted)
    again = acme.redeem(granted)
    assert isinstance(again, Refused)
    assert (again.kind, again.code) == ("taken", "PERMIT_REDEEMED")
    assert shown(acme, granted).status == "granted"


def test_redeeming_needs_the_transaction_that_records_the_intent(acme_committed):
    held = acme_committed.hold()
    acme_committed.decide(held)
    with pytest.raises(RuntimeError, match="transaction"):
        permit_redeem(
            proposal_id=held.id,
            canonical=held.prepared.canonical,
            digest=held.digest,
            dispatch_id=uuid4(),
            state=STATE,
            state_read_at=clock.now(),
            requester=acme_committed.requester(),
            request_ms=7500,
        )


def test_what_nobody_approved_is_not_redeemed(acme):
    held = acme.hold()
    answer = acme.redeem(held)
    assert (answer.kind, answer.code) == ("ask_again", "ASKED_AGAIN")
    acme.decide(held, "reject")
    assert (acme.redeem(held).kind, acme.redeem(held).code) == ("refused", "REJECTED")


# Exactly what was approved (A1).


def test_other_bytes_than_the_approved_ones_are_refused_and_close_the_proposal(acme, granted):
    """Approve 45.00, execute 4500.00 must be impossible."""
    other = acme.prepare(9000)
    answer = acme.redeem(granted, canonical=other.canonical, digest=other.digest)
    assert (answer.kind, answer.code) == ("refused", "PROPOSAL_ALTERED")
    assert (shown(acme, granted).status, shown(acme, granted).afterwards.permit) == ("refused", "void")
    assert acme.redeem(granted).kind == "refused"


def test_bytes_under_a_digest_that_is_not_theirs_are_refused(acme, granted):
    other = acme.prepare(9000)
    answer = acme.redeem(granted, canonical=other.canonical)
    assert (answer.kind, answer.code) == ("refused", "PROPOSAL_ALTERED")


# The target's state (A5).


def test_a_state_older_than_five_seconds_is_read_again_and_nothing_changes(acme, granted):
    answer = acme.redeem(granted, state_read_at=clock.now() - timedelta(seconds=5, milliseconds=20))
    assert (answer.kind, answer.code) == ("retry_read", "STATE_TOO_OLD")
    assert shown(acme, granted).afterwards.permit == "ready"
    assert isinstance(acme.redeem(granted, state_read_at=clock.now() - timedelta(seconds=4)), Redeemed)


def test_a_state_from_the_future_is_read_again(acme, granted):
    assert acme.redeem(granted, state_read_at=clock.now() + timedelta(seconds=30)).kind == "retry_read"


def test_a_changed_state_voids_the_votes_and_asks_anew_on_the_new_one(acme, granted):
    answer = acme.redeem(granted, state=REFUNDED)
    assert (answer.kind, answer.code, answer.proposal.round) == ("ask_again", "STATE_CHANGED", 2)
    page = shown(acme, granted)
    assert (page.status, page.round, page.afterwards.permit) == ("pending", 2, "")
    assert [vote.counts for vote in page.people.votes] == [False]
    assert page.content.effect.changed
    assert "".join(piece.text for piece in page.content.effect.rows[0].now) == "A$20.00"
    assert "".join(piece.text for piece in page.content.effect.asked_rows[0].now) == "A$0.00"
    acme.decide(granted)
    assert isinstance(acme.redeem(granted, state=REFUNDED), Redeemed)


def test_a_state_on_which_the_call_makes_no_sense_is_refused_with_the_checks_code(acme, granted):
    """The order was refunded meanwhile: what is left is less than what was approved."""
    answer = acme.redeem(granted, state=STATE | {"refunded": 10000, "left": 2000})
    assert (answer.kind, answer.code) == ("refused", "AMOUNT_EXCEEDS_LEFT")
    assert shown(acme, granted).status == "refused"
    assert answer.refusal().as_dict()["code"] == "AMOUNT_EXCEEDS_LEFT"


# Today's policy (A5, S19, S81).


def test_a_tightened_policy_asks_for_both_what_was_required_and_what_is(acme, granted):
    acme.publish(asking(("leads", 1)))
    answer = acme.redeem(granted)
    assert (answer.kind, answer.code) == ("ask_again", "POLICY_CHANGED")
    page = shown(acme, granted)
    assert page.people.needs == "1 of finance and 1 of leads"
    assert acme.decide(granted, by=acme.mara).status == "pending"
    assert acme.decide(granted, by=acme.noor).status == "granted"
    assert isinstance(acme.redeem(granted), Redeemed)


def test_a_policy_that_denies_now_refuses(acme, granted):
    acme.publish(DENYING)
    answer = acme.redeem(granted)
    assert (answer.kind, answer.code, answer.message) == ("refused", "DENIED", "Refunds are stopped.")
    assert (shown(acme, granted).status, shown(acme, granted).afterwards.permit) == ("refused", "void")


@pytest.mark.parametrize("looser", [ALLOWING, asking(("finance", 1), expires_in_s=3600), POLICY + "\n# a remark\n"])
def test_a_loosened_or_unrelated_edit_changes_nothing(acme, granted, looser):
    acme.publish(looser)
    assert isinstance(acme.redeem(granted), Redeemed)


def test_a_loosening_does_not_free_what_still_waits(acme):
    held = acme.hold()
    acme.publish(ALLOWING)
    assert acme.redeem(held).kind == "ask_again"
    assert shown(acme, held).status == "pending"


def test_a_rule_that_gives_less_time_than_has_passed_expires_the_call(acme_committed, stand_at):
    held = acme_committed.hold()
    acme_committed.decide(held)
    acme_committed.publish(asking(("finance", 1), expires_in_s=60))
    stand_at(held.row.expires_at - timedelta(seconds=900 - 61))
    answer = acme_committed.redeem(held)
    assert (answer.kind, answer.proposal.status) == ("expired", "expired")


# Deciders' and requester's rights of now (A5, S17, S81).


def test_an_approver_who_left_the_group_makes_it_asked_anew(acme, granted):
    people.group_remove(actor=acme.tenant.admin.actor, group="finance", user_id=acme.mara.user_id)
    answer = acme.redeem(granted)
    assert (answer.kind, answer.code) == ("ask_again", "DECIDER_CHANGED")
    assert "Mara Lind" in answer.message
    assert acme.decide(granted, by=acme.noor).status == "granted"


def test_an_approver_who_was_deactivated_makes_it_asked_anew(acme, granted):
    people.member_change(actor=acme.tenant.admin.actor, membership_id=acme.mara.membership_id, active=False)
    answer = acme.redeem(granted)
    assert (answer.kind, answer.code) == ("ask_again", "DECIDER_CHANGED")


def _deactivate(acme):
    agents.agent_deactivate(actor=acme.tenant.admin.actor, agent_id=acme.agent.id)


def _take_scope(acme):
    agents.agent_scopes_set(actor=acme.tenant.admin.actor, agent_id=acme.agent.id, scopes=["orders:read"])


def _end_session(acme):
    token.token_revoke(actor=acme.tenant.admin.actor, session_id=acme.actor.session_id)


def _take_principal(acme):
    agents.agent_principal_remove(
        actor=acme.tenant.admin.actor, agent_id=acme.agent.id, user_id=acme.customer_care.user_id
    )


@pytest.mark.parametrize(
    ("deed", "code"),
    [
        (_deactivate, "AGENT_INACTIVE"),
        (_take_scope, "SCOPE_MISSING"),
        (_end_session, "SESSION_REVOKED"),
        (_take_principal, "PRINCIPAL_REFUSED"),
    ],
)
def test_a_requester_without_the_right_is_refused_after_the_approval(acme, granted, deed, code):
    deed(acme)
    answer = acme.redeem(granted)
    assert (answer.kind, answer.code) == ("refused", code)
    assert shown(acme, granted).status == "refused"


@pytest.mark.parametrize("deed", ["retire", "replace"])
def test_a_contract_that_is_no_longer_admitted_is_refused(acme, granted, deed):
    admin = acme.tenant.admin.actor
    if deed == "retire":
        contract_retire(actor=admin, tool="refund_order")
    else:
        contract_admit(actor=admin, document=refund_document({"/description": "Other."}))
    answer = acme.redeem(granted)
    assert (answer.kind, answer.code) == ("refused", "CONTRACT_CHANGED")


# A refusal leaves the run something to consume or nothing at all.


def test_a_refusal_at_dispatch_replaces_a_grant_that_the_run_has_not_taken_up(acme, granted):
    acme.publish(DENYING)
    acme.redeem(granted)
    [row] = resolutions_open(run_id=granted.run_id)
    assert (row.kind, row.by["reason"]) == ("refused", "Refunds are stopped.")
