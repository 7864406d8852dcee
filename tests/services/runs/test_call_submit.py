"""runs/services/call.py: asking for a call."""

import uuid
from datetime import timedelta

import pytest

from approvals.services.contract import contract_retire
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound
from audit.store import clock
from runs.models import Call
from runs.services.call import call_submit
from runs.services.run import run_cancel, run_complete
from tests.support import factories
from tests.support.world import kinds, live_rows, row


def refusals(owner_sql):
    """What the audit log says was refused to runs."""
    return owner_sql(
        "SELECT action, detail->>'code', call_id FROM audit_entry WHERE verdict = 'refused' AND run_id <> ''"
    )


ARGUMENTS = {"order_id": "ord_1029", "amount": 4500, "currency": "AUD"}


def test_a_call_is_recorded_with_its_bytes_and_work_for_a_worker_and_no_target_is_asked(world):
    run = world.run()
    call = world.submit(run, "refund_order", ARGUMENTS, "call-1", reason="The lamp arrived broken.")
    stored = row(call)
    assert (call.state, call.answer, call.repeated, call.version) == ("new", None, False, 1)
    assert b'"notify":true' in bytes(stored.canonical)  # the effective arguments, defaults filled in
    assert b"notify" not in bytes(stored.given)
    assert stored.resource == "order:ord_1029"
    assert call.key.startswith("clr_")
    assert live_rows(call) == [("evaluate", "ready")]
    assert kinds(run.id)[-1] == "call_proposed"


def test_the_same_call_id_with_the_same_arguments_is_the_same_call(world, owner_sql):
    run = world.run()
    first = world.submit(run, "refund_order", ARGUMENTS, "call-1")
    again = world.submit(run, "refund_order", dict(reversed(ARGUMENTS.items())), "call-1")
    assert (again.id, again.repeated) == (first.id, True)
    assert kinds(run.id).count("call_proposed") == 1
    verdicts = owner_sql("SELECT verdict FROM audit_entry WHERE action = 'call.submitted' ORDER BY at")
    assert verdicts == [("ok",), ("duplicate",)]


@pytest.mark.parametrize("other", [{**ARGUMENTS, "amount": 450000}, {**ARGUMENTS, "note": "different"}])
def test_the_same_call_id_with_other_arguments_is_a_conflict_and_changes_nothing(world, owner_sql, other):
    run = world.run()
    first = world.submit(run, "refund_order", ARGUMENTS, "call-1")
    with pytest.raises(Conflict) as caught:
        world.submit(run, "refund_order", other, "call-1")
    assert caught.value.code == "CALL_ID_REUSED"
    assert world.look(first) == first
    assert refusals(owner_sql) == [("call.submitted", "CALL_ID_REUSED", "call-1")]


def test_the_same_call_id_for_another_tool_is_a_conflict(world):
    run = world.run()
    world.submit(run, "get_order", {"order_id": "ord_1029"}, "call-1")
    with pytest.raises(Conflict):
        world.submit(run, "refund_order", ARGUMENTS, "call-1")


def test_a_repeated_call_stays_the_same_when_a_new_contract_was_admitted_meanwhile(world):
    run = world.run()
    first = world.submit(run, "refund_order", ARGUMENTS, "call-1")
    world.admit("refund_order", lambda document: document.update(description="Said differently."))
    again = world.submit(run, "refund_order", ARGUMENTS, "call-1")
    assert (again.id, again.contract_version, again.repeated) == (first.id, 1, True)


def test_twenty_requests_with_one_call_id_make_one_call(world, race):
    run, actor = world.run(), world.agent_actor
    calls = race(
        lambda _: call_submit(actor=actor, run_id=run.id, call_id="call-1", tool="refund_order", arguments=ARGUMENTS)
    )
    assert len({call.id for call in calls}) == 1
    assert [call.repeated for call in calls].count(False) == 1
    assert kinds(run.id).count("call_proposed") == 1


def test_equal_calls_under_other_ids_are_calls_of_their_own_with_keys_of_their_own(world):
    """S4: two identical calls need two decisions."""
    run = world.run()
    first, second = (world.submit(run, "refund_order", ARGUMENTS, name) for name in ("a", "b"))
    assert first.digest == second.digest
    assert first.key != second.key


def test_the_key_is_derived_and_another_one_contradicts_it(world):
    run = world.run()
    call = world.submit(run, "refund_order", ARGUMENTS, "call-1")
    assert world.submit(run, "refund_order", ARGUMENTS, "call-1", idempotency_key=call.key).id == call.id
    with pytest.raises(Invalid) as caught:
        world.submit(run, "refund_order", ARGUMENTS, "call-2", idempotency_key="my-own")
    assert caught.value.code == "KEY_CONTRADICTS"


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("no_such_tool", {}, "UNKNOWN_TOOL"),
        ("refund_order", {**ARGUMENTS, "amount": "45.00"}, "ARGUMENTS_INVALID"),
        ("refund_order", {**ARGUMENTS, "extra": 1}, "ARGUMENTS_INVALID"),
    ],
)
def test_a_call_of_the_wrong_shape_is_refused_in_the_request_and_leaves_only_an_audit_entry(
    world, owner_sql, tool, arguments, code
):
    run = world.run()
    with pytest.raises((Invalid, NotFound)) as caught:
        world.submit(run, tool, arguments, "call-1")
    assert caught.value.code == code
    assert Call.objects.count() == 0
    assert kinds(run.id) == ["run_created", "run_admitted"]
    assert refusals(owner_sql) == [("call.submitted", code, "call-1")]


