"""What a target's answer, or its silence, makes of a call: the event, the answer, the permit, the next step."""

import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings

from approvals.selectors.proposals import proposal_detail
from audit.store import clock
from runs.core.kinds import RunStatus
from runs.models import Dispatch, ResourceLease
from runs.services.sweep import sweep_expired_leases
from tests.support.target import Target, closed_port
from tests.support.world import kinds, live_rows

CHARGE = {"amount": 18_900, "amount_refunded": 0, "currency": "aud", "status": "succeeded"}


class Shop:
    """A payment server that does as told when it is asked to refund, and keeps what it did."""

    def __init__(self):
        self.refunds = []
        self.refund = self.give
        self.list_refunds = self.all_of_them

    def __call__(self, visit):
        if visit.line.startswith("POST"):
            self.refund(visit)
        elif "/v1/refunds" in visit.line:
            self.list_refunds(visit)
        else:
            visit.answer_json({**CHARGE, "amount_refunded": sum(r["amount"] for r in self.refunds)})

    def make(self, visit):
        from urllib.parse import parse_qs

        form = {name: values[0] for name, values in parse_qs(visit.body).items()}
        made = {
            "id": f"re_{len(self.refunds) + 1}",
            "amount": int(form["amount"]),
            "currency": "aud",
            "status": "succeeded",
            "metadata": {"clearance_key": form["metadata[clearance_key]"]},
        }
        self.refunds.append(made)
        return made

    def give(self, visit):
        visit.answer_json(self.make(visit))

    def all_of_them(self, visit):
        visit.answer_json({"data": self.refunds, "has_more": False})

    def lose(self, visit):
        """Done, and the answer never arrives."""
        self.make(visit)
        visit.reset()

    def drop(self, visit):
        """Not done, and no answer either."""
        visit.reset()

    def refuse(self, visit):
        visit.answer_json({"error": {"message": "Charge was disputed."}}, status="402 Payment Required")

    def turn_away(self, visit):
        visit.answer_json({}, status="429 Too Many Requests")


@pytest.fixture
def shop():
    shop = Shop()
    with Target(shop) as target:
        shop.target = target
        yield shop


@pytest.fixture
def approved(world, shop):
    """An approved refund at the shop, not sent yet."""
    world.admit("refund_order", host=shop.target.host)
    call = world.held()
    world.decide(call)
    return call


def until(check, seconds=15.0):
    end = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def work_until_final(world, call):
    return until(lambda: (world.work(call), world.look(call))[1].final and world.look(call))


def test_a_refusal_of_the_target_ends_the_call_and_shows_what_it_said(world, shop, approved):
    shop.refund = shop.refuse
    world.work(approved)
    call = world.look(approved)
    error = call.answer["error"]
    assert (call.state, error["code"], error["outcome"], error["retry_safe"]) == (
        "failed", "TARGET_REFUSED", "none", False,
    )  # fmt: skip
    assert error["detail"]["target_said"]["untrusted"] is True
    assert "disputed" in str(error["detail"]["target_said"]["value"])
    assert proposal_detail(world.reviewer.actor, call.proposal_id).afterwards.outcome == "failed"
    assert ResourceLease.objects.count() == 0


def test_a_failure_before_the_effect_is_tried_again_under_the_same_key_and_the_same_approval(world, shop, approved):
    turns = iter([shop.turn_away, shop.turn_away, shop.give])
    shop.refund = lambda visit: next(turns)(visit)
    call = work_until_final(world, approved)
    assert (call.state, [refund["metadata"]["clearance_key"] for refund in shop.refunds]) == ("succeeded", [call.key])
    events = kinds(call.run_id)
    assert events.count("dispatch_started") == 3
    assert events.count("dispatch_failed") == 2
    assert events.count("timer_due") == 2
    assert events.count("resolution_consumed") == 1


def test_tries_end_with_the_contracts_number_and_nothing_happened(world, shop, approved):
    shop.refund = shop.turn_away
    call = work_until_final(world, approved)
    error = call.answer["error"]
    told = (call.state, error["code"], error["outcome"], error["retry_safe"])
    assert told == ("failed", "RATE_LIMITED", "none", True)
    assert kinds(call.run_id).count("dispatch_started") == 3
    assert shop.refunds == []


@pytest.fixture
def slow_to_retry(world, shop):
    """An approved refund whose second try is far away."""

    def far(document):
        document["retry"]["base_ms"] = 60_000

    world.admit("refund_order", far, host=shop.target.host)
    call = world.held()
    world.decide(call)
    return call


