"""approvals/selectors/past.py: what went before a call, in sums; earlier rejections; amounts that were split (S91)."""

from uuid import uuid4

import pytest

from approvals.models import Proposal
from approvals.selectors.past import past_in
from approvals.selectors.proposals import proposal_row
from approvals.services.exposure import exposure_count
from approvals.web.shown import proposal_shown
from tests.core.approvals.documents import GONE, refund
from tests.support.approvals import POLICY, STATE, World, world

TIERED = """
version: 1
rules:
  - id: refund
    tool: refund_order
    effect: ask
    tiers:
      - {up_to: {AUD: 10000}, approvers: [{group: finance, count: 1}]}
      - {approvers: [{group: finance, count: 1}, {group: leads, count: 1}]}
"""


def past(acme, held, by=None):
    found = proposal_shown((by or acme.mara).actor, held.id).past
    assert found is not None
    return found


def start(acme, amount, state=None, agent_id=None):
    """A call of the tool that was started today."""
    exposure_count(
        tenant_id=acme.tenant.id,
        key=f"clr_{uuid4().hex}",
        contract=refund(),
        arguments={"order_id": "ord_1", "amount": amount, "currency": "AUD"},
        state=state or STATE,
        agent_id=agent_id or acme.agent.id,
    )


def test_what_was_started_for_customer_agent_and_tool_is_summed_up(acme):
    start(acme, 4_500)
    start(acme, 700, STATE | {"customer": "Olaf Berg"})
    start(acme, 300, agent_id=str(uuid4()))
    rows = {one.who: (one.name, one.month, one.day) for one in past(acme, acme.hold()).started}
    assert rows["customer"] == ("Anna Berg", "2 calls, A$48.00", "2 calls, A$48.00")
    assert rows["agent"] == ("support-agent", "2 calls, A$52.00", "2 calls, A$52.00")
    assert rows["tool"][1] == "3 calls, A$55.00"


def test_a_call_is_not_part_of_its_own_history(acme):
    held = acme.hold()
    exposure_count(
        tenant_id=acme.tenant.id,
        key=Proposal.objects.get(pk=held.id).key,
        contract=refund(),
        arguments={"order_id": "ord_1029", "amount": 4_500, "currency": "AUD"},
        state=STATE,
        agent_id=acme.agent.id,
    )
    assert {one.month for one in past(acme, held).started} == {"none"}


def test_a_tool_that_names_no_customer_says_that_nothing_is_known_of_one(db):
    acme = world(contract={"/customer": GONE})
    found = past(acme, acme.hold())
    assert (found.customer_known, [one.who for one in found.started]) == (False, ["agent", "tool"])


def test_an_earlier_rejection_of_the_same_call_is_told_with_its_reason(acme):
    before = acme.hold()
    acme.decide(before, "reject", by=acme.noor, reason="Paid back\u202e already.")
    [rejection] = past(acme, acme.hold()).rejections
    assert (rejection.proposal_id, rejection.by) == (before.id, "Noor Aziz")
    assert "U+202E" in [piece.text for piece in rejection.reason]
    assert past(acme, acme.hold(700)).rejections == ()


class TestSplitAmounts:
    """Several calls for one customer within a day that one call of their sum would need more people for."""

    @pytest.fixture
    def acme(self, acme: World) -> World:
        acme.publish(TIERED)
        return acme

    def test_pending_calls_that_together_pass_a_tier_are_told(self, acme):
        acme.hold(6_000)
        split = past(acme, acme.hold(5_500)).split
        assert split is not None
        assert (split.calls, split.total) == (2, "A$115.00")
        assert split.would == "would need 1 of finance and 1 of leads (rule refund)"

    def test_calls_that_were_started_count_as_well(self, acme):
        start(acme, 6_000)
        split = past(acme, acme.hold(5_500)).split
        assert split is not None
        assert split.calls == 2

    def test_what_stays_within_the_tier_is_no_split(self, acme):
        acme.hold(4_000)
        assert past(acme, acme.hold(5_500)).split is None

    def test_one_call_alone_is_no_split(self, acme):
        assert past(acme, acme.hold(11_000)).split is None

    def test_another_customers_calls_and_rejected_ones_are_no_part_of_it(self, acme):
        acme.hold(6_000, state=STATE | {"customer": "Olaf Berg"})
        acme.decide(acme.hold(6_100), "reject")
        assert past(acme, acme.hold(5_500)).split is None

    def test_a_call_that_is_asked_by_the_strict_rule_already_needs_no_hint(self, acme):
        acme.hold(6_000)
        assert past(acme, acme.hold(11_000)).split is None

    def test_a_sum_that_would_be_refused_says_so(self, acme):
        acme.publish(POLICY.replace("args.amount > 100000", "args.amount > 10000"))
        acme.hold(6_000)
        split = past(acme, acme.hold(5_500)).split
        assert split is not None
        assert split.would.startswith("would be refused")

    def test_a_rule_that_cannot_judge_the_sum_gives_no_hint(self, acme):
        acme.publish(POLICY.replace('"args.amount > 100000"', '"args.amount > 10000 && state.risk == 1"'))
        acme.hold(6_000)
        assert past(acme, acme.hold(5_500)).split is None


def test_the_history_costs_the_same_however_long_it_is(acme, django_assert_max_num_queries):
    held = acme.hold()
    for amount in (100, 200, 300, 400):
        acme.hold(amount)
    row = proposal_row(acme.mara.actor, held.id)
    with django_assert_max_num_queries(12):
        assert past_in(row).started
