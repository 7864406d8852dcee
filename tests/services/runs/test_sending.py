"""runs/services/sending.py: from the decision to the receipt, every re-check on the way."""

from datetime import timedelta

import pytest
from django.db import transaction

from access.services.agents import agent_deactivate
from access.services.people import member_change
from approvals.selectors.proposals import proposal_detail
from approvals.services.revoking import permit_revoke
from audit.store import clock
from runs.core.kinds import RunStatus
from runs.models import Dispatch, ResourceLease
from runs.services.run import run_cancel
from runs.store import resources
from tests.support import factories
from tests.support.world import POLICY, break_audit, kinds, live_rows, mend_audit, row

STRICTER = POLICY.replace("group: finance, count: 1", "group: finance, count: 2")


def test_an_approved_refund_happens_once_and_its_receipt_is_everywhere(world, owner_sql):
    order = world.order(18_900)
    call = world.held(order, 4_500)
    world.decide(call)
    world.work(call)
    call = world.look(call)
    [refund] = world.refunds(order)
    assert (refund["amount"], refund["metadata"]["clearance_key"]) == (4_500, call.key)
    assert (call.state, call.answer["outcome"], call.answer["receipt"]["reference"]) == (
        "succeeded", "committed", refund["id"],
    )  # fmt: skip
    assert call.answer["result"]["value"]["refund_id"] == refund["id"]
    assert kinds(call.run_id)[-5:] == [
        "call_held", "resolution_consumed", "state_observed", "dispatch_started", "dispatch_succeeded",
    ]  # fmt: skip
    assert world.head(call).status == RunStatus.READY
    assert proposal_detail(world.reviewer.actor, call.proposal_id).afterwards.outcome == "succeeded"
    assert ResourceLease.objects.count() == 0
    [(verdict, size, duration)] = owner_sql(
        "SELECT verdict, result_bytes, duration_ms FROM audit_entry WHERE action = 'call.succeeded'"
    )
    assert (verdict, size > 0, duration >= 0) == ("ok", True, True)


def test_a_second_turn_and_a_second_approval_click_add_nothing(world):
    order = world.order()
    call = world.held(order)
    world.decide(call)
    world.decide(call)
    for _ in range(3):
        world.work(call)
    assert len(world.refunds(order)) == 1


def test_a_rejected_refund_never_happens_and_the_agent_reads_why(world):
    order = world.order()
    call = world.held(order)
    world.decide(call, "reject", reason="The lamp was used.")
    world.work(call)
    call = world.look(call)
    assert (call.state, call.answer["error"]["code"]) == ("rejected", "REJECTED")
    assert "Rita Reviewer" in call.answer["error"]["message"]
    assert "The lamp was used." in call.answer["error"]["message"]
    assert world.refunds(order) == []


# -- what changes between the decision and the dispatch (S81, S82, S84) ----------------------------------------------


def test_a_policy_tightened_after_the_approval_asks_again_and_executes_nothing(world):
    order = world.order()
    call = world.held(order)
    world.decide(call)
    world.publish(STRICTER)
    world.work(call)
    call = world.look(call)
    assert (call.state, world.refunds(order)) == ("waiting", [])
    assert kinds(call.run_id)[-1] == "call_held"
    assert world.head(call).status == RunStatus.WAITING_APPROVAL
    detail = proposal_detail(world.reviewer.actor, call.proposal_id)
    assert detail.round == 2


def test_after_the_next_rounds_approvals_it_happens_once_under_the_same_key(world):
    order = world.order()
    call = world.held(order)
    world.decide(call)
    world.publish(STRICTER)
    world.work(call)
    world.decide(call)
    world.work(call)
    assert world.refunds(order) == []
    world.decide(call, by=world.second_reviewer)
    world.work(call)
    assert world.keys(order) == [call.key]


def test_a_policy_that_now_denies_refuses_with_its_rule(world):
    order = world.order()
    call = world.held(order)
    world.decide(call)
    world.publish(POLICY.replace("args.amount > 100000", "args.amount > 100"))
    world.work(call)
    call = world.look(call)
    assert (call.state, call.answer["error"]["code"], world.refunds(order)) == ("refused", "DENIED", [])


def test_a_looser_policy_changes_nothing_for_what_was_approved(world):
    order = world.order()
    call = world.held(order)
    world.decide(call)
    world.publish(POLICY.replace("expires_in_s: 900", "expires_in_s: 1800"))
    world.work(call)
    assert world.look(call).state == "succeeded"


