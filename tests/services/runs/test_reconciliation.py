"""runs/services/reconciliation.py: what an operator may say of an unknown outcome, when, and once."""

from datetime import timedelta

import pytest

from approvals.selectors.proposals import proposal_detail
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound
from audit.selectors.entries import EntryFilters, entries_page
from audit.store import clock
from runs.core import leases
from runs.models import Dispatch, Event, ResourceLease, Run
from runs.selectors.history import folded
from runs.services.reconciliation import CHOICES, reconciliation_ask, reconciliation_decide
from runs.services.wake import wake_claimed
from tests.services.runs.test_outcomes import Shop
from tests.support import factories
from tests.support.contracts import demo_document
from tests.support.histories import claimed
from tests.support.target import Target
from tests.support.world import kinds, live_rows


@pytest.fixture
def shop():
    made = Shop()
    with Target(made) as target:
        made.target = target
        yield made


@pytest.fixture
def operator(world):
    return factories.person(world.tenant, roles=["operator"], name="Ola Brandt")


def unknown(world, shop, **changes):
    """A refund that never arrived and whose answer was lost; the target could not be asked yet."""
    world.admit("refund_order", lambda document: document.update(changes), host=shop.target.host)
    call = world.held()
    world.decide(call)
    return lose(world, shop, call)


def lose(world, shop, call):
    shop.refund, kept = shop.drop, shop.list_refunds
    shop.list_refunds = lambda visit: visit.answer_json({}, status="503 Service Unavailable")
    world.work(call)
    shop.refund, shop.list_refunds = shop.give, kept
    assert world.look(call).state == "unknown"
    return call


def machine(call):
    return folded(Run.objects.get(pk=call.run_id)).calls[call.call_id]


def conclusive_at(call):
    from datetime import datetime

    return leases.conclusive_at(datetime.fromisoformat(machine(call).request_deadline), 300)


def look_up(world, call):
    """A worker's look-up, now."""
    Dispatch.objects.filter(call_id=call.id, kind="look_up", status="ready").update(not_before=clock.now())
    wake_claimed(claim=claimed(call.run_id, "look_up"))
    return world.look(call)


def proven(world, shop, stand_at, **changes):
    """An unknown refund of which the target, asked in time, shows nothing."""
    call = unknown(world, shop, **changes)
    stand_at(conclusive_at(call))
    look_up(world, call)
    assert live_rows(call) == []
    return call


def decide(person, call, choice, **fields):
    given = {"attempt": machine(call).attempt, "reason": "Looked at the provider's page."} | fields
    return reconciliation_decide(actor=person.actor, unresolved_id=call.id, choice=choice, **given)


def made_for(call):
    """What the provider's list shows of the call."""
    marked = {"clearance_key": call.key}
    return {"id": "re_1", "amount": 4500, "currency": "aud", "status": "succeeded", "metadata": marked}


def entries(world, action):
    return entries_page(world.tenant.id, EntryFilters(action=action))


# -- it happened ---------------------------------------------------------------------------------------------------


def test_it_happened_may_be_recorded_with_its_reference_at_any_time(world, shop, operator):
    call = unknown(world, shop)
    done = decide(operator, call, "happened", reference="re_881")
    assert (done.state, done.repeated) == ("succeeded", False)
    told = world.look(call)
    assert (told.state, told.final, told.answer["outcome"], told.answer["retry_safe"]) == (
        "succeeded", True, "committed", False,
    )  # fmt: skip
    receipt = told.answer["receipt"]
    assert (receipt["reference"], receipt["found_by"], receipt["by"]) == ("re_881", "operator", "Ola Brandt")
    after = proposal_detail(world.reviewer.actor, call.proposal_id).afterwards
    assert (after.outcome, after.detail["reference"]) == ("succeeded", "re_881")
    assert (ResourceLease.objects.count(), live_rows(call)) == (0, [])
    [entry] = [entry for entry in entries(world, "call.reconciled") if entry.verdict == "ok"]
    assert (entry.actor_name, entry.detail["outcome"], entry.detail["reference"]) == (
        "Ola Brandt", "happened", "re_881",
    )  # fmt: skip
    assert entry.detail["reason"] == "Looked at the provider's page."


