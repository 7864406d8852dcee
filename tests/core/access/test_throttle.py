"""The arithmetic of counters: a burst, then one at a time."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from access.core.throttle import Limit, give_back, take, wait_words

T = datetime(2026, 11, 29, 12, tzinfo=UTC)
LIMIT = Limit("test", 3, 60)


def after(*seconds: float) -> list[int]:
    """The waits that attempts at these seconds get."""
    full_at, waits = None, []
    for second in seconds:
        full_at, wait = take(LIMIT, full_at, T + timedelta(seconds=second))
        waits.append(wait)
    return waits


def test_a_burst_is_free_and_then_one_comes_back_at_a_time():
    assert after(0, 0, 0) == [0, 0, 0]
    assert after(0, 0, 0, 0) == [0, 0, 0, 60]
    assert after(0, 0, 0, 59, 60, 61) == [0, 0, 0, 1, 0, 59]


def test_a_refused_attempt_does_not_make_the_wait_longer():
    assert after(0, 0, 0, *([30] * 50), 60) == [0, 0, 0, *([30] * 50), 0]


def test_after_a_long_pause_the_burst_is_whole_again_and_not_larger():
    assert after(0, 0, 0, 100_000, 100_000, 100_000, 100_000) == [0, 0, 0, 0, 0, 0, 60]


def test_an_attempt_that_is_given_back_was_never_made():
    full_at = None
    for _ in range(50):
        full_at, wait = take(LIMIT, full_at, T)
        assert wait == 0
        full_at = give_back(LIMIT, full_at)


def test_a_wait_is_never_zero_while_none_is_left():
    full_at = None
    for _ in range(3):
        full_at, _ = take(LIMIT, full_at, T)
    assert take(LIMIT, full_at, T + timedelta(seconds=59.999))[1] == 1
    assert take(LIMIT, full_at, T + timedelta(seconds=60))[1] == 0


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # the machine may be busy
@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=60))
def test_no_window_ever_holds_more_than_the_burst_and_what_came_back(seconds):
    times = sorted(seconds)
    granted = [at for at, wait in zip(times, after(*times), strict=True) if wait == 0]
    for start in granted:
        inside = [at for at in granted if start <= at <= start + 300]
        assert len(inside) <= LIMIT.burst + 300 // LIMIT.every_s + 1


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(1, "1 second"), (40, "40 seconds"), (119, "119 seconds"), (121, "3 minutes"), (7199, "120 minutes"),
     (7200, "2 hours")],
)  # fmt: skip
def test_a_wait_is_told_in_words_and_rounded_up(seconds, words):
    assert wait_words(seconds) == words
