"""Webhooks that were sent, or given up, long ago: removed, so that the table holds what is still looked at."""

from audit.store.pruning import remove_ended

KEPT_DAYS = {"delivered": 30, "given_up": 90}
"""For how long by what became of it; what could not be delivered is asked about longer."""


def forget_old(*, limit: int) -> int:
    """Remove those that are older, the oldest first, at most so many of each kind; how many. What waits is kept."""
    return sum(
        remove_ended("access_webhookdelivery", days=days, limit=limit, where="state = %s", values=[state])
        for state, days in KEPT_DAYS.items()
    )
