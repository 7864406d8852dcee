"""runs/services/simulation.py: every guard answers as it would for a real call, and nothing is written or asked."""

import json
import socket
from dataclasses import replace
from uuid import UUID

import pytest
from django.db import DatabaseError, connection, transaction

from access.services.agents import agent_deactivate, agent_principal_remove
from approvals.services.contract import contract_retire
from approvals.services.judge import call_judge, call_prepare
from approvals.services.policy import policy_publish
from approvals.services.shown_tools import shown_tools_set
from audit.core.refusal import Forbidden, NotFound, Refusal
from runs.services.call import call_submit
from runs.services.run import run_open
from runs.services.simulation import Question, call_walk
from runs.services.stop import stop_set
from runs.services.turn import turn_open
from tests.support import approvals, factories
from tests.support.approvals import STATE

GIVEN = {"order_id": "ord_1029", "amount": 4_500}


@pytest.fixture
def acme(db):
    return approvals.world()


def asked(acme, **changes):
    question = Question(
        tool="refund_order",
        given=GIVEN,
        agent_id=UUID(acme.agent.id),
        acting_user=acme.customer_care.user_id,
        state=STATE,
    )
    return replace(question, **changes)


def walk(acme, **changes):
    return call_walk(actor=acme.tenant.admin.actor, question=asked(acme, **changes))


def standing(walked):
    return {step.key: step.standing for step in walked.steps}


def refused_at(walked):
    (key,) = [step.key for step in walked.steps[:-1] if step.standing == "refused"]
    reached = [step.key for step in walked.steps[:-1] if step.standing != "not reached"]
    assert reached[-1] == key, "nothing behind it was reached"
    return key, walked.end.code


def test_a_call_that_would_be_held_passes_every_guard_before_people(acme):
    walked = walk(acme)
    assert standing(walked) == {
        "shape": "passes", "token": "passes", "shown": "passes", "meaning": "passes", "policy": "held",
        "boundary": "held", "repeat": "passes", "stop": "passes", "end": "held",
    }  # fmt: skip


def test_each_guard_refuses_and_is_named(acme):
    admin = acme.tenant.admin.actor
    reader = factories.agent(acme.tenant, scopes=["orders:read"])
    assert refused_at(walk(acme, given={})) == ("shape", "ARGUMENTS_INVALID")
    assert refused_at(walk(acme, agent_id=UUID(reader.id), acting_user="")) == ("token", "SCOPE_MISSING")
    assert refused_at(walk(acme, acting_user=acme.mara.user_id)) == ("token", "PRINCIPAL_REFUSED")
    assert refused_at(walk(acme, given=GIVEN | {"amount": 99_999})) == ("meaning", "AMOUNT_EXCEEDS_LEFT")
    shown_tools_set(actor=admin, agent_id=UUID(acme.agent.id), tools=["get_order"])
    assert refused_at(walk(acme)) == ("shown", "NOT_EXPOSED")


def test_the_policy_refuses_by_its_rule(acme):
    source = 'version: 1\nrules:\n  - {id: never, tool: refund_order, effect: deny, message: "By hand."}\n'
    policy_publish(actor=acme.tenant.admin.actor, source=source, based_on=1)
    walked = walk(acme)
    assert refused_at(walked) == ("policy", "DENIED")
    step = next(step for step in walked.steps if step.key == "policy")
    assert step.said == "By hand."
    assert [(look.id, look.decides) for look in step.looks] == [("never", True)]


def test_a_stop_holds_it_back_and_does_not_refuse(acme):
    stop_set(actor=acme.tenant.admin.actor, kind="tool", subject="refund_order", reason="Checking.")
    walked = walk(acme)
    assert standing(walked)["stop"] == "held"
    assert "A stop keeps it from being sent" in walked.end.text


def test_without_the_state_nobody_can_tell(acme):
    walked = walk(acme, state=None)
    assert walked.end.standing == "unknown"
    assert walked.end.code == "STATE_NOT_KNOWN"