def test_a_retry_is_checked_again_like_the_first_try(world, shop, slow_to_retry):
    turns = iter([shop.turn_away, shop.give])
    shop.refund = lambda visit: next(turns)(visit)
    world.work(slow_to_retry)
    assert world.look(slow_to_retry).state == "ready"
    Dispatch.objects.filter(kind="timer").update(not_before=clock.now())
    world.publish("version: 1\nrules:\n  - {id: none, tool: '*', effect: deny}\n")
    call = work_until_final(world, slow_to_retry)
    assert (call.state, shop.refunds) == ("refused", [])


def test_a_lost_answer_is_unknown_then_looked_up_and_found_and_never_sent_again(world, shop, approved):
    """S80."""
    shop.refund = shop.lose
    shop.list_refunds = lambda visit: visit.answer_json({}, status="503 Service Unavailable")
    world.work(approved)
    call = world.look(approved)
    assert (call.state, call.answer["outcome"], call.answer["retry_safe"]) == ("unknown", "unknown", False)
    assert world.head(call).status == RunStatus.NEEDS_RECONCILIATION
    assert live_rows(call) == [("look_up", "ready")]
    assert ResourceLease.objects.count() == 1
    assert proposal_detail(world.reviewer.actor, call.proposal_id).afterwards.outcome == "unknown"
    shop.list_refunds = shop.all_of_them
    Dispatch.objects.filter(kind="look_up").update(not_before=clock.now())
    call = work_until_final(world, approved)
    assert (call.state, call.answer["outcome"]) == ("succeeded", "committed")
    assert call.answer["receipt"] == {"reference": "re_1", "key": call.key, "found_by": "look-up"}
    assert kinds(call.run_id)[-1] == "outcome_reconciled"
    assert len(shop.refunds) == 1
    assert world.head(call).status == RunStatus.READY
    assert ResourceLease.objects.count() == 0
    assert proposal_detail(world.reviewer.actor, call.proposal_id).afterwards.outcome == "succeeded"


def test_no_decision_is_possible_while_the_outcome_is_unknown(world, shop, approved):
    from audit.core.refusal import Conflict

    shop.refund = shop.drop
    world.work(approved)
    for verdict in ("approve", "reject"):
        with pytest.raises(Conflict):
            world.decide(approved, verdict, by=world.second_reviewer)


def test_a_look_up_that_finds_nothing_proves_nothing_before_the_deadline_and_the_settling_time(world, shop, approved):
    shop.refund = shop.drop
    world.work(approved)
    assert world.look(approved).state == "unknown"
    [(not_before, deadline)] = _times(approved)
    settled = deadline + timedelta(milliseconds=300)
    assert settled <= not_before <= settled + timedelta(seconds=1)
    assert ResourceLease.objects.count() == 1


def test_a_conclusive_look_up_that_finds_nothing_leaves_the_question_to_an_operator(world, shop, approved, owner_sql):
    shop.refund = shop.drop
    world.work(approved)
    until(lambda: (world.work(approved), live_rows(approved) == [])[1])
    call = world.look(approved)
    assert (call.state, call.answer["outcome"]) == ("unknown", "unknown")
    assert call.answer["error"]["detail"]["looked_up"] == "nothing"
    assert "operator decides" in call.answer["error"]["message"]
    assert world.head(call).status == RunStatus.NEEDS_RECONCILIATION
    assert ResourceLease.objects.count() == 0
    assert owner_sql("SELECT verdict, detail->>'conclusive' FROM audit_entry WHERE action = 'call.looked_up'") == [
        ("unknown", "true")
    ]
    assert shop.refunds == []


def test_an_effect_that_shows_late_is_still_found_by_a_later_look_up(world, shop, approved):
    kept = []
    shop.refund = lambda visit: (kept.append(bytes(visit.raw)), visit.reset())
    world.work(approved)
    assert world.look(approved).state == "unknown"
    shop.refunds.append(
        {"id": "re_9", "amount": 4500, "currency": "aud", "status": "succeeded",
         "metadata": {"clearance_key": approved.key}}
    )  # fmt: skip
    call = work_until_final(world, approved)
    assert (call.state, call.answer["receipt"]["reference"]) == ("succeeded", "re_9")


def test_two_effects_under_one_key_are_told_as_they_are(world, shop, approved, owner_sql):
    def twice(visit):
        shop.make(visit)
        shop.make(visit)
        visit.reset()

    shop.refund = twice
    call = work_until_final(world, approved)
    assert call.answer["receipt"]["references"] == ["re_1", "re_2"]
    assert "2 effects" in call.answer["problems"][0]
    assert owner_sql("SELECT verdict FROM audit_entry WHERE action = 'call.reconciled'") == [("duplicate",)]


def test_an_answer_that_does_not_confirm_the_effect_is_unknown(world, shop, approved):
    shop.refund = lambda visit: visit.answer_json({**shop.make(visit), "status": "pending"})
    world.work(approved)
    call = work_until_final(world, approved)
    assert "outcome_unknown" in kinds(call.run_id)
    assert (call.state, len(shop.refunds)) == ("succeeded", 1)


