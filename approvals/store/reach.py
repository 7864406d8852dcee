"""How far a new version of the policy was carried to what waits: the list that is walked, and the mark on it."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import F

from approvals.models import PolicyReach


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The mark as it was read: what comes after it was not judged under version `number` yet."""

    tenant_id: UUID
    number: int
    granted_after: UUID | None
    granted_done: bool
    waiting_after_at: datetime | None
    waiting_after_id: UUID | None


@dataclass(frozen=True, slots=True)
class Open:
    """A proposal of the list; `expires_at` is its place in it."""

    id: UUID
    expires_at: datetime


def reach_begin(tenant_id: UUID | str, number: int) -> None:
    """From the start again, in the transaction that publishes `number`; behind the policy's head in the lock order."""
    PolicyReach.objects.update_or_create(
        tenant_id=tenant_id,
        defaults={
            "number": number, "done": False, "granted_after": None, "granted_done": False, "waiting_after_at": None,
            "waiting_after_id": None, "judged": 0, "asked_anew": 0, "refused": 0, "failed": 0,
        },
    )  # fmt: skip


def reaches_open(*, limit: int = 50) -> list[UUID]:
    """Tenants whose open proposals were not all judged again."""
    found = PolicyReach.objects.filter(done=False).order_by("tenant_id")
    return list(found.values_list("tenant_id", flat=True)[:limit])


def reach_of(tenant_id: UUID | str) -> Place | None:
    """The mark; None where there is nothing left to walk."""
    row = PolicyReach.objects.filter(tenant_id=tenant_id, done=False).first()
    if row is None:
        return None
    return Place(
        tenant_id=row.tenant_id,
        number=row.number,
        granted_after=row.granted_after,
        granted_done=row.granted_done,
        waiting_after_at=row.waiting_after_at,
        waiting_after_id=row.waiting_after_id,
    )


GRANTED = """
SELECT p.id, p.expires_at FROM approvals_permit t JOIN approvals_proposal p ON p.id = t.proposal_id
WHERE t.status = 'ready' AND p.status = 'granted' AND p.tenant_id = %(tenant)s
  AND (%(after)s::uuid IS NULL OR p.id > %(after)s::uuid)
ORDER BY p.id LIMIT %(limit)s
"""
WAITING = """
SELECT id, expires_at FROM approvals_proposal
WHERE tenant_id = %(tenant)s AND status = 'pending'
  AND (expires_at, id) > (COALESCE(%(at)s::timestamptz, clearance_now()), COALESCE(%(after)s, '{zero}')::uuid)
ORDER BY expires_at, id LIMIT %(limit)s
""".replace("{zero}", str(UUID(int=0)))


def open_after(place: Place, *, limit: int) -> list[Open]:
    """The next proposals of the list; what has expired is not in it. Read without locks."""
    with connection.cursor() as cursor:
        if not place.granted_done:
            cursor.execute(GRANTED, {"tenant": place.tenant_id, "after": place.granted_after, "limit": limit})
        else:
            cursor.execute(
                WAITING,
                {
                    "tenant": place.tenant_id, "at": place.waiting_after_at, "limit": limit,
                    "after": None if place.waiting_after_id is None else str(place.waiting_after_id),
                },
            )  # fmt: skip
        return [Open(*row) for row in cursor.fetchall()]


def reach_move(place: Place, last: Open | None, *, ended: bool, counts: dict[str, int]) -> bool:
    """Set the mark behind `last`, `ended` where the part of the list is at its end. False if somebody else has moved
    it, or another version was published: then what was done stands, and whoever moved it goes on."""
    moved: dict[str, object] = {name: F(name) + count for name, count in counts.items() if count}
    if not place.granted_done:
        moved |= {"granted_after": last.id} if last else {}
        moved |= {"granted_done": True} if ended else {}
    else:
        moved |= {"waiting_after_at": last.expires_at, "waiting_after_id": last.id} if last else {}
        moved |= {"done": True} if ended else {}
    as_read = PolicyReach.objects.filter(
        tenant_id=place.tenant_id, number=place.number, done=False, granted_after=place.granted_after,
        granted_done=place.granted_done, waiting_after_id=place.waiting_after_id,
    )  # fmt: skip
    return as_read.update(**moved) == 1
