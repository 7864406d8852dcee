"""How rows of approvals are locked and moved. Every status changes under a lock by a conditional UPDATE (data rule 11).

The order that keeps writers from waiting for each other in a circle: run head (taken by runs), proposal, permit,
resolution, policy head, exposure, resource (taken by runs), audit. A decision takes no run.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from approvals.models import Decision, Permit, Proposal
from approvals.signals import announce
from audit.store.rows import RowsOf

_PROPOSALS, _PERMITS, _DECISIONS = RowsOf(Proposal), RowsOf(Permit), RowsOf(Decision)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRow:
    """A proposal as other floors know it. `status` is the stored word; `round` counts from 1."""

    id: UUID
    run_id: UUID
    call_id: str
    status: str
    round: int
    version: int
    expires_at: datetime
    digest: str
    sentence: str


def row_of(proposal: Proposal) -> ProposalRow:
    """The row as other floors know it."""
    return ProposalRow(
        id=proposal.pk,
        run_id=proposal.run_id,
        call_id=proposal.call_id,
        status=proposal.status,
        round=proposal.round,
        version=proposal.version,
        expires_at=proposal.expires_at,
        digest=proposal.digest,
        sentence=proposal.sentence,
    )


class Lost(RuntimeError):
    """A row that this transaction had locked was not as it had read it. Rolls everything back: nothing is guessed."""


def lock_proposal(proposal_id: UUID, *, tenant_id: UUID | str | None = None) -> Proposal | None:
    """The proposal, locked until the transaction ends; None if there is none (in that tenant).

    The clock belongs in a statement *after* this one: what this one reads as "now" may be the time before it waited.
    """
    _needs_transaction()
    if tenant_id is None:
        return _locked("p.id = %s", [proposal_id])
    return _locked("p.id = %s AND p.tenant_id = %s", [proposal_id, tenant_id])


def lock_proposal_of(run_id: UUID, call_id: str) -> Proposal | None:
    """The same of a run's call."""
    _needs_transaction()
    return _locked("p.run_id = %s AND p.call_id = %s", [run_id, call_id])


def _locked(where: str, values: list[Any]) -> Proposal | None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {_PROPOSALS.columns('p')} FROM approvals_proposal p WHERE {where} FOR UPDATE",  # noqa: S608 - ours
            values,
        )
        row = cursor.fetchone()
    return _PROPOSALS.row(row) if row else None


def lock_permit(proposal: Proposal) -> Permit | None:
    """The permit of the proposal's current round, locked; None if the round has none. Lock the proposal first."""
    _needs_transaction()
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {_PERMITS.columns('t')} FROM approvals_permit t "  # noqa: S608 - a model's columns
            "WHERE t.proposal_id = %s AND t.round = %s FOR UPDATE",
            [proposal.pk, proposal.round],
        )
        row = cursor.fetchone()
    return _PERMITS.row(row) if row else None


def is_redeemed(proposal: Proposal) -> bool:
    """True once an executor took the permit: the effect is on its way, done, or unknown. Lock the proposal first."""
    return Permit.objects.filter(proposal_id=proposal.pk, status="redeemed").exists()


def votes_of(proposal: Proposal) -> list[Decision]:
    """The decisions of the current round, oldest first."""
    return list(Decision.objects.filter(proposal_id=proposal.pk, round=proposal.round).order_by("at", "id"))


@dataclass(frozen=True, slots=True)
class Told:
    """What is judged by once the rows are locked: the current round's decisions, oldest first, the database's time, and
    the epoch in force here (None as `CurrentEpoch`)."""

    votes: list[Decision]
    now: datetime
    epoch: UUID | None


def votes_and_now(proposal: Proposal) -> Told:
    """In one statement behind the locks, so that none of it is older than what it waited for (data rule 11)."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT clearance_now(), clearance_epoch(), "  # noqa: S608 - a model's columns
            f"{_DECISIONS.columns('d')} FROM (SELECT 1) once "
            "LEFT JOIN approvals_decision d ON d.proposal_id = %s AND d.round = %s ORDER BY d.at, d.id",
            [proposal.pk, proposal.round],
        )
        rows = cursor.fetchall()
    votes = [_DECISIONS.row(row[2:]) for row in rows if row[2] is not None]
    return Told(votes, rows[0][0], rows[0][1])


def now_and_rejected(run_id: UUID, digest: str) -> tuple[datetime, bool]:
    """The database's time, and whether people have rejected the same call in this run before (S16)."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT clearance_now(), EXISTS (SELECT 1 FROM approvals_proposal "
            "WHERE run_id = %s AND digest = %s AND status = 'rejected')",
            [run_id, digest],
        )
        [(now, rejected)] = cursor.fetchall()
    return now, rejected


