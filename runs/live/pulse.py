"""What nobody was told of: every three seconds one look on behalf of all pages that a process has open.

Hints get lost (data rule 6), and a deadline passes or a right is taken away without one. One look compares, in a query
a kind, what all open pages follow and the rights of all who have one open with the look before, and wakes the pages
that have reason to read. Five hundred pages at rest cost five queries and not five hundred readings.

    with pulse.following(keys, sitting): …
"""

import asyncio
import logging
import threading
import time
import weakref
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import UUID

from access.selectors.stamps import Sitting, stamps_of
from approvals.selectors import watch as proposals
from runs.live import hub
from runs.live.hub import Key
from runs.selectors import watch as runs

log = logging.getLogger(__name__)

SECONDS = 3.0

TOKENS = {
    "proposal": proposals.proposal_tokens,
    "inbox": proposals.list_tokens,
    "run": runs.run_tokens,
    "run*": runs.list_tokens,
}
"""By the kind of a hub's key: what to compare of the rows that it names. Other kinds rest on hints alone."""

_UNSEEN = object()
_pulses: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Pulse]" = weakref.WeakKeyDictionary()


def pulse() -> "Pulse":
    """The running loop's own."""
    loop = asyncio.get_running_loop()
    found = _pulses.get(loop)
    if found is None:
        found = _pulses[loop] = Pulse()
    return found


def rights_key(session_key: str) -> Key:
    """The hub's key that wakes a page when the rights behind its session change."""
    return "session", session_key


class Rights:
    """The stamps of everybody who has a page open, read for all at once.

    A page that must know its rights as of some moment may use any reading that *began* after it: what three hundred
    pages ask at one hint is one query.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Changed in the loop's thread alone, which never waits for the lock: behind it somebody reads the database.
        self._sittings: Counter[Sitting] = Counter()
        self._began = float("-inf")
        self._stamps: Mapping[str, str] = {}

    def add(self, sitting: Sitting) -> None:
        """A page is open for it."""
        self._sittings[sitting] += 1

    def remove(self, sitting: Sitting) -> None:
        """The page is closed."""
        self._sittings[sitting] -= 1
        if not self._sittings[sitting]:
            del self._sittings[sitting]

    def session_keys(self) -> set[str]:
        """The sessions that have a page open."""
        return {sitting.session_key for sitting in self._sittings}

    def stamp(self, session_key: str, since: float) -> str | None:
        """The session's stamp of a reading that began after `since`; None if it has ended or was not in that one."""
        return self.stamps(since).get(session_key)

    def stamps(self, since: float) -> Mapping[str, str]:
        """By session key the stamps of a reading that began after `since` (`time.monotonic()`). In a thread.

        A sitting that was added while that reading ran has none in it.
        """
        with self._lock:
            if self._began < since:
                began = time.monotonic()
                self._stamps = stamps_of(list(self._sittings))
                self._began = began
            return self._stamps


class Pulse:
    """What the open pages of one event loop follow, and the task that looks."""

    def __init__(self) -> None:
        self.rights = Rights()
        self._keys: Counter[Key] = Counter()
        self._tokens: dict[Key, Any] = {}
        self._stamps: Mapping[str, str] = {}
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def following(self, keys: Sequence[Key], sitting: Sitting) -> Iterator[None]:
        """Look for changes of `keys` and of the sitting's rights, until the block ends."""
        self._keys.update(keys)
        self.rights.add(sitting)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._beat(), name="pulse")
        try:
            yield
        finally:
            self.rights.remove(sitting)
            for key in keys:
                self._keys[key] -= 1
                if not self._keys[key]:
                    del self._keys[key]

    async def _beat(self) -> None:
        told = False
        while self._keys:
            await asyncio.sleep(SECONDS)
            try:
                await self._look()
                told = False
            except Exception as error:
                if not told:
                    log.warning("Open pages could not be looked after (%s); it is tried again.", type(error).__name__)
                told = True

    async def _look(self) -> None:
        tokens = await hub.read(partial(tokens_of, list(self._keys)))
        stamps = await hub.read(partial(self.rights.stamps, time.monotonic()))
        # What is seen for the first time counts as changed: since the page read it nobody has looked.
        changed = [key for key, token in tokens.items() if self._tokens.get(key, _UNSEEN) != token]
        changed += [
            rights_key(session_key)
            for session_key in self.rights.session_keys()
            if self._stamps.get(session_key, _UNSEEN) != stamps.get(session_key)
        ]
        self._tokens = {key: token for key, token in tokens.items() if key in self._keys}
        self._stamps = stamps
        for key in changed:
            hub.wake(key)


def tokens_of(keys: Collection[Key]) -> dict[Key, Any]:
    """What to compare of each key, None for a row that is not there; a query a kind."""
    found: dict[Key, Any] = {}
    for kind, read in TOKENS.items():
        ids = {UUID(row) for of, row in keys if of == kind}
        tokens: Mapping[UUID, Any] = read(ids) if ids else {}
        found |= {(kind, str(row)): tokens.get(row) for row in ids}
    return found
