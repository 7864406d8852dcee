"""approvals/services/decision.py: who may decide, on exactly what, once."""

from dataclasses import replace
from uuid import uuid4

import pytest
from django.db import transaction

from access.services import people
from approvals.selectors.proposals import proposal_detail
from approvals.services.contract import contract_admit
from approvals.services.proposal import proposal_withdraw
from approvals.services.resolution import resolutions_open
from approvals.signals import proposal_changed
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound
from audit.selectors.entries import EntryFilters, entries_for_object, entries_page
from tests.core.approvals.documents import refund_document
from tests.support import factories
from tests.support.approvals import asking, world


def refused(tenant_id, actor_id):
    """(code, verdict) of the refused decisions that the log has of somebody."""
    found = entries_page(tenant_id, EntryFilters(action="proposal.decided", verdict="refused", actor_id=actor_id))
    return [(entry.detail["code"], entry.detail["verdict"]) for entry in found]


# What an approval and a rejection do.


def test_an_approval_grants_and_leaves_permit_resolution_and_audit_entry(acme):
    held = acme.hold()
    row = acme.decide(held)
    assert (row.status, row.round, row.repeated) == ("granted", 1, False)
    assert "runs now" in row.message
    assert proposal_detail(acme.mara.actor, held.id).afterwards.permit == "ready"
    [resolution] = resolutions_open(run_id=held.run_id)
    assert (resolution.kind, resolution.call_id, resolution.round) == ("granted", held.call_id, 1)
    assert resolution.by == {"name": "Mara Lind", "id": acme.mara.user_id, "reason": ""}
    entry = entries_for_object(acme.tenant.id, "proposal", str(held.id))[-1]
    assert (entry.action, entry.verdict, entry.actor_id) == ("proposal.decided", "ok", acme.mara.user_id)
    # What the reviewer saw (U1).
    assert entry.detail["digest"] == held.digest
    assert entry.detail["sentence"] == "Refund A$45.00 of A$120.00 to Anna Berg for order ord_1029"


def test_what_a_tool_redacts_is_not_in_the_log_though_its_sentence_shows_it(acme):
    """E5: /note is among the tool's redaction paths."""
    sentence = "Refund {amount} for order {order_id}: {note}"
    contract_admit(actor=acme.tenant.admin.actor, document=refund_document({"/presentation/sentence": sentence}))
    held = acme.hold(note="call 0401 555 019")
    assert "0401 555 019" in proposal_detail(acme.mara.actor, held.id).title
    acme.decide(held)
    entries = entries_for_object(acme.tenant.id, "proposal", str(held.id))
    assert [entry.detail["sentence"] for entry in entries] == ["Refund A$45.00 for order ord_1029: [redacted]"] * 2
    assert "0401" not in str([entry.detail for entry in entries])


def test_a_rejection_tells_the_run_the_reason_and_makes_no_permit(acme):
    held = acme.hold()
    row = acme.decide(held, "reject", reason=" The photo shows another lamp. ")
    assert row.status == "rejected"
    assert "Nothing runs" in row.message
    assert proposal_detail(acme.mara.actor, held.id).afterwards.permit == ""
    [resolution] = resolutions_open(run_id=held.run_id)
    assert (resolution.kind, resolution.by["reason"]) == ("rejected", "The photo shows another lamp.")


@pytest.mark.parametrize("reason", ["", "  \n", "\u200b\u2060"])
def test_a_rejection_without_a_reason_that_can_be_read_is_refused(acme, reason):
    held = acme.hold()
    with pytest.raises(Invalid) as caught:
        acme.decide(held, "reject", reason=reason)
    assert caught.value.code == "REASON_REQUIRED"
    assert proposal_detail(acme.mara.actor, held.id).status == "pending"


def test_an_unknown_verdict_is_refused(acme):
    with pytest.raises(Invalid) as caught:
        acme.decide(acme.hold(), "maybe")
    assert caught.value.code == "VERDICT_UNKNOWN"


def test_a_hint_goes_out_after_the_commit_with_ids_and_version_only(acme_committed):
    held = acme_committed.hold()
    heard = []

    def hear(**hint):
        heard.append({key: hint[key] for key in ("tenant_id", "proposal_id", "run_id", "version")})
        raise RuntimeError("a receiver that fails must not show the reviewer an error")

    proposal_changed.connect(hear)
    try:
        with transaction.atomic():
            row = acme_committed.decide(held)
            assert heard == []
    finally:
        proposal_changed.disconnect(hear)
    assert row.status == "granted"
    assert [(hint["proposal_id"], hint["run_id"], hint["version"]) for hint in heard] == [(held.id, held.run_id, 2)]


# Once (A4, S5).


def test_a_double_click_is_one_record_and_a_normal_answer(acme):
    held = acme.hold()
    acme.decide(held)
    again = acme.decide(held)
    assert (again.status, again.repeated) == ("granted", True)
    assert "recorded once" in again.message
    assert len(proposal_detail(acme.mara.actor, held.id).people.votes) == 1
    assert len(resolutions_open(run_id=held.run_id)) == 1


