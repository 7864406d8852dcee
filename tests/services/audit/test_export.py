"""Exports: the bytes, the manifest at their end, what is recorded of them, and that any size takes the same memory."""

import asyncio
import csv
import hashlib
import io
import json
import os
import subprocess
import sys
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import connection, transaction

from audit.core.actor import SYSTEM
from audit.core.cells import COLUMNS
from audit.core.filters import EntryFilters
from audit.core.refusal import Forbidden, Invalid
from audit.exports import files
from audit.exports.files import content, headers_of
from audit.selectors.entries import entries_page
from audit.services.reading import audit_export_begin
from audit.services.record import audit_record
from audit.store import clock
from tests.support import databases, factories
from tests.support.audit_rows import INSERT, parameters

SYDNEY = ZoneInfo("Australia/Sydney")
MANY = 60_000
MOST_KB = 15_000
"""What an export of MANY entries may take beyond what the process holds anyway; the file is several times that."""


@pytest.fixture
def acme(committed_db):
    return factories.tenant()


@pytest.fixture
def auditor(acme):
    return factories.person(acme, roles=["auditor"], name="Sam Okoye").actor


def record(tenant, object_id, **fields):
    with transaction.atomic():
        entry = {"object_type": "run", "action": "run.opened", **fields}
        audit_record(actor=SYSTEM("worker", tenant.id), object_id=object_id, **entry)


def begin(actor, form="jsonl", **given):
    return audit_export_begin(actor=actor, given=given, zone=SYDNEY, form=form)


def whole(begun) -> bytes:
    async def read() -> bytes:
        return b"".join([chunk async for chunk in content(begun)])

    return asyncio.run(read())


def recorded(tenant, action="audit.export_ended"):
    return entries_page(tenant.id, EntryFilters(action=action))


def test_json_lines_are_the_entries_oldest_first_and_a_manifest_that_fits_them(acme, auditor):
    for number in range(5):
        record(acme, f"=r-{number}", detail={"n": number, "hidden": "a\u202eb"})
    raw = whole(begin(auditor, action="run.opened"))
    *lines, last = raw.decode().splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["object_id"] for row in rows] == [f"=r-{number}" for number in range(5)], "formulas are unchanged"
    assert rows[0]["detail"] == {"n": 0, "hidden": "a\u202eb"}
    assert "\u202e" not in raw.decode()
    manifest = json.loads(last)["manifest"]
    assert manifest["complete"] is True
    assert manifest["count"] == 5
    assert manifest["first"] == {"at": rows[0]["at"], "id": rows[0]["id"]}
    assert manifest["last"] == {"at": rows[-1]["at"], "id": rows[-1]["id"]}
    assert manifest["filters"] == {"action": "run.opened"}
    assert manifest["exported_by"] == {"id": auditor.id, "name": "Sam Okoye"}
    before = raw[: raw.rindex(last.encode())]
    assert manifest["sha256"] == hashlib.sha256(before).hexdigest()


def test_csv_has_its_columns_neutral_cells_and_a_manifest_of_the_same_width(acme, auditor):
    record(acme, "=HYPERLINK(1)", detail={"note": "-1\nsecond line, with \"quotes\""})  # fmt: skip
    raw = whole(begin(auditor, "csv", action="run.opened"))
    assert raw.startswith(b"\xef\xbb\xbf")
    head, row, last = list(csv.reader(io.StringIO(raw.decode("utf-8-sig"), newline="")))
    assert tuple(head) == COLUMNS
    assert len(row) == len(last) == len(COLUMNS)
    assert row[COLUMNS.index("object_id")] == "'=HYPERLINK(1)"
    assert json.loads(row[COLUMNS.index("detail")]) == {"note": '-1\nsecond line, with "quotes"'}
    assert row[COLUMNS.index("at_local")].endswith(("AEDT", "AEST"))
    assert last[0] == "#manifest"
    manifest = json.loads(last[1])
    assert manifest["count"] == 1
    assert manifest["sha256"] == hashlib.sha256(raw[: raw.rindex(b'"#manifest"')]).hexdigest()


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_an_export_of_nothing_says_so_in_its_manifest(acme, auditor, form):
    raw = whole(begin(auditor, form, tool="no_such_tool")).decode()
    assert '"count":0' in raw.replace('""', '"')
    assert '"first":null' in raw.replace('""', '"')


def test_chunks_join_without_a_gap_or_a_repetition(acme, auditor, monkeypatch, stand_at):
    monkeypatch.setattr(files, "CHUNK", 3)
    stand_at(clock.now() - timedelta(seconds=1))  # all at one instant: only the number tells them apart
    for number in range(10):
        record(acme, f"r-{number}")
    stand_at(None)
    rows = [json.loads(line) for line in whole(begin(auditor, action="run.opened")).splitlines()[:-1]]
    assert [row["object_id"] for row in rows] == [f"r-{number}" for number in range(10)]


