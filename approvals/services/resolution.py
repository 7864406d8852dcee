"""The outbox of decided proposals: `runs` consumes a row in its own transaction, under the run's head (data rule 5)."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection

from approvals.models import Resolution
from audit.store import clock


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionRow:
    """What became of a round. `kind` is granted, rejected, expired, withdrawn, superseded, cancelled or refused; `by`
    has `name` ("" where nobody did it) and `reason`, and `id` of a person who decided."""

    id: int
    proposal_id: UUID
    run_id: UUID
    call_id: str
    round: int
    kind: str
    by: Mapping[str, Any]


def resolutions_open(
    *, limit: int = 100, run_id: UUID | None = None, older_than_s: float = 0, without: Collection[UUID] = ()
) -> list[ResolutionRow]:
    """Rows that nobody has consumed, oldest first, `without` those of these proposals; of one run only if `run_id` is
    given.

    `older_than_s`: only those that were written longer ago, by the database's clock; their hint was lost.
    """
    rows = Resolution.objects.filter(consumed_at=None).order_by("id")
    if older_than_s:
        rows = rows.filter(at__lte=clock.ClearanceNow() - timedelta(seconds=older_than_s))
    if run_id is not None:
        rows = rows.filter(proposal__run_id=run_id)
    if without:
        rows = rows.exclude(proposal_id__in=without)
    wanted = ("id", "proposal_id", "proposal__run_id", "proposal__call_id", "round", "kind", "by")
    return [_row(*row) for row in rows.values_list(*wanted)[:limit]]


_FOR_RUN = """
SELECT asked.open, r.id, r.proposal_id, r.run_id, r.call_id, r.round, r.kind, r.by
FROM (SELECT EXISTS (SELECT 1 FROM approvals_question q JOIN approvals_proposal p ON p.id = q.proposal_id
                      WHERE q.told_at IS NULL AND p.run_id = %(run)s) AS open) asked
LEFT JOIN (SELECT r.id, r.proposal_id, p.run_id, p.call_id, r.round, r.kind, r.by::text AS by
             FROM approvals_resolution r JOIN approvals_proposal p ON p.id = r.proposal_id
            WHERE r.consumed_at IS NULL AND p.run_id = %(run)s ORDER BY r.id LIMIT %(limit)s) r ON true
ORDER BY r.id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForRun:
    """What people have said about a run's calls that the run has not taken up: resolutions, oldest first, and whether
    there is a question."""

    resolutions: list[ResolutionRow]
    question: bool


def resolutions_for_run(*, run_id: UUID, limit: int = 100) -> ForRun:
    """In one statement, for whoever is at work on a run: mostly there is nothing."""
    with connection.cursor() as cursor:
        cursor.execute(_FOR_RUN, {"run": run_id, "limit": limit})
        rows = cursor.fetchall()
    found = [
        _row(id_, proposal, run, call_id, round_, kind, json.loads(by))
        for _, id_, proposal, run, call_id, round_, kind, by in rows
        if id_ is not None
    ]
    return ForRun(resolutions=found, question=rows[0][0])


def resolution_consume(*, resolution_id: int) -> ResolutionRow | None:
    """Take the row for the caller's transaction; None if somebody else did.

    A conditional UPDATE: of any number who find the same row one gets it, and it is open again if that one rolls back.
    What was written last counts: a grant that was withdrawn before it was taken up comes back as withdrawn.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE approvals_resolution r SET consumed_at = clearance_now() FROM approvals_proposal p
            WHERE r.id = %s AND r.consumed_at IS NULL AND p.id = r.proposal_id
            RETURNING r.id, r.proposal_id, p.run_id, p.call_id, r.round, r.kind, r.by::text
            """,
            [resolution_id],
        )
        row = cursor.fetchone()
    if row is None:
        return None
    id_, proposal_id, run_id, call_id, round_, kind, by = row
    return _row(id_, proposal_id, run_id, call_id, round_, kind, json.loads(by))


def _row(
    id_: int, proposal_id: UUID, run_id: UUID, call_id: str, round_: int, kind: str, by: Mapping[str, Any]
) -> ResolutionRow:
    return ResolutionRow(
        id=id_, proposal_id=proposal_id, run_id=run_id, call_id=call_id, round=round_, kind=kind, by=by
    )
