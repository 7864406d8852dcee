"""approvals/services/exposure.py: counted once, taken back as it was counted, and judged by (issue of limits)."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from approvals.core.contract import parse_contract
from approvals.core.exposure import customer_key, subjects_of
from approvals.core.policy_names import run_facts
from approvals.models import ExposureBucket, ExposureEntry, Proposal
from approvals.selectors.exposure import exposure_of
from approvals.selectors.judging import facts_of
from approvals.selectors.policies import rules_of
from approvals.services.exposure import exposure_count, exposure_forget_old, exposure_settle, exposure_take_back
from approvals.services.judge import call_judge, request_judged
from audit.store import clock
from tests.core.approvals.documents import GONE, read_document, refund
from tests.support.approvals import ALLOWING, STATE
from tests.support.approvals import world as make_world

LIMITED = """
version: 1
limits:
  - {{id: day, tool: refund_order, per: {per}, window: {window}, amount: {{AUD: {most}}}, over: deny}}
rules:
  - {{id: free, tool: refund_order, effect: allow}}
"""


def limited(per="customer", window="24h", most=10_000):
    return LIMITED.format(per=per, window=window, most=most)


def count(world, key="k1", amount=4_500, *, state=None, currency="AUD", agent=None, contract=None):
    arguments = {"order_id": "ord_1029", "amount": amount, "currency": currency}
    return exposure_count(
        tenant_id=world.tenant.id,
        key=key,
        contract=contract or refund(),
        arguments=arguments,
        state=STATE if state is None else state,
        agent_id=agent or world.agent.id,
    )


def seen(world, *, key="", state=None):
    subjects = subjects_of(
        refund(), arguments={}, state=STATE if state is None else state, agent_id=str(world.agent.id)
    )
    return exposure_of(tenant_id=world.tenant.id, tool="refund_order", subjects=subjects, key=key)


def judge(world, amount=4_500, *, state=None, key="", acting=False):
    prepared = world.prepare(amount)
    return call_judge(
        tenant_id=world.tenant.id,
        tool_version_id=prepared.tool_version_id,
        canonical=prepared.canonical,
        state=STATE if state is None else state,
        requester=world.requester(),
        key=key,
        acting=acting,
    )


def both(amount, calls):
    return {window: {"AUD": {"amount": amount, "calls": calls}} for window in ("24h", "30d")}


def test_a_call_is_counted_for_its_customer_its_agent_and_its_tool_in_both_windows(acme):
    assert count(acme)
    assert count(acme, "k2", 500)
    assert seen(acme) == {"customer": both(5_000, 2), "agent": both(5_000, 2), "tool": both(5_000, 2)}
    assert not ExposureBucket.objects.filter(subject__contains="Anna").exists()


def test_another_attempt_of_the_same_call_is_not_counted_again(acme):
    assert count(acme)
    assert not count(acme)
    assert seen(acme)["tool"] == both(4_500, 1)


def test_another_customer_another_agent_and_another_tenant_have_sums_of_their_own(acme):
    count(acme, state={**STATE, "customer": "Berta Cole"}, agent=uuid4())
    assert seen(acme) == {"customer": {"24h": {}, "30d": {}}, "agent": {"24h": {}, "30d": {}}, "tool": both(4_500, 1)}
    ExposureBucket.objects.update(tenant_id=uuid4())
    assert seen(acme)["tool"] == {"24h": {}, "30d": {}}


@pytest.mark.parametrize("name", ["anna  berg", " Anna Berg ", "ANNA BERG", "Ａnna Berg"])
def test_case_spaces_and_width_make_nobody_another_customer(name):
    assert customer_key(name) == customer_key("Anna Berg")
    assert customer_key("Anna Bergs") != customer_key("Anna Berg")


def test_nobody_is_no_customer(acme):
    assert customer_key("  ") is None
    count(acme, state={})
    assert seen(acme, state={})["customer"] is None
    assert seen(acme, state={})["tool"] == both(4_500, 1)


def test_a_tool_that_only_reads_is_not_counted(acme):
    assert not count(acme, contract=parse_contract(read_document()))
    assert not ExposureEntry.objects.exists()


def test_what_is_taken_back_counts_no_more_and_can_be_counted_again(acme):
    count(acme)
    count(acme, "k2", 500)
    assert exposure_take_back(tenant_id=acme.tenant.id, key="k1")
    assert not exposure_take_back(tenant_id=acme.tenant.id, key="k1")
    assert seen(acme)["customer"] == both(500, 1)
    assert count(acme)
    assert seen(acme)["customer"] == both(5_000, 2)


def test_what_is_taken_back_later_leaves_the_hour_and_day_that_it_was_counted_in(acme):
    count(acme)
    ExposureEntry.objects.update(at=F("at") - timedelta(days=2))
    ExposureBucket.objects.update(begins_at=F("begins_at") - timedelta(days=2))
    count(acme, "k2", 500)
    assert exposure_take_back(tenant_id=acme.tenant.id, key="k1")
    assert seen(acme)["tool"] == both(500, 1)
    assert sorted(ExposureBucket.objects.values_list("calls", "amount")) == [(0, 0)] * 6 + [(1, 500)] * 6


def test_only_what_proves_that_nothing_happened_takes_back(acme):
    for settled, left in (("retry", 0), ("failed", 0), ("unknown", 1), ("succeeded", 1), ("compensated", 1)):
        count(acme)
        exposure_settle(tenant_id=acme.tenant.id, key="k1", settled=settled)
        assert seen(acme)["tool"]["24h"]["AUD"]["calls"] == left, settled


def test_a_call_does_not_count_against_itself(acme):
    count(acme)
    assert seen(acme, key="k1") == {name: both(0, 0) for name in ("customer", "agent", "tool")}
    assert seen(acme, key="k2")["tool"] == both(4_500, 1)


def test_the_windows_end(acme):
    count(acme)
    moved = 0
    for hours, in_24, in_30 in ((23, True, True), (26, False, True), (29 * 24, False, True), (33 * 24, False, False)):
        ExposureBucket.objects.update(begins_at=F("begins_at") - timedelta(hours=hours - moved))
        moved = hours
        found = seen(acme)["tool"]
        assert (bool(found["24h"]), bool(found["30d"])) == (in_24, in_30), hours


def test_old_counters_are_forgotten_and_current_ones_stay(acme):
    count(acme, "old")
    ExposureEntry.objects.update(at=F("at") - timedelta(days=40))
    ExposureBucket.objects.update(begins_at=F("begins_at") - timedelta(days=40))
    count(acme, "new", 500)
    assert exposure_forget_old() == 7
    assert seen(acme)["tool"] == both(500, 1)
    assert exposure_forget_old() == 0


def test_an_amount_beyond_every_sum_stops_at_the_largest_and_breaks_nothing(acme):
    for number in range(3):
        count(acme, f"k{number}", 2**53 - 1)
    assert seen(acme)["tool"]["24h"]["AUD"] == {"amount": 2**53 - 1, "calls": 3}


def test_a_limit_is_judged_by_what_was_started_before_to_the_cent(acme):
    count(acme)
    for per in ("customer", "agent", "tool"):
        for window in ("24h", "30d"):
            acme.publish(limited(per, window))
            for acting in (False, True):
                assert judge(acme, 5_500, acting=acting).effect == "allow"
                verdict = judge(acme, 5_501, acting=acting)
                assert (verdict.effect, verdict.rule_id) == ("deny", "limit:day")
            assert judge(acme, 10_000, key="k1").effect == "allow"  # that very call, again


@pytest.mark.parametrize("source", [LIMITED, ALLOWING], ids=["limited", "not limited"])
def test_the_time_is_that_of_the_sums_where_a_policy_has_limits(acme, source):
    """Whoever waited for the sums judges by the time behind that wait: a freeze may have begun in it."""
    acme.publish(source.format(per="tool", window="24h", most=10_000) if source is LIMITED else source)
    prepared, began = acme.prepare(4_500), clock.now() - timedelta(minutes=1)
    with transaction.atomic():
        request = request_judged(
            tenant_id=acme.tenant.id,
            policy=rules_of(acme.tenant.id, acme.policy_number),
            contract=prepared.contract,
            arguments=prepared.effective,
            state=STATE,
            requester=acme.requester(),
            run={},
            key="k1",
            acting=True,
            at=began,
        )
    assert (request.now > began) == (source is LIMITED)


def test_a_limit_per_customer_refuses_where_the_customer_is_not_known(acme):
    acme.publish(limited())
    verdict = judge(acme, 100, state={name: value for name, value in STATE.items() if name != "customer"})
    assert (verdict.effect, verdict.code, verdict.rule_id) == ("deny", "policy_error", "limit:day")
    assert "the customer is not known" in verdict.message


def test_a_contract_without_a_customer_cannot_be_limited_by_one(db):
    acme = make_world(limited(), contract={"/customer": GONE})
    assert judge(acme, 100).code == "policy_error"


def test_a_policy_that_asks_for_no_exposure_reads_and_holds_none(acme):
    acme.publish(ALLOWING)
    with CaptureQueriesContext(connection) as sent:
        judge(acme, acting=True)
    assert not [query for query in sent.captured_queries if "exposure" in query["sql"] or "advisory" in query["sql"]]


def test_a_condition_about_exposure_is_judged_by_the_counters(acme):
    acme.publish(
        "version: 1\nrules:\n  - {id: some, tool: refund_order, effect: allow, "
        'when: "exposure.customer_30d.amount + args.amount <= 6000 && exposure.agent_24h.calls < 2"}\n'
    )
    assert judge(acme).effect == "allow"
    count(acme, amount=1_501)
    assert judge(acme).code == "no_rule"
    assert judge(acme, 100).effect == "allow"
    count(acme, "k2", 1)
    assert judge(acme, 100).code == "no_rule"


def test_facts_of_the_run_and_the_time_stand_in_a_verdict_at_the_proposal_and_at_dispatch(acme):
    acme.publish(
        "version: 1\nrules:\n  - {id: told, tool: refund_order, effect: ask, approvers: [{group: finance, count: 1}], "
        "when: \"run.title == 'Ticket 5512' && run.reason.startsWith('The lamp') "
        "&& now > timestamp('2020-01-01T00:00:00Z')\"}\n"
        "  - {id: rest, tool: refund_order, effect: ask, approvers: [{group: leads, count: 1}]}\n"
    )
    prepared = acme.prepare()
    facts = run_facts(run_id=uuid4(), title="Ticket 5512", agent_version="", reason="The lamp arrived broken.")
    verdict = call_judge(
        tenant_id=acme.tenant.id,
        tool_version_id=prepared.tool_version_id,
        canonical=prepared.canonical,
        state=STATE,
        requester=acme.requester(),
        run=facts,
    )
    assert verdict.rule_id == "told"
    row = Proposal(run_id=facts["id"], run_title="Ticket 5512", reason="The lamp arrived broken.", key="clr_1")
    assert facts_of(row) == {"run": facts, "key": "clr_1"}
