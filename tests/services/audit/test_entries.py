"""Reading the log: by tenant, by filter, page by page."""

from datetime import timedelta

import pytest
from django.db import transaction

from audit.core.actor import SYSTEM
from audit.core.filters import EntryFilters
from audit.selectors import entries
from audit.selectors.entries import entries_for_object, entries_page
from audit.services.record import audit_record
from audit.store import clock

OURS, THEIRS = "tenant-a", "tenant-b"


def record(object_id: str, tenant: str = OURS, **fields: str) -> None:
    with transaction.atomic():
        audit_record(
            actor=SYSTEM("test", tenant), object_type="run", object_id=object_id,
            **{"action": "run.opened", **fields},
        )  # fmt: skip


@pytest.mark.django_db
def test_another_tenants_entries_are_never_found():
    record("r-1")
    record("r-1", THEIRS)
    assert len(entries_for_object(OURS, "run", "r-1")) == 1
    assert len(entries_page(OURS)) == 1
    assert entries_page("") == []


@pytest.mark.django_db
def test_the_history_of_a_thing_reads_from_its_beginning():
    for action in ("run.opened", "run.waited", "run.completed"):
        record("r-1", action=action)
    record("r-2")
    assert [row.action for row in entries_for_object(OURS, "run", "r-1")] == [
        "run.opened",
        "run.waited",
        "run.completed",
    ]


def test_pages_neither_repeat_nor_lose_entries_of_one_instant(committed_db, stand_at, monkeypatch):
    stand_at(clock.now())
    monkeypatch.setattr(entries, "PAGE", 3)
    for number in range(10):
        record(f"r-{number}")
    seen, before = [], None
    while page := entries_page(OURS, before=before):
        seen += [row.object_id for row in page]
        before = (page[-1].at, page[-1].id)
    assert seen == [f"r-{number}" for number in reversed(range(10))]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (EntryFilters(action="call.refused"), ["b"]),
        (EntryFilters(verdict="duplicate"), ["c"]),
        (EntryFilters(run_id="r-7"), ["b"]),
        (EntryFilters(call_id="c-7"), ["c"]),
        (EntryFilters(tool="refund_order"), ["b"]),
        (EntryFilters(actor_id="system:test"), ["c", "b", "a"]),
        (EntryFilters(actor_id="nobody"), []),
        (EntryFilters(on_behalf_of="p-1"), []),
    ],
)
def test_each_filter_narrows_the_page(filters, found):
    record("a")
    record("b", action="call.refused", verdict="refused", run_id="r-7", tool="refund_order")
    record("c", verdict="duplicate", call_id="c-7")
    assert [row.object_id for row in entries_page(OURS, filters)] == found


def test_a_time_filter_takes_its_beginning_and_leaves_its_end(committed_db, stand_at):
    start = clock.now()
    for step in range(3):
        stand_at(start + timedelta(seconds=step))
        record(f"at-{step}")
    page = entries_page(OURS, EntryFilters(since=start + timedelta(seconds=1), until=start + timedelta(seconds=2)))
    assert [row.object_id for row in page] == ["at-1"]
