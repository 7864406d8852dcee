"""runs/services/state_now.py: a simulation reads the target as a worker does, once, on record, and stores nothing."""

import socket
import time
from dataclasses import replace
from uuid import UUID

import pytest
from django.db import DatabaseError

from access.core.throttle import TARGET_READ
from access.selectors.actors import requester_facts
from approvals.services.simulation import ToRead
from audit.core.refusal import Forbidden, NotFound, TooMany
from audit.store import addresses
from runs.selectors.past_calls import past_call
from runs.selectors.state_offer import read_offer
from runs.services.simulation import Question, call_walk
from runs.services.state_now import state_now
from runs.services.stop import stop_set
from tests.support import factories
from tests.support.contracts import demo_contract
from tests.support.target import Target, closed_port
from tests.support.world import break_audit

CHARGE = {"amount": 18_900, "amount_refunded": 0, "currency": "aud", "status": "succeeded"}


def question(world, order, tool="refund_order", **changes):
    given = {"order_id": order, "amount": 4_500, "currency": "AUD"} if tool == "refund_order" else {"order_id": order}
    asked = Question(
        tool=tool,
        given=given,
        agent_id=UUID(world.agent.id),
        acting_user=world.asker.user_id,
        state=None,
        read_now=True,
    )
    return replace(asked, **changes)


def walk(world, order="ord_1", by=None, **changes):
    return call_walk(actor=by or world.admin, question=question(world, order, **changes))


def step(walked, key="state"):
    return next(step for step in walked.steps if step.key == key)


def log(owner_sql):
    """(action, verdict, actor, tool, detail) of what simulations asked."""
    return owner_sql(
        "SELECT action, verdict, actor_id, tool, detail FROM audit_entry "
        "WHERE action LIKE 'contract.target%' ORDER BY id"
    )


def rows(owner_sql):
    """What a call would leave behind, counted."""
    tables = ("runs_run", "runs_call", "runs_event", "runs_dispatch", "approvals_proposal", "approvals_judgement")
    return {table: owner_sql(f"SELECT count(*) FROM {table}") for table in tables}


def unreachable(world, host, **changes):
    world.admit("refund_order", lambda document: document.update(changes), host=host)


def test_the_target_is_read_once_as_for_a_call_recorded_before_and_after_and_nothing_is_stored(world, owner_sql):
    order = world.order(18_900)
    before = rows(owner_sql)
    with Target(lambda visit: visit.answer_json(CHARGE)) as target:
        world.admit("refund_order", host=target.host)
        stop_set(actor=world.admin, kind="tool", subject="refund_order", reason="Looking.")
        walked = walk(world, order)
        (visit,) = target.settled()
    assert visit.line == f"GET /v1/charges/{world.orders[order]['charge']} HTTP/1.1"
    assert visit.headers["authorization"] == "Bearer sk_test_5f2c9e8a71b04d36"
    reading = walked.simulated.reading
    assert reading is not None
    assert reading.state["left"] == 18_900
    assert reading.state["customer"] == "Mara Lindqvist", "the reference table is read, too"
    assert reading.at is not None
    assert [step(walked, key).standing for key in ("state", "meaning", "policy", "stop")] == [
        "passes", "passes", "held", "held",
    ]  # fmt: skip
    assert rows(owner_sql) == before
    asked, read = log(owner_sql)
    assert asked[:4] == ("contract.target_asked", "ok", world.admin.id, "refund_order")
    assert read[:4] == ("contract.target_read", "ok", world.admin.id, "refund_order")
    assert asked[4]["target"].endswith(order)
    assert asked[4]["acting_for"] == world.asker.user_id
    assert len(read[4]["snapshot"]) == 64
    assert "Mara" not in str(read), "the state itself is kept nowhere"


