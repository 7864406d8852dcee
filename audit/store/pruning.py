"""Removing rows of long ago, the oldest first, a bounded number at a time, beside whoever else does the same."""

from collections.abc import Sequence

from django.db import connection


def remove_oldest(table: str, *, by: str, limit: int, where: str, values: Sequence[str | int] = ()) -> int:
    """Remove at most `limit` rows of `table` for which `where` (SQL of ours, with `values`) holds, in the order of the
    column `by`; how many. Rows that somebody holds at this moment are left for the next time."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"DELETE FROM {table} WHERE id IN "  # noqa: S608 - names and conditions are constants of ours
            f"(SELECT id FROM {table} WHERE {where} ORDER BY {by} LIMIT %s FOR UPDATE SKIP LOCKED)",
            [*values, limit],
        )
        return int(cursor.rowcount)


def remove_ended(table: str, *, days: int, limit: int, where: str = "true", values: Sequence[str | int] = ()) -> int:
    """The same for rows that ended more than so many days ago."""
    return remove_oldest(
        table,
        by="ended_at",
        limit=limit,
        where=f"{where} AND ended_at IS NOT NULL AND ended_at < (SELECT clearance_now()) - %s * interval '1 day'",
        values=[*values, days],
    )