def test_what_was_derived_from_the_state_is_worked_out(acme):
    state = {name: value for name, value in STATE.items() if name != "left"}
    assert walk(acme, state=state).simulated.state["left"] == STATE["left"]


def test_a_repeated_id_is_the_same_call_or_refused(acme):
    run = run_open(actor=acme.actor, title="Refund")
    call_submit(actor=acme.actor, run_id=run.id, call_id="call-1", tool="refund_order", arguments=GIVEN)
    same = walk(acme, run_id=run.id, call_id="call-1")
    assert (standing(same)["repeat"], same.end.standing) == ("noted", "noted")
    other = walk(acme, run_id=run.id, call_id="call-1", given=GIVEN | {"amount": 1})
    assert refused_at(other) == ("repeat", "CALL_ID_REUSED")
    assert standing(walk(acme, run_id=run.id, call_id="call-2"))["repeat"] == "passes"
    assert standing(walk(acme, run_id=run.id, call_id="call-1", past=True))["repeat"] == "passes"


def test_what_people_rejected_in_the_run_is_not_asked_again(acme):
    run = run_open(actor=acme.actor, title="Refund")
    held = acme.hold(run_id=run.id, call_id="call-1")
    acme.decide(held, "reject")
    walked = walk(acme, run_id=run.id, call_id="call-2")
    assert refused_at(walked) == ("repeat", "REJECTED_BEFORE")


def test_a_run_with_fewer_tools_refuses_the_others(acme):
    run = run_open(actor=acme.actor, title="Look", tools=["get_order"])
    assert refused_at(walk(acme, run_id=run.id, call_id="call-1")) == ("shown", "NOT_EXPOSED")


def test_a_turn_with_fewer_tools_refuses_the_others_and_asks_nothing_anew_of_what_was_taken(acme):
    run = run_open(actor=acme.actor, title="Refund")
    turn_open(actor=acme.actor, run_id=run.id, turn_id="t1")
    call_submit(actor=acme.actor, run_id=run.id, call_id="call-1", tool="refund_order", arguments=GIVEN)
    shown = next(step for step in walk(acme, run_id=run.id, call_id="call-2").steps if step.key == "shown")
    assert (shown.standing, shown.said) == ("passes", "t1")
    turn_open(actor=acme.actor, run_id=run.id, turn_id="t2", tools=["get_order"])
    walked = walk(acme, run_id=run.id, call_id="call-2")
    assert refused_at(walked) == ("shown", "NOT_EXPOSED")
    shown = next(step for step in walked.steps if step.key == "shown")
    assert shown.said.startswith("refund_order is not among the tools that turn t2 shows.")
    for past in (True, False):
        walked = walk(acme, run_id=run.id, call_id="call-1", past=past)
        shown = next(step for step in walked.steps if step.key == "shown")
        assert (shown.standing, shown.said) == ("passes", "t1")
        assert "asked in a turn that showed it" in shown.text


