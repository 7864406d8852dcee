"""Whether this process is about to end, and how many turns at runs are under way in it. State of the process alone."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_asked = threading.Event()
_lock = threading.Lock()
_turns = 0


def _reset() -> None:
    """A forked child ends when it is told itself, and has none of its parent's threads."""
    global _turns
    _asked.clear()
    _turns = 0


os.register_at_fork(after_in_child=_reset)


def ask() -> None:
    """Claim nothing more in this process. May be called by a signal handler."""
    _asked.set()


def asked() -> bool:
    """Whether this process is about to end."""
    return _asked.is_set()


def turns() -> int:
    """How many turns at runs are under way."""
    return _turns


@contextmanager
def turn() -> Iterator[None]:
    """Around one turn: the process waits for its end."""
    global _turns
    with _lock:
        _turns += 1
    try:
        yield
    finally:
        with _lock:
            _turns -= 1