def test_a_success_that_the_targets_state_does_not_show_is_unknown(world, shop, approved):
    """R10: the postcondition is read from the target."""

    def claims_it_did(visit):
        visit.answer_json({"id": "re_x", "amount": 4500, "currency": "aud", "status": "succeeded", "metadata": {}})

    shop.refund = claims_it_did
    world.work(approved)
    call = world.look(approved)
    assert (call.state, call.answer["error"]["detail"]["cause"]) == ("unknown", "POSTCONDITION_OPEN")


def test_a_target_too_slow_to_show_its_state_afterwards_is_looked_up_while_the_lease_still_holds(world, shop, approved):
    """The outcome is recorded as open by the worker that has it, not taken for late by the sweep."""
    whole = shop.target.behaviour

    def slow_afterwards(visit):
        if shop.refunds and visit.line.startswith("GET /v1/charges"):
            time.sleep(4)
        whole(visit)

    shop.target.behaviour = slow_afterwards
    world.work(approved)
    assert kinds(approved.run_id)[-3:] == ["dispatch_started", "outcome_unknown", "outcome_reconciled"]
    assert (world.look(approved).answer["receipt"]["found_by"], len(shop.refunds)) == ("look-up", 1)


def test_a_target_that_hangs_is_unknown_after_its_time_limit_and_not_before_long(world, shop, approved):
    shop.refund = lambda visit: time.sleep(3)
    began = time.monotonic()
    world.work(approved)
    assert time.monotonic() - began < 2.9
    assert world.look(approved).state == "unknown"


def test_a_read_that_loses_its_answer_is_simply_asked_again(world, shop):
    world.admit("get_order", host=shop.target.host)
    order, run = world.order(), world.run()
    answers = iter([True, False])
    whole = shop.__call__
    shop.target.behaviour = lambda visit: visit.reset() if not next(answers, True) else whole(visit)
    call = world.submit(run, "get_order", {"order_id": order})
    call = work_until_final(world, call)
    assert (call.state, call.answer["outcome"]) == ("succeeded", "none")


def test_a_result_over_the_cap_is_cut_and_says_so(world, shop):
    world.admit("get_order", lambda document: document.update(output_cap_bytes=256), host=shop.target.host)
    order, run = world.order(), world.run()
    world.orders[order]["items"] = ["A very long lamp " * 30]
    world.stripe.write_orders(Path(settings.REFERENCE_DIR), world.tenant.slug, world.orders)
    call = world.submit(run, "get_order", {"order_id": order})
    world.work(run)
    result = world.look(call).answer["result"]
    assert (result["cut"], result["value"], len(result["excerpt"]) <= 256) == (True, None, True)
    assert result["size_bytes"] > 500


def test_a_target_gone_between_the_check_and_the_sending_is_a_failure_before_the_effect(world, shop, approved):
    """The state was read; the refund finds nobody listening."""
    real = shop.target.behaviour
    seen = []

    def once_then_gone(visit):
        seen.append(visit.line)
        real(visit)
        if len(seen) == 1:
            shop.target._listener.close()

    world.admit("refund_order", host=f"127.0.0.1:{closed_port()}")
    # The contract that it was approved under is not admitted any more: refused, nothing sent.
    world.work(approved)
    assert (world.look(approved).state, shop.refunds) == ("refused", [])


def test_a_result_that_comes_after_the_lease_is_kept_as_evidence_and_moves_nothing(world, shop, approved, owner_sql):
    """S37, without the stopping: while the target works, the sweep finds the lease over."""

    def slow(visit):
        made = shop.make(visit)
        owner_sql("UPDATE runs_dispatch SET lease_until = clearance_now() WHERE status = 'started'")
        assert _swept() == 1
        visit.answer_json(made)

    shop.refund = slow
    world.work(approved)
    call = work_until_final(world, approved)
    events = kinds(call.run_id)
    assert events.index("outcome_unknown") < events.index("late_result_kept")
    assert (call.state, len(shop.refunds), events.count("dispatch_started")) == ("succeeded", 1, 1)
    assert owner_sql("SELECT detail->>'reference' FROM audit_entry WHERE action = 'call.late_result'") == [("re_1",)]


def _swept():
    from django.db import connections

    try:
        return sweep_expired_leases()
    finally:
        connections.close_all()


def _times(call):
    from runs.models import Dispatch as D

    [not_before] = D.objects.filter(call_id=call.id, kind="look_up").values_list("not_before", flat=True)
    [deadline] = D.objects.filter(call_id=call.id, kind="dispatch").values_list("request_deadline", flat=True)
    return [(not_before, deadline)]
