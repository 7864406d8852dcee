"""runs/services/compensating.py: another call makes up for an unknown one, through the whole chain."""

import pytest

from approvals.core.narrowing import Narrowing
from approvals.selectors.proposals import inbox, inbox_counts, proposal_detail, rows_by_id
from approvals.selectors.sharing import in_whose_name
from approvals.services.decision import decision_record
from approvals.web.narrow import Asked
from approvals.web.story import closed_words, state_words, steps
from approvals.web.strips import listed
from audit.core.refusal import Conflict, Forbidden, Invalid
from runs.models import Call
from runs.services.call import call_withdraw
from runs.services.run import run_cancel
from tests.services.runs.test_reconciliation import (
    conclusive_at,
    decide,
    look_up,
    machine,
    operator,
    proven,
    shop,
    unknown,
)
from tests.support import factories
from tests.support.world import kinds

__all__ = ["operator", "shop"]

POLICY = """
version: 1
rules:
  - {id: refund, tool: refund_order, effect: ask, approvers: [{group: finance, count: 1}], expires_in_s: 900}
  - {id: back, tool: take_back, effect: ask, approvers: [{group: finance, count: 1}], expires_in_s: 900}
  - {id: read, tool: get_order, effect: allow}
"""


@pytest.fixture
def question(world, shop, stand_at):
    """An unknown refund of which the target shows nothing, and a tool that could make up for it."""
    world.publish(POLICY)
    call = proven(world, shop, stand_at)
    world.admit("refund_order", lambda document: document.update(name="take_back"), host=shop.target.host)
    return call


def arguments(world):
    return {"order_id": next(iter(world.orders)), "amount": 100, "currency": "AUD"}


def prepare(world, operator, call, **fields):
    decide(operator, call, "compensate", **({"tool": "take_back", "arguments": arguments(world)} | fields))
    return Call.objects.get(run_id=call.run_id, call_id=f"{call.call_id}-made-good-1")


def look(world, row):
    from runs.selectors.runs import call_row

    return call_row(world.agent_actor, row.run_id, row.call_id)


def test_it_goes_through_people_and_its_success_settles_the_question(world, shop, operator, question):
    made = prepare(world, operator, question)
    assert machine(question).state == "unknown"
    assert made.call_id in world.look(question).answer["error"]["message"]
    world.work(question)
    held = look(world, made)
    assert held.state == "waiting"
    detail = proposal_detail(world.reviewer.actor, held.proposal_id)
    assert (detail.prepared_by, detail.tampered) == ("Ola Brandt", "")
    assert shop.refunds == []
    world.decide(held)
    world.work(question)
    assert look(world, made).state == "succeeded"
    told = world.look(question)
    assert (told.state, told.final, told.answer["error"]["code"]) == ("compensated", True, "COMPENSATED")
    assert machine(question).compensated_by == made.call_id
    assert [refund["metadata"]["clearance_key"] for refund in shop.refunds] == [made.key]
    after = proposal_detail(world.reviewer.actor, question.proposal_id).afterwards
    assert after.outcome == "compensated"
    assert world.head(question).status == "ready"


def test_whoever_prepared_it_does_not_approve_it(world, shop, question):
    both = factories.person(world.tenant, roles=["operator", "reviewer"], groups=["finance"], name="Bo Both")
    made = prepare(world, both, question)
    world.work(question)
    held = look(world, made)
    with pytest.raises(Forbidden) as refused:
        world.decide(held, by=both)
    assert refused.value.code == "SELF_APPROVAL"
    assert proposal_detail(both.actor, held.proposal_id).people.may_decide is False
    assert (inbox(both.actor, view="mine").rows, inbox_counts(both.actor).mine) == ([], 0), "it does not wait for them"
    other = factories.person(world.tenant, roles=["operator", "reviewer"], groups=["finance"])
    assert [row.id for row in inbox(other.actor, view="mine").rows] == [held.proposal_id]
    assert in_whose_name([both.actor, other.actor])[both.actor].id == both.user_id, "nobody shares that list"
    assert world.decide(held).status == "granted"


def test_what_people_reject_makes_up_for_nothing(world, operator, question):
    made = prepare(world, operator, question)
    world.work(question)
    world.decide(look(world, made), "reject")
    world.work(question)
    assert look(world, made).state == "rejected"
    assert world.look(question).state == "unknown"
    decide(operator, question, "compensate", tool="take_back", arguments={**arguments(world), "amount": 200})
    assert Call.objects.filter(run_id=question.run_id, call_id=f"{question.call_id}-made-good-2").exists()


def test_a_second_one_waits_for_the_first_ones_end(world, operator, question):
    prepare(world, operator, question)
    with pytest.raises(Conflict) as refused:
        decide(operator, question, "compensate", tool="take_back", arguments=arguments(world))
    assert refused.value.code == "COMPENSATION_UNDER_WAY"


@pytest.mark.parametrize("choice", ["did_not_happen", "retry"])
def test_where_nothing_happened_what_should_make_up_for_it_is_taken_back(world, operator, question, choice):
    made = prepare(world, operator, question)
    world.work(question)
    proposal_id = look(world, made).proposal_id
    decide(operator, question, choice)
    assert look(world, made).state == "withdrawn"
    detail = proposal_detail(world.reviewer.actor, proposal_id)
    assert (detail.status, detail.status_words) == ("withdrawn", "Taken back by Ola Brandt; nothing ran.")
    assert state_words(detail)[1] == steps(detail)[0].word.rstrip(".") == "Taken back by Ola Brandt"
    assert closed_words(detail)[0] == "Ola Brandt took it back; nothing ran, at"
    [row] = rows_by_id(world.reviewer.actor, [proposal_id])
    assert (row.decided_by, in_the_list(world, proposal_id)) == ("Ola Brandt", "taken back by Ola Brandt")
    with pytest.raises(Conflict, match="Ola Brandt took this back before anybody decided"):
        decision_record(
            actor=world.reviewer.actor, proposal_id=proposal_id, verdict="approve", digest=detail.digest, reason=""
        )


