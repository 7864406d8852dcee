"""The epoch in force, and whether this database is the one that it was raised in. Read where something is started."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from django.db import connection
from django.db.models import Func, UUIDField

from approvals.models import Epoch
from audit.core.refusal import Unavailable

LOCK = "SELECT pg_advisory_xact_lock(hashtext('clearance_epoch'))"


class CurrentEpoch(Func):
    """`clearance_epoch()` inside a query: NULL in a restored database whose epoch was not raised yet."""

    template = "clearance_epoch()"
    output_field = UUIDField()


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochRow:
    """The newest epoch: `here` is False where it was raised in another place than this database is in."""

    id: UUID
    number: int
    raised_at: datetime
    because: str
    here: bool


def elsewhere() -> Unavailable:
    """The refusal of whatever would start something in a restored database whose epoch was not raised yet."""
    return Unavailable(
        "This database was restored from a backup, and that was not taken note of yet; nothing is started until then. "
        "The sweep does it within a second; without one, run `manage.py restored`.",
        code="RESTORED",
    )


def last_epoch() -> EpochRow:
    """The newest epoch. Raises LookupError in a database whose migrations did not make the first one."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, number, raised_at, because, place = clearance_place() FROM approvals_epoch "
            "ORDER BY number DESC LIMIT 1"
        )
        row = cursor.fetchone()
    if row is None:
        raise LookupError("there is no epoch; run `manage.py prepare_database`")
    return EpochRow(id=row[0], number=row[1], raised_at=row[2], because=row[3], here=row[4])


def lock_epochs() -> None:
    """Only one raises at a time. Held until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK)


def add_epoch(*, number: int, raised_at: datetime, because: str) -> None:
    """The next epoch, in force where this database is."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clearance_place()")
        [place] = cursor.fetchone() or [""]
    Epoch.objects.create(id=uuid4(), number=number, place=place, raised_at=raised_at, because=because)
