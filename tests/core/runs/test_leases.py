"""Leases, fences, deadlines and back-off as numbers."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.core import leases
from tests.core.runs.story import T0

MS = timedelta(milliseconds=1)


@given(st.integers(min_value=1, max_value=10 * 60 * 1000))
def test_the_client_gives_up_first_then_the_kernel_then_the_lease(timeout_ms: int):
    timing = leases.timing(timeout_ms)
    assert timing.http_timeout_ms == timeout_ms
    # Reading the target's state takes up to one timeout before the request starts; the lease covers both.
    assert timing.http_timeout_ms < timing.request_deadline_ms < timing.lease_ms - timeout_ms


def test_the_limits_of_the_usual_contract():
    assert leases.timing(5000) == leases.Timing(5000, 7500, 14500)
    assert leases.request_deadline(T0, 5000) == T0 + timedelta(seconds=7.5)


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_a_contract_without_a_timeout_has_no_limits(timeout_ms: int):
    with pytest.raises(ValueError, match="positive"):
        leases.timing(timeout_ms)


def test_a_lease_is_over_at_its_very_last_instant():
    assert leases.lease_holds(T0 - MS, T0)
    assert not leases.lease_holds(T0, T0)
    assert not leases.lease_holds(T0, None)


@pytest.mark.parametrize(
    ("fence", "now", "current"), [(4, T0 - MS, True), (3, T0 - MS, False), (5, T0 - MS, False), (4, T0, False)]
)
def test_a_write_needs_the_current_fence_and_a_running_lease(fence: int, now: object, current: bool):
    assert leases.write_is_current(fence=fence, current_fence=4, now=now, until=T0) is current  # type: ignore[arg-type]


@pytest.mark.parametrize(("now", "fence", "sends"), [(T0 - MS, 4, True), (T0, 4, False), (T0 - MS, 3, False)])
def test_the_last_look_before_the_write_refuses_at_the_deadline_and_on_an_old_fence(
    now: object, fence: int, sends: bool
):
    until = T0 + timedelta(seconds=9)
    assert leases.may_send(now=now, deadline=T0, fence=fence, current_fence=4, until=until) is sends  # type: ignore[arg-type]


def test_a_look_up_proves_something_only_after_deadline_and_settling_time():
    assert leases.conclusive_at(T0, 2000) == T0 + timedelta(seconds=2)


@pytest.mark.parametrize(
    ("attempt", "dice", "wait"), [(1, 0, 500), (1, 1, 1000), (2, 0, 1000), (2, 1, 2000), (3, 0.5, 3000)]
)
def test_the_back_off_doubles_and_is_spread_over_its_upper_half(attempt: int, dice: float, wait: int):
    assert leases.back_off_ms(attempt=attempt, base_ms=1000, factor=2, dice=dice) == wait


@pytest.mark.parametrize(("attempt", "dice"), [(0, 0.5), (1, -0.1), (1, 1.1)])
def test_attempts_start_at_one_and_dice_lie_between_nought_and_one(attempt: int, dice: float):
    with pytest.raises(ValueError, match="attempt"):
        leases.back_off_ms(attempt=attempt, base_ms=1000, factor=2, dice=dice)


@given(
    st.integers(min_value=1, max_value=1000),
    st.integers(min_value=1, max_value=10**9),
    st.floats(min_value=1, max_value=1000),
    st.floats(min_value=0, max_value=1),
)
def test_a_back_off_never_exceeds_a_day(attempt: int, base_ms: int, factor: float, dice: float):
    wait = leases.back_off_ms(attempt=attempt, base_ms=base_ms, factor=factor, dice=dice)
    assert 0 <= wait <= leases.LONGEST_BACK_OFF_MS


def _next(**changes: object) -> object:
    usual = {"now": T0, "attempt": 1, "attempts": 3, "base_ms": 1000, "factor": 2, "dice": 1}
    return leases.next_attempt(**(usual | changes))  # type: ignore[arg-type]


def test_the_next_attempt_comes_after_its_back_off():
    assert _next() == T0 + timedelta(seconds=1)
    assert _next(attempt=2) == T0 + timedelta(seconds=2)


def test_a_call_stops_at_its_attempt_limit():
    """S35: counted on the step, not on the worker that it kills."""
    assert _next(attempt=3) is None
    assert _next(attempt=4) is None


def test_no_attempt_is_planned_at_or_after_the_calls_own_deadline():
    assert _next(deadline=T0 + timedelta(seconds=1)) is None
    assert _next(deadline=T0 + timedelta(seconds=1) + MS) is not None


def test_the_target_may_ask_for_a_longer_wait_but_not_for_a_shorter_one():
    assert _next(retry_after_ms=5000) == T0 + timedelta(seconds=5)
    assert _next(retry_after_ms=10) == T0 + timedelta(seconds=1)