def test_it_ends_as_a_worker_would_judge_on_that_state(world):
    order = world.order(1_000)
    walked = walk(world, order)
    assert (walked.end.standing, walked.end.code) == ("refused", "AMOUNT_EXCEEDS_LEFT")
    call = world.refund(world.run(), order, 4_500)
    world.work(call)
    assert world.look(call).answer["error"]["code"] == walked.end.code
    kept = past_call(world.admin, call.run_id, call.call_id)
    assert kept.state is not None
    assert kept.state["left"] == 1_000, "what it was judged on is kept, although it was refused by its own checks"
    assert (kept.ended[0], kept.judged.effect) == ("AMOUNT_EXCEEDS_LEFT", "deny")
    again = call_walk(
        actor=world.admin,
        question=replace(question(world, order), read_now=False, state=kept.state, run_id=call.run_id, past=True),
    )
    assert (again.end.standing, again.end.code) == ("refused", "AMOUNT_EXCEEDS_LEFT"), "and somebody can tell"


def test_each_way_of_failing_is_a_step_in_words_with_what_a_real_call_would_do(world, owner_sql):
    order = world.order()
    unknown = step(walk(world, "ord_999999"))
    assert (unknown.standing, unknown.code) == ("refused", "NOT_FOUND")
    assert "There is no order ord_999999 here." in unknown.said
    assert ("a real call then", "It is refused with the same words before it is judged. Nothing is sent.") in (
        unknown.facts
    )

    unreachable(world, f"127.0.0.1:{closed_port()}")
    walked = walk(world, order)
    away = step(walked)
    assert (away.standing, away.code, walked.end.standing) == ("unknown", "TARGET_UNREADABLE", "unknown")
    assert "Nobody can tell yet" in walked.end.text
    assert dict(away.facts)["cause"] == "CONNECT_FAILED"
    assert "tried up to 3 times" in dict(away.facts)["a real call then"]
    assert "TARGET_UNAVAILABLE" in dict(away.facts)["a real call then"]
    assert [each.standing for each in walked.steps[4:-1]] == ["not reached"] * 5

    def cause(behaviour, **changes):
        with Target(behaviour) as target:
            unreachable(world, target.host, **changes)
            failed = step(walk(world, order))
            return failed.standing, failed.code, dict(failed.facts).get("cause", "")

    error = {"error": {"message": "No such charge."}}
    assert cause(lambda visit: visit.answer_json(error, status="404 Not Found"))[:2] == ("refused", "TARGET_REFUSED")
    assert cause(lambda visit: visit.answer(b'{"a": "' + b"x" * 1_100_000 + b'"}')) == (
        "unknown", "TARGET_UNREADABLE", "ANSWER_TOO_LARGE",
    )  # fmt: skip
    assert cause(lambda visit: time.sleep(0.5), timeout_ms=200) == ("unknown", "TARGET_UNREADABLE", "ANSWER_TIMEOUT")
    failed = [entry for entry in log(owner_sql) if entry[0] == "contract.target_read"]
    assert [entry[1] for entry in failed] == ["failed"] * 5
    assert failed[0][4]["code"] == "NOT_FOUND"


def test_the_hosts_that_a_contract_may_reach_hold_for_a_simulation_too(world, monkeypatch):
    """A name that leads into a private place is refused by the guard of calls. The resolver is the machine's."""
    order = world.order()
    with Target(lambda visit: visit.answer_json(CHARGE)) as target:
        unreachable(world, f"payments.example:{target.port}")
        private = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", target.port))
        with monkeypatch.context() as patched:
            patched.setattr(addresses.socket, "getaddrinfo", lambda *_, **__: [private])
            refused = step(walk(world, order))
        assert dict(refused.facts)["cause"] == "ADDRESS_NOT_ALLOWED"
        assert target.settled() == []


def test_what_an_earlier_guard_refuses_is_asked_of_no_target(world, owner_sql):
    with Target(lambda visit: visit.answer_json(CHARGE)) as target:
        world.admit("refund_order", host=target.host)
        order = world.order()
        for changes in ({"given": {}}, {"acting_user": world.reviewer.user_id}, {"acting_user": "nobody"}):
            assert step(walk(world, order, **changes)).standing == "not reached"
        assert target.settled() == []
    assert log(owner_sql) == []


