"""runs/services/revising.py: an edited call is superseded; its revision runs, once, under its own key (A1, E6)."""

import pytest

from approvals.models import Proposal
from approvals.services.decision import decision_record
from approvals.services.resolution import resolutions_open
from approvals.services.revoking import permit_revoke
from audit.core.refusal import Conflict, Invalid
from runs.models import Call, Event
from runs.services.call import call_submit, call_withdraw
from runs.services.resolution import resolution_take, resolutions_consume
from runs.services.run import run_cancel, run_complete
from runs.services.sending import dispatch_call
from runs.services.sweep import sweep_decided
from tests.support import factories
from tests.support.approvals import edit_as_owner
from tests.support.handling import edit
from tests.support.histories import claimed
from tests.support.world import kinds, live_rows


def smaller(world, order, amount=3_900):
    return {"order_id": order, "amount": amount, "currency": "AUD"}


def edited(world, call, order, amount=3_900, **kwargs):
    return edit(world.reviewer, call.proposal_id, smaller(world, order, amount), **kwargs)


def approve(world, row, by=None):
    return decision_record(
        actor=(by or world.second_reviewer).actor, proposal_id=row.proposal_id, verdict="approve", digest=row.digest
    )


def revision(call, number=2):
    return Call.objects.get(run_id=call.run_id, call_id=f"{call.call_id}~r{number}")


def test_the_edited_bytes_are_what_is_sent_and_under_the_revisions_own_key(world):
    order = world.order()
    call = world.held(order)
    row = edited(world, call, order, reason="The cable was not broken.")
    world.work(call)
    approve(world, row)
    world.work(call)
    new = revision(call)
    [refund] = world.refunds(order)
    assert (refund["amount"], refund["metadata"]["clearance_key"]) == (3_900, new.key)
    assert new.key != call.key
    assert (new.digest, bytes(new.canonical)) == (row.digest, bytes(Proposal.objects.get(pk=row.proposal_id).canonical))
    assert (new.state, world.look(call).state) == ("succeeded", "superseded")


def test_the_agent_is_told_who_changed_what_and_which_call_goes_on(world):
    order = world.order()
    call = world.held(order)
    edited(world, call, order, reason="The cable was not broken.")
    world.work(call)
    error = world.look(call).answer["error"]
    assert (error["code"], error["outcome"], error["detail"]["call_id"]) == ("SUPERSEDED", "none", f"{call.call_id}~r2")
    assert (
        "Rita Reviewer edited it (/amount 4500 → 3900): The cable was not broken. Nothing of this call"
        in error["message"]
    )


def test_the_history_tells_of_both_in_one_transaction_and_orders_no_second_judging(world):
    order = world.order()
    call = world.held(order)
    row = edited(world, call, order)
    world.work(call)
    assert kinds(call.run_id)[-3:] == ["resolution_consumed", "call_proposed", "call_held"]
    body = Event.objects.filter(run_id=call.run_id, kind="call_proposed").latest("seq").body
    assert (body["revises"], body["revision"], body["digest"]) == (call.call_id, 2, row.digest)
    new = revision(call)
    assert (new.state, new.proposal_id, live_rows(new)) == ("waiting", row.proposal_id, [])
    asked = Call.objects.get(pk=call.id)
    assert (new.scopes, new.token_session_id, new.deadline) == (asked.scopes, asked.token_session_id, asked.deadline)


def test_an_edit_of_an_edit_runs_once(world):
    order = world.order()
    call = world.held(order)
    first = edited(world, call, order)
    second = edit(world.second_reviewer, first.proposal_id, smaller(world, order, 3_000))
    other = factories.person(world.tenant, groups=["finance"], name="Tea Third")
    approve(world, second, by=other)
    world.work(call)
    assert [refund["amount"] for refund in world.refunds(order)] == [3_000]
    assert [revision(call, n).state for n in (2, 3)] == ["superseded", "succeeded"]


