"""Writing entries and debts. One statement each; nothing here decides anything."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import connection

from audit.core.entry import WRITTEN

_INSERT = (
    f"INSERT INTO audit_entry (at, {', '.join(WRITTEN)}) "  # noqa: S608 - constant names, no values
    f"VALUES (COALESCE(%s, clearance_now()), {', '.join(['%s'] * len(WRITTEN))})"
)


def insert_entry(values: Mapping[str, object], *, at: datetime | None = None) -> None:
    """Append one entry; `at` None means now by the database clock. Raises DatabaseError if it cannot be written."""
    row: list[Any] = [json.dumps(values[name]) if name == "detail" else values[name] for name in WRITTEN]
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, [at, *row])


def insert_owed(values: Mapping[str, object], *, reason: str) -> None:
    """Keep an entry that could not be written, with the instant of the deed."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO audit_owed (at, entry, reason) VALUES (clearance_now(), %s, %s)",
            [json.dumps(dict(values)), reason],
        )


def owed_after(last_id: int, limit: int) -> list[tuple[int, datetime, dict[str, object], str]]:
    """Up to `limit` debts behind `last_id`, oldest first, locked; those that another sweep holds are passed over."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, at, entry, reason FROM audit_owed WHERE id > %s ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED",
            [last_id, limit],
        )
        return [(row[0], row[1], json.loads(row[2]), row[3]) for row in cursor.fetchall()]


def delete_owed(owed_id: int) -> None:
    """The debt is paid."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM audit_owed WHERE id = %s", [owed_id])


def months_ahead(months: int) -> int:
    """Make the partitions of this month and the `months` that follow; how many were made."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT audit_months_ahead(%s)", [months])
        row = cursor.fetchone()
    assert row is not None
    return int(row[0])
