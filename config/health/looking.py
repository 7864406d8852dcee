"""Looking at every part at once, at most once a second, and never longer than two.

Each look has a thread of its own. One that does not come back in time is told as impaired and is not begun again before
it has: a frozen server holds one thread, however often somebody asks.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass

from config.health import parts
from config.health.parts import Part
from config.health.words import ESSENTIAL, MEANINGS

log = logging.getLogger(__name__)

KEPT_S = 1.0
WAIT_S = 2.0


@dataclass(frozen=True, slots=True)
class Seen:
    """Every part as it was found. `ready`: requests may be sent here; `impaired` names what is not as it should be."""

    parts: Mapping[str, Part]
    at: float

    @property
    def ready(self) -> bool:
        """Whether everything is there that no request can do without."""
        return all(self.parts[name].status == "ok" for name in ESSENTIAL if name in self.parts)

    @property
    def impaired(self) -> list[str]:
        """The parts that are impaired, in the order of their table."""
        return [name for name in MEANINGS if name in self.parts and self.parts[name].status != "ok"]

    def as_dict(self) -> dict[str, object]:
        """The answer of /readyz."""
        return {
            "status": "down" if not self.ready else "impaired" if self.impaired else "ok",
            "parts": {name: {"status": part.status, "words": part.words} for name, part in self.parts.items()},
        }


class Looking:
    """The looks of one process, and what they found last."""

    def __init__(self, looks: Mapping[str, Callable[[], dict[str, Part]]] | None = None) -> None:
        self._looks = parts.LOOKS if looks is None else looks
        self._running: dict[str, Future[dict[str, Part]]] = {}
        self._begun: dict[str, float] = {}
        self._lock = threading.Lock()
        self._seen: Seen | None = None

    def now(self) -> Seen:
        """What is so now, or was less than a second ago. Waits up to two seconds; for threads."""
        seen = self.last(KEPT_S)
        return seen or self._collect(self._begin(), time.monotonic() + WAIT_S)

    async def now_async(self) -> Seen:
        """The same without holding a thread of the event loop's pool."""
        seen = self.last(KEPT_S)
        if seen is not None:
            return seen
        running = self._begin()
        await asyncio.wait([asyncio.wrap_future(future) for future in running.values()], timeout=WAIT_S)
        return self._collect(running, 0)

    def last(self, within_s: float) -> Seen | None:
        """What was found last, if that is no older; waits for nothing."""
        seen = self._seen
        return seen if seen is not None and time.monotonic() - seen.at <= within_s else None

    def refresh(self) -> None:
        """Look in the background, for `last`."""
        threading.Thread(target=self.now, name="health", daemon=True).start()

    def _begin(self) -> dict[str, "Future[dict[str, Part]]"]:
        with self._lock:
            for name, look in self._looks.items():
                before = self._running.get(name)
                # One that has just ended counts too: whoever came as it was being kept begins no other.
                if before is not None and (not before.done() or time.monotonic() - self._begun[name] < KEPT_S):
                    continue
                future: Future[dict[str, Part]] = Future()
                self._running[name], self._begun[name] = future, time.monotonic()
                threading.Thread(target=_do, args=(name, look, future), name=f"health-{name}", daemon=True).start()
            return dict(self._running)

    def _collect(self, running: Mapping[str, "Future[dict[str, Part]]"], until: float) -> Seen:
        found: dict[str, Part] = {}
        for name, future in running.items():
            try:
                found |= future.result(max(until - time.monotonic(), 0))
            except TimeoutError:
                found[name] = Part("impaired", f"It did not answer within {WAIT_S:.0f} s.")
        self._seen = Seen(found, time.monotonic())
        return self._seen


def _do(name: str, look: Callable[[], dict[str, Part]], future: "Future[dict[str, Part]]") -> None:
    try:
        found = look()
    except Exception as error:
        log.exception("The part %s could not be looked at.", name)
        found = {name: Part("impaired", f"It could not be looked at ({type(error).__name__}).")}
    future.set_result(found)


looking = Looking()
"""This process's."""