@pytest.mark.parametrize(("first", "second"), [("approve", "reject"), ("reject", "approve")])
def test_the_second_of_two_deciders_is_told_who_decided_and_when(acme, first, second):
    held = acme.hold()
    acme.decide(held, first, by=acme.mara)
    with pytest.raises(Conflict) as caught:
        acme.decide(held, second, by=acme.noor)
    assert caught.value.code == "ALREADY_DECIDED"
    assert caught.value.detail["by"] == "Mara Lind"
    assert caught.value.detail["verdict"] == first
    assert caught.value.detail["at"] == proposal_detail(acme.mara.actor, held.id).decided_at.isoformat()
    assert "Mara Lind" in caught.value.message
    assert len(proposal_detail(acme.mara.actor, held.id).people.votes) == 1


def test_nobody_takes_back_their_own_verdict_by_clicking_the_other_button(acme):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    acme.decide(held)
    with pytest.raises(Conflict, match="You approved this already") as caught:
        acme.decide(held, "reject")
    assert caught.value.code == "ALREADY_DECIDED"


# On exactly what was shown (A1, A2).


def test_a_click_that_carries_another_digest_is_a_conflict(acme):
    held, other = acme.hold(4500), acme.hold(9000)
    with pytest.raises(Conflict) as caught:
        acme.decide(held, digest=other.digest)
    assert caught.value.code == "DIGEST_CHANGED"
    assert proposal_detail(acme.mara.actor, held.id).status == "pending"


def test_a_click_from_a_page_of_an_earlier_round_is_a_conflict(acme):
    held = acme.hold()
    acme.decide(held)
    acme.redeem(held, state={"amount": 12000, "refunded": 100, "currency": "AUD", "customer": "A", "left": 11900})
    with pytest.raises(Conflict, match="has changed since this was asked") as caught:
        acme.decide(held, round=1)
    assert caught.value.code == "ROUND_CHANGED"
    assert acme.decide(held, round=2).status == "granted"


def test_decisions_matched_by_id_reach_the_right_call_in_any_order(acme):
    """S1: two wait, decisions come in reverse order."""
    run_id = uuid4()
    first, second = acme.hold(1000, run_id=run_id), acme.hold(2000, run_id=run_id)
    acme.decide(second, "reject")
    acme.decide(first)
    kinds = {row.call_id: row.kind for row in resolutions_open(run_id=run_id)}
    assert kinds == {first.call_id: "granted", second.call_id: "rejected"}


def test_two_identical_calls_need_two_decisions(acme):
    """S4, S91."""
    run_id = uuid4()
    first, second = acme.hold(run_id=run_id), acme.hold(run_id=run_id)
    assert first.digest == second.digest
    acme.decide(first)
    assert proposal_detail(acme.mara.actor, second.id).status == "pending"


def test_an_approval_for_a_contract_that_is_no_longer_admitted_is_refused_and_a_rejection_is_not(acme):
    held = acme.hold()
    contract_admit(actor=acme.tenant.admin.actor, document=refund_document({"/description": "Other."}))
    with pytest.raises(Conflict) as caught:
        acme.decide(held)
    assert caught.value.code == "CONTRACT_CHANGED"
    assert acme.decide(held, "reject").status == "rejected"


# Who (A9, S7, S17, S85).


def test_nobody_approves_what_an_agent_asked_on_their_behalf(acme):
    held = acme.hold()
    with pytest.raises(Forbidden, match="the agent acts for you") as caught:
        acme.decide(held, by=acme.customer_care)
    assert caught.value.code == "SELF_APPROVAL"
    assert refused(acme.tenant.id, acme.customer_care.user_id) == [("SELF_APPROVAL", "approve")]


def test_nobody_approves_what_their_own_agent_asked(acme):
    held = acme.hold()
    with pytest.raises(Forbidden, match="is yours") as caught:
        acme.decide(held, by=acme.owner)
    assert caught.value.code == "SELF_APPROVAL"
    assert refused(acme.tenant.id, acme.owner.user_id) == [("SELF_APPROVAL", "approve")]


@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_no_token_decides_whomever_it_acts_for(acme, verdict):
    held = acme.hold()
    deputy = factories.agent(acme.tenant, acts_for=[acme.mara])
    by_token = deputy.actor(on_behalf_of=acme.mara.user_id)
    with pytest.raises(Forbidden) as caught:
        acme.decide(held, verdict, by=type("By", (), {"actor": by_token}))
    assert caught.value.code == "PERSON_REQUIRED"
    assert refused(acme.tenant.id, by_token.id) == [("PERSON_REQUIRED", verdict)]
    person_by_token = replace(acme.mara.actor, via="token")
    with pytest.raises(Forbidden) as caught:
        acme.decide(held, verdict, by=type("By", (), {"actor": person_by_token}))
    assert caught.value.code == "PERSON_REQUIRED"


