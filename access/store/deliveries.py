"""Webhooks that were sent, or given up, long ago: removed, so that the table holds what is still looked at."""

from django.db import connection

KEPT_DAYS = {"delivered": 30, "given_up": 90}
"""For how long by what became of it; what could not be delivered is asked about longer."""


def forget_old(*, limit: int) -> int:
    """Remove those that are older, the oldest first, at most so many of each kind; how many. What waits is kept."""
    removed = 0
    with connection.cursor() as cursor:
        for state, days in KEPT_DAYS.items():
            cursor.execute(
                "DELETE FROM access_webhookdelivery WHERE id IN (SELECT id FROM access_webhookdelivery "
                "WHERE state = %s AND ended_at IS NOT NULL "
                "AND ended_at < (SELECT clearance_now()) - %s * interval '1 day' "
                "ORDER BY ended_at LIMIT %s FOR UPDATE SKIP LOCKED)",
                [state, days, limit],
            )
            removed += cursor.rowcount
    return removed
