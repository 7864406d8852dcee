"""The live pages of unknown outcomes: what they push, and what they leave alone."""

import asyncio
import re

from runs.services.reconciliation import reconciliation_decide
from tests.api.client import browser
from tests.live.sockets import opened
from tests.support import factories
from tests.support.unknown import lost
from tests.support.world_fixtures import payments, world

__all__ = ["payments", "world"]


HIDDEN = r'id="u-choices"[^>]* hidden'


async def pushed(socket, pattern, seconds=15.0):
    """The first message that holds `pattern`."""
    async with asyncio.timeout(seconds):
        while True:
            message = await socket.inner.receive_output(seconds)
            if re.search(pattern, message.get("text") or ""):
                return message["text"]


def test_the_list_is_pushed_when_a_call_becomes_unknown_and_when_it_is_settled(world):
    operator = factories.person(world.tenant, ["operator"], name="Ola Brandt")
    client = browser(operator)

    async def watch():
        async with opened("/ws/unresolved/", client) as socket:
            await socket.hello(seen="of yesterday")
            empty = await pushed(socket, "Nothing is unknown")
            call = await asyncio.to_thread(lost, world)
            listed = await pushed(socket, str(call.id))
            await asyncio.to_thread(settle, operator, call)
            return call, empty, listed, await pushed(socket, "Nothing is unknown")

    call, empty, listed, settled = asyncio.run(watch())
    assert 'data-total="0"' in empty
    assert 'data-total="1"' in listed
    assert 'hx-swap-oob="true"' in settled
    assert str(call.id) not in settled


def test_an_open_page_is_told_what_somebody_else_decided(world):
    operator = factories.person(world.tenant, ["operator"], name="Ola Brandt")
    call = lost(world)
    client = browser(factories.person(world.tenant, ["operator"]))

    async def watch():
        async with opened(f"/ws/unresolved/{call.id}/", client) as socket:
            await socket.hello(seen="of yesterday")
            first = await pushed(socket, "Record: it happened")
            await asyncio.to_thread(settle, operator, call)
            return first, await pushed(socket, HIDDEN)

    first, then = asyncio.run(watch())
    assert "Ola Brandt" in then
    assert "it happened" in then
    assert not re.search(HIDDEN, first)


def settle(operator, call):
    reconciliation_decide(
        actor=operator.actor,
        unresolved_id=call.id,
        choice="happened",
        attempt=1,
        reason="Seen at the provider.",
        reference="re_1",
    )
