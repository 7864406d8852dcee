"""Replays as rows: who holds one, how far it is; and what past calls were judged by. No ORM per row."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

LEASE_S = 20
"""Whoever replays says at least every second that it is still there; after so long another one goes on."""
WAITS_S = 3
"""A replay that nobody has taken up for so long has lost its hint."""

_TAKE = """
UPDATE approvals_policyreplay SET status = 'running', fence = fence + 1,
  started_at = COALESCE(started_at, clearance_now()), lease_until = clearance_now() + make_interval(secs => %(lease)s)
WHERE id = %(id)s AND (status = 'waiting' OR status = 'running' AND lease_until < clearance_now())
RETURNING tenant_id, source, against_number, since, until, after_at, after_id, judged, result::text, fence
"""
_KEEP = """
UPDATE approvals_policyreplay SET judged = %(judged)s, result = %(result)s::jsonb, after_at = %(after_at)s,
  after_id = %(after_id)s, total = GREATEST(total, %(total)s, %(judged)s), status = %(status)s,
  lease_until = clearance_now() + make_interval(secs => %(lease)s), said = %(said)s,
  finished_at = CASE WHEN %(status)s = 'running' THEN NULL ELSE clearance_now() END
WHERE id = %(id)s AND status = 'running' AND fence = %(fence)s
"""
_OPEN = """
SELECT id FROM approvals_policyreplay WHERE status IN ('waiting', 'running')
  AND (status = 'waiting' AND asked_at < clearance_now() - make_interval(secs => %(waits)s)
    OR status = 'running' AND lease_until < clearance_now())
ORDER BY asked_at LIMIT %(limit)s
"""
_JUDGED = """
SELECT j.run_id, j.call_id, j.state, j.principal::text
FROM unnest(%(runs)s::uuid[], %(calls)s::text[]) AS wanted (run_id, call_id)
JOIN approvals_judgement j ON j.run_id = wanted.run_id AND j.call_id = wanted.call_id
"""
_HELD = "SELECT id, snapshot, snapshot_hash, status FROM approvals_proposal WHERE id = ANY(%(ids)s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A replay that is ours while `fence` stands: where it stands and what it has found."""

    id: UUID
    tenant_id: UUID
    source: str
    against_number: int
    since: datetime
    until: datetime
    after_at: datetime | None
    after_id: UUID | None
    judged: int
    result: Mapping[str, Any]
    fence: int


@dataclass(frozen=True, slots=True)
class JudgedBy:
    """What a call was judged by when it was first judged. `state` are snapshot bytes or None."""

    state: bytes | None
    principal: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HeldThen:
    """What people saw of a call, and what became of the question."""

    snapshot: bytes
    snapshot_hash: str
    status: str


def take(replay_id: UUID) -> Taken | None:
    """The replay, ours from now on; None where it is at its end, or somebody else's."""
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, {"id": replay_id, "lease": LEASE_S})
        row = cursor.fetchone()
    if row is None:
        return None
    tenant_id, source, against, since, until, after_at, after_id, judged, result, fence = row
    return Taken(
        id=replay_id, tenant_id=tenant_id, source=source, against_number=against, since=since, until=until,
        after_at=after_at, after_id=after_id, judged=judged, result=json.loads(result), fence=fence,
    )  # fmt: skip


def keep(
    taken: Taken,
    *,
    judged: int,
    total: int,
    result: Mapping[str, Any],
    after_at: datetime | None,
    after_id: UUID | None,
    status: str = "running",
    said: str = "",
) -> bool:
    """Write down how far it is. False where it was cancelled or is somebody else's: then it ends here."""
    with connection.cursor() as cursor:
        cursor.execute(
            _KEEP,
            {
                "id": taken.id, "fence": taken.fence, "judged": judged, "total": total, "result": json.dumps(result),
                "after_at": after_at, "after_id": after_id, "status": status, "said": said, "lease": LEASE_S,
            },
        )  # fmt: skip
        return cursor.rowcount == 1


def left_alone(*, limit: int) -> list[UUID]:
    """Replays that nobody has taken up, or whose worker is gone; oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(_OPEN, {"waits": WAITS_S, "limit": limit})
        return [row[0] for row in cursor.fetchall()]


def judged_by(calls: Collection[tuple[UUID, str]]) -> dict[tuple[UUID, str], JudgedBy]:
    """What these (run, call) were judged by, as far as it was kept."""
    with connection.cursor() as cursor:
        cursor.execute(_JUDGED, {"runs": [run for run, _ in calls], "calls": [call for _, call in calls]})
        return {
            (run, call): JudgedBy(None if state is None else bytes(state), json.loads(principal))
            for run, call, state, principal in cursor.fetchall()
        }


def held_then(proposals: Collection[UUID]) -> dict[UUID, HeldThen]:
    """What was shown of these proposals in their last round, and where they stand."""
    if not proposals:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_HELD, {"ids": list(proposals)})
        return {row[0]: HeldThen(bytes(row[1]), row[2], row[3]) for row in cursor.fetchall()}
