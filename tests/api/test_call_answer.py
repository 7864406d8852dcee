"""POST …/calls/{call_id}/answer, and what an agent is told of questions, edits and ends (S15, S16, S20)."""

import pytest

from approvals.models import Proposal
from approvals.services.decision import decision_record
from approvals.services.proposal import proposal_expire_due
from runs.services.run import run_cancel
from tests.api.client import AgentClient, browser, error
from tests.api.openapi import assert_described
from tests.api.test_call import later
from tests.support import factories
from tests.support.handling import ask, edit

PATH = "/api/v1/runs/{run_id}/calls/{call_id}/answer"
READ = "/api/v1/runs/{run_id}/calls/{call_id}"


def path(call, verb=""):
    return f"runs/{call.run_id}/calls/{call.call_id}{verb}"


def test_a_question_stands_in_the_call_until_it_is_answered(world, agent):
    call = world.held()
    asked = ask(world.reviewer, call.proposal_id)
    response = agent.get(path(call))
    assert_described(response, "get", READ)
    question = response.json()["question"]
    assert (question["id"], question["text"], question["by"]) == (
        str(asked.id), "Is this the second lamp?", "Rita Reviewer",
    )  # fmt: skip
    answered = agent.post(path(call, "/answer"), {"text": "Yes.", "question_id": question["id"]})
    assert_described(answered, "post", PATH)
    assert (answered.status_code, answered.json()["question"], answered.json()["repeated"]) == (202, None, False)
    assert agent.post(path(call, "/answer"), {"text": "Yes."}).json()["repeated"] is True


def test_a_question_wakes_an_agent_that_waits(world, agent):
    call = world.held()

    def asked() -> None:
        ask(world.reviewer, call.proposal_id)
        world.work(call)

    thread = later(0.5, asked)
    answer = agent.get(f"{path(call)}?wait=30").json()
    thread.join()
    assert answer["question"]["text"] == "Is this the second lamp?"
    assert answer["state"] == "waiting"


@pytest.mark.parametrize(
    ("text", "status", "code"),
    [("x", 409, "NO_QUESTION"), ("", 422, "BODY_INVALID"), ("x" * 2_001, 422, "BODY_INVALID")],
)
def test_an_answer_that_nobody_asked_for_and_one_that_is_none_are_refused(world, agent, text, status, code):
    call = world.held()
    response = agent.post(path(call, "/answer"), {"text": text})
    assert_described(response, "post", PATH)
    assert (response.status_code, error(response)["code"]) == (status, code)


def test_only_its_agent_answers(world):
    call = world.held()
    ask(world.reviewer, call.proposal_id)
    response = AgentClient(factories.agent(world.tenant)).post(path(call, "/answer"), {"text": "Yes."})
    assert (response.status_code, error(response)["code"]) == (404, "NOT_FOUND")
    response = browser(world.reviewer).post(
        f"/api/v1/{path(call, '/answer')}", {"text": "Yes."}, content_type="application/json"
    )
    assert (response.status_code, error(response)["code"]) == (403, "AGENT_REQUIRED")


def test_an_edited_call_says_who_changed_what_and_which_call_goes_on(world, agent):
    order = world.order()
    call = world.held(order)
    arguments = {"order_id": order, "amount": 3_900, "currency": "AUD"}
    row = edit(world.reviewer, call.proposal_id, arguments, reason="The cable was kept.")
    world.work(call)
    response = agent.get(path(call))
    assert_described(response, "get", READ)
    told = response.json()
    assert (told["state"], told["final"], told["error"]["code"]) == ("superseded", True, "SUPERSEDED")
    edited = told["edited"]
    assert (edited["by"], edited["of"], edited["call_id"], edited["revision"]) == (
        "Rita Reviewer", call.call_id, f"{call.call_id}~r2", 2,
    )  # fmt: skip
    assert edited["changes"] == [{"path": "/amount", "from": 4500, "to": 3900}]
    going_on = agent.get(f"runs/{call.run_id}/calls/{edited['call_id']}")
    assert_described(going_on, "get", READ)
    assert (going_on.status_code, going_on.json()["state"], going_on.json()["edited"]) == (202, "waiting", edited)
    decision_record(
        actor=world.second_reviewer.actor, proposal_id=row.proposal_id, verdict="approve", digest=row.digest
    )
    world.work(call)
    done = agent.get(f"runs/{call.run_id}/calls/{edited['call_id']}").json()
    assert (done["state"], done["edited"]["changes"]) == ("succeeded", edited["changes"])
    assert [refund["amount"] for refund in world.refunds(order)] == [3_900]


def test_asking_for_an_edited_call_again_is_answered_with_the_edit(world, agent):
    order = world.order()
    call = world.held(order)
    edit(world.reviewer, call.proposal_id, {"order_id": order, "amount": 3_900, "currency": "AUD"})
    world.work(call)
    again = agent.post(
        f"runs/{call.run_id}/calls",
        {
            "call_id": call.call_id,
            "tool": "refund_order",
            "arguments": {"order_id": order, "amount": 4_500, "currency": "AUD"},
        },
    )
    assert again.status_code == 409
    assert (error(again)["code"], again.json()["call"]["edited"]["call_id"]) == ("SUPERSEDED", f"{call.call_id}~r2")


def test_every_end_has_its_own_word_and_code(world, agent, stand_at):
    """S9, S16: an agent that reads only `state` or only `code` can tell them apart."""

    def told(call):
        world.work(call)
        answer = agent.get(path(call)).json()
        return answer["state"], answer["error"]["code"]

    rejected, withdrawn, superseded, cancelled, expired = (world.held() for _ in range(5))
    world.decide(rejected, "reject")
    agent.post(path(withdrawn, "/withdraw"), {})
    changed = Proposal.objects.get(pk=superseded.proposal_id)
    arguments = {"order_id": changed.target.rpartition("/")[2], "amount": 3_900, "currency": "AUD"}
    edit(world.reviewer, superseded.proposal_id, arguments)
    run_cancel(actor=world.agent_actor, run_id=cancelled.run_id)
    ends = [told(call) for call in (rejected, withdrawn, superseded, cancelled)]
    stand_at(Proposal.objects.get(pk=expired.proposal_id).expires_at)
    proposal_expire_due()
    world.work(expired)
    stand_at(None)
    ends.append(told(expired))
    assert [state for state, _ in ends] == ["rejected", "withdrawn", "superseded", "cancelled", "expired"]
    assert len({code for _, code in ends}) == 5