def test_a_decision_that_is_found_before_the_edit_takes_up_the_edit_first(world):
    """The sweep passes over a row whose run somebody holds, and may so come to the decision first."""
    order = world.order()
    call = world.held(order)
    approve(world, edited(world, call, order))
    superseded, granted = resolutions_open(run_id=call.run_id)
    assert (superseded.kind, granted.kind) == ("superseded", "granted")
    assert resolution_take(row=granted)
    assert not resolution_take(row=superseded)
    world.work(call)
    assert revision(call).state == "succeeded"


def test_twenty_take_up_edit_and_approval_at_once_and_one_refund_is_made(world, race):
    world.be_patient()
    order = world.order()
    call = world.held(order)
    approve(world, edited(world, call, order))
    answers = race(lambda _: world.work(call), 8)
    assert [answer for answer in answers if isinstance(answer, Exception)] == []
    assert world.keys(order) == [revision(call).key]
    assert Call.objects.filter(run_id=call.run_id).count() == 2


def test_a_call_that_was_taken_back_before_the_edit_arrived_takes_the_revision_with_it(world):
    order = world.order()
    call = world.held(order)
    row = edited(world, call, order)
    call_withdraw(actor=world.agent_actor, run_id=call.run_id, call_id=call.call_id)
    approve(world, row)
    world.work(call)
    assert Proposal.objects.get(pk=row.proposal_id).status == "withdrawn"
    assert world.look(call).state == "withdrawn"
    assert not Call.objects.filter(run_id=call.run_id, call_id__endswith="~r2").exists()
    assert world.refunds(order) == []
    assert resolutions_open() == []


def test_a_cancelled_run_takes_the_revision_with_it(world):
    order = world.order()
    call = world.held(order)
    row = edited(world, call, order)
    run_cancel(actor=world.agent_actor, run_id=call.run_id)
    world.work(call)
    assert Proposal.objects.get(pk=row.proposal_id).status == "cancelled"
    assert resolutions_open() == []
    assert world.head(call).status == "cancelled"


def test_an_approval_taken_back_and_then_edited_sends_nothing_of_the_old_call(world):
    """The run holds a ready call whose proposal waits again: the edit ends it, whoever comes first."""
    order = world.order()
    call = world.held(order)
    world.decide(call)
    resolutions_consume(run_id=call.run_id)
    assert world.look(call).state == "ready"
    permit_revoke(actor=world.admin, proposal_id=call.proposal_id, reason="Wait.")
    row = edited(world, call, order)
    dispatch_call(claim=claimed(call.run_id, "dispatch"))
    assert world.look(call).state == "ready"
    world.work(call)
    assert (world.look(call).state, revision(call).state) == ("superseded", "waiting")
    approve(world, row)
    world.work(call)
    assert [refund["amount"] for refund in world.refunds(order)] == [3_900]


def test_a_lost_hint_of_an_edit_is_found_by_the_sweep(world):
    order = world.order()
    call = world.held(order)
    edited(world, call, order)
    assert sweep_decided(older_than_s=0) == [call.run_id]


def test_a_run_with_a_revision_is_not_complete_before_it_has_ended(world):
    order = world.order()
    call = world.held(order)
    edited(world, call, order)
    world.work(call)
    with pytest.raises(Conflict, match="~r2"):
        run_complete(actor=world.agent_actor, run_id=call.run_id)


def test_an_agent_may_not_use_an_id_of_a_revision(world):
    order = world.order()
    with pytest.raises(Invalid, match="people have edited") as caught:
        call_submit(
            actor=world.agent_actor,
            run_id=world.run().id,
            call_id="refund~r2",
            tool="refund_order",
            arguments=smaller(world, order),
        )
    assert caught.value.code == "CALL_ID_INVALID"


def test_bytes_of_a_revision_that_an_owner_edits_are_not_sent(world, owner_sql):
    order = world.order()
    call = world.held(order)
    row = edited(world, call, order)
    world.work(call)
    new = revision(call)
    forged = bytes(new.canonical).replace(b"3900", b"3999")
    edit_as_owner(owner_sql, "runs_call", f"canonical = '\\x{forged.hex()}'", f"id = '{new.id}'")
    approve(world, row)
    world.work(call)
    new.refresh_from_db()
    assert (new.state, new.answer["error"]["code"]) == ("refused", "DIGEST_MISMATCH")
    assert world.refunds(order) == []
