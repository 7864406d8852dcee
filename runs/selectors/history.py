"""Reading a history back into the state it says: the newest checkpoint that this reducer wrote, then what follows."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from audit.core.refusal import Conflict
from audit.store.rows import RowsOf
from runs.core.events import Event as Fact
from runs.core.kinds import EventKind
from runs.core.reducer import REDUCERS, State
from runs.core.replay import replay
from runs.core.table import IllegalTransition
from runs.models import Call, Event, Run

# One statement: this is read at each step of each run, several times in a dispatch. The clock is read with it, which
# is right where the head was locked by an earlier statement (data rule 11).
NEWEST_AND_WHAT_FOLLOWS = """
WITH newest AS MATERIALIZED (
  SELECT seq, state FROM runs_checkpoint
  WHERE run_id = %(run)s AND reducer_version = %(version)s AND seq <= %(seq)s ORDER BY seq DESC LIMIT 1)
SELECT clearance_now(), (SELECT state::text FROM newest), (
  SELECT jsonb_agg(jsonb_build_array(kind, seq, at, actor, body, schema) ORDER BY seq)::text FROM runs_event
  WHERE run_id = %(run)s AND seq > COALESCE((SELECT seq FROM newest), 0) AND seq <= %(seq)s)
"""


class RunDamaged(Conflict):
    """409. The stored history is not one that this code, or the code that wrote it, could have made (S84, S87)."""

    default_code = "RUN_DAMAGED"
    default_message = (
        "The stored history of this run is not what was written, so nothing is done with it. Ask again in a new run; "
        "tell an operator."
    )


CALL_AND_HISTORY = """
SELECT {call}, {run}, newest.state::text, (
  SELECT jsonb_agg(jsonb_build_array(kind, seq, at, actor, body, schema) ORDER BY seq)::text FROM runs_event e
  WHERE e.run_id = r.id AND e.seq > COALESCE(newest.seq, 0) AND e.seq <= r.seq)
FROM runs_call c JOIN runs_run r ON r.id = c.run_id
LEFT JOIN LATERAL (
  SELECT k.seq, k.state FROM runs_checkpoint k
  WHERE k.run_id = r.id AND k.reducer_version = r.reducer_version AND k.seq <= r.seq
  ORDER BY k.seq DESC LIMIT 1) newest ON true
WHERE c.id = %s
"""

_CALLS, _RUNS = RowsOf(Call), RowsOf(Run)


@dataclass(frozen=True, slots=True)
class History:
    """A run's history as it was read with its head, not folded yet."""

    checkpoint: str | None
    rows: str | None

    def folded(self, run: Run) -> State:
        """The state that it says. Raises RunDamaged."""
        return _fold(run, self.checkpoint, self.rows)


def call_with_history(call_pk: UUID) -> tuple[Call, History]:
    """A call with its run, and the run's history up to the sequence that its head shows, in one statement. Raises
    Call.DoesNotExist."""
    statement = CALL_AND_HISTORY.format(call=_CALLS.columns("c"), run=_RUNS.columns("r"))
    with connection.cursor() as cursor:
        cursor.execute(statement, [call_pk])
        row = cursor.fetchone()
    if row is None:
        raise Call.DoesNotExist
    call, width = _CALLS.row(row[: len(_CALLS)]), len(_CALLS) + len(_RUNS)
    call.run = _RUNS.row(row[len(_CALLS) : width])
    return call, History(*row[width:])


def folded(run: Run) -> State:
    """The state of `run` at the sequence that its head shows. The history is the only truth (R1). Raises RunDamaged."""
    return folded_now(run)[0]


def folded_now(run: Run) -> tuple[State, datetime]:
    """The state of `run` at the sequence that its head shows, and the database's time at which it was read. Raises
    RunDamaged."""
    with connection.cursor() as cursor:
        cursor.execute(NEWEST_AND_WHAT_FOLLOWS, {"run": run.id, "version": run.reducer_version, "seq": run.seq})
        [(now, checkpoint, rows)] = cursor.fetchall()
    return _fold(run, checkpoint, rows), now


def _fold(run: Run, checkpoint: str | None, rows: str | None) -> State:
    try:
        return _folded(run, checkpoint, rows)
    except (AttributeError, LookupError, TypeError, ValueError, IllegalTransition) as error:
        raise RunDamaged from error


def _folded(run: Run, checkpoint: str | None, rows: str | None) -> State:
    start = _state(checkpoint, run.reducer_version)
    if start is None:
        start, following = REDUCERS[run.reducer_version].initial_state(), (f for f, _ in facts(run.id, until=run.seq))
    else:
        following = (
            Fact(EventKind(kind), seq, datetime.fromisoformat(at).isoformat(), actor, body, schema)
            for kind, seq, at, actor, body, schema in json.loads(rows or "[]")
        )
    state = replay(following, run.reducer_version, start)
    if state.seq != run.seq:
        raise ValueError(f"run {run.id} has its head at {run.seq} but its history ends at {state.seq}")
    return state


def facts(
    run_id: UUID, *, after: int = 0, until: int | None = None, limit: int | None = None
) -> Iterator[tuple[Fact, datetime]]:
    """The events behind sequence `after`, in order, as the reducer takes them, each with its time."""
    rows = Event.objects.filter(run_id=run_id, seq__gt=after).order_by("seq")
    if until is not None:
        rows = rows.filter(seq__lte=until)
    for kind, seq, at, actor, body, schema in rows.values_list("kind", "seq", "at", "actor", "body", "schema")[:limit]:
        yield Fact(EventKind(kind), seq, at.isoformat(), actor, body, schema), at


def facts_as_stored(
    run_id: UUID, *, after: int, until: int, limit: int
) -> Iterator[tuple[int, str, datetime, dict[str, Any], dict[str, Any]]]:
    """(seq, kind, time, actor, body) for a timeline: whatever is there is shown, and what has no form is left out, so
    that one bad event hides no other (S87)."""
    rows = Event.objects.filter(run_id=run_id, seq__gt=after, seq__lte=until).order_by("seq")
    for seq, kind, at, actor, body in rows.values_list("seq", "kind", "at", "actor", "body")[:limit]:
        yield seq, kind, at, actor if isinstance(actor, dict) else {}, body if isinstance(body, dict) else {}


def _state(checkpoint: str | None, version: int) -> State | None:
    """The state to go on from; None where the checkpoint cannot be read: it is only an optimisation, and one that is
    damaged costs time, never the truth."""
    if checkpoint is None:
        return REDUCERS[version].initial_state()
    try:
        return State.from_json(json.loads(checkpoint))
    except (ValueError, KeyError, TypeError):
        return None
