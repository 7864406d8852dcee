"""runs/live/hints.py: nobody who hands over a hint ever waits for the broker."""

import asyncio
import logging
import time
import uuid

import pytest
from channels.layers import get_channel_layer

from runs.live.hints import HUB_GROUP, Hints
from tests.support.broker import freeze, kill, own_broker, thaw

RUN = "00000000-0000-0000-0000-00000000000a"
TENANT = "00000000-0000-0000-0000-00000000000b"


@pytest.fixture
def broker(tmp_path):
    with own_broker(tmp_path / "valkey") as (valkey, app):
        yield valkey, app


def messages_of(app):
    """How many messages lie in the task queue."""
    with app.connection_for_read() as connection:
        return connection.default_channel.client.llen("clearance")


def longest_of(calls):
    longest = 0.0
    for call in calls:
        began = time.monotonic()
        call()
        longest = max(longest, time.monotonic() - began)
    return longest


def test_a_wake_becomes_one_task_message_that_carries_the_run_id(broker):
    _, app = broker
    hints = Hints(app=app)
    assert hints.wake(RUN)
    assert hints.drained(5)
    with app.connection_for_read() as connection:
        message = connection.SimpleQueue("clearance").get(timeout=5)
        message.ack()
    assert message.headers["task"] == "runs.tasks.wake"
    assert message.payload[:2] == [[RUN], {}]
    assert messages_of(app) == 0


def test_a_change_reaches_every_web_process_once_with_ids_and_numbers_only(broker):
    _, app = broker
    hints = Hints(app=app)

    async def listen():
        layer = get_channel_layer()
        processes = [await layer.new_channel() for _ in range(2)]
        for channel in processes:
            await layer.group_add(HUB_GROUP, channel)
        hints.publish("call", TENANT, RUN, 7)
        heard = [await asyncio.wait_for(layer.receive(channel), 5) for channel in processes]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(layer.receive(processes[0]), 0.3)
        return heard

    expected = {"type": "hint", "kind": "call", "tenant": TENANT, "id": RUN, "seq": 7}
    assert asyncio.run(listen()) == [expected, expected]


def test_many_changes_of_one_row_that_wait_together_become_one_message_with_the_highest_number(broker):
    valkey, app = broker
    hints = Hints(app=app)

    async def listen():
        layer = get_channel_layer()
        channel = await layer.new_channel()
        await layer.group_add(HUB_GROUP, channel)
        freeze(valkey)
        hints.publish("run", TENANT, "another row keeps the thread busy", 1)
        await asyncio.sleep(0.1)
        for seq in (3, 9, 4):
            hints.publish("run", TENANT, RUN, seq)
        thaw(valkey)
        await asyncio.wait_for(layer.receive(channel), 5)
        second = await asyncio.wait_for(layer.receive(channel), 5)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(layer.receive(channel), 0.5)
        return second

    assert asyncio.run(listen())["seq"] == 9


@pytest.mark.parametrize("harm", [kill, freeze])
def test_with_the_broker_dead_or_frozen_nobody_waits_and_it_is_said(broker, harm):
    valkey, app = broker
    hints = Hints(app=app)
    hints.wake(RUN)
    assert hints.drained(5)
    harm(valkey)
    hints.wake(RUN)
    longest = longest_of([lambda: hints.wake(uuid.uuid4()), lambda: hints.publish("run", TENANT, RUN, 1)] * 500)
    assert longest < 0.05
    until = time.monotonic() + 5
    while hints.healthy() and time.monotonic() < until:
        time.sleep(0.01)
    assert not hints.healthy()
    assert hints.wake(RUN) is False


def test_a_full_queue_drops_and_goes_on(broker, caplog):
    valkey, app = broker
    hints = Hints(app=app, limit=10)
    freeze(valkey)
    with caplog.at_level(logging.WARNING):
        answers = [hints.wake(uuid.uuid4()) for _ in range(100)]
    assert answers.count(False) >= 80
    assert "hint queue is full" in caplog.text


@pytest.mark.parametrize("harm", [kill, freeze])
def test_hints_get_through_again_when_the_broker_is_back(broker, harm):
    valkey, app = broker
    hints = Hints(app=app)
    hints.wake(RUN)
    hints.publish("run", TENANT, RUN, 1)
    assert hints.drained(5)
    harm(valkey)
    hints.wake(RUN)
    assert hints.drained(10)
    assert not hints.healthy()
    if harm is kill:
        valkey.restart()
    else:
        thaw(valkey)
    until = time.monotonic() + 15
    while not hints.healthy() and time.monotonic() < until:
        hints.wake(RUN)
        hints.publish("run", TENANT, RUN, 2)
        time.sleep(0.2)
    assert hints.healthy()
    assert messages_of(app) >= 1


def test_a_broker_that_was_restarted_between_two_hints_loses_neither_message(broker):
    """The kept connection is dead then; its first use fails and says nothing about the broker."""
    valkey, app = broker
    hints = Hints(app=app)
    hints.wake(RUN)
    assert hints.drained(5)
    kill(valkey)
    valkey.restart()
    hints.wake(RUN)
    assert hints.drained(5)
    assert hints.healthy()
    assert messages_of(app) == 1