def test_a_token_without_the_scope_is_refused_before_any_record_and_told_what_is_missing(world):
    run = world.run()
    narrow = world.agent.actor(on_behalf_of=world.asker.user_id, scopes=["orders:read"])
    with pytest.raises(Forbidden) as caught:
        call_submit(actor=narrow, run_id=run.id, call_id="call-1", tool="refund_order", arguments=ARGUMENTS)
    assert (caught.value.code, caught.value.missing) == ("SCOPE_MISSING", ["refunds:write"])
    assert caught.value.alternatives == ["get_order"]
    assert Call.objects.count() == 0


def test_a_refused_call_leaves_its_call_id_free(world):
    """E2: authorisation comes before idempotency."""
    run = world.run()
    narrow = world.agent.actor(on_behalf_of=world.asker.user_id, scopes=["orders:read"])
    with pytest.raises(Forbidden):
        call_submit(actor=narrow, run_id=run.id, call_id="call-1", tool="refund_order", arguments=ARGUMENTS)
    assert not world.submit(run, "refund_order", ARGUMENTS, "call-1").repeated


def test_an_unknown_run_a_foreign_run_and_another_agents_run_answer_alike(world, payments):
    elsewhere = type(world)(payments)
    colleague = factories.agent(world.tenant, acts_for=[world.asker]).actor(on_behalf_of=world.asker.user_id)
    foreign = elsewhere.run()
    own = world.run()
    answers = []
    for actor, run_id in ((world.agent_actor, uuid.uuid4()), (world.agent_actor, foreign.id), (colleague, own.id)):
        with pytest.raises(NotFound) as caught:
            call_submit(actor=actor, run_id=run_id, call_id="c", tool="refund_order", arguments=ARGUMENTS)
        answers.append(caught.value.as_dict())
    assert answers[0] == answers[1] == answers[2]


def test_a_person_does_not_ask_for_calls(world):
    run = world.run()
    with pytest.raises(Forbidden) as caught:
        call_submit(actor=world.reviewer.actor, run_id=run.id, call_id="c", tool="refund_order", arguments=ARGUMENTS)
    assert caught.value.code == "AGENT_REQUIRED"


def test_a_token_for_another_person_does_not_work_in_this_run(world):
    run = world.run()
    with pytest.raises(Forbidden) as caught:
        call_submit(actor=world.agent.actor(), run_id=run.id, call_id="c", tool="refund_order", arguments=ARGUMENTS)
    assert caught.value.code == "PRINCIPAL_DIFFERS"


@pytest.mark.parametrize("call_id", ["", "x" * 201])
def test_a_call_id_that_is_none_is_named(world, call_id):
    run = world.run()
    with pytest.raises(Invalid) as caught:
        call_submit(actor=world.agent_actor, run_id=run.id, call_id=call_id, tool="refund_order", arguments=ARGUMENTS)
    assert (caught.value.code, caught.value.missing) == ("CALL_ID_INVALID", ["call_id"])


def test_a_call_after_its_deadline_or_its_runs_is_refused(world, stand_at):
    now = clock.now()
    run = world.run(deadline=now + timedelta(minutes=5))
    with pytest.raises(Invalid) as caught:
        world.submit(run, "refund_order", ARGUMENTS, deadline=now - timedelta(seconds=1))
    assert caught.value.code == "DEADLINE_PASSED"
    stand_at(now + timedelta(minutes=5))
    with pytest.raises(Invalid) as caught:
        world.submit(run, "refund_order", ARGUMENTS)
    assert caught.value.code == "DEADLINE_PASSED"


def test_a_completed_or_cancelled_run_takes_no_calls_and_says_so(world):
    done, stopped = world.run(), world.run()
    run_complete(actor=world.agent_actor, run_id=done.id)
    run_cancel(actor=world.agent_actor, run_id=stopped.id)
    for run, word in ((done, "completed"), (stopped, "cancelled")):
        with pytest.raises(Conflict) as caught:
            world.submit(run, "refund_order", ARGUMENTS)
        assert caught.value.code == "NOT_IN_THIS_STATE"
        assert word in caught.value.message
    assert Call.objects.count() == 0


def test_a_retired_tool_is_unknown(world):
    run = world.run()
    contract_retire(actor=world.admin, tool="refund_order")
    with pytest.raises(NotFound) as caught:
        world.submit(run, "refund_order", ARGUMENTS)
    assert caught.value.alternatives == ["get_order"]


def test_no_call_without_its_audit_entry(world, owner_sql):
    run = world.run()
    owner_sql("ALTER TABLE audit_entry RENAME TO audit_entry_away")
    try:
        with pytest.raises(Exception, match="audit_entry"):
            world.submit(run, "refund_order", ARGUMENTS)
    finally:
        owner_sql("ALTER TABLE audit_entry_away RENAME TO audit_entry")
    assert Call.objects.count() == 0
    assert kinds(run.id) == ["run_created", "run_admitted"]