CASES = {
    "as it is": lambda acme: {},
    "too much": lambda acme: {"given": GIVEN | {"amount": 99_999}},
    "nothing": lambda acme: {"given": {}},
    "an unknown field": lambda acme: {"given": GIVEN | {"admin": True}},
    "for somebody else": lambda acme: {"acting_user": acme.mara.user_id},
    "in its own name": lambda acme: {"acting_user": ""},
    "nothing left": lambda acme: {"state": STATE | {"left": 0}},
    "an inactive agent": lambda acme: (
        agent_deactivate(actor=acme.tenant.admin.actor, agent_id=UUID(acme.agent.id), because="x") and {}
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_simulation_ends_as_production_judges(acme, case):
    """The same refusal, or the same verdict, from `call_prepare` and `call_judge`, which guard real calls."""
    question = asked(acme, **(CASES[case](acme) or {}))
    walked = call_walk(actor=acme.tenant.admin.actor, question=question)
    real = ""
    try:
        prepared = call_prepare(
            actor=acme.actor, tool=question.tool, arguments=question.given, acting_user=question.acting_user
        )
        with transaction.atomic():
            requester = acme.requester()
            if question.acting_user != acme.customer_care.user_id:
                from access.selectors.actors import requester_facts

                requester = requester_facts(
                    tenant_id=acme.tenant.id, agent_id=acme.agent.id, acting_user_id=question.acting_user or None
                )
            verdict = call_judge(
                tenant_id=acme.tenant.id,
                tool_version_id=prepared.tool_version_id,
                canonical=prepared.canonical,
                state=question.state,
                requester=requester,
            )
        real = verdict.code.upper() if verdict.effect == "deny" else ""
        if verdict.effect != "deny":
            assert walked.simulated.verdict == verdict
            assert walked.simulated.digest == prepared.digest
    except Refusal as refusal:
        real = refusal.code
    assert walked.end.code == real


def test_nothing_is_written_and_no_target_is_asked(acme, monkeypatch):
    run = run_open(actor=acme.actor, title="Refund")
    call_submit(actor=acme.actor, run_id=run.id, call_id="call-1", tool="refund_order", arguments=GIVEN)

    def nowhere(*_):
        raise AssertionError("a target was asked")

    monkeypatch.setattr(socket.socket, "connect", nowhere)
    with transaction.atomic():
        # PostgreSQL itself refuses every write, and every lock on a row.
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
        for question in (asked(acme), asked(acme, run_id=run.id, call_id="call-1", past=True), asked(acme, given={})):
            call_walk(actor=acme.tenant.admin.actor, question=question)
        with pytest.raises(DatabaseError, match="read-only"), transaction.atomic():
            stop_set(actor=acme.tenant.admin.actor, kind="tool", subject="refund_order", reason="Not possible.")
        transaction.set_rollback(True)


@pytest.mark.parametrize("role", ["reviewer"])
def test_who_may_not_read_contracts_simulates_nothing(acme, role):
    with pytest.raises(Forbidden):
        call_walk(actor=factories.person(acme.tenant, roles=[role]).actor, question=asked(acme))
    with pytest.raises(Forbidden):
        call_walk(actor=acme.actor, question=asked(acme))


def test_another_organisations_tool_agent_and_run_are_unknown(acme):
    stranger = factories.tenant().admin.actor
    with pytest.raises(NotFound):
        call_walk(actor=stranger, question=asked(acme))
    run = run_open(actor=acme.actor, title="Refund")
    other = approvals.world()
    with pytest.raises(NotFound):
        call_walk(actor=other.tenant.admin.actor, question=asked(acme, run_id=run.id))
    foreign = call_walk(actor=other.tenant.admin.actor, question=asked(acme))
    assert (foreign.end.code, refused_at(foreign)[0]) == ("AGENT_INACTIVE", "token")
    assert acme.agent.name not in json.dumps([step.said for step in foreign.steps])


def test_a_retired_tool_has_nothing_to_simulate(acme):
    contract_retire(actor=acme.tenant.admin.actor, tool="refund_order")
    with pytest.raises(NotFound):
        walk(acme)


def test_a_person_who_is_no_longer_acted_for_is_named(acme):
    agent_principal_remove(
        actor=acme.tenant.admin.actor, agent_id=UUID(acme.agent.id), user_id=acme.customer_care.user_id
    )
    assert refused_at(walk(acme)) == ("token", "PRINCIPAL_REFUSED")


def test_a_past_call_is_walked_on_the_state_that_a_worker_read_last(acme):
    from approvals.services.proposal import proposal_observe
    from audit.store import clock
    from runs.models import Call
    from runs.selectors.past_calls import past_call

    run = run_open(actor=acme.actor, title="Refund")
    call_submit(actor=acme.actor, run_id=run.id, call_id="call-1", tool="refund_order", arguments=GIVEN)
    held = acme.hold(run_id=run.id, call_id="call-1")
    Call.objects.filter(run_id=run.id).update(proposal_id=held.id)
    admin = acme.tenant.admin.actor
    assert past_call(admin, run.id, "call-1").state["left"] == STATE["left"]
    proposal_observe(proposal_id=held.id, state=STATE | {"left": 9_000}, read_at=clock.now())
    assert past_call(admin, run.id, "call-1").state["left"] == 9_000
