"""approvals/services/published.py: what a new version of the policy means for what waits (A5, S19)."""

from uuid import UUID

import pytest
from django.db import transaction

from access.services import agents, people
from approvals.core.narrowing import Narrowing
from approvals.models import PolicyReach, Proposal
from approvals.selectors.proposals import inbox, proposal_detail
from approvals.services.exposure import exposure_count, exposure_take_back
from approvals.services.permit import Redeemed, Refused
from approvals.services.published import open_judge, open_tenants, proposal_judge_published
from approvals.store.reach import reach_of
from approvals.web.narrow import Asked
from approvals.web.strips import strip_of
from audit.core.refusal import Conflict
from audit.selectors.entries import entries_for_object
from tests.core.approvals.documents import refund
from tests.support.approvals import ALLOWING, DENYING, POLICY, STATE, asking, edit_as_owner

TWO = asking(("finance", 2))
UNRELATED = POLICY.replace("id: read-orders, tool: get_order", "id: read-all-orders, tool: get_order")


def carry(acme, **options):
    """Until nothing is left to judge."""
    while open_judge(tenant_id=UUID(acme.tenant.id), **options):
        pass


def row(held):
    return Proposal.objects.get(pk=held.id)


def whole(held):
    return Proposal.objects.filter(pk=held.id).values().get()


def test_a_stricter_version_voids_the_votes_and_the_page_says_what_changed(acme):
    acme.publish(asking(("finance", 1), ("leads", 1)))
    held = acme.hold()
    acme.decide(held)
    acme.publish(asking(("finance", 2), ("leads", 1)))
    carry(acme)
    shown = proposal_detail(acme.mara.actor, held.id)
    assert (shown.status, shown.round) == ("pending", 2)
    assert [(vote.round, vote.counts) for vote in shown.people.votes] == [(1, False)]
    assert shown.content.held.opened_because == (
        "Policy 3 asks 2 of finance and 1 of leads, 2 asked 1 of finance and 1 of leads (rule refund)"
    )
    entries = entries_for_object(acme.tenant.id, "proposal", str(held.id))
    [asked] = [entry for entry in entries if entry.action == "proposal.asked_again"]
    assert (asked.detail["code"], asked.detail["policy"]) == ("POLICY_CHANGED", 3)
    [row_] = [row_ for row_ in inbox(acme.mara.actor, view="all").rows if row_.id == held.id]
    assert strip_of(row_, Asked(view="all", narrowing=Narrowing())).anew == (
        "Asked anew: policy 3 asks 2 of finance and 1 of leads, 2 asked 1 of finance and 1 of leads (rule refund)"
    )


def test_less_time_is_stricter_and_said_so(acme):
    held = acme.hold(expires_in_s=900)
    acme.publish(asking(("finance", 1), expires_in_s=600))
    carry(acme)
    found = row(held)
    assert (found.round, found.why["opened_because"]["message"]) == (
        2, "Policy 2 gives 10 minutes to decide, 1 gave 15 minutes (rule refund)",
    )  # fmt: skip
    assert (found.expires_at - found.created_at).total_seconds() == 600


def test_a_granted_call_that_was_not_executed_is_asked_anew_and_its_permit_is_void(acme):
    held = acme.hold()
    acme.decide(held)
    acme.publish(TWO)
    carry(acme)
    assert (row(held).status, row(held).round) == ("pending", 2)
    refused = acme.redeem(held)
    assert isinstance(refused, Refused)
    assert refused.code == "ASKED_AGAIN"


def test_what_the_new_version_denies_is_refused_in_its_words(acme):
    pending, granted = acme.hold(), acme.hold(5000)
    acme.decide(granted)
    acme.publish(DENYING)
    carry(acme)
    for held in (pending, granted):
        assert row(held).status == "refused"
        assert row(held).outcome_detail["message"] == ("Policy 2 refuses this call (rule stop): Refunds are stopped.")
    assert Proposal.objects.get(pk=granted.id).permits.get().status == "void"


def test_a_policy_without_a_rule_for_it_refuses_what_waits(acme):
    held = acme.hold()
    acme.publish("version: 1\nrules:\n  - {id: read-orders, tool: get_order, effect: allow}\n")
    carry(acme)
    assert (row(held).status, row(held).outcome_detail["code"]) == ("refused", "NO_RULE")


@pytest.mark.parametrize("source", [ALLOWING, asking(("finance", 1), expires_in_s=3600), UNRELATED])
def test_a_loosening_and_an_unrelated_edit_touch_nothing_of_what_waits(acme, source):
    acme.publish(asking(("finance", 1)))
    waiting, granted = acme.hold(), acme.hold(5000)
    acme.decide(granted)
    before = [whole(waiting), whole(granted)]
    acme.publish(source)
    carry(acme)
    assert [whole(waiting), whole(granted)] == before
    assert isinstance(acme.redeem(granted), Redeemed)