def test_a_revoked_permit_executes_nothing(world):
    order = world.order()
    call = world.held(order)
    world.decide(call)
    permit_revoke(actor=world.admin, proposal_id=call.proposal_id, reason="The customer was paid by hand.")
    world.work(call)
    assert world.look(call).state in ("refused", "waiting")
    assert world.refunds(order) == []


def test_an_approver_who_lost_the_role_does_not_count_any_more(world):
    order = world.order()
    call = world.held(order)
    world.decide(call)
    member_change(actor=world.admin, membership_id=world.reviewer.membership_id, roles=[])
    world.work(call)
    assert (world.look(call).state, world.refunds(order)) == ("waiting", [])


def test_an_agent_deactivated_after_the_approval_executes_nothing(world):
    order = world.order()
    call = world.held(order)
    world.decide(call)
    agent_deactivate(actor=world.admin, agent_id=world.agent.id)
    world.work(call)
    assert (row(call).state, world.refunds(order)) == ("refused", [])


def test_a_target_that_changed_meanwhile_asks_again_with_what_it_says_now(world):
    order = world.order(18_900)
    call = world.held(order, 4_500)
    world.decide(call)
    world.stripe.refund(world.orders[order]["charge"], 1_000)
    world.work(call)
    call = world.look(call)
    assert (call.state, len(world.refunds(order))) == ("waiting", 1)


@pytest.mark.parametrize(("offset_ms", "executed"), [(-1, True), (0, False), (1, False)])
def test_an_approval_is_void_at_its_very_deadline(world, stand_at, owner_sql, offset_ms, executed):
    """S82: approved in time, executed after it."""
    order = world.order()
    call = world.held(order)
    world.decide(call)
    [(deadline,)] = owner_sql("SELECT expires_at FROM approvals_proposal")
    stand_at(deadline + timedelta(milliseconds=offset_ms))
    world.work(call)
    call = world.look(call)
    if executed:
        assert (call.state, len(world.refunds(order))) == ("succeeded", 1)
    else:
        assert (call.state, world.refunds(order)) == ("expired", [])
        assert owner_sql("SELECT status FROM approvals_proposal") == [("expired",)]


def test_a_calls_own_deadline_refuses_it_at_dispatch(world, stand_at):
    order = world.order()
    deadline = clock.now() + timedelta(minutes=5)
    run = world.run(deadline=deadline)
    call = world.refund(run, order)
    world.work(run)
    call = world.look(call)
    world.decide(call)
    stand_at(deadline)
    world.work(run)
    assert (world.look(call).state, world.refunds(order)) == ("expired", [])


def test_a_run_cancelled_after_the_approval_executes_nothing(world):
    order = world.order()
    call = world.held(order)
    world.decide(call)
    run_cancel(actor=world.agent_actor, run_id=call.run_id)
    world.work(call)
    assert (world.look(call).state, world.refunds(order)) == ("cancelled", [])
    assert proposal_detail(world.reviewer.actor, call.proposal_id).status == "cancelled"


@pytest.mark.parametrize("table", ["runs_call", "approvals_proposal"])
def test_bytes_edited_after_the_approval_execute_nothing(world, owner_sql, table):
    order = world.order()
    call = world.held(order)
    world.decide(call)
    trigger = {"runs_call": "runs_call_bound", "approvals_proposal": "approvals_proposal_bound"}[table]
    owner_sql(f"ALTER TABLE {table} DISABLE TRIGGER {trigger}")
    owner_sql(
        f"UPDATE {table} SET canonical = convert_to(replace(convert_from(canonical, 'UTF8'), '4500', '9000'), 'UTF8')"
    )
    world.work(call)
    assert (world.look(call).state, world.refunds(order)) == ("refused", [])


# -- calls that need nobody ------------------------------------------------------------------------------------------

ALLOWING = """
version: 1
rules:
  - {id: small, tool: refund_order, when: "args.amount <= 5000", effect: allow}
"""


def unattended(document):
    """The demo's refund is always held for people; this one only when the policy says so."""
    document["approval"] = "policy"


@pytest.fixture
def allowing(world):
    world.admit("refund_order", unattended)
    world.publish(ALLOWING)
    return world


def test_an_allowed_effect_goes_through_the_gateway_without_a_proposal(allowing):
    order, run = allowing.order(), allowing.run()
    call = allowing.refund(run, order)
    allowing.work(run)
    call = allowing.look(call)
    assert (call.state, call.proposal_id, allowing.keys(order)) == ("succeeded", None, [call.key])


def _ready(world, order):
    """A call that was judged as allowed and not sent yet: its target was out of the worker's reach at that moment."""
    run = world.run()
    call = world.refund(run, order)
    from runs.services.evaluate import evaluate_call
    from tests.support.histories import claimed

    evaluate_call(claim=claimed(run.id, "evaluate"))
    assert world.look(call).state == "ready"
    return call


