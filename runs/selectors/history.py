"""Reading a history back into the state it says: the newest checkpoint that this reducer wrote, then what follows."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from audit.core.refusal import Conflict
from runs.core.events import Event as Fact
from runs.core.kinds import EventKind
from runs.core.reducer import REDUCERS, State
from runs.core.replay import replay
from runs.core.table import IllegalTransition
from runs.models import Event, Run

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


def folded(run: Run) -> State:
    """The state of `run` at the sequence that its head shows. The history is the only truth (R1). Raises RunDamaged."""
    return folded_now(run)[0]


def folded_now(run: Run) -> tuple[State, datetime]:
    """The state of `run` at the sequence that its head shows, and the database's time at which it was read. Raises
    RunDamaged."""
    with connection.cursor() as cursor:
        cursor.execute(NEWEST_AND_WHAT_FOLLOWS, {"run": run.id, "version": run.reducer_version, "seq": run.seq})
        [(now, checkpoint, rows)] = cursor.fetchall()
    try:
        return _folded(run, checkpoint, rows), now
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
