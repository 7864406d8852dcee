"""Dispatch rows as work: claimed with a fence and a lease, given back, extended, counted out (R7, data rules 2 and 8).

What this prevents: two workers holding one row; a worker writing with a fence or lease that is over (every change
below is a conditional UPDATE whose row count is looked at, and `runs_append` judges again under the head's lock).
What it does not prevent: a worker that was stopped after its last check from sending late; the kernel timer does.
"""

import json
import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.db import connection

from audit.core.actor import Actor
from runs.selectors.passed_over import PASSED_OVER

type DispatchKind = Literal["evaluate", "dispatch", "look_up", "timer"]
KINDS: tuple[DispatchKind, ...] = ("evaluate", "dispatch", "look_up", "timer")
LIVE = ("ready", "claimed", "started")
FENCES_SKIPPED = 100_000

FIRST_LEASE_MS = 10_000
"""From the claim until the contract is read and the lease set to what its time limit asks for."""

_boot_id = uuid.uuid4().hex


def _new_boot() -> None:
    global _boot_id
    _boot_id = uuid.uuid4().hex


# Never a host name: a worker that is killed and restarted under the same name is another one (S39).
os.register_at_fork(after_in_child=_new_boot)


def boot_id() -> str:
    """This process's identity as a worker: random, new with each start."""
    return _boot_id


def system_actor(tenant_id: UUID | str, *, on_behalf_of: str = "") -> Actor:
    """This process at work in a tenant, as events and audit entries name it; `on_behalf_of` whom the agent acts for."""
    return Actor(
        kind="system",
        id=_boot_id,
        name="Clearance",
        tenant_id=str(tenant_id),
        roles=frozenset(),
        groups=frozenset(),
        scopes=frozenset(),
        on_behalf_of=on_behalf_of,
    )


@dataclass(frozen=True, slots=True)
class Claim:
    """A dispatch row that this worker holds until `lease_until`, by the fence it got."""

    id: UUID
    run_id: UUID
    call_pk: UUID
    kind: DispatchKind
    fence: int
    worker: str
    attempts: int
    max_attempts: int
    claimed_at: datetime
    lease_until: datetime
    restored_at: datetime | None = None
    """When the newest restore of a backup was noticed; runs of before may have gone on in the time it does not know."""


def claim_next(
    *, worker: str, run_id: UUID | None = None, kinds: Sequence[str] = KINDS, lease_ms: int = FIRST_LEASE_MS
) -> Claim | None:
    """Claim the row that has been ready longest, or None. One statement; counts the attempt.

    A row that another worker is claiming this instant is passed over, not waited for; so is one that a stop holds back.
    In a restored database whose epoch was not raised yet nothing is claimed (approvals.store.epochs).
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH clock AS MATERIALIZED (
              SELECT clearance_now() AS now, clearance_restored_at() AS restored_at WHERE clearance_epoch() IS NOT NULL)
            UPDATE runs_dispatch d SET status = 'claimed', fence = nextval('runs_fence'), worker = %(worker)s,
              lease_until = clock.now + %(lease)s * interval '1 millisecond', attempts = attempts + 1
            FROM clock WHERE d.id = (
              SELECT id FROM runs_dispatch d WHERE status = 'ready' AND not_before <= (SELECT now FROM clock)
                AND kind = ANY(%(kinds)s) AND (%(run)s::uuid IS NULL OR run_id = %(run)s)
                AND NOT """  # noqa: S608 - a constant of ours
            + PASSED_OVER
            + """
              ORDER BY not_before LIMIT 1 FOR UPDATE SKIP LOCKED)
            RETURNING d.id, d.run_id, d.call_id, d.kind, d.fence, d.worker, d.attempts, d.max_attempts, clock.now,
              d.lease_until, clock.restored_at
            """,
            {"worker": worker, "lease": lease_ms, "kinds": list(kinds), "run": run_id},
        )
        row = cursor.fetchone()
    return Claim(*row) if row else None


