"""What keeps failing is tried again ever more slowly, so that one damaged row fills no log and keeps no other waiting.

Kept by this process alone: another one that looks at the same thing learns it by itself.
"""

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

FIRST_S = 1.0
LONGEST_S = 300.0
MOST = 10_000
"""Keys remembered; the one that failed longest ago is forgotten first, and is then only tried too soon."""


@dataclass(frozen=True, slots=True)
class _Failed:
    pause_s: float
    until: float


@dataclass
class Patience[Key: Hashable]:
    """Which keys have failed, and for how long each is left alone: twice as long after each failure."""

    clock: Callable[[], float] = time.monotonic
    _failed: dict[Key, _Failed] = field(default_factory=dict)

    def left_alone(self) -> list[Key]:
        """Those whose time has not come yet."""
        now = self.clock()
        return [key for key, failed in self._failed.items() if failed.until > now]

    def failed(self, key: Key) -> float:
        """`key` has failed once more; the seconds for which it is left alone now."""
        before = self._failed.pop(key, None)
        pause_s = FIRST_S if before is None else min(before.pause_s * 2, LONGEST_S)
        self._failed[key] = _Failed(pause_s, self.clock() + pause_s)
        if len(self._failed) > MOST:
            del self._failed[next(iter(self._failed))]
        return pause_s

    def settled(self, key: Key) -> None:
        """`key` did not fail this time."""
        self._failed.pop(key, None)