def test_an_allow_that_became_an_ask_is_held(allowing):
    order = allowing.order()
    call = _ready(allowing, order)
    allowing.publish(POLICY)
    allowing.work(call)
    call = allowing.look(call)
    assert (call.state, call.proposal_id is not None, allowing.refunds(order)) == ("waiting", True, [])


def test_an_allow_that_became_a_deny_is_refused(allowing):
    order = allowing.order()
    call = _ready(allowing, order)
    allowing.publish("version: 1\nrules:\n  - {id: none, tool: '*', effect: deny}\n")
    allowing.work(call)
    assert (allowing.look(call).state, allowing.refunds(order)) == ("refused", [])


# -- resources (R9) ---------------------------------------------------------------------------------------------------


def test_a_busy_resource_makes_the_call_wait_untried_and_its_permit_stays_ready(world, owner_sql):
    order = world.order()
    first, second = world.held(order, 1_000), world.held(order, 1_000)
    holder = Dispatch.objects.filter(call_id=first.id).first()
    assert resources.take(tenant_id=row(second).tenant_id, resource=row(second).resource, dispatch_id=holder.id)
    world.decide(second)
    world.work(second)
    waiting = Dispatch.objects.get(call_id=second.id, kind="dispatch")
    assert (waiting.status, waiting.attempts) == ("ready", 0)
    assert owner_sql("SELECT status FROM approvals_permit") == [("ready",)]
    assert world.refunds(order) == []
    resources.free(holder.id)
    Dispatch.objects.filter(pk=waiting.pk).update(not_before=clock.now())
    world.work(second)
    assert world.keys(order) == [second.key]


def test_whoever_waits_for_a_resource_is_told_when_it_is_free(world):
    from runs.signals import work_waits

    order = world.order()
    first, second = world.held(order, 1_000), world.held(order, 1_000)
    holder = Dispatch.objects.filter(call_id=first.id).first()
    resources.take(tenant_id=row(second).tenant_id, resource=row(second).resource, dispatch_id=holder.id)
    world.decide(second)
    world.work(second)
    told = []
    work_waits.connect(lambda *, run_id, **_: told.append(run_id), weak=False, dispatch_uid="test")
    try:
        with transaction.atomic():
            resources.free(holder.id)
            assert told == []
    finally:
        work_waits.disconnect(dispatch_uid="test")
    assert told == [second.run_id]
    world.work(second)  # its time was put forward with the lease's end
    assert world.keys(order) == [second.key]


def test_reads_of_a_busy_resource_do_not_wait(world):
    order, run = world.order(), world.run()
    held = world.held(order)
    holder = Dispatch.objects.filter(call_id=held.id).first()
    resources.take(tenant_id=row(held).tenant_id, resource=row(held).resource, dispatch_id=holder.id)
    calls = [world.submit(run, "get_order", {"order_id": order}) for _ in range(3)]
    world.work(run)
    assert {world.look(call).state for call in calls} == {"succeeded"}
    assert ResourceLease.objects.count() == 1


def test_two_approved_refunds_of_one_order_do_not_run_into_each_other(world):
    """The second was approved on a state that the first one changed: people are asked again."""
    order = world.order(10_000)
    first, second = world.held(order, 6_000), world.held(order, 6_000)
    for call in (first, second):
        world.decide(call)
    for call in (first, second):
        world.work(call)
    assert world.look(first).state == "succeeded"
    assert world.look(second).state in ("waiting", "refused")
    assert len(world.refunds(order)) == 1


# -- audit (S69) ------------------------------------------------------------------------------------------------------


def test_no_effect_without_the_audit_entry_of_its_start(world, owner_sql):
    order = world.order()
    call = world.held(order)
    world.decide(call)
    break_audit(owner_sql, "call.started")
    world.work(call)
    assert world.refunds(order) == []
    assert world.look(call).state == "ready"
    assert owner_sql("SELECT status FROM approvals_permit") == [("ready",)]
    assert live_rows(call) == [("dispatch", "ready")]
    mend_audit(owner_sql)
    Dispatch.objects.filter(call_id=call.id, status="ready").update(not_before=clock.now())
    world.work(call)
    assert world.keys(order) == [call.key]


def test_another_tenants_reviewer_and_runs_do_not_meet_here(world, payments):
    other = type(world)(payments)
    call = world.held()
    from audit.core.refusal import NotFound

    with pytest.raises(NotFound):
        proposal_detail(factories.person(other.tenant, groups=["finance"]).actor, call.proposal_id)