def test_it_happened_needs_a_reference_that_says_something_and_can_be_kept(world, shop, operator):
    call = unknown(world, shop)
    for reference in ("", "   ", "\u200b\u202e"):
        with pytest.raises(Invalid) as refused:
            decide(operator, call, "happened", reference=reference)
        assert (refused.value.code, refused.value.missing) == ("REFERENCE_REQUIRED", ["reference"])
    for reference in ("re_\0", "re_\ud800", "x" * 201):
        with pytest.raises(Invalid) as refused:
            decide(operator, call, "happened", reference=reference)
        assert refused.value.code == "REFERENCE_INVALID"
    assert world.look(call).state == "unknown"


# -- it did not happen, and when that may be said --------------------------------------------------------------------


def test_it_did_not_happen_closes_the_call_as_failed(world, shop, operator, stand_at):
    call = proven(world, shop, stand_at)
    assert decide(operator, call, "did_not_happen").state == "failed"
    told = world.look(call)
    error = told.answer["error"]
    assert (told.state, error["code"], error["outcome"], error["retry_safe"]) == (
        "failed", "DID_NOT_HAPPEN", "none", True,
    )  # fmt: skip
    assert "Ola Brandt" in error["message"]
    assert proposal_detail(world.reviewer.actor, call.proposal_id).afterwards.outcome == "failed"
    assert world.head(call).status == "ready"


@pytest.mark.parametrize("choice", ["did_not_happen", "retry"])
def test_a_look_up_one_millisecond_too_early_proves_nothing(world, shop, operator, stand_at, choice):
    call = unknown(world, shop)
    at = conclusive_at(call)
    stand_at(at - timedelta(milliseconds=1))
    look_up(world, call)
    with pytest.raises(Conflict) as refused:
        decide(operator, call, choice)
    assert (refused.value.code, refused.value.detail["because"], refused.value.retry_after) == (
        "NOT_CONCLUSIVE", "time", 1,
    )  # fmt: skip
    assert refused.value.detail["conclusive_at"] == at.isoformat()
    stand_at(at)
    with pytest.raises(Conflict) as refused:  # the time has come, and nobody has asked since
        decide(operator, call, choice)
    assert (refused.value.code, refused.value.detail["because"]) == ("NOT_CONCLUSIVE", "answer")
    look_up(world, call)
    assert decide(operator, call, choice).state == {"did_not_happen": "failed", "retry": "ready"}[choice]


@pytest.mark.parametrize("choice", ["did_not_happen", "retry"])
def test_a_target_that_cannot_be_asked_leaves_it_to_people_from_that_moment_on(world, shop, operator, stand_at, choice):
    document = demo_document("refund_order", shop.target.host)
    document["adapter"]["look_up"] = None
    call = unknown(world, shop, adapter=document["adapter"], side_effect="reversible")
    at = conclusive_at(call)
    stand_at(at - timedelta(milliseconds=1))
    with pytest.raises(Conflict) as refused:
        decide(operator, call, choice)
    assert refused.value.code == "NOT_CONCLUSIVE"
    stand_at(at)
    decide(operator, call, choice)
    [entry] = [entry for entry in entries(world, "call.reconciled") if entry.verdict == "ok"]
    assert entry.detail["proof"] == "blind"


def test_while_the_target_does_not_answer_nobody_says_that_nothing_happened(world, shop, operator, stand_at):
    call = unknown(world, shop)
    stand_at(conclusive_at(call) + timedelta(hours=1))
    shop.list_refunds = lambda visit: visit.answer_json({}, status="503 Service Unavailable")
    look_up(world, call)
    for choice in ("did_not_happen", "retry"):
        with pytest.raises(Conflict) as refused:
            decide(operator, call, choice)
        assert (refused.value.code, refused.value.detail["because"]) == ("NOT_CONCLUSIVE", "answer")


