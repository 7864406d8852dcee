"""runs/services/patience.py: what keeps failing is left alone ever longer."""

import pytest

from runs.services import patience
from runs.services.patience import Patience


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_each_failure_doubles_the_pause_up_to_a_bound(clock: Clock):
    keys: Patience[str] = Patience(clock)
    assert [keys.failed("a") for _ in range(10)] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]


def test_a_key_is_left_alone_until_its_pause_is_over(clock: Clock):
    keys: Patience[str] = Patience(clock)
    keys.failed("a")
    keys.failed("a")
    keys.failed("b")
    clock.now = 1.0
    assert keys.left_alone() == ["a"]
    clock.now = 2.0
    assert keys.left_alone() == []
    assert keys.failed("a") == 4


def test_what_has_been_settled_begins_anew(clock: Clock):
    keys: Patience[str] = Patience(clock)
    keys.failed("a")
    keys.failed("a")
    keys.settled("a")
    assert keys.left_alone() == []
    assert keys.failed("a") == 1


def test_what_failed_longest_ago_is_forgotten_first(clock: Clock, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(patience, "MOST", 2)
    keys: Patience[str] = Patience(clock)
    for key in ("a", "b", "a", "c"):
        keys.failed(key)
    assert keys.left_alone() == ["a", "c"]
