"""Notices that the `make` above us was told to stop.

GNU make passes a TERM on to its recipe; an INT or a HUP it keeps to itself (it expects the terminal to signal the
whole group) and then waits for us. `kill -INT <pid of make>` would hang for ever. On Linux it can be seen: make gives
up its handler for a signal when that signal has come.
"""

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

import psutil

from config.stack.children import Stopped


def watch_make() -> Callable[[], None]:
    """A check for every round of the supervisor: raises Stopped when make was signalled or is gone."""
    parent = os.getppid()
    try:
        is_make = psutil.Process(parent).name() in ("make", "gmake")
    except psutil.Error:
        is_make = False
    if not is_make:
        return lambda: None
    at_start = _caught(parent)

    def check() -> None:
        if os.getppid() != parent or at_start - _caught(parent):
            raise Stopped("make was stopped")

    return check


def _caught(pid: int) -> frozenset[int]:
    """Which of INT, TERM and HUP the process has a handler for; empty where /proc does not tell."""
    with contextlib.suppress(OSError, StopIteration, ValueError):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        mask = int(next(line for line in lines if line.startswith("SigCgt:")).split()[1], 16)
        return frozenset(
            number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if mask & (1 << (number - 1))
        )
    return frozenset()
