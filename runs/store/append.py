"""Adding to a run's history, and everything that follows from it in the same transaction (R4, data rules 1 and 9).

    with transaction.atomic():
        loaded = lock_run(run_id)
        appended = append(loaded, [(EventKind.CALL_ALLOWED, {...})], actor=actor, guard=Guard(claim.id, claim.fence))

`lock_run` takes the head's row lock, so whoever appends holds it for the rest of the transaction; it comes first in the
lock order. `append` folds the events, hands them to the SQL function `runs_append`, which judges sequence, fence and
lease in a statement of its own, and then writes what the reducer said: dispatch rows for its commands, the calls' rows,
a checkpoint when one is due. After the commit, and robustly, a signal says that the run has advanced.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F

from audit.core.actor import Actor
from audit.core.refusal import Conflict, NotFound
from audit.store.rows import RowsOf
from runs.core.events import SCHEMA, Event
from runs.core.kinds import EventKind
from runs.core.reducer import REDUCERS, Command, IllegalTransition, State
from runs.core.replay import checkpoint_due
from runs.core.status import detail, drain_due, quiescent_due, run_status
from runs.models import Call, Checkpoint, Run
from runs.selectors.history import folded_now
from runs.signals import run_advanced
from runs.store.following import write_calls, write_dispatches

_RUNS = RowsOf(Run)

type Facts = Sequence[tuple[EventKind, dict[str, Any]]]


class FenceLost(Exception):
    """The worker's fence is not the row's any more, or its lease is over: nothing of it is accepted (R7, S37)."""


class SequenceLost(Exception):
    """Another append came first. With the head locked this means that the caller loaded it without the lock."""


@dataclass(frozen=True, slots=True)
class Guard:
    """By what right a worker appends. Events from outside (API, decision, verb) have none (data rule 2)."""

    dispatch_id: UUID
    fence: int


@dataclass(frozen=True, slots=True)
class Loaded:
    """A run's head, locked, with the state that its history says and the database's time after the lock."""

    run: Run
    state: State
    seq: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Appended:
    """What an append made of the run. Give `loaded` to a further append of the same transaction."""

    loaded: Loaded
    commands: tuple[Command, ...]

    @property
    def state(self) -> State:
        """The state after the events."""
        return self.loaded.state

    @property
    def seq(self) -> int:
        """The run's new last sequence."""
        return self.loaded.seq


@contextmanager
def as_conflict() -> Iterator[None]:
    """For verbs from outside: what the history does not allow is a conflict (409) with the reducer's own sentence."""
    try:
        yield
    except IllegalTransition as error:
        raise Conflict(
            error.sentence, code="NOT_IN_THIS_STATE", detail={"stands": error.state, "tried": error.event}
        ) from None


class HeadBusy(Exception):
    """Somebody holds the run's head, and the caller has more to do than to wait for it."""


def lock_run(run_id: UUID, *, wait: bool = True) -> Loaded:
    """Lock the head of a run and fold its history. Raises NotFound. Needs a transaction.

    `wait=False` raises HeadBusy where somebody else holds the head: the sweep must not stand still behind a process
    that was stopped in the middle of a transaction (the server ends that transaction after some seconds).
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {_RUNS.columns('r')} FROM runs_run r WHERE r.id = %s "  # noqa: S608 - a model's columns
            f"FOR UPDATE{'' if wait else ' SKIP LOCKED'}",
            [run_id],
        )
        row = cursor.fetchone()
    run = _RUNS.row(row) if row else None
    if run is None:
        if not wait and Run.objects.filter(pk=run_id).exists():
            raise HeadBusy
        raise NotFound
    # The clock is read after the lock was granted, never in the statement that waited for it (data rule 11).
    state, now = folded_now(run)
    return Loaded(run, state, run.seq, now)


def append(
    loaded: Loaded,
    facts: Facts,
    *,
    actor: Actor,
    guard: Guard | None = None,
    answers: Mapping[str, dict[str, Any]] | None = None,
) -> Appended:
    """Append `facts` (kind, body) to the history and write what follows. All in the caller's transaction.

    `answers` holds, by call id, what the agent is told from now on. Raises IllegalTransition when the history does not
    allow an event, FenceLost when `guard` no longer holds, SequenceLost; in each case nothing was written.
    """
    # The time at which the head was locked: behind every earlier event's, and the same for all that is said at once.
    at = loaded.at.isoformat()
    events, state, commands = _fold(loaded, facts, at, actor)
    seq = _write(loaded, events, state, guard)
    run = loaded.run
    run.seq, run.status, run.detail = seq, run_status(state).value, detail(state)
    moved = [call for call in state.calls.values() if loaded.state.calls.get(call.call_id) != call]
    rows = write_calls(run, moved, loaded.state, at, answers or {})
    work = write_dispatches(run, commands, at, rows)
    if checkpoint_due(seq, state):
        Checkpoint.objects.create(run=run, seq=seq, reducer_version=run.reducer_version, state=state.to_json(), at=at)
        state = state.checkpointed()
    _announce(run, seq, [(row_id, version) for row_id, version in rows.values()], work=work)
    return Appended(replace(loaded, state=state, seq=seq), commands)


def tell_call(loaded: Loaded, call_id: str, answer: dict[str, Any]) -> None:
    """Change what the agent is told of a call without an event: a look-up found nothing, so nothing has moved."""
    Call.objects.filter(run=loaded.run, call_id=call_id).update(answer=answer, version=F("version") + 1)
    rows = list(Call.objects.filter(run=loaded.run, call_id=call_id).values_list("id", "version"))
    _announce(loaded.run, loaded.seq, rows, work=False)


def _announce(run: Run, seq: int, calls: list[tuple[UUID, int]], *, work: bool) -> None:
    hint = {"run_id": run.id, "tenant_id": run.tenant_id, "seq": seq, "calls": calls, "work": work}
    transaction.on_commit(partial(run_advanced.send_robust, sender=Run, **hint), robust=True)


def _fold(loaded: Loaded, facts: Facts, at: str, actor: Actor) -> tuple[list[Event], State, tuple[Command, ...]]:
    fold = REDUCERS[loaded.run.reducer_version].fold
    state, events = loaded.state, list[Event]()
    commands: tuple[Command, ...] = ()

    def add(kind: EventKind, body: dict[str, Any]) -> None:
        nonlocal state, commands
        event = Event(kind, state.seq + 1, at, actor.as_record(), body, SCHEMA)
        state, more = fold(state, event)
        commands += more
        events.append(event)

    for kind, body in facts:
        add(kind, body)
    # The last answer in flight makes a run quiet that is being stopped or paused: said at once, by whoever brings it.
    if quiescent_due(state):
        add(EventKind.RUN_QUIESCENT, {})
    if drain_due(state):
        add(EventKind.PAUSE_DRAINED, {})
    return events, state, commands


def _write(loaded: Loaded, events: Sequence[Event], state: State, guard: Guard | None) -> int:
    rows = [{"kind": e.kind.value, "schema": e.schema, "actor": e.actor, "body": e.body, "at": e.at} for e in events]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT runs_append(%s, %s, %s::jsonb, %s, %s, %s, %s, %s)",
            [
                loaded.run.id,
                loaded.seq,
                json.dumps(rows),
                guard.dispatch_id if guard else None,
                guard.fence if guard else None,
                run_status(state).value,
                detail(state),
                state.finished,
            ],
        )
        [seq] = cursor.fetchone() or [None]
    if seq == -2:
        raise FenceLost
    if seq is None or seq < 0:
        raise SequenceLost
    return int(seq)
