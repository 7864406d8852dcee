"""The drills, short: random faults under many refunds are survived, and a safeguard taken out is noticed.

The long set is `make drills` (docs/operations.md).
"""

import subprocess
import sys

import pytest

from tests.drills.plan import KINDS, schedule
from tests.support.databases import ROOT

SEED = 20261129


def drills(*arguments, seconds):
    return subprocess.run(
        [sys.executable, "-m", "tests.drills", "--seed", str(SEED), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=seconds,
    )


@pytest.mark.stack
def test_random_faults_double_nothing_lose_nothing_and_leave_nothing_stuck():
    done = drills("--schedules", "2", "--refunds", "20", "--faults", "7", seconds=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "green" in done.stdout


@pytest.mark.stack
def test_a_permit_that_is_not_used_up_makes_the_drills_red():
    done = drills(
        "--schedules", "1", "--refunds", "4", "--faults", "0", "--length", "3", "--break", "permit", seconds=200
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "0 permits of its proposal's round were used up" in done.stdout


def test_a_seed_throws_the_same_schedule_again():
    one, same, next_one = (schedule(7, number, refunds=20, faults=6) for number in (3, 3, 4))
    assert one == same
    assert one.asks != next_one.asks
    assert one != schedule(8, 3, refunds=20, faults=6)


@pytest.mark.parametrize("seed", [1, 2, SEED])
def test_a_few_schedules_have_seen_nearly_every_kind_of_fault(seed):
    thrown = {fault.kind for number in range(6) for fault in schedule(seed, number, refunds=1, faults=6).faults}
    assert len(thrown) >= len(KINDS) - 2
    assert thrown <= set(KINDS)


def test_amounts_tell_the_refunds_of_a_schedule_apart():
    amounts = [ask.amount for ask in schedule(SEED, 0, refunds=200, faults=0).asks]
    assert len(set(amounts)) == len(amounts)
