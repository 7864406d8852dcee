"""Reading the log: by tenant, by filter, page by page."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from audit.core.actor import SYSTEM
from audit.core.filters import EntryFilters
from audit.selectors import entries
from audit.selectors.entries import entries_for_object, entries_page
from audit.services.record import audit_record
from audit.store import clock

OURS, THEIRS = "tenant-a", "tenant-b"


def record(object_id: str, tenant: str = OURS, **fields: str) -> None:
    with transaction.atomic():
        entry = {"action": "run.opened", "object_type": "run", **fields}
        audit_record(actor=SYSTEM("test", tenant), object_id=object_id, **entry)


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


@pytest.mark.django_db
def test_an_entry_is_found_by_its_number_in_its_own_tenant_alone():
    record("r-1")
    [entry] = entries_page(OURS)
    assert entries.entry_numbered(OURS, entry.id) == entry
    for tenant, number in ((THEIRS, entry.id), (OURS, entry.id + 1), (OURS, 0), (OURS, -1), (OURS, 2**70)):
        assert entries.entry_numbered(tenant, number) is None


@pytest.mark.django_db
def test_everything_about_a_call_is_found_and_nothing_of_another():
    record("c-1", action="call.submitted", object_type="call", run_id="r-1", call_id="call-1")
    record("p-1", action="proposal.held", object_type="proposal", run_id="r-1", call_id="call-1")
    record("p-1", action="proposal.decided", object_type="proposal", verdict="refused")
    record("c-2", action="call.submitted", object_type="call", run_id="r-1", call_id="call-2")
    record("c-3", action="call.submitted", object_type="call", run_id="r-2", call_id="call-1")
    record("r-1", action="run.opened", run_id="r-1")
    record("r-1", action="run.cancelled", run_id="r-1")
    record("p-1", THEIRS, action="proposal.held", object_type="proposal", run_id="r-1", call_id="call-1")
    found = entries.entries_of_call(OURS, "r-1", "call-1")
    assert [(row.action, row.verdict) for row in found] == [
        ("call.submitted", "ok"), ("proposal.held", "ok"), ("proposal.decided", "refused"), ("run.cancelled", "ok"),
    ]  # fmt: skip
    assert entries.entries_of_call(OURS, "r-1", "call-9") == []
    assert entries.entries_of_call("", "r-1", "call-1") == []


def acts(number: int, name: str, tenant: str = OURS) -> None:
    actor = replace(SYSTEM("x", tenant), kind="person", id=f"u-{number}", name=name)
    with transaction.atomic():
        audit_record(actor=actor, action="run.opened", object_type="run", object_id="r-1")


@pytest.mark.django_db
def test_who_never_acted_has_the_name_or_the_address_they_were_added_with():
    def added(user: str, **detail: str) -> None:
        with transaction.atomic():
            audit_record(
                actor=SYSTEM("test", OURS),
                action="member.added",
                object_type="membership",
                object_id=f"m-{user}",
                detail={"user": user, **detail},
            )

    added("u-1", email="jon@acme.example")
    added("u-2", email="ida@acme.example", name="Ida Berg")
    added("u-3")
    assert entries.names_of(OURS, ["u-1", "u-2", "u-3", "u-4"]) == {"u-1": "jon@acme.example", "u-2": "Ida Berg"}
    assert entries.names_of(THEIRS, ["u-1", "u-2"]) == {}
    assert entries.actors_named(OURS, "BERG") == ["u-2"]
    assert entries.actors_named(OURS, "acme") == ["u-1", "u-2"]
    assert entries.actors_named(OURS, "%") == []
    assert entries.actors_named(THEIRS, "acme") == []


@pytest.mark.django_db
def test_names_are_those_that_people_acted_under_last():
    acts(1, "Jon Hale")
    acts(1, "Jon Hale-Berg")
    acts(2, "Mara Lind", THEIRS)
    assert entries.names_of(OURS, ["u-1", "u-2", "", "u-9"]) == {"u-1": "Jon Hale-Berg"}
    assert entries.names_of(OURS, []) == {}


@pytest.mark.django_db
def test_actors_are_found_by_a_part_of_their_name_in_any_case():
    for number, name in enumerate(["Jon Hale", "JONAS Weber", "Mara Lind", "100% Sure"]):
        acts(number, name)
    acts(7, "Jon of elsewhere", THEIRS)
    assert sorted(entries.actors_named(OURS, "jon")) == ["u-0", "u-1"]
    assert entries.actors_named(OURS, "%") == ["u-3"]
    assert entries.actors_named(OURS, "nobody") == entries.actors_named("", "jon") == []


@pytest.mark.django_db
def test_no_more_actors_are_looked_at_than_is_said(monkeypatch):
    for number in range(5):
        acts(number, "Jon")
    monkeypatch.setattr(entries, "NAMES_LOOKED_AT", 3)
    assert len(entries.actors_named(OURS, "jon")) == 3


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("filters", "index"),
    [
        (EntryFilters(), "tenant_id_at_id"),
        (EntryFilters(actor_id="u-1"), "tenant_id_actor_id"),
        (EntryFilters(on_behalf_of="u-1"), "tenant_id_on_behalf_of"),
        (EntryFilters(action="agent.created"), "tenant_id_action"),
        (EntryFilters(verdict="refused"), "tenant_id_verdict"),
        (EntryFilters(tool="close_account"), "tenant_id_tool"),
        (EntryFilters(call_id="c-1"), "tenant_id_call_id"),
    ],
)
@pytest.mark.parametrize("read", ["page", "onward"])
def test_a_page_of_each_filter_is_a_walk_along_an_index_in_every_month(filters, index, read):
    read_it = entries.entries_page if read == "page" else lambda *found: entries.entries_onward(*found, None, 500)
    plan = explained(lambda: read_it(OURS, filters))
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_inherits WHERE inhparent = 'audit_entry'::regclass")
        [partitions] = cursor.fetchone()
    assert len(re.findall(rf"using audit_entry_\w+_{index}\w*_idx", plan)) == partitions >= 5, plan


def test_a_month_that_is_made_later_has_every_index(committed_db, owner_sql):
    owner_sql("SELECT audit_months_ahead(9)")
    counted = owner_sql(
        "SELECT inhrelid::regclass::text, count(*) FROM pg_inherits JOIN pg_index ON indrelid = inhrelid "
        "WHERE inhparent = 'audit_entry'::regclass GROUP BY 1"
    )
    assert len(counted) == 11
    assert len({number for _, number in counted}) == 1, counted


def explained(read: Callable[[], object]) -> str:
    """The plan of what `read` asks, as for tables that are too large to be read whole or sorted."""
    sent: list[tuple[str, Any]] = []

    def remember(execute: Any, statement: str, parameters: Any, many: bool, context: Any) -> Any:
        sent.append((statement, parameters))
        return execute(statement, parameters, many, context)

    with connection.execute_wrapper(remember):
        read()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off")
        cursor.execute("EXPLAIN " + sent[0][0], sent[0][1])
        return "\n".join(line for (line,) in cursor.fetchall())
