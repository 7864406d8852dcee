"""The kernel timer that ends a frozen sender before it can write too late.

Source: architecture.md, *What the guarantees are, exactly*. A worker stopped (SIGSTOP, a frozen container, a
debugger) between its last check and the socket write would otherwise send when it is continued, long after an
operator was told that the old request can no longer arrive. ``setitimer`` keeps counting while the process is
stopped, and the pending SIGALRM is delivered before the process runs another instruction of its own.

Order of use, by whoever sends::

    token = guard_timer.arm(hard_deadline)      # before the last check of deadline and fence
    try:
        ...check, connect, write, read the answer...
    finally:
        guard_timer.disarm(token)

The HTTP deadline handed to the adapter lies well before ``hard_deadline``, so the timer fires only where something
froze. What it does not cover is stated in docs/boundaries.md: a whole machine suspended and woken (the kernel's
monotonic clock stands still with it) and a wall clock set back.
"""

import math
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

__all__ = ["GuardTimerError", "RequestTimer", "arm", "disarm", "guarded", "monotonic_deadline"]

# setitimer(…, 0) switches the timer off, so a deadline that is due this instant needs a value above zero.
_AT_ONCE = 0.000_001


class GuardTimerError(RuntimeError):
    """The timer cannot guard this send, so nothing may be sent."""


def monotonic_deadline(remaining_seconds: float, *, read_at: float) -> float:
    """The ``time.monotonic()`` instant that lies ``remaining_seconds`` after ``read_at``.

    Deadlines are stored by the database's wall clock, the kernel counts monotonic time. Take ``read_at =
    time.monotonic()`` *before* asking the database how much is left: the round trip then shortens the deadline
    instead of lengthening it.
    """
    if not math.isfinite(remaining_seconds):
        raise ValueError("A deadline needs a finite number of seconds.")
    return read_at + remaining_seconds


class RequestTimer:
    """One real-time timer of the process, standing at the earliest deadline of all sends under way.

    Safe to call from any thread. There is one ``ITIMER_REAL`` in a process, so there is one instance of this class
    (``arm`` and ``disarm`` below); a second one would overwrite the first one's setting.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tokens = count(1)
        self._deadlines: dict[int, float] = {}

    def arm(self, deadline: float) -> int:
        """Let the kernel end this process at ``deadline`` (``time.monotonic()`` seconds) unless disarmed before.

        Returns the token that ``disarm`` wants. Raises GuardTimerError, with nothing armed, when the deadline has
        passed or when SIGALRM would not end the process (a handler is installed, the signal is ignored or blocked):
        the caller must then not send.
        """
        if not math.isfinite(deadline):
            raise GuardTimerError("The request has no finite deadline; nothing was sent.")
        if signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL:
            raise GuardTimerError(
                "SIGALRM has a handler in this process, so the request timer could not end it; nothing was sent. "
                "Remove the handler (for pytest-timeout: timeout_method = thread)."
            )
        if signal.SIGALRM in signal.pthread_sigmask(signal.SIG_BLOCK, ()):
            raise GuardTimerError("SIGALRM is blocked in this thread; the request timer would not fire, nothing sent.")
        with self._lock:
            if deadline <= time.monotonic():
                raise GuardTimerError("The request's deadline has passed; nothing was sent.")
            token = next(self._tokens)
            self._deadlines[token] = deadline
            self._set()
        return token

    def disarm(self, token: int) -> None:
        """Take one send off the timer; the next earliest remains. A token already disarmed changes nothing."""
        with self._lock:
            if self._deadlines.pop(token, None) is not None:
                self._set()

    def armed(self) -> int:
        """How many sends stand on the timer now."""
        with self._lock:
            return len(self._deadlines)

    def _set(self) -> None:
        if not self._deadlines:
            signal.setitimer(signal.ITIMER_REAL, 0)
            return
        remaining = min(self._deadlines.values()) - time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, max(remaining, _AT_ONCE))

    def _forget_after_fork(self) -> None:
        # A forked child inherits no timer. If it kept the parent's deadlines, its own first send would set the timer
        # to a deadline that is not its own, and the child would be ended for the parent's request.
        self._lock = threading.Lock()
        self._deadlines.clear()


_process_timer = RequestTimer()
arm = _process_timer.arm
disarm = _process_timer.disarm
os.register_at_fork(after_in_child=_process_timer._forget_after_fork)


@contextmanager
def guarded(deadline: float) -> Iterator[None]:
    """``arm`` on entry, ``disarm`` on exit, also when the body raises."""
    token = arm(deadline)
    try:
        yield
    finally:
        disarm(token)