def test_what_a_look_up_proved_stays_proven_while_it_is_asked_again(world, shop, operator, stand_at):
    call = proven(world, shop, stand_at)
    stand_at(conclusive_at(call) + timedelta(minutes=1))
    reconciliation_ask(actor=operator.actor, unresolved_id=call.id)
    shop.list_refunds = lambda visit: visit.answer_json({}, status="503 Service Unavailable")
    look_up(world, call)
    assert decide(operator, call, "did_not_happen").state == "failed"


# -- leave, and who may ----------------------------------------------------------------------------------------------


def test_leaving_it_is_noted_and_moves_nothing(world, shop, operator):
    call = unknown(world, shop)
    before = kinds(call.run_id)
    assert decide(operator, call, "leave", reason="The provider answers tomorrow.").state == "unknown"
    assert (world.look(call).state, kinds(call.run_id)) == ("unknown", before)
    [entry] = entries(world, "call.left_unknown")
    assert entry.detail["reason"] == "The provider answers tomorrow."


def test_every_choice_needs_a_reason(world, shop, operator):
    call = unknown(world, shop)
    for choice in CHOICES:
        for reason, code in (("", "REASON_REQUIRED"), ("\u200b", "REASON_REQUIRED"), ("\0", "REASON_INVALID")):
            with pytest.raises(Invalid) as refused:
                decide(operator, call, choice, reason=reason, reference="re_1", tool="refund_order", call_id="x")
            assert (choice, refused.value.code) == (choice, code)
    assert world.look(call).state == "unknown"


def test_only_an_operator_of_the_organisation_decides(world, shop, operator):
    call = unknown(world, shop)
    for roles in (["reviewer"], ["admin"], ["auditor"]):
        with pytest.raises(Forbidden) as refused:
            decide(factories.person(world.tenant, roles=roles), call, "leave")
        assert (refused.value.code, refused.value.missing) == ("ROLE_MISSING", ["operator"])
        with pytest.raises(Forbidden):
            reconciliation_ask(actor=factories.person(world.tenant, roles=roles).actor, unresolved_id=call.id)
    with pytest.raises(Forbidden) as refused:
        reconciliation_decide(
            actor=world.agent_actor, unresolved_id=call.id, choice="leave", attempt=1, reason="I did it."
        )
    assert refused.value.code == "PERSON_REQUIRED"
    with pytest.raises(NotFound):
        decide(factories.person(factories.tenant(), roles=["operator"]), call, "leave")
    refusals = [entry for entry in entries(world, "call.reconciled") if entry.verdict == "refused"]
    assert len(refusals) == 4


def test_a_role_that_was_lost_since_the_page_was_opened_decides_nothing(world, shop, operator):
    from access.services.people import member_change

    call = unknown(world, shop)
    actor = operator.actor
    member_change(actor=world.admin, membership_id=operator.membership_id, roles=["reviewer"])
    with pytest.raises(Forbidden):
        reconciliation_decide(actor=actor, unresolved_id=call.id, choice="leave", attempt=1, reason="Later.")


def test_a_word_that_is_no_choice_is_refused(world, shop, operator):
    call = unknown(world, shop)
    with pytest.raises(Invalid) as refused:
        decide(operator, call, "approve")
    assert refused.value.code == "CHOICE_UNKNOWN"


# -- once ------------------------------------------------------------------------------------------------------------


def test_the_second_operator_is_told_who_decided_what_and_when(world, shop, operator, stand_at):
    call = proven(world, shop, stand_at)
    second = factories.person(world.tenant, roles=["operator"], name="Nora Lind")
    decide(operator, call, "did_not_happen")
    with pytest.raises(Conflict) as refused:
        decide(second, call, "happened", reference="re_1", attempt=1)
    assert refused.value.code == "ALREADY_DECIDED"
    assert (refused.value.detail["by"], refused.value.detail["outcome"]) == ("Ola Brandt", "did_not_happen")
    assert "Ola Brandt decided at" in refused.value.message
    assert decide(operator, call, "did_not_happen", attempt=1).repeated


