"""Long waits of async code: woken by hints, healed by re-reading, holding no connection in between.

    row = await hub.wait([("call", call_id)], read, timeout=30)

One subscription to the channel layer a process, whatever the number of waiters. A waiter re-reads when one of its keys
is hinted at (it rests between two reads as long as one takes, 10 to 50 ms) and every 3 s without a hint, because
channel layers drop messages and a gap must heal by itself (data rule 6). The read runs in a small pool of the hub's
own, so two hundred waiters that wake together cannot take the database connections that a decision needs
(architecture.md, *Connections*).
"""

import asyncio
import logging
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

from channels.layers import get_channel_layer
from django.db import connections

from runs.live.hints import HUB_GROUP

log = logging.getLogger(__name__)

type Key = tuple[str, str]
"""A hint's kind and row id as text: ("call", "<uuid>"), ("run", "<uuid>"), ("proposal", "<uuid>").
With a star, any row of that kind in a tenant: ("proposal*", "<tenant id>"); lists wait for that."""

ASKED_ANYWAY = "stops"
"""The kind of hint whose pages ask every few seconds by themselves: one that was missed is not made up for."""

REREAD_SECONDS = 3.0
SHORTEST_REST, LONGEST_REST = 0.01, 0.05
"""Seconds between two reads of a waiter for which hints keep coming (coalescing, architecture.md *Connections*)."""
SUBSCRIBE_SECONDS = 2.0
READERS = 4

_readers = ThreadPoolExecutor(READERS, thread_name_prefix="hub-read")
_hubs: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Hub]" = weakref.WeakKeyDictionary()


_ended = False


def end_waits() -> None:
    """The server ends: whoever waits gets what there is by now, and nobody waits any more. In the loop's thread."""
    global _ended
    _ended = True
    _hub().wake_all()


async def wait[T](keys: Sequence[Key], predicate: Callable[[], T | None], timeout: float) -> T | None:
    """What `predicate` returns as soon as that is not None, or None after `timeout` seconds.

    `predicate` is a plain function that reads rows; it runs in a thread and its database connection is given back
    before this waits on. It is asked at once, after every hint on one of `keys`, at least every 3 s, and once more at
    the end. What it raises is raised here.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + timeout
    with listening(keys) as waiter:
        while True:
            waiter.clear()
            read_at = loop.time()
            found = await read(predicate)
            took, left = loop.time() - read_at, until - loop.time()
            if found is not None or left <= 0 or _ended:
                return found
            if await woken(waiter, min(left, REREAD_SECONDS)):
                rest = read_at + took + rest_after(took) - loop.time()
                await asyncio.sleep(min(max(rest, 0), max(until - loop.time(), 0)))


def rest_after(took: float) -> float:
    """Seconds to rest behind a reading that took so long: a burst of hints costs at most half the time of a reader,
    however quick the readings are, and less under load."""
    return min(max(took, SHORTEST_REST), LONGEST_REST)


@contextmanager
def listening(keys: Sequence[Key]) -> Iterator[asyncio.Event]:
    """An event that is set by every hint on one of `keys`, until the block ends."""
    event = asyncio.Event()
    hub = _hub()
    hub.add(keys, event)
    try:
        yield event
    finally:
        hub.remove(keys, event)


async def woken(event: asyncio.Event, seconds: float) -> bool:
    """Whether a hint came within so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


async def read[T](reading: Callable[[], T]) -> T:
    """What `reading` returns, from a thread of the hub's small pool; its database connection is given back."""
    return await asyncio.get_running_loop().run_in_executor(_readers, partial(_read, reading))


def wake(key: Key) -> None:
    """As if a hint on `key` had come."""
    _hub().wake(key)


def waiting() -> int:
    """How many waiters the running loop's hub has (for tests and health pages)."""
    return _hub().waiting()


def _hub() -> "Hub":
    loop = asyncio.get_running_loop()
    hub = _hubs.get(loop)
    if hub is None:
        hub = _hubs[loop] = Hub()
    return hub


class Hub:
    """The waiters of one event loop and the task that listens for them."""

    def __init__(self) -> None:
        self._waiters: defaultdict[Key, set[asyncio.Event]] = defaultdict(set)
        self._listener: asyncio.Task[None] | None = None

    def waiting(self) -> int:
        """How many waiters there are."""
        return len({id(event) for events in self._waiters.values() for event in events})

    def add(self, keys: Sequence[Key], event: asyncio.Event) -> None:
        """Set `event` at every hint on one of `keys`."""
        for key in keys:
            self._waiters[key].add(event)
        if self._listener is None or self._listener.done():
            self._listener = asyncio.get_running_loop().create_task(self._listen(), name="hub")

    def remove(self, keys: Sequence[Key], event: asyncio.Event) -> None:
        """The end of `add`."""
        for key in keys:
            self._waiters[key].discard(event)
            if not self._waiters[key]:
                del self._waiters[key]

    def wake(self, key: Key) -> None:
        """Set what waits for `key`."""
        for event in self._waiters.get(key, ()):
            event.set()

    def wake_all(self) -> None:
        """Set everything that waits."""
        for key in list(self._waiters):
            self.wake(key)

    async def _listen(self) -> None:
        told = False
        while True:
            try:
                await self._follow()
            except Exception as error:
                if not told:
                    log.warning("No live hints (%s); long-polls re-read every few seconds.", type(error).__name__)
                told = True
                await asyncio.sleep(1)

    async def _follow(self) -> None:
        layer = get_channel_layer()
        if layer is None:
            raise RuntimeError("CHANNEL_LAYERS is not set")
        async with asyncio.timeout(SUBSCRIBE_SECONDS):
            channel = await layer.new_channel("hub")
            await layer.group_add(HUB_GROUP, channel)
        # Whatever was said before the subscription stood has been missed: read once more.
        for key in list(self._waiters):
            if key[0] != ASKED_ANYWAY:
                self.wake(key)
        while True:
            message: dict[str, Any] = await layer.receive(channel)
            kind = str(message.get("kind"))
            self.wake((kind, str(message.get("id"))))
            self.wake((f"{kind}*", str(message.get("tenant"))))


def _read[T](reading: Callable[[], T]) -> T:
    try:
        return reading()
    finally:
        connections.close_all()
