"""Counting what waits without reading all of it: a count ends at COUNTED, and several are one statement."""

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet

COUNTED = 1_000
"""Up to here a count is exact; one more means "more than that". So it costs the same however many wait."""


def counts_of(lists: "Sequence[QuerySet[Any, Any]]") -> list[int]:
    """How many rows each list has, at most COUNTED + 1. One query."""
    parts: list[str] = []
    parameters: list[Any] = []
    for rows in lists:
        try:
            statement, more = rows.order_by().values("pk")[: COUNTED + 1].query.sql_with_params()
        except EmptyResultSet:
            parts.append("0")
            continue
        parts.append(f"(SELECT count(*) FROM ({statement}) found)")  # noqa: S608 - by Django from querysets of ours
        parameters += more
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(parts)}", parameters)
        return list(cursor.fetchone() or ())


def count_words(count: int) -> str:
    """`17`, or `1,000+` for more than was counted."""
    return f"{COUNTED:,}+" if count > COUNTED else str(count)
