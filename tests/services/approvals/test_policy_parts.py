"""Freezes, limits and levels through the services: what waits or was approved meets them again when it starts (A5)."""

from datetime import timedelta
from uuid import uuid4

import pytest

from approvals.models import Proposal
from approvals.selectors.frozen import freeze_of
from approvals.selectors.proposals import proposal_detail
from approvals.services.edit import proposal_edit_preview
from approvals.services.exposure import exposure_count
from approvals.services.permit import Redeemed, Refused
from approvals.services.proposal import proposal_observe
from approvals.services.published import proposal_judge_published
from audit.core.refusal import Invalid
from audit.store import clock
from tests.core.approvals.documents import refund
from tests.support.approvals import DENYING, STATE, asking
from tests.support.handling import edit

RULES = asking(("finance", 1)).removeprefix("version: 1\n")


def frozen(start, end):
    times = f'from: "{start.isoformat()}", to: "{end.isoformat()}"'
    return f'version: 1\nfreeze:\n  - {{id: audit, {times}, tools: ["*"], message: Closed for the audit.}}\n{RULES}'


def test_a_freeze_that_has_begun_since_the_approval_starts_nothing_and_leaves_the_approval_standing(acme):
    held = acme.hold()
    acme.decide(held)
    now = clock.now()
    acme.publish(frozen(now - timedelta(hours=1), now + timedelta(hours=1)))
    answer = acme.redeem(held)
    assert isinstance(answer, Refused)
    assert (answer.kind, answer.code, answer.message) == ("frozen", "FROZEN", "Closed for the audit.")
    assert Proposal.objects.get(pk=held.id).status == "granted"
    acme.publish(f"version: 1\n{RULES}")
    assert isinstance(acme.redeem(held), Redeemed)


def test_what_waits_when_a_freeze_is_published_stays_and_can_be_decided(acme):
    """A freeze says when nothing is started, not what is decided; another rule of the same version still closes."""
    held = acme.hold()
    now = clock.now()
    acme.publish(frozen(now - timedelta(hours=1), now + timedelta(hours=1)))
    assert proposal_judge_published(proposal_id=held.id) == "same"
    told = acme.decide(held).message
    assert "A freeze of the policy (audit) starts nothing like this until" in told
    row = Proposal.objects.get(pk=held.id)
    assert (row.status, row.round) == ("granted", 1)
    rules = DENYING.removeprefix("version: 1\n")
    acme.publish(frozen(now - timedelta(hours=1), now + timedelta(hours=1)).replace(RULES, rules))
    assert proposal_judge_published(proposal_id=held.id) == "refused"


def test_a_state_that_changes_inside_a_freeze_is_asked_anew_and_closes_nothing(acme):
    held = acme.hold()
    now = clock.now()
    acme.publish(frozen(now - timedelta(hours=1), now + timedelta(hours=1)))
    proposal_observe(proposal_id=held.id, state={**STATE, "left": STATE["left"] - 1}, read_at=clock.now())
    row = Proposal.objects.get(pk=held.id)
    assert (row.status, row.round) == ("pending", 2)


def test_inside_a_freeze_no_call_that_waits_is_edited_and_after_it_it_is(acme):
    """An edit makes a new call (S15), and nothing new is asked for inside a freeze; the call itself waits on."""
    held = acme.hold()
    now = clock.now()
    acme.publish(frozen(now - timedelta(hours=1), now + timedelta(hours=1)))
    smaller = {"order_id": "ord_1029", "amount": 3900}
    looked = {"actor": acme.mara.actor, "proposal_id": held.id, "digest": held.digest, "round": 1}
    for ask in (
        lambda: edit(acme.mara, held.id, smaller),
        lambda: proposal_edit_preview(**looked, arguments=smaller),
    ):
        with pytest.raises(Invalid) as caught:
            ask()
        assert (caught.value.code, caught.value.detail["rule"]) == ("EDIT_DENIED", "freeze:audit")
        assert "inside a freeze of the policy nothing new is asked for (audit, from " in caught.value.message
        assert "can be decided, or edited when the freeze is over. Closed for the audit." in caught.value.message
    row = Proposal.objects.get()
    assert (row.status, row.round, row.digest) == ("pending", 1, held.digest)
    silent = frozen(now - timedelta(hours=1), now + timedelta(hours=1)).replace(", message: Closed for the audit.", "")
    acme.publish(silent)
    with pytest.raises(Invalid) as caught:
        edit(acme.mara, held.id, smaller)
    assert caught.value.message.endswith("or edited when the freeze is over.")
    acme.publish(frozen(now - timedelta(hours=2), now - timedelta(hours=1)))
    revision = edit(acme.mara, held.id, smaller)
    assert Proposal.objects.get(pk=revision.proposal_id).status == "pending"