def overdue(limit: int) -> list[UUID]:
    """Ids of proposals whose deadline has passed and that nobody has written down, oldest deadline first.

    Read without locks: whoever acts on one locks it and looks at the clock again.
    """
    with connection.cursor() as cursor:
        # The clock stands in a subquery so that it is asked once and the partial indexes answer.
        cursor.execute(
            """
            SELECT id FROM (
              (SELECT id, expires_at FROM approvals_proposal
                WHERE status = 'pending' AND expires_at <= (SELECT clearance_now())
                ORDER BY expires_at LIMIT %(limit)s)
              UNION ALL
              (SELECT p.id, p.expires_at FROM approvals_permit t JOIN approvals_proposal p ON p.id = t.proposal_id
                WHERE t.status = 'ready' AND p.status = 'granted' AND p.expires_at <= (SELECT clearance_now())
                ORDER BY p.expires_at LIMIT %(limit)s)
            ) due ORDER BY expires_at LIMIT %(limit)s
            """,
            {"limit": limit},
        )
        return [row[0] for row in cursor.fetchall()]


def change(proposal: Proposal, *, for_run: bool = True, **changes: Any) -> None:
    """Write `changes` to a locked proposal, raise its version and send the hint after the commit: `for_run` False where
    the run itself says this and has nothing to take up.

    Conditional on the status, round and version that were read; raises `Lost` when the row count is not one. This does
    not prevent an owner's edit: that is what the digest is for.
    """
    changes["version"] = proposal.version + 1
    as_read = Proposal.objects.filter(
        pk=proposal.pk, status=proposal.status, round=proposal.round, version=proposal.version
    )
    if as_read.update(**changes) != 1:
        raise Lost(f"proposal {proposal.pk} changed while it was locked")
    for name, value in changes.items():
        setattr(proposal, name, value)
    announce(proposal, for_run=for_run)


def void_permit(proposal: Proposal, *, because: str) -> bool:
    """Make the current round's unused permit void; False if there is none to void (none, void already, redeemed)."""
    ready = Permit.objects.filter(proposal_id=proposal.pk, round=proposal.round, status="ready")
    return ready.update(status="void", void_because=because) == 1


def resolve(proposal: Proposal, kind: str, *, at: datetime, by: dict[str, object]) -> None:
    """Write the outbox row of the current round (one a round).

    If the round was granted before and the run has not taken that up yet, the row now says `kind` instead. If it has,
    nothing is written: the run holds a call that is ready, and learns of the change when it tries to redeem the permit.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO approvals_resolution AS r (proposal_id, round, kind, at, by) VALUES (%s, %s, %s, %s, %s) "
            "ON CONFLICT (proposal_id, round) DO UPDATE SET kind = EXCLUDED.kind, at = EXCLUDED.at, by = EXCLUDED.by "
            "WHERE r.consumed_at IS NULL",
            [proposal.pk, proposal.round, kind, at, json.dumps(by)],
        )


def active_policy_number(tenant_id: UUID | str, *, hold: bool) -> int:
    """The number of the tenant's policy in force; 0 if none was ever published.

    With `hold`, shared until the transaction ends: nobody publishes between this judgement and its commit, and any
    number of dispatches judge at once. (A publisher waits for those that are under way; each is one short transaction.)
    """
    with connection.cursor() as cursor:
        share = " FOR SHARE" if hold else ""
        cursor.execute(
            f"SELECT active_number FROM approvals_policyhead WHERE tenant_id = %s{share}",  # noqa: S608 - two constants
            [str(tenant_id)],
        )
        row = cursor.fetchone()
    return row[0] if row else 0


def _needs_transaction() -> None:
    if not connection.in_atomic_block:
        raise RuntimeError("a lock outside a transaction holds nothing")