def counted(acme, amount):
    """Another refund for the same customer is started."""
    with transaction.atomic():
        exposure_count(
            tenant_id=acme.tenant.id, key=f"another-{amount}", contract=refund(),
            arguments={"amount": amount, "currency": "AUD"}, state=STATE, agent_id=acme.agent.id,
        )  # fmt: skip


DAY = "limits: [{{id: day, tool: refund_order, per: customer, window: 24h, amount: {{AUD: {most}}}, {over}}}]\n"
DENIES, ASKS = "over: deny", "over: ask, approvers: [{group: leads, count: 1}]"


def with_day(rules, *, most=5000, over=ASKS):
    return rules + DAY.format(most=most, over=over)


@pytest.mark.parametrize("over", [ASKS, DENIES])
def test_sums_that_moved_void_no_vote_when_an_unrelated_version_is_published(acme, over):
    """A5: an unrelated edit touches nothing. What the sums come to is asked when it starts, when they are held."""
    acme.publish(with_day(POLICY, over=over))
    held = acme.hold()
    counted(acme, 501)
    before = whole(held)
    acme.publish(with_day(UNRELATED, over=over))
    carry(acme)
    assert whole(held) == before
    assert acme.decide(held, round=1).status == "granted"
    granted = whole(held)
    acme.publish(with_day(POLICY.replace("Refunds over", "All refunds over"), over=over))
    carry(acme)
    assert whole(held) == granted
    answer = acme.redeem(held)
    assert isinstance(answer, Refused)
    assert answer.kind == ("ask_again" if over == ASKS else "refused")


@pytest.mark.parametrize(
    ("most", "over"), [(4000, ASKS), (4700, ASKS), (5000, DENIES), (5000, ASKS.replace("count: 1", "count: 2"))]
)
def test_a_limit_that_changed_for_this_call_is_relevant_whatever_the_sums_have_come_to(acme, most, over):
    """Passed under both versions by now, but the limit of this very call is another one (A5)."""
    people.group_add(actor=acme.tenant.admin.actor, group="leads", user_id=acme.mara.user_id)
    acme.publish(with_day(POLICY))
    held = acme.hold()
    counted(acme, 501)
    acme.publish(with_day(POLICY, most=most, over=over))
    carry(acme)
    assert (row(held).status, row(held).round) == (("refused", 1) if over == DENIES else ("pending", 2))


def test_a_limit_that_is_new_and_passed_by_now_is_relevant(acme):
    held = acme.hold()
    counted(acme, 501)
    acme.publish(with_day(POLICY))
    carry(acme)
    assert row(held).requires == [{"group": "finance", "count": 1}, {"group": "leads", "count": 1}]


FEW = """\
version: 1
rules:
  - {id: known, tool: refund_order, when: "exposure.customer_24h.amount < 500", effect: ask,
     approvers: [{group: finance, count: 1}], expires_in_s: 900}
  - {id: refund, tool: refund_order, effect: ask, approvers: [{group: finance, count: 2}], expires_in_s: 900}
"""


def test_a_rule_over_sums_that_no_longer_matches_is_not_the_policys_doing_and_another_rule_is(acme):
    acme.publish(FEW)
    held = acme.hold()
    counted(acme, 501)
    acme.publish(FEW.replace("id: known", "id: known-customer"))
    carry(acme)
    assert (row(held).status, row(held).round) == ("pending", 1)
    acme.publish(FEW.replace("count: 2", "count: 3"))
    carry(acme)
    assert (row(held).status, row(held).round) == ("pending", 2)
    assert row(held).requires == [{"group": "finance", "count": 3}]


def test_sums_that_moved_under_the_version_in_force_void_nothing_before_it_starts(acme):
    acme.publish(with_day(POLICY))
    held = acme.hold()
    counted(acme, 501)
    assert proposal_judge_published(proposal_id=held.id) == "same"
    assert acme.decide(held).status == "granted"


def test_sums_that_fell_loosen_nothing_for_what_waits(acme):
    acme.publish(with_day(POLICY))
    counted(acme, 501)
    held = acme.hold()
    exposure_take_back(tenant_id=acme.tenant.id, key="another-501")
    before = whole(held)
    acme.publish(with_day(UNRELATED))
    carry(acme)
    assert whole(held) == before
    assert row(held).requires == [{"group": "finance", "count": 1}, {"group": "leads", "count": 1}]
    assert acme.decide(held).status == "pending"