def test_what_is_recorded_while_it_runs_is_not_in_it(acme, auditor):
    record(acme, "before")
    begun = begin(auditor, action="run.opened")
    record(acme, "after")
    rows = whole(begun).splitlines()
    assert len(rows) == 2
    assert b"before" in rows[0]


def test_another_organisations_entries_are_not_in_it(acme, auditor):
    record(factories.tenant(), "foreign")
    assert b"foreign" not in whole(begin(auditor))


def test_beginning_and_end_are_recorded(acme, auditor):
    record(acme, "r-1")
    raw = whole(begin(auditor, action="run.opened"))
    [begun], [ended] = recorded(acme, "audit.exported"), recorded(acme)
    assert begun.detail["filters"] == {"action": "run.opened"}
    assert (begun.detail["form"], begun.detail["zone"]) == ("jsonl", "Australia/Sydney")
    assert ended.verdict == "ok"
    assert ended.detail["count"] == 1
    assert ended.detail["sha256"] in raw.decode()


def test_an_export_that_is_broken_off_has_no_manifest_and_is_recorded_as_such(acme, auditor, monkeypatch):
    monkeypatch.setattr(files, "CHUNK", 2)
    for number in range(6):
        record(acme, f"r-{number}")

    async def broken_off() -> bytes:
        stream = content(begin_in_thread)
        first = await anext(stream)
        await stream.aclose()
        return first

    begin_in_thread = begin(auditor, action="run.opened")
    got = asyncio.run(broken_off())
    assert got.count(b"\n") == 2
    assert b"manifest" not in got
    [ended] = recorded(acme)
    assert (ended.verdict, ended.detail["count"]) == ("failed", 2)


def test_an_export_that_fails_in_the_middle_has_no_manifest(acme, auditor, monkeypatch):
    monkeypatch.setattr(files, "CHUNK", 2)
    for number in range(6):
        record(acme, f"r-{number}")
    turns = iter([files.entries_onward, files.entries_onward])

    def failing(*arguments):
        found = next(turns, None)
        if found is None:
            raise ConnectionError("gone")
        return found(*arguments)

    monkeypatch.setattr(files, "entries_onward", failing)
    with pytest.raises(ConnectionError):
        whole(begin(auditor, action="run.opened"))
    assert (recorded(acme)[0].verdict, recorded(acme)[0].detail["count"]) == ("failed", 4)


def test_no_manifest_where_the_end_cannot_be_recorded(acme, auditor, monkeypatch):
    def broken(**_):
        raise RuntimeError("no entry")

    begun = begin(auditor)
    monkeypatch.setattr(files, "audit_export_end", broken)
    with pytest.raises(RuntimeError):
        whole(begun)


def test_a_file_has_a_name_and_says_what_it_is(acme, auditor):
    for form, media in (("csv", "text/csv"), ("jsonl", "application/x-ndjson")):
        headers = headers_of(begin(auditor, form))
        assert headers["Content-Type"].startswith(media)
        assert f'.{form}"' in headers["Content-Disposition"]
        assert "attachment" in headers["Content-Disposition"]


def test_no_connection_is_held_while_the_reader_takes_their_time(acme, auditor):
    async def look() -> list[tuple[object, ...]]:
        stream = content(begun)
        await anext(stream)
        held = databases.owner_execute(
            connection.settings_dict["NAME"],
            "SELECT state FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%%'",
        )
        await stream.aclose()
        return held

    begun = begin(auditor)
    assert asyncio.run(look()) == []


def test_who_may_not_read_may_not_export(acme):
    reviewer = factories.person(acme, roles=["reviewer"]).actor
    with pytest.raises(Forbidden):
        begin(reviewer)
    assert recorded(acme, "audit.exported")[0].verdict == "refused"


def test_a_wrong_filter_is_told_before_anything_is_recorded_as_exported(acme, auditor):
    with pytest.raises(Invalid, match="is not a time"):
        begin(auditor, since="yesterday")
    assert recorded(acme, "audit.exported") == []


def test_sixty_thousand_entries_take_no_more_memory_than_a_chunk(acme, auditor, committed_db, owner_sql):
    """As CSV, which does more with each row; benchmarks/audit_log.py measures both."""
    owner_sql(INSERT, parameters(acme.id, entries=MANY, until=clock.now() - timedelta(seconds=1), apart=0.001))
    environment = os.environ | {
        name: databases.with_database(os.environ[name], committed_db) for name in ("DATABASE_URL", "DATABASE_OWNER_URL")
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.export_process", acme.id, auditor.id, "csv"],
        env=environment, cwd=databases.ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["lines"] > MANY * 0.9
    assert "sha256" in told["last"]
    assert told["size"] > 2 * MOST_KB * 1000, "holding all of it would be seen"
    assert told["grown_kb"] < MOST_KB
