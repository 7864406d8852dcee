"""Two hundred who wait beside one who decides, on the real server, workers and sweep (architecture, *Connections*)."""

import asyncio
import contextlib
import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import psutil
import pytest

from tests.support.stack import Stack, eventually

pytestmark = pytest.mark.stack

WAITERS = 200
POOL = 16  # CLEARANCE_DATABASE_POOL's default
PATIENCE = 30.0


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with Stack.start() as stack:
        yield stack


def held(stack: Stack, agent: Any, order: str) -> tuple[str, dict[str, Any]]:
    """A refund that waits for people: (run id, call)."""
    run_id = agent.open_run(f"Refund for {order}")["id"]
    currency = stack.order(order).get("currency", "AUD").upper()
    arguments = {"order_id": order, "amount": 100, "currency": currency}
    agent.call(run_id, "refund", "refund_order", arguments)
    call = eventually(lambda: (now := agent.get_call(run_id, "refund")) and now["state"] == "waiting" and now)
    return run_id, call


def connections(stack: Stack) -> int:
    """Connections of the application role that the database has now."""
    return stack.sql(
        "SELECT count(*) FROM pg_stat_activity WHERE usename = 'clr_app' AND datname = current_database()"
    )[0][0]


def decide(stack: Stack, call: dict[str, Any]) -> float:
    """A reviewer's rejection over HTTP; the seconds it took."""
    with contextlib.closing(stack.browser_session("reviewer")) as reviewer:
        begun = time.monotonic()
        answer = reviewer.post(
            f"/api/v1/proposals/{call['proposal']['id']}/decide",
            json={"verdict": "reject", "digest": call["digest"], "reason": "Not this one."},
        )
        assert answer.status_code == 200, answer.text
        return time.monotonic() - begun


def test_two_hundred_waiters_hold_nothing_and_all_are_told(stack):
    agent = stack.agent()
    run_id, call = held(stack, agent, "ord_1029")
    path = f"/api/v1/runs/{run_id}/calls/refund?wait=60"
    web = psutil.Process(stack.processes["web"].pid)
    before = web.num_threads()

    async def scene() -> tuple[list[httpx.Response], int, int, float, float]:
        limits = httpx.Limits(max_connections=WAITERS + 10)
        headers = {"Authorization": f"Bearer {agent.token()}"}
        async with httpx.AsyncClient(base_url=stack.base_url, limits=limits, headers=headers, timeout=90) as client:
            waiting = [asyncio.create_task(client.get(path)) for _ in range(WAITERS)]
            # Until every one of them has been read, found without news, and waits.
            await asyncio.sleep(6)
            assert not any(task.done() for task in waiting), [t.result().text for t in waiting if t.done()][:1]
            threads, held_open = web.num_threads(), await asyncio.to_thread(connections, stack)
            took = await asyncio.to_thread(decide, stack, call)
            decided = time.monotonic()
            answers = await asyncio.wait_for(asyncio.gather(*waiting), PATIENCE)
            return answers, threads, held_open, took, time.monotonic() - decided

    answers, threads, held_open, took, told = asyncio.run(scene())
    print(f"decision {took * 1000:.0f} ms, last of {WAITERS} told after {told * 1000:.0f} ms, "
          f"threads {before} -> {threads}, connections {held_open}")  # fmt: skip
    assert {answer.status_code for answer in answers} == {200}
    assert {answer.json()["state"] for answer in answers} == {"rejected"}
    assert took < 5, "a decision waits for no waiter"
    assert told < PATIENCE
    assert threads - before < WAITERS / 4, "a waiter keeps no thread"
    # Of the whole product: web, worker and sweep. Waiters would need two hundred.
    assert held_open <= 3 * POOL


def test_waiters_that_hang_up_leave_nothing_behind(stack):
    agent = stack.agent()
    run_id, call = held(stack, agent, "ord_1030")
    path = f"/api/v1/runs/{run_id}/calls/refund?wait=60"

    async def hang_up() -> None:
        headers = {"Authorization": f"Bearer {agent.token()}"}
        async with httpx.AsyncClient(base_url=stack.base_url, headers=headers, timeout=90) as client:
            waiting = [asyncio.create_task(client.get(path)) for _ in range(30)]
            await asyncio.sleep(2)
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(hang_up())
    assert decide(stack, call) < 5
    assert agent.wait_for_call(run_id, "refund", seconds=PATIENCE)["state"] == "rejected"
    assert agent.run(run_id)["state"] == "ready"


def test_a_call_is_answered_with_its_verdict_within_the_request(stack):
    agent = stack.agent()
    run_id = agent.open_run("Look at an order")["id"]
    begun = time.monotonic()
    call = agent.call(run_id, "read", "get_order", {"order_id": "ord_1031"})
    print(f"verdict and result in {(time.monotonic() - begun) * 1000:.0f} ms")
    assert (call["state"], call["result_label"]["untrusted"]) == ("succeeded", True)


def test_without_workers_a_call_is_received_and_nothing_is_lost(stack):
    agent = stack.agent()
    run_id = agent.open_run("Look at an order later")["id"]
    for name in [name for name in stack.processes if name.startswith("worker")]:
        stack.end(name)
    stack.end("sweep")
    begun = time.monotonic()
    call = agent.call(run_id, "read", "get_order", {"order_id": "ord_1031"})
    waited = time.monotonic() - begun
    assert call["state"] == "new"
    assert 1.5 < waited < 8
    stack.spawn_worker("worker1")
    stack.spawn_sweep()
    assert agent.wait_for_call(run_id, "read", seconds=PATIENCE)["state"] == "succeeded"


def test_an_endless_body_is_cut_off_by_the_real_server(stack):
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while sent < 200 * 1024 * 1024:
            sent += 65_536
            yield b" " * 65_536

    try:
        answer = httpx.post(
            f"{stack.base_url}/api/v1/token",
            content=endless(),
            headers={"Content-Type": "application/json"},
            timeout=30,
        )
    except httpx.HTTPError:
        # The server answered and closed while we were still sending; what counts is that it stopped reading.
        answer = None
    if answer is not None:
        assert answer.status_code == 413
        assert json.loads(answer.content)["error"]["code"] == "BODY_TOO_LARGE"
    assert sent < 100 * 1024 * 1024
    assert httpx.get(f"{stack.base_url}/sign-in/", timeout=10).status_code == 200
