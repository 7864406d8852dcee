"""Reading a history back into the state it says: the newest checkpoint that this reducer wrote, then what follows."""

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from runs.core.events import Event as Fact
from runs.core.kinds import EventKind
from runs.core.reducer import REDUCERS, State
from runs.core.replay import replay
from runs.models import Checkpoint, Event, Run


def folded(run: Run) -> State:
    """The state of `run` at the sequence that its head shows. The history is the only truth (R1)."""
    start = _checkpointed(run)
    state = replay((fact for fact, _ in facts(run.id, after=start.seq, until=run.seq)), run.reducer_version, start)
    if state.seq != run.seq:
        raise RuntimeError(f"run {run.id} has its head at {run.seq} but its history ends at {state.seq}")
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


def _checkpointed(run: Run) -> State:
    written = Checkpoint.objects.filter(run=run, reducer_version=run.reducer_version, seq__lte=run.seq)
    newest = written.order_by("-seq").first()
    if newest is None:
        return REDUCERS[run.reducer_version].initial_state()
    try:
        return State.from_json(newest.state)
    except (ValueError, KeyError, TypeError):
        # A checkpoint is only an optimisation: one that cannot be read costs time, never the truth.
        return REDUCERS[run.reducer_version].initial_state()
