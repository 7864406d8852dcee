"""Freezes, limits and levels through the services: what waits or was approved meets them again when it starts (A5)."""

from datetime import timedelta

import pytest

from approvals.models import Proposal
from approvals.selectors.proposals import proposal_detail
from approvals.services.exposure import exposure_count
from approvals.services.permit import Redeemed, Refused
from audit.core.refusal import Invalid
from audit.store import clock
from tests.core.approvals.documents import refund
from tests.support.approvals import STATE, asking

RULES = asking(("finance", 1)).removeprefix("version: 1\n")


def frozen(start, end):
    times = f'from: "{start.isoformat()}", to: "{end.isoformat()}"'
    return f'version: 1\nfreeze:\n  - {{id: audit, {times}, tools: ["*"], message: Closed for the audit.}}\n{RULES}'


def test_a_freeze_that_has_begun_since_the_approval_refuses_at_the_start(acme):
    held = acme.hold()
    acme.decide(held)
    now = clock.now()
    acme.publish(frozen(now - timedelta(hours=1), now + timedelta(hours=1)))
    answer = acme.redeem(held)
    assert isinstance(answer, Refused)
    assert (answer.kind, answer.code, answer.message) == ("refused", "FROZEN", "Closed for the audit.")
    assert Proposal.objects.get(pk=held.id).status == "refused"


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