def test_where_the_version_it_was_asked_under_cannot_be_read_the_stricter_one_applies(acme_committed, owner_sql):
    """S84: nobody can say then that it was only the sums."""
    from approvals.selectors.policies import _rules

    acme = acme_committed
    acme.publish(with_day(POLICY))
    held = acme.hold()
    counted(acme, 501)
    edit_as_owner(owner_sql, "approvals_policyversion", 'document = \'{"version": 1, "rules": []}\'', "number = 2")
    _rules.cache_clear()
    acme.publish(with_day(UNRELATED))
    carry(acme)
    assert (row(held).status, row(held).round) == ("pending", 2)


def test_an_agent_without_its_rights_is_no_consequence_of_the_policy_and_is_left_to_the_dispatch(acme):
    held = acme.hold()
    acme.decide(held)
    agents.agent_deactivate(actor=acme.tenant.admin.actor, agent_id=UUID(acme.agent.id))
    before = whole(held)
    acme.publish(TWO)
    carry(acme)
    assert whole(held) == before
    assert isinstance(acme.redeem(held), Refused)


def test_a_version_that_is_published_while_others_are_judged_is_judged_from_the_start(acme):
    many = [acme.hold(1000 + number) for number in range(5)]
    acme.publish(TWO)
    assert open_judge(tenant_id=UUID(acme.tenant.id), limit=2)
    assert open_judge(tenant_id=UUID(acme.tenant.id), limit=2)
    acme.publish(asking(("finance", 2), ("leads", 1)))
    carry(acme, limit=2)
    assert {(row(held).policy_number, len(row(held).requires)) for held in many} == {(3, 2)}
    reach = PolicyReach.objects.get(tenant_id=acme.tenant.id)
    assert (reach.number, reach.done, reach.judged, reach.asked_anew) == (3, True, 5, 5)


def test_the_sweep_finds_what_a_lost_hint_missed(acme):
    held = acme.hold()
    acme.publish(TWO)
    assert UUID(acme.tenant.id) in open_tenants()
    carry(acme)
    assert UUID(acme.tenant.id) not in open_tenants()
    assert row(held).round == 2
    assert open_judge(tenant_id=UUID(acme.tenant.id)) is False


def test_a_row_that_is_damaged_hides_none_behind_it(acme_committed, owner_sql):
    from tests.support.approvals import edit_as_owner

    acme = acme_committed
    damaged, sound = acme.hold(), acme.hold(5000)
    edit_as_owner(owner_sql, "approvals_proposal", "canonical = '\\x00'", f"id = '{damaged.id}'")
    acme.publish(TWO)
    carry(acme)
    assert (row(damaged).round, row(sound).round) == (1, 2)
    assert PolicyReach.objects.get(tenant_id=acme.tenant.id).failed == 1
    assert reach_of(acme.tenant.id) is None


def test_an_approval_before_its_turn_does_not_grant_under_the_looser_rule(acme):
    """Nothing has been judged again yet, and the person's page is the one of the old round."""
    held = acme.hold()
    acme.publish(TWO)
    with pytest.raises(Conflict, match="asks 2 of finance") as refused:
        acme.decide(held, round=1)
    assert refused.value.code == "ROUND_CHANGED"
    assert (row(held).status, row(held).round) == ("pending", 2)
    assert not row(held).decisions.exists()


def test_an_approval_of_what_is_denied_now_grants_nothing(acme):
    held = acme.hold()
    acme.publish(DENYING)
    with pytest.raises(Conflict) as refused:
        acme.decide(held, round=1)
    assert (refused.value.code, row(held).status) == ("CLOSED", "refused")


def test_an_approval_that_names_no_round_is_for_the_one_that_was_open_and_counts_in_no_other(acme):
    held = acme.hold()
    acme.publish(asking(("leads", 1)))
    with pytest.raises(Conflict) as refused:
        acme.decide(held)
    assert refused.value.code == "ROUND_CHANGED"
    assert (row(held).status, row(held).round, row(held).decisions.count()) == ("pending", 2, 0)


def test_a_rejection_before_its_turn_stands(acme):
    held = acme.hold()
    acme.publish(TWO)
    acme.decide(held, "reject")
    carry(acme)
    assert (row(held).status, row(held).round) == ("rejected", 1)


def test_an_approval_after_an_unrelated_edit_grants_in_the_round_that_is_open(acme):
    held = acme.hold()
    acme.publish(UNRELATED)
    assert acme.decide(held, round=1).status == "granted"


def test_judging_twice_asks_once(acme):
    held = acme.hold()
    acme.publish(TWO)
    assert proposal_judge_published(proposal_id=held.id) == "asked_anew"
    assert proposal_judge_published(proposal_id=held.id) == "same"
    assert row(held).round == 2


def test_the_version_and_the_mark_are_published_together_or_not_at_all(acme):
    with pytest.raises(RuntimeError), transaction.atomic():
        acme.publish(TWO)
        raise RuntimeError
    found = PolicyReach.objects.get(tenant_id=acme.tenant.id)
    assert found.number == 1