def test_a_freeze_of_other_tools_hinders_no_edit(acme):
    held = acme.hold()
    now = clock.now()
    acme.publish(frozen(now - timedelta(hours=1), now + timedelta(hours=1)).replace('["*"]', "[get_order]"))
    assert edit(acme.mara, held.id, {"order_id": "ord_1029", "amount": 3900}).number == 2


def test_a_freeze_holds_back_only_what_is_open_and_of_its_tools(acme):
    held = acme.hold()
    assert freeze_of(tenant_id=acme.tenant.id, proposal_id=held.id) is None
    now = clock.now()
    source = frozen(now - timedelta(hours=1), now + timedelta(hours=1))
    acme.publish(source.replace('["*"]', "[get_order]"))
    assert freeze_of(tenant_id=acme.tenant.id, proposal_id=held.id) is None
    acme.publish(source)
    found = freeze_of(tenant_id=acme.tenant.id, proposal_id=held.id)
    assert (found.id, found.status, found.message) == ("audit", "pending", "Closed for the audit.")
    assert freeze_of(tenant_id=uuid4(), proposal_id=held.id) is None
    acme.decide(held, "reject", reason="No.")
    assert freeze_of(tenant_id=acme.tenant.id, proposal_id=held.id) is None


def test_a_freeze_that_is_over_or_has_not_begun_changes_nothing_for_what_was_approved(acme):
    held = acme.hold()
    acme.decide(held)
    now = clock.now()
    acme.publish(frozen(now - timedelta(hours=2), now - timedelta(hours=1)))
    acme.publish(frozen(now + timedelta(hours=1), now + timedelta(hours=2)))
    assert isinstance(acme.redeem(held), Redeemed)


def test_what_was_approved_and_would_pass_a_limit_by_now_is_asked_of_the_limits_people_too(acme):
    limit = "{id: day, tool: refund_order, per: customer, window: 24h, amount: {AUD: 5000}, over: ask, approvers: %s}"
    acme.publish(f"version: 1\nlimits:\n  - {limit % '[{group: leads, count: 1}]'}\n{RULES}")
    held = acme.hold()
    acme.decide(held)
    exposure_count(
        tenant_id=acme.tenant.id, key="another", contract=refund(),
        arguments={"amount": 501, "currency": "AUD"}, state=STATE, agent_id=acme.agent.id,
    )  # fmt: skip
    answer = acme.redeem(held)
    assert isinstance(answer, Refused)
    assert (answer.kind, answer.code) == ("ask_again", "POLICY_CHANGED")
    row = Proposal.objects.get(pk=held.id)
    assert (row.status, row.round) == ("pending", 2)
    assert row.requires == [{"group": "finance", "count": 1}, {"group": "leads", "count": 1}]
    told = proposal_detail(acme.noor.actor, held.id).content.held
    assert "A$5.01 for this customer in 24 hours and this A$45.00 come to A$50.01, over A$50.00" in [
        match.text for match in told.matches
    ]


def test_an_overridable_denial_is_approved_only_with_a_reason(acme):
    acme.publish(
        "version: 1\nrules:\n  - {id: large, tool: refund_order, effect: deny, level: overridable, "
        "approvers: [{group: finance, count: 1}]}\n"
    )
    held = acme.hold()
    with pytest.raises(Invalid) as caught:
        acme.decide(held)
    assert caught.value.code == "REASON_REQUIRED"
    acme.decide(held, reason="Agreed with the customer by phone.")
    assert isinstance(acme.redeem(held), Redeemed)