def test_two_operators_at_once_decide_once(world, shop, operator, stand_at, race):
    call = proven(world, shop, stand_at)
    people = [operator] + [factories.person(world.tenant, roles=["operator"]) for _ in range(9)]
    actors = [person.actor for person in people]
    choices = ["did_not_happen", "happened", "retry"]

    def click(i):
        return reconciliation_decide(
            actor=actors[i],
            unresolved_id=call.id,
            choice=choices[i % 3],
            attempt=1,
            reason="Looked.",
            reference="re_1",
        )

    results = race(click, 10)
    won = [result for result in results if not isinstance(result, Exception)]
    lost = [result for result in results if isinstance(result, Exception)]
    assert len(won) == 1
    assert {error.code for error in lost} == {"ALREADY_DECIDED"}
    assert kinds(call.run_id).count("outcome_reconciled") == 1
    assert len([e for e in entries(world, "call.reconciled") if e.verdict == "ok"]) == 1


def test_a_double_click_on_retry_does_not_send_a_third_time(world, shop, operator, stand_at):
    call = proven(world, shop, stand_at)
    decide(operator, call, "retry")
    lose(world, shop, call)
    assert machine(call).attempt == 2
    assert decide(operator, call, "retry", attempt=1).repeated
    assert world.look(call).state == "unknown"
    second = factories.person(world.tenant, roles=["operator"])
    with pytest.raises(Conflict) as refused:
        decide(second, call, "retry", attempt=7)
    assert refused.value.code == "ATTEMPT_CHANGED"
    with pytest.raises(Conflict) as refused:  # the look-up of the first attempt proves nothing about the second
        decide(operator, call, "retry", attempt=2)
    assert refused.value.code == "NOT_CONCLUSIVE"


def test_a_look_up_that_finds_it_first_is_told_to_the_operator(world, shop, operator):
    call = unknown(world, shop)
    shop.refunds.append(
        {
            "id": "re_1",
            "amount": 4500,
            "currency": "aud",
            "status": "succeeded",
            "metadata": {"clearance_key": call.key},
        }
    )
    look_up(world, call)
    with pytest.raises(Conflict) as refused:
        decide(operator, call, "happened", reference="re_1", attempt=1)
    assert "look-up found" in refused.value.message


def test_a_call_that_was_never_unknown_is_not_in_question(world, operator):
    call = world.held()
    with pytest.raises(Conflict) as refused:
        decide(operator, call, "did_not_happen", attempt=1)
    assert refused.value.code == "NOT_UNKNOWN"
    with pytest.raises(Conflict) as refused:
        reconciliation_ask(actor=operator.actor, unresolved_id=call.id)
    assert refused.value.code == "NOT_UNKNOWN"


def test_without_an_audit_entry_nothing_is_decided(world, shop, operator, owner_sql):
    from django.db import DatabaseError

    from tests.support.world import break_audit

    call = unknown(world, shop)
    break_audit(owner_sql, "call.reconciled")
    with pytest.raises(DatabaseError):
        decide(operator, call, "happened", reference="re_1")
    assert world.look(call).state == "unknown"


def test_a_late_result_after_the_decision_is_kept_and_moves_nothing(world, shop, operator, stand_at):
    from runs.services.recording import dispatch_record
    from runs.services.work import Job, Work
    from runs.store.claims import Claim
    from runs.tools.outcome import Outcome

    call = proven(world, shop, stand_at)
    sent = Dispatch.objects.get(call_id=call.id, kind="dispatch")
    decide(operator, call, "did_not_happen")
    claim = Claim(
        sent.id, sent.run_id, sent.call_id, "dispatch", sent.fence, sent.worker, 1, 5, sent.started_at, sent.started_at
    )
    dispatch_record(work=Work.verified(Job.of(claim)), outcome=Outcome("succeeded", reference="re_late"))
    assert world.look(call).state == "failed"
    [late] = Event.objects.filter(run_id=call.run_id, kind="late_result_kept")
    assert late.body["reference"] == "re_late"
