"""Leases, fences and deadlines as arithmetic (R7, data rule 2, "What the guarantees are, exactly").

Every time arrives as an argument and is aware; the callers read the database clock. Durations are milliseconds.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

# A factor and an attempt count can multiply to more than a datetime holds; no back-off is worth more than a day.
LONGEST_BACK_OFF_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Timing:
    """The three limits of one attempt, each strictly inside the next.

    `http_timeout_ms` is the client's own and fires in ordinary slowness. `request_deadline_ms`, counted from
    `dispatch_started`, is the kernel timer's: it ends a process that froze between its last check and the write, so
    it must not fire where the client's would. `lease_ms`, counted from the claim, also covers reading the target's
    state before the start; it ends last, so that whoever takes over finds the old request's deadline behind it.
    """

    http_timeout_ms: int
    request_deadline_ms: int
    lease_ms: int


def timing(timeout_ms: int) -> Timing:
    """The limits that follow from a contract's `timeout_ms`. Raises ValueError when it is not positive."""
    if timeout_ms <= 0:
        raise ValueError(f"timeout_ms is {timeout_ms}; a contract declares a positive number of milliseconds.")
    deadline = timeout_ms + max(1000, timeout_ms // 2)
    return Timing(timeout_ms, deadline, timeout_ms + deadline + 2000)


def after(moment: datetime, milliseconds: int) -> datetime:
    """`moment` plus a duration."""
    return moment + timedelta(milliseconds=milliseconds)


def request_deadline(started_at: datetime, timeout_ms: int) -> datetime:
    """When a request that starts now must have been answered or ended."""
    return after(started_at, timing(timeout_ms).request_deadline_ms)


def lease_holds(now: datetime, until: datetime | None) -> bool:
    """Whether a lease is in force. At its very last instant it is over: two holders at once is the worse mistake."""
    return until is not None and now < until


def write_is_current(*, fence: int, current_fence: int, now: datetime, until: datetime | None) -> bool:
    """Whether a worker may still write: its fence is the row's and its lease runs (S37). Says nothing of the effect."""
    return fence == current_fence and lease_holds(now, until)


def may_send(*, now: datetime, deadline: datetime, fence: int, current_fence: int, until: datetime | None) -> bool:
    """The last look before the socket write.

    It does not prevent sending late when the process is stopped between this look and the write; the kernel timer
    armed before it does.
    """
    return now < deadline and write_is_current(fence=fence, current_fence=current_fence, now=now, until=until)


def conclusive_at(deadline: datetime, settle_after_ms: int) -> datetime:
    """When a look-up that finds nothing begins to prove something: the old request's deadline plus settling time.

    A look-up *sent* at this moment or later is conclusive; when its answer came does not matter.
    """
    return after(deadline, settle_after_ms)


def back_off_ms(*, attempt: int, base_ms: int, factor: float, dice: float) -> int:
    """Milliseconds to wait after the `attempt`-th attempt (1, 2, …) failed.

    Exponential, the upper half of it random: `dice` in [0, 1] is thrown by the caller, so that many workers that
    failed together do not come back together.
    """
    if attempt < 1 or not 0 <= dice <= 1:
        raise ValueError(f"attempt {attempt} starts at 1 and dice {dice} lies between 0 and 1.")
    try:
        whole = min(base_ms * factor ** (attempt - 1), LONGEST_BACK_OFF_MS)
    except OverflowError:  # more than a float holds is more than a day
        whole = LONGEST_BACK_OFF_MS
    return round(whole * (0.5 + dice / 2))


def next_attempt(
    *,
    now: datetime,
    attempt: int,
    attempts: int,
    base_ms: int,
    factor: float,
    dice: float,
    deadline: datetime | None = None,
    retry_after_ms: int = 0,
) -> datetime | None:
    """When to try again after `attempt` of `attempts`, or None when the budget or the time is used up (S35).

    `deadline` is the call's own absolute one; `retry_after_ms` what the target asked for. Whether trying again is
    safe at all is `retry.may_retry`'s question, asked first.
    """
    if attempt >= attempts:
        return None
    wait = max(back_off_ms(attempt=attempt, base_ms=base_ms, factor=factor, dice=dice), retry_after_ms)
    due = after(now, wait)
    return None if deadline is not None and due >= deadline else due
