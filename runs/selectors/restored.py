"""The time that a restored backup does not know of, for whoever judges what an old request may still do."""

from datetime import datetime

from django.db import connection

from runs.core import leases


def lost_requests_until(timeout_ms: int) -> datetime | None:
    """Until when a request of the lost time may still be under way, by the contract's time limit; None where no backup
    was ever restored.

    A call may have been sent once more in that time, later than its restored history says, and what a look-up of before
    found says nothing about it. While a restore has not been taken note of, this lies always ahead of now.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT CASE WHEN clearance_epoch() IS NULL THEN clearance_now() ELSE clearance_restored_at() END"
        )
        [restored_at] = cursor.fetchone() or [None]
    return None if restored_at is None else leases.request_deadline(restored_at, timeout_ms)


def last_deadline(request_deadline: datetime, timeout_ms: int) -> datetime:
    """When the last request that there may have been had to be answered or ended."""
    return max(request_deadline, lost_requests_until(timeout_ms) or request_deadline)
