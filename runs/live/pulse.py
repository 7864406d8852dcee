"""What nobody was told of: every three seconds one look on behalf of all pages that a process has open.

Hints get lost (data rule 6), and a deadline passes or a right is taken away without one. One look compares, in a query
a kind, what all open pages follow and the rights of all who have one open with the look before, and wakes the pages
that have reason to read. Five hundred pages at rest cost five queries and not five hundred readings.

    with pulse.following(keys, sitting): …
"""

import asyncio
import logging
import random
import time
import weakref
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from access.selectors.stamps import Sitting, stamps_of
from approvals.selectors import watch as proposals
from audit.store.clock import now
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

FULL_SECONDS = 60.0
"""About so often everything is read although nothing called for it: other people's rights, for example, stand in no
token."""

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


class Pulse:
    """What the open pages of one event loop follow, and the task that looks."""

    def __init__(self) -> None:
        self._keys: Counter[Key] = Counter()
        self._sittings: Counter[Sitting] = Counter()
        self._tokens: dict[Key, Any] = {}
        self._stamps: Mapping[Sitting, str] = {}
        self._full_at: dict[Key, float] = {}
        self._clock: tuple[datetime, float] | None = None
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def following(self, keys: Sequence[Key], sitting: Sitting) -> Iterator[None]:
        """Look for changes of `keys` and of the sitting's rights, until the block ends."""
        self._keys.update(keys)
        self._sittings[sitting] += 1
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._beat(), name="pulse")
        try:
            yield
        finally:
            _less(self._sittings, sitting)
            for key in keys:
                _less(self._keys, key)

    def clock(self) -> datetime | None:
        """The database's time: what the last look was told, and the seconds since. None before the first look."""
        if self._clock is None:
            return None
        told, at = self._clock
        return told + timedelta(seconds=time.monotonic() - at)

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
        found = await hub.read(partial(_looked, list(self._keys), list(self._sittings)))
        self._clock = found.clock
        # What is seen for the first time counts as changed: since the page read it nobody has looked.
        changed = {key for key, token in found.tokens.items() if self._tokens.get(key, _UNSEEN) != token}
        changed |= self._due()
        changed |= {
            rights_key(sitting.session_key)
            for sitting in self._sittings
            if self._stamps.get(sitting, _UNSEEN) != found.stamps.get(sitting)
        }
        self._tokens = {key: token for key, token in found.tokens.items() if key in self._keys}
        self._stamps = found.stamps
        for key in changed:
            hub.wake(key)

    def _due(self) -> set[Key]:
        """The keys whose pages read everything although nothing called for it: all pages of a key together, so that
        one reading answers them; different keys at different times."""
        at = time.monotonic()
        for key in self._keys:
            self._full_at.setdefault(key, at + FULL_SECONDS * _spread())
        due = {key for key, full_at in self._full_at.items() if full_at <= at}
        self._full_at = {
            key: at + FULL_SECONDS if key in due else full_at
            for key, full_at in self._full_at.items()
            if key in self._keys
        }
        return due


@dataclass(frozen=True, slots=True)
class _Looked:
    """What one look found: tokens, stamps, the database's time and the monotonic one at which it was told."""

    tokens: dict[Key, Any]
    stamps: Mapping[Sitting, str]
    clock: tuple[datetime, float]


def _looked(keys: Collection[Key], sittings: Collection[Sitting]) -> _Looked:
    tokens, stamps = tokens_of(keys), stamps_of(sittings)
    asked = time.monotonic()
    return _Looked(tokens, stamps, (now(), asked))


def _less[T](counter: Counter[T], one: T) -> None:
    counter[one] -= 1
    if not counter[one]:
        del counter[one]


def _spread() -> float:
    return 0.5 + random.random() / 2  # noqa: S311 - spreads reading, protects nothing


def tokens_of(keys: Collection[Key]) -> dict[Key, Any]:
    """What to compare of each key, None for a row that is not there; a query a kind."""
    found: dict[Key, Any] = {}
    for kind, read in TOKENS.items():
        ids = {UUID(row) for of, row in keys if of == kind}
        tokens: Mapping[UUID, Any] = read(ids) if ids else {}
        found |= {(kind, str(row)): tokens.get(row) for row in ids}
    return found
