"""runs/live/pulse.py: one look for all open pages finds what no hint told of, and wakes only whom it concerns."""

import asyncio
import time
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from access.selectors.stamps import Sitting
from runs.live import hub, pulse
from tests.live.sockets import apart, live

NOBODY = Sitting("no session", str(UUID(int=0)), str(UUID(int=0)))


@pytest.fixture(autouse=True)
def quick(monkeypatch, settings):
    monkeypatch.setattr(pulse, "SECONDS", 0.1)
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}


@pytest.fixture
def world(monkeypatch):
    """The tokens and stamps that the rows would give."""
    rows = {"tokens": {}, "stamps": {}, "readings": 0, "fails": False, "clock": datetime(2026, 1, 1, tzinfo=UTC)}

    def tokens(ids):
        rows["readings"] += 1
        if rows["fails"]:
            raise OSError("the database is away")
        return {row: rows["tokens"][row] for row in ids if row in rows["tokens"]}

    monkeypatch.setattr(pulse, "TOKENS", {"run": tokens})
    monkeypatch.setattr(
        pulse,
        "stamps_of",
        lambda sittings: {
            sitting: rows["stamps"][sitting.session_key]
            for sitting in sittings
            if sitting.session_key in rows["stamps"]
        },
    )
    monkeypatch.setattr(pulse, "now", lambda: rows["clock"])
    return rows


async def woken_within(event, seconds):
    event_set = await hub.woken(event, seconds)
    event.clear()
    return event_set


async def seen_first(event):
    """Past the wakes of the beginning: the hub's subscription, and the pulse's first sight."""
    assert await woken_within(event, 10)
    until = time.monotonic() + 10
    while await woken_within(event, 0.5):
        assert time.monotonic() < until


@live
async def test_a_change_wakes_the_pages_of_its_key_and_no_other(world):
    mine, other = uuid4(), uuid4()
    world["tokens"] = {mine: 1, other: 1}
    looking = pulse.pulse()
    with (
        hub.listening([("run", str(mine))]) as here,
        hub.listening([("run", str(other))]) as there,
        looking.following([("run", str(mine))], NOBODY),
        looking.following([("run", str(other))], NOBODY),
    ):
        await seen_first(here)
        await seen_first(there)
        world["tokens"] = {mine: 2, other: 1}
        assert await woken_within(here, 5)
        assert not await woken_within(there, 0.3)


@live
async def test_a_row_that_vanishes_is_a_change(world):
    row = uuid4()
    world["tokens"] = {row: 1}
    with hub.listening([("run", str(row))]) as here, pulse.pulse().following([("run", str(row))], NOBODY):
        await seen_first(here)
        world["tokens"] = {}
        assert await woken_within(here, 5)


@live
async def test_other_rights_and_the_end_of_a_session_wake_its_pages(world):
    sitting = Sitting("key", str(uuid4()), str(uuid4()))
    world["stamps"] = {"key": "a"}
    with hub.listening([pulse.rights_key("key")]) as here, pulse.pulse().following([("run", str(uuid4()))], sitting):
        await seen_first(here)
        world["stamps"] = {"key": "b"}
        assert await woken_within(here, 5)
        world["stamps"] = {}
        assert await woken_within(here, 5)


@live
async def test_a_database_that_is_away_is_asked_again(world):
    row = uuid4()
    world["tokens"], world["fails"] = {row: 1}, True
    with hub.listening([("run", str(row))]) as here, pulse.pulse().following([("run", str(row))], NOBODY):
        while await woken_within(here, 0.5):
            assert world["fails"]  # only the hub's subscription
        world["fails"] = False
        assert await woken_within(here, 5)


@live
async def test_five_hundred_pages_of_one_row_are_one_reading_a_beat_and_none_when_they_are_closed(world):
    row = uuid4()
    world["tokens"] = {row: 1}
    looking = pulse.pulse()
    with looking.following([("run", str(row))] * 500, NOBODY):
        await asyncio.sleep(1.0)
        assert 1 <= world["readings"] <= 12
    await asyncio.sleep(0.3)
    before = world["readings"]
    await asyncio.sleep(0.4)
    assert world["readings"] == before


@live
async def test_everything_is_read_once_in_a_while_although_nothing_changed(world, monkeypatch):
    monkeypatch.setattr(pulse, "FULL_SECONDS", 0.6)
    row = uuid4()
    world["tokens"] = {row: 1}
    with hub.listening([("run", str(row))]) as here, pulse.pulse().following([("run", str(row))], NOBODY):
        for _ in range(6):  # more than the subscription and the first sight
            assert await woken_within(here, 10)


@live
async def test_the_time_is_the_databases_and_goes_on_between_two_looks(world):
    began = time.monotonic()
    looking = pulse.pulse()
    assert looking.clock() is None
    with looking.following([("run", str(uuid4()))], NOBODY):
        until = time.monotonic() + 10
        while looking.clock() is None:
            assert time.monotonic() < until
            await asyncio.sleep(0.05)
    # No page is open any more; the look that was under way, if there was one, is awaited.
    while True:
        look, told = looking._clock, looking.clock()
        await asyncio.sleep(0.05)
        later = looking.clock()
        if looking._clock is look:
            break
    assert told.year == 2026
    passed = (later - told).total_seconds()
    assert 0.04 < passed < time.monotonic() - began


@pytest.mark.django_db
def test_whatever_is_followed_is_one_query_a_kind_and_one_for_what_stands_beside_a_proposal():
    keys = [(kind, str(uuid4())) for kind in ("run", "run*", "proposal", "inbox") for _ in range(5)]
    with CaptureQueriesContext(connection) as queries:
        found = pulse.tokens_of(keys)
    assert len(queries) == 5
    assert found == dict.fromkeys(keys)


@live
async def test_the_real_rows_can_be_followed(committed_db):
    key = ("inbox", str(uuid4()))
    assert await apart(pulse.tokens_of, [key]) == {key: None}
