"""Waiting for a condition, never for a fixed time."""

import time
from collections.abc import Callable


def wait_until(ready: Callable[[], bool], *, seconds: float, pause: float = 0.02) -> bool:
    """Asks `ready` until it says yes or `seconds` are over."""
    until = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > until:
            return False
        time.sleep(pause)
    return True
