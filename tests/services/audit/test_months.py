"""Partitions by month: made ahead, never wanted (data rule 12)."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import DatabaseError, connection, transaction

from audit.core.actor import SYSTEM
from audit.selectors.entries import entries_page
from audit.services.months import audit_months_prepare
from audit.services.record import audit_record
from audit.store import clock, entries

TENANT = "7f7a8f5e-0000-4000-8000-000000000001"
SWEEP = SYSTEM("sweep", "")


def partitions() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'audit_entry'::regclass")
        return {row[0] for row in cursor.fetchall()}


def rows_in(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM audit_entry WHERE tableoid = %s::regclass AND tenant_id = %s", [table, TENANT]
        )
        return cursor.fetchone()[0]


def record(object_id: str) -> None:
    with transaction.atomic():
        audit_record(actor=SYSTEM("sweep", TENANT), action="run.opened", object_type="run", object_id=object_id)


def test_an_installation_begins_with_this_month_and_three_more(committed_db):
    assert len(partitions()) == 5
    record("r-1")
    assert rows_in(f"audit_entry_{clock.now():%Y_%m}") == 1


def test_later_months_are_made_once_and_say_so(committed_db, stand_at):
    stand_at(datetime(2040, 11, 30, 23, 59, tzinfo=UTC))
    assert audit_months_prepare(actor=SWEEP, months=2) == 3
    assert audit_months_prepare(actor=SWEEP, months=2) == 0
    assert {"audit_entry_2040_11", "audit_entry_2040_12", "audit_entry_2041_01"} <= partitions()
    assert [row.detail for row in entries_page("")] == [{"made": 3}]


def test_months_are_cut_at_utc_midnight_whatever_the_sessions_zone(committed_db, stand_at):
    with connection.cursor() as cursor:
        cursor.execute("SET TIME ZONE 'Australia/Sydney'")
    stand_at(datetime(2040, 11, 15, tzinfo=UTC))
    audit_months_prepare(actor=SWEEP, months=1)
    for instant in (datetime(2040, 11, 30, 23, 59, 59, 999999, UTC), datetime(2040, 12, 1, tzinfo=UTC)):
        stand_at(instant)
        record(f"at-{instant.month}")
    assert rows_in("audit_entry_2040_12") == 1


def test_a_month_without_a_partition_is_recorded_all_the_same(committed_db, stand_at):
    stand_at(clock.now() + timedelta(days=4000))
    record("far")
    assert rows_in("audit_entry_default") == 1
    assert [row.object_id for row in entries_page(TENANT)] == ["far"]


def test_a_month_that_began_in_the_default_partition_stays_there(committed_db, stand_at):
    stand_at(datetime(2040, 5, 10, tzinfo=UTC))
    record("early")
    assert audit_months_prepare(actor=SWEEP, months=1) == 1, "only the month after it"
    record("late")
    assert rows_in("audit_entry_default") == 2


def test_twenty_sweeps_make_a_month_once(committed_db, stand_at, race):
    stand_at(datetime(2040, 5, 10, tzinfo=UTC))
    results = race(lambda _: audit_months_prepare(actor=SWEEP, months=1), 20)
    assert sum(results) == 2, results


def test_a_new_month_waits_for_no_writer(committed_db, stand_at, race):
    """An open transaction that has written must not stop the next month from being made, nor the other way round."""
    with transaction.atomic():
        record("open")
        stand_at(datetime(2040, 5, 10, tzinfo=UTC))
        assert race(lambda _: audit_months_prepare(actor=SWEEP, months=0), 1) == [1]


@pytest.mark.django_db
@pytest.mark.parametrize("months", [-1, 25])
def test_an_absurd_number_of_months_is_refused(months):
    with pytest.raises(DatabaseError, match="between 0 and 24"):
        audit_months_prepare(actor=SWEEP, months=months)


@pytest.mark.django_db
def test_the_application_role_makes_no_tables_itself():
    with pytest.raises(DatabaseError, match="permission denied"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE TABLE public.mine (x int)")
    assert entries.months_ahead(0) == 0
