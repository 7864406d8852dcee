"""runs/live/waves.py: many ask, one reading answers, and no answer is older than its question."""

import asyncio
import threading
import time

import pytest

from runs.live import waves
from tests.live.sockets import live


class Readings:
    """A reading that says which one it was, and waits for leave when it is told to."""

    def __init__(self, *, wait=False):
        self.asked = []
        self.leave = threading.Event()
        if not wait:
            self.leave.set()

    def __call__(self, questions):
        self.asked.append(list(questions))
        number = len(self.asked)
        assert self.leave.wait(10)
        return [(number, question) for question in questions]


async def begun(readings, count):
    until = time.monotonic() + 10
    while len(readings.asked) < count:
        assert time.monotonic() < until
        await asyncio.sleep(0.005)


@live
async def test_three_hundred_who_ask_together_are_one_reading_and_each_has_its_own_answer():
    read = Readings()
    answers = await asyncio.gather(*(waves.ask("list", number, read) for number in range(300)))
    assert answers == [(1, number) for number in range(300)]
    assert len(read.asked) == 1


@live
async def test_who_asks_while_a_reading_runs_is_answered_by_one_that_begins_afterwards():
    read = Readings(wait=True)
    first = asyncio.create_task(waves.ask("list", "early", read))
    await begun(read, 1)
    late = [asyncio.create_task(waves.ask("list", f"late {number}", read)) for number in range(3)]
    await asyncio.sleep(0.05)
    assert len(read.asked) == 1
    read.leave.set()
    assert await first == (1, "early")
    assert [await one for one in late] == [(2, f"late {number}") for number in range(3)]


@live
async def test_different_keys_are_never_answered_together():
    read = Readings()
    mine, other = await asyncio.gather(waves.ask("mine", 1, read), waves.ask("other", 2, read))
    assert sorted(read.asked) == [[1], [2]]
    assert {mine[0], other[0]} == {1, 2}


@live
async def test_nothing_is_kept_between_two_readings():
    read = Readings()
    assert await waves.ask("list", "same", read) == (1, "same")
    assert await waves.ask("list", "same", read) == (2, "same")


@live
async def test_a_reading_that_fails_fails_for_all_who_asked_and_for_nobody_behind_them():
    def broken(questions):
        raise OSError("the database is away")

    failed = await asyncio.gather(*(waves.ask("list", 1, broken) for _ in range(3)), return_exceptions=True)
    assert [type(one) for one in failed] == [OSError] * 3
    assert await waves.ask("list", 1, Readings()) == (1, 1)


@live
async def test_a_reading_that_leaves_a_question_out_fails_instead_of_mixing_answers_up():
    with pytest.raises(RuntimeError, match="each question"):
        await waves.ask("list", 1, lambda questions: [])


@live
async def test_who_goes_away_is_not_read_for_and_takes_no_answer_from_the_others():
    read = Readings(wait=True)
    first = asyncio.create_task(waves.ask("list", "first", read))
    await begun(read, 1)
    gone = asyncio.create_task(waves.ask("list", "gone", read))
    stays = asyncio.create_task(waves.ask("list", "stays", read))
    await asyncio.sleep(0.02)
    first.cancel()
    gone.cancel()
    read.leave.set()
    assert await stays == (2, "stays")
    assert read.asked[1] == ["stays"]
