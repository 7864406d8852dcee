"""Counters of attempts, in PostgreSQL: they hold for all processes, outlive restarts and need no Valkey.

An attempt is counted *before* it is looked at and given back if it was right, under the counter's lock and by the
database's clock: a hundred guesses sent at once are a hundred, not as many as fit between two reads.
"""

import hashlib
from dataclasses import dataclass
from datetime import timedelta

from django.db import connection, transaction

from access.core import throttle
from access.core.throttle import Limit
from access.models import Throttle
from audit.store import clock
from audit.store.pruning import remove_oldest

_TELL_AGAIN = timedelta(minutes=15)
_STALE = "1 day"
_SWEPT = 20


@dataclass(frozen=True, slots=True)
class Taken:
    """`wait` seconds until an attempt is left (0: this one was taken). `tell` is true once in a quarter of an hour of
    refusals, so that an attack is in the audit log and does not fill it."""

    wait: int
    tell: bool


def take(limit: Limit, key: str) -> Taken:
    """Count an attempt of `key`, or say how long to wait. Commits at once unless a transaction is open."""
    with transaction.atomic():
        row = _locked(limit, key)
        now = clock.now()
        row.full_at, wait = throttle.take(limit, row.full_at, now)
        tell = wait > 0 and (row.told_at is None or row.told_at + _TELL_AGAIN <= now)
        if tell:
            row.told_at = now
        row.save(update_fields=["full_at", "told_at"])
    return Taken(wait, tell)


def wait_of(limit: Limit, key: str) -> int:
    """Seconds until an attempt of `key` is left, without counting one; 0 if one is."""
    row = Throttle.objects.filter(kind=limit.kind, key=_hash(key)).first()
    return 0 if row is None else throttle.take(limit, row.full_at, clock.now())[1]


def give_back(limit: Limit, key: str) -> None:
    """The attempt was right: as if it had not been made."""
    with transaction.atomic():
        row = Throttle.objects.select_for_update().filter(kind=limit.kind, key=_hash(key)).first()
        if row is not None:
            row.full_at = throttle.give_back(limit, row.full_at)
            row.save(update_fields=["full_at"])


def clear(limit: Limit, key: str) -> None:
    """Forget every attempt of `key`."""
    Throttle.objects.filter(kind=limit.kind, key=_hash(key)).delete()


def _locked(limit: Limit, key: str) -> Throttle:
    hashed = _hash(key)
    while True:
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO access_throttle (kind, key, full_at) VALUES (%s, %s, clearance_now()) "
                "ON CONFLICT (kind, key) DO NOTHING",
                [limit.kind, hashed],
            )
            if cursor.rowcount:
                _sweep()
        row = Throttle.objects.select_for_update().filter(kind=limit.kind, key=hashed).first()
        if row is not None:  # a stale one may have been swept away by somebody else in between
            return row


def _sweep() -> None:
    """Each new counter takes a few old ones with it: the table stays as large as a day's callers."""
    where, values = "full_at < clearance_now() - %s::interval", [_STALE]
    remove_oldest("access_throttle", by="full_at", limit=_SWEPT, where=where, values=values)


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