def test_only_an_admin_reads_and_whoever_else_tries_is_in_the_log(world, owner_sql):
    order = world.order()
    for role in ("operator", "auditor"):
        person = factories.person(world.tenant, roles=[role])
        with pytest.raises(Forbidden) as caught:
            walk(world, order, by=person.actor)
        assert caught.value.missing == ["admin"]
        assert log(owner_sql)[-1][:3] == ("contract.target_asked", "refused", person.actor.id)
        with pytest.raises(Forbidden):
            walk(world, order, by=person.actor, given={})  # though the walk would not come as far as reading
        assert not read_offer(person.actor, demo_contract("refund_order")).possible
    with pytest.raises(Forbidden):
        walk(world, order, by=world.reviewer.actor)
    with pytest.raises(Forbidden):
        walk(world, order, by=world.agent_actor)
    assert {entry[1] for entry in log(owner_sql)} == {"refused"}


def test_another_organisations_tool_and_agent_are_read_for_nobody(world, owner_sql):
    order = world.order()
    stranger = factories.tenant().admin.actor
    with pytest.raises(NotFound):
        walk(world, order, by=stranger)
    other = factories.agent(factories.tenant(), scopes=["refunds:write"])
    walked = walk(world, order, agent_id=UUID(other.id), acting_user="")
    assert (step(walked).standing, walked.end.code) == ("not reached", "AGENT_INACTIVE")
    assert log(owner_sql) == []


def test_every_click_reads_anew_until_a_person_has_asked_too_often(world, owner_sql):
    order = world.order()
    second = factories.person(world.tenant, roles=["admin"])
    for _ in range(TARGET_READ.burst):
        assert step(walk(world, order)).standing == "passes"
    with pytest.raises(TooMany) as caught:
        walk(world, order)
    assert caught.value.code == "TARGET_READ_THROTTLED"
    assert 1 <= caught.value.retry_after <= TARGET_READ.every_s
    assert step(walk(world, order, by=second.actor)).standing == "passes", "the bound is each person's own"
    verdicts = [entry[:2] for entry in log(owner_sql)]
    assert verdicts.count(("contract.target_read", "ok")) == TARGET_READ.burst + 1
    assert verdicts.count(("contract.target_asked", "refused")) == 1


def test_a_tool_that_reads_no_state_and_one_that_would_not_only_read_are_not_asked(world, owner_sql):
    contract = demo_contract("refund_order", world.stripe.host)

    def reading(adapter):
        wanted = ToRead(
            contract=replace(contract, adapter=adapter),
            number=1,
            arguments={"order_id": world.order(), "amount": 1, "currency": "AUD"},
            requester=requester(world),
            acting_user=world.asker.user_id,
            digest="",
        )
        return state_now(actor=world.admin, wanted=wanted), read_offer(world.admin, wanted.contract)

    nothing, offer = reading(replace(contract.adapter, read_state=None, reference=None))
    assert (nothing.standing, nothing.at, offer.possible) == ("noted", None, False)
    assert "reads no state" in offer.text
    posts = replace(contract.adapter.read_state, request=replace(contract.adapter.read_state.request, method="POST"))
    unsafe, offer = reading(replace(contract.adapter, read_state=posts))
    assert (unsafe.standing, unsafe.refusal.code, offer.possible) == ("unknown", "READ_NOT_SAFE", False)
    assert "POST" in offer.text
    assert log(owner_sql) == []
    table, offer = reading(replace(contract.adapter, read_state=None))
    assert (table.standing, table.state, offer.possible) == ("passes", None, True)
    assert [entry[0] for entry in log(owner_sql)] == ["contract.target_asked", "contract.target_read"]


def requester(world):
    return requester_facts(
        tenant_id=world.tenant.id, agent_id=world.agent.id, acting_user_id=world.asker.user_id, token_session_id=None
    )


def test_without_the_entry_nothing_is_asked(world, owner_sql):
    order = world.order()
    with Target(lambda visit: visit.answer_json(CHARGE)) as target:
        world.admit("refund_order", host=target.host)
        break_audit(owner_sql, "contract.target_asked")
        with pytest.raises(DatabaseError):
            walk(world, order)
        assert target.settled() == []
