"""The database's clock, the only one that deadlines are judged by (data rule 11)."""

from datetime import datetime

from django.db import connection
from django.db.models import DateTimeField, Func


class ClearanceNow(Func):
    """`clearance_now()` inside a query. Never use it in the statement that may wait for the lock: lock first."""

    template = "clearance_now()"
    output_field = DateTimeField()


class StatementNow(Func):
    """`clearance_now()` asked once for the whole statement, so that an index on times can answer. For lists and counts
    that wait for no lock."""

    template = "(SELECT clearance_now())"
    output_field = DateTimeField()


def now() -> datetime:
    """The instant, by the database clock, at which this statement runs (not the transaction's start)."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clearance_now()")
        row = cursor.fetchone()
    assert row is not None
    return row[0]
