"""Stops as workers see them: what a claim passes over, and the exact look of a start (architecture.md, data rule 11).

A claim only saves the way: it reads what was committed before its statement. The start's look decides. It comes behind
the head's lock and its own shared locks, and whoever sets a stop holds one of those exclusively from before the stop's
time until its commit. So no intent is recorded at or after the time of a stop that covers it.
What this does not prevent: a request that was started before; it is finished and recorded.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import DatabaseError, connection, transaction

from runs.selectors.passed_over import PASSED_OVER
from runs.store.claims import FROZEN

LOCK = 1937010544
"""The number of the stops' advisory locks, as in the SQL function `runs_stop_look`."""
WAIT_MS = 7000
"""How long setting a stop waits for starts that are under way: longer than the server lets a frozen one hold its
locks (config/env.py, IDLE_TRANSACTION_MS)."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """The widest stop that covers a call."""

    id: UUID
    kind: str
    subject: str
    subject_name: str
    reason: str
    set_by_name: str
    set_at: datetime


def look(*, tenant_id: UUID, agent_id: UUID, tool: str) -> Stopped | None:
    """The stop that covers a call, or None. In the transaction that starts it, behind the run's head: what is answered
    then holds until the transaction's end. One statement."""
    if not connection.in_atomic_block:
        raise RuntimeError("the look at the stops holds only as long as its transaction")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, kind, subject, subject_name, reason, set_by_name, set_at FROM runs_stop_look(%s, %s, %s) "
            "LIMIT 1",
            [tenant_id, agent_id, tool],
        )
        row = cursor.fetchone()
    return Stopped(*row) if row else None


def wait_for_starts(tenant_id: UUID | None) -> bool:
    """Keep every start that a stop of this tenant (None: of the installation) may cover out until the transaction ends.

    False when one that was under way did not end in time: it is frozen, and the server will end it. The stop is then
    set all the same, and holds for every start that has not looked yet.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{WAIT_MS}ms"])
            cursor.execute(
                "SELECT pg_advisory_xact_lock(%s, CASE WHEN %s::text IS NULL THEN 0 ELSE hashtext(%s::text) END)",
                [LOCK, tenant_id and str(tenant_id), tenant_id and str(tenant_id)],
            )
            cursor.execute("SET LOCAL lock_timeout TO DEFAULT")
    except DatabaseError as error:
        if getattr(error.__cause__, "sqlstate", "") != "55P03":  # lock_not_available
            raise
        return False
    return True


def runs_held_by(stop_id: UUID, *, limit: int) -> list[UUID]:
    """Runs with rows that this stop covers and that are due, those that waited longest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT d.run_id FROM runs_stop s, runs_dispatch d JOIN runs_call c ON c.id = d.call_id
              JOIN runs_run r ON r.id = d.run_id
            WHERE s.id = %s AND d.status = 'ready' AND d.kind = 'dispatch' AND d.not_before <= clearance_now()
              AND (s.tenant_id IS NULL OR s.tenant_id = c.tenant_id AND (s.kind = 'tenant'
                OR s.kind = 'agent' AND s.subject = r.agent_id::text OR s.kind = 'tool' AND s.subject = c.tool))
            GROUP BY d.run_id ORDER BY min(d.not_before) LIMIT %s
            """,
            [stop_id, limit],
        )
        return [run_id for (run_id,) in cursor.fetchall()]


def held_back(*, limit: int) -> dict[UUID, UUID]:
    """By proposal the row of its call, of the approved calls that are held back now, by a stop or by a freeze."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH clock AS MATERIALIZED (SELECT clearance_now() AS now)
            SELECT k.proposal_id, k.id FROM runs_dispatch d JOIN runs_call k ON k.id = d.call_id
            WHERE d.status = 'ready' AND k.proposal_id IS NOT NULL
              AND (d.kind = 'dispatch' AND d.last_error = %s
                OR EXISTS (SELECT 1 FROM runs_stop WHERE lifted_at IS NULL) AND {PASSED_OVER})
            ORDER BY d.not_before LIMIT %s
            """,  # noqa: S608 - a constant of ours
            [FROZEN, limit],
        )
        return dict(cursor.fetchall())