def in_the_list(world, proposal_id):
    """The state's words on the proposal's strip among those that were decided."""
    strips = listed(world.reviewer.actor, Asked(view="decided", narrowing=Narrowing())).strips
    return next(strip.word for strip in strips if strip.id == proposal_id)


def test_what_the_agent_takes_back_reads_as_taken_back_by_the_agent(world):
    held = world.held()
    call_withdraw(actor=world.agent_actor, run_id=held.run_id, call_id=held.call_id)
    detail = proposal_detail(world.reviewer.actor, held.proposal_id)
    assert detail.status_words == "Taken back by the agent; nothing ran."
    assert state_words(detail)[1] == "Taken back by the agent"
    assert in_the_list(world, held.proposal_id) == "taken back by the agent"


def test_nothing_else_is_said_while_it_is_being_made_up_for(world, shop, operator, question):
    made = prepare(world, operator, question)
    world.work(question)
    world.decide(look(world, made))
    shop.refund, shop.list_refunds = shop.drop, lambda visit: visit.answer_json({}, status="503 Service Unavailable")
    world.work(question)
    assert look(world, made).state == "unknown"
    for choice in ("did_not_happen", "retry"):
        with pytest.raises(Conflict) as refused:
            decide(operator, question, choice)
        assert refused.value.code == "COMPENSATION_UNDER_WAY"
    # It happened after all, says the operator: with that the first question is settled too.
    decide(operator, look(world, made), "happened", reference="re_7")
    assert world.look(question).state == "compensated"


def test_an_effect_that_is_found_meanwhile_stays_what_it_is(world, shop, operator, question):
    made = prepare(world, operator, question)
    decide(operator, question, "happened", reference="re_1")
    world.work(question)
    world.decide(look(world, made))
    world.work(question)
    assert look(world, made).state == "succeeded"
    assert world.look(question).state == "succeeded"
    assert kinds(question.run_id).count("outcome_reconciled") == 1


def test_a_call_of_the_run_that_has_made_up_for_it_already_is_named(world, shop, operator, question):
    run = world.head(question)
    call = world.submit(run, "take_back", arguments(world), call_id="by-the-agent")
    world.work(question)
    with pytest.raises(Conflict) as refused:
        decide(operator, question, "link", call_id="by-the-agent")
    assert "has to succeed first" in refused.value.message
    world.decide(world.look(call))
    world.work(question)
    assert decide(operator, question, "link", call_id="by-the-agent").state == "compensated"
    assert decide(operator, question, "link", call_id="by-the-agent", attempt=1).repeated
    assert world.look(question).answer["error"]["detail"] == {"compensated_by": "by-the-agent"}


def test_a_read_another_runs_call_or_the_call_itself_makes_up_for_nothing(world, operator, question):
    read = world.submit(world.head(question), "get_order", {"order_id": next(iter(world.orders))}, call_id="a-read")
    world.work(question)
    assert world.look(read).state == "succeeded"
    with pytest.raises(Conflict) as refused:
        decide(operator, question, "link", call_id="a-read")
    assert "only reads" in refused.value.message
    for call_id in ("", "elsewhere"):
        with pytest.raises(Invalid) as unknown_call:
            decide(operator, question, "link", call_id=call_id)
        assert unknown_call.value.code == "CALL_REQUIRED"
    with pytest.raises(Conflict):
        decide(operator, question, "link", call_id=question.call_id)
    with pytest.raises(Invalid) as refused_tool:
        decide(operator, question, "compensate", tool="get_order", arguments={"order_id": next(iter(world.orders))})
    assert refused_tool.value.code == "READS_ONLY"
    with pytest.raises(Invalid) as nameless:
        decide(operator, question, "compensate", tool=" ", arguments={})
    assert nameless.value.code == "TOOL_REQUIRED"


def test_a_run_that_was_stopped_takes_no_call_that_makes_up_for_it(world, operator, question):
    run_cancel(actor=operator.actor, run_id=question.run_id)
    with pytest.raises(Conflict) as refused:
        decide(operator, question, "compensate", tool="take_back", arguments=arguments(world))
    assert refused.value.code == "NOT_IN_THIS_STATE"


def test_an_agent_that_lost_its_rights_is_not_asked_for_in_its_place(world, operator, question):
    from access.services.agents import agent_deactivate

    agent_deactivate(actor=world.admin, agent_id=world.agent.id)
    with pytest.raises(Forbidden) as refused:
        decide(operator, question, "compensate", tool="take_back", arguments=arguments(world))
    assert refused.value.code == "AGENT_INACTIVE"


def test_before_the_look_up_is_conclusive_it_may_be_prepared_and_waits_for_the_record(world, shop, operator, stand_at):
    """The order is leased by the request that may still arrive; the other call is sent when nothing can any more."""
    world.publish(POLICY)
    call = unknown(world, shop)
    world.admit("refund_order", lambda document: document.update(name="take_back"), host=shop.target.host)
    made = prepare(world, operator, call)
    world.work(call)
    world.decide(look(world, made))
    world.work(call)
    assert (look(world, made).state, shop.refunds) == ("ready", [])
    stand_at(conclusive_at(call))
    look_up(world, call)
    world.work(call)
    assert look(world, made).state == "succeeded"
    assert world.look(call).state == "compensated"