def extend(claim: Claim, *, lease_until: datetime) -> datetime | None:
    """Set the lease's end; the database's time. None when the claim is no longer ours or is over already: stop working
    on it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE runs_dispatch SET lease_until = %s WHERE id = %s AND fence = %s AND status = 'claimed' "
            "AND lease_until > clearance_now() RETURNING clearance_now()",
            [lease_until, claim.id, claim.fence],
        )
        row = cursor.fetchone()
    return row[0] if row else None


FROZEN = "frozen"
"""Why a row was given back that a freeze of the policy holds back."""


def give_back(claim: Claim, *, wait_ms: int, count_attempt: bool, error: str = "") -> bool:
    """Make a claimed row ready again after `wait_ms`. False when it is no longer ours.

    `count_attempt=False` where nothing was tried: the resource was busy, a look-up was too early to prove anything.
    """
    return _changed(
        "UPDATE runs_dispatch SET status = 'ready', worker = '', lease_until = NULL, last_error = %s, "
        "not_before = clearance_now() + %s * interval '1 millisecond', attempts = attempts - %s "
        "WHERE id = %s AND fence = %s AND status = 'claimed'",
        [error[:2000], wait_ms, 0 if count_attempt else 1, claim.id, claim.fence],
    )


def give_back_all(worker: str) -> int:
    """Make what a worker holds and has not started ready for others at once, untried; how many rows.

    A thread that is in the middle of one finds that its fence is no longer accepted, and writes nothing. A row that it
    holds this instant (its intent is being recorded) is left to it.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE runs_dispatch SET status = 'ready', worker = '', lease_until = NULL, "
            "fence = nextval('runs_fence'), not_before = clearance_now(), attempts = attempts - 1, "
            "last_error = 'its worker was told to end' WHERE id IN (SELECT id FROM runs_dispatch "
            "WHERE worker = %s AND status = 'claimed' FOR UPDATE SKIP LOCKED)",
            [worker],
        )
        return cursor.rowcount


def close(claim: Claim, *, dead: bool = False, error: str = "") -> bool:
    """End a claimed row: done, or dead when its attempts are used up. False when it is no longer ours."""
    return _changed(
        "UPDATE runs_dispatch SET status = %s, lease_until = NULL, finished_at = clearance_now(), "
        "last_error = CASE WHEN %s = '' THEN last_error ELSE %s END "
        "WHERE id = %s AND fence = %s AND status = 'claimed'",
        ["dead" if dead else "done", error, error[:2000], claim.id, claim.fence],
    )


def mark_started(
    claim: Claim,
    *,
    started_at: datetime,
    request_deadline: datetime,
    lease_until: datetime,
    observed: Mapping[str, Any] | None = None,
) -> bool:
    """Note beside the intent event that a request may be on its way. Under the head's lock; False: not ours.

    `observed` is what the request is filled from, for a later look-up.
    """
    return _changed(
        "UPDATE runs_dispatch SET status = 'started', started_at = %s, request_deadline = %s, observed = %s, "
        "lease_until = greatest(lease_until, %s) WHERE id = %s AND fence = %s AND status = 'claimed' "
        "AND clearance_epoch() IS NOT NULL",
        [
            started_at,
            request_deadline,
            None if observed is None else json.dumps(observed),
            lease_until,
            claim.id,
            claim.fence,
        ],
    )


@dataclass(frozen=True, slots=True)
class Look:
    """What the last look before the write sees: the row as it is now, and the database's time."""

    now: datetime
    status: str
    fence: int
    lease_until: datetime | None
    request_deadline: datetime | None
    here: bool = True
    """False in a restored database whose epoch was not raised yet: nothing is sent on what it says."""


def look(dispatch_id: UUID) -> Look:
    """One cheap SELECT; called between arming the kernel timer and writing the request."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT clearance_now(), status, fence, lease_until, request_deadline, clearance_epoch() IS NOT NULL "
            "FROM runs_dispatch WHERE id = %s",
            [dispatch_id],
        )
        row = cursor.fetchone()
    if row is None:
        raise LookupError(f"dispatch {dispatch_id} does not exist")
    return Look(*row)


@dataclass(frozen=True, slots=True)
class Expired:
    """A row whose lease is over, as it was when it was read; whoever acts on it looks again under the head's lock."""

    id: UUID
    run_id: UUID
    call_pk: UUID
    kind: DispatchKind
    status: Literal["claimed", "started"]
    fence: int
    attempts: int
    max_attempts: int
    worker: str
    lease_until: datetime

    @property
    def exhausted(self) -> bool:
        """Whether this was the last attempt. A timer only appends an event; it has no attempts to use up."""
        return self.kind != "timer" and self.attempts >= self.max_attempts

    def claim(self) -> Claim:
        """The claim that its worker held. Over, so nothing is accepted by it; it names the attempt."""
        return Claim(
            self.id, self.run_id, self.call_pk, self.kind, self.fence, self.worker, self.attempts, self.max_attempts,
            self.lease_until, self.lease_until,
        )  # fmt: skip