def test_a_reviewer_of_another_group_is_told_which_group_is_asked(acme):
    held = acme.hold()
    stranger = factories.person(acme.tenant, groups=["leads"])
    with pytest.raises(Forbidden, match="finance") as caught:
        acme.decide(held, by=stranger)
    assert (caught.value.code, caught.value.missing) == ("GROUP_MISSING", ["finance"])


def test_a_member_of_the_group_who_is_no_reviewer_may_not_decide(acme):
    held = acme.hold()
    clerk = factories.person(acme.tenant, roles=["operator", "admin"], groups=["finance"])
    with pytest.raises(Forbidden, match="not a reviewer") as caught:
        acme.decide(held, by=clerk)
    assert (caught.value.code, caught.value.missing) == ("ROLE_MISSING", ["reviewer"])


def test_rights_are_those_of_the_click_and_not_of_the_page(acme):
    """S17: the page is open, then the person leaves the group; then is deactivated."""
    held = acme.hold()
    opened = acme.mara.actor
    people.group_remove(actor=acme.tenant.admin.actor, group="finance", user_id=acme.mara.user_id)
    with pytest.raises(Forbidden) as caught:
        acme.decide(held, by=type("By", (), {"actor": opened}))
    assert caught.value.code == "GROUP_MISSING"
    people.group_add(actor=acme.tenant.admin.actor, group="finance", user_id=acme.mara.user_id)
    people.member_change(actor=acme.tenant.admin.actor, membership_id=acme.mara.membership_id, active=False)
    with pytest.raises(Forbidden, match="not active") as caught:
        acme.decide(held, by=type("By", (), {"actor": opened}))
    assert caught.value.code == "INACTIVE"
    assert proposal_detail(acme.noor.actor, held.id).status == "pending"


def test_a_foreign_id_and_an_unknown_one_are_answered_alike(acme):
    """S62."""
    globex = world()
    theirs = globex.hold()
    answers = []
    for proposal_id in (theirs.id, uuid4()):
        with pytest.raises(NotFound) as caught:
            acme.decide(replace(theirs, row=replace(theirs.row, id=proposal_id)))
        answers.append(caught.value.as_dict())
    assert answers[0] == answers[1]
    assert proposal_detail(globex.mara.actor, theirs.id).status == "pending"


# Quorum (A9, S8).


def test_with_two_of_a_group_the_first_approval_runs_nothing(acme):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    first = acme.decide(held, by=acme.mara)
    assert first.status == "pending"
    assert "nothing runs yet" in first.message
    assert resolutions_open(run_id=held.run_id) == []
    assert acme.decide(held, by=acme.noor).status == "granted"


def test_one_rejection_decides_also_after_an_approval(acme):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    acme.decide(held, by=acme.mara)
    assert acme.decide(held, "reject", by=acme.noor).status == "rejected"
    assert [row.kind for row in resolutions_open(run_id=held.run_id)] == ["rejected"]


def test_a_person_in_two_groups_counts_once(acme):
    acme.publish(asking(("finance", 1), ("leads", 1)))
    held = acme.hold()
    assert acme.decide(held, by=acme.noor).status == "pending"  # in finance and in leads
    assert acme.decide(held, by=acme.mara).status == "granted"  # then noor stands for leads


def test_an_approval_by_somebody_who_has_left_the_group_counts_no_more(acme):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    acme.decide(held, by=acme.mara)
    people.group_remove(actor=acme.tenant.admin.actor, group="finance", user_id=acme.mara.user_id)
    assert acme.decide(held, by=acme.noor).status == "pending"
    third = factories.person(acme.tenant, groups=["finance"])
    assert acme.decide(held, by=third).status == "granted"


# What was closed otherwise, and what cannot be recorded.


def test_a_closed_proposal_says_how_it_was_closed(acme):
    held = acme.hold()
    proposal_withdraw(actor=acme.actor, run_id=held.run_id, call_id=held.call_id)
    with pytest.raises(Conflict, match="The agent took this back") as caught:
        acme.decide(held)
    assert (caught.value.code, caught.value.detail) == ("CLOSED", {"status": "withdrawn"})


def test_what_was_approved_and_then_taken_back_is_not_called_undecided(acme):
    held = acme.hold()
    acme.decide(held)
    with transaction.atomic():
        proposal_withdraw(actor=acme.actor, run_id=held.run_id, call_id=held.call_id)
    with pytest.raises(Conflict, match="The agent took this back before it was executed; nothing ran"):
        acme.decide(held, "reject")


def test_without_its_audit_entry_there_is_no_decision(acme_committed, owner_sql):
    held = acme_committed.hold()
    owner_sql("REVOKE INSERT ON audit_entry FROM clr_app")
    with pytest.raises(Exception, match="permission denied"):
        acme_committed.decide(held)
    shown = proposal_detail(acme_committed.mara.actor, held.id)
    assert (shown.status, shown.people.votes, shown.afterwards.permit) == ("pending", (), "")
    assert resolutions_open(run_id=held.run_id) == []