def expired(*, limit: int, without: Sequence[UUID] = ()) -> list[Expired]:
    """Rows whose lease is over, oldest first, `without` those with these ids. Read without a lock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, run_id, call_id, kind, status, fence, attempts, max_attempts, worker, lease_until "
            "FROM runs_dispatch "
            "WHERE status IN ('claimed', 'started') AND lease_until <= (SELECT clearance_now()) "
            "AND id <> ALL(%s) ORDER BY lease_until LIMIT %s",
            [list(without), limit],
        )
        return [Expired(*row) for row in cursor.fetchall()]


def take_from_dead_worker(row: Expired) -> bool:
    """Take an expired row away from its worker: claimed → ready, or dead with its attempts used up.

    Under the head's lock, and only if it is still as it was read: a worker that finished meanwhile keeps its result
    (S38). A started row is never made ready (R7); see `close_started`.
    """
    if row.status != "claimed":
        raise ValueError("only a claimed row can be tried again")
    status = "dead" if row.exhausted else "ready"
    return _changed(
        "UPDATE runs_dispatch SET status = %s, worker = '', lease_until = NULL, not_before = clearance_now(), "
        "last_error = %s, finished_at = CASE WHEN %s = 'dead' THEN clearance_now() END "
        "WHERE id = %s AND fence = %s AND status = 'claimed' AND lease_until <= clearance_now()",
        [status, "its worker stopped answering", status, row.id, row.fence],
    )


def is_still_expired(row: Expired) -> bool:
    """Whether a row that was read as expired is so now; asked under the head's lock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM runs_dispatch WHERE id = %s AND fence = %s AND status = %s "
            "AND lease_until <= clearance_now()",
            [row.id, row.fence, row.status],
        )
        return cursor.fetchone() is not None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A run with rows that have been ready since `since`."""

    run_id: UUID
    age_s: float


def waiting(*, older_than_s: float, limit: int) -> list[Waiting]:
    """Runs with rows ready for longer than that, the oldest first; also those whose rows were put off and are due now,
    because nobody was told when that moment came."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH clock AS MATERIALIZED (SELECT clearance_now() AS now)
            SELECT run_id, extract(epoch FROM (SELECT now FROM clock) - min(not_before))::float8 FROM runs_dispatch d
            WHERE status = 'ready' AND not_before <= (SELECT now FROM clock)
              AND (not_before > created_at OR not_before <= (SELECT now FROM clock) - %s * interval '1 second')
              AND NOT """  # noqa: S608 - a constant of ours
            + PASSED_OVER
            + """
            GROUP BY run_id ORDER BY min(not_before) LIMIT %s
            """,
            [older_than_s, limit],
        )
        return [Waiting(*row) for row in cursor.fetchall()]


def _changed(statement: str, parameters: list[Any]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.rowcount == 1


def give_up_all() -> int:
    """After a restore: what was claimed when the backup was made is ready again, its attempt not counted. Fences that
    were given out in the time that the backup does not know of are skipped, so that a process that has lived through
    the restore holds none that is given out again."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(nextval('runs_fence')) FROM generate_series(1, %s)", [FENCES_SKIPPED])
        cursor.execute(
            "UPDATE runs_dispatch SET status = 'ready', worker = '', lease_until = NULL, "
            "fence = nextval('runs_fence'), attempts = greatest(attempts - 1, 0), not_before = clearance_now(), "
            "last_error = 'a backup was restored' "
            "WHERE status = 'claimed'"
        )
        return cursor.rowcount


def all_started() -> list[Expired]:
    """After a restore: every row whose request may have been on its way when the backup was made, by run."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, run_id, call_id, kind, status, fence, attempts, max_attempts, worker, lease_until "
            "FROM runs_dispatch WHERE status = 'started' ORDER BY run_id, id"
        )
        return [Expired(*row) for row in cursor.fetchall()]
