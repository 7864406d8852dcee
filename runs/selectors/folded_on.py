"""States for pages: folded on from the one that this process read before.

A page of 10,000 events that is open gets a push with each new one; folding from the last checkpoint costs a tenth of a
second each time, folding on costs what is new. Nothing is decided by these states: services fold for themselves, from
the history, under the head's lock.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from runs.core.events import Event as Fact
from runs.core.replay import replay
from runs.core.state import State
from runs.core.table import IllegalTransition
from runs.models import Event, Run
from runs.selectors.history import RunDamaged, folded

KEPT = 24
WORTH_KEEPING = 100
"""Runs of fewer events are folded quickly enough."""
AT_MOST = 2000
"""Behind by more events than this, the checkpoint is nearer."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A state, and the event that it ends with: a database that was taken back may go on with another one."""

    state: State
    last: tuple[Any, ...]


_lock = threading.Lock()
_kept: OrderedDict[UUID, _Kept] = OrderedDict()
_FIELDS = ("kind", "seq", "at", "actor", "body", "schema")


def folded_on(run: Run) -> State:
    """The state of `run` at the sequence that its head shows. Raises RunDamaged."""
    if run.seq < WORTH_KEEPING:
        return folded(run)
    with _lock:
        before = _kept.get(run.id)
    if before is not None and before.state.seq <= run.seq <= before.state.seq + AT_MOST:
        rows = list(
            Event.objects.filter(run_id=run.id, seq__gte=before.state.seq, seq__lte=run.seq)
            .order_by("seq")
            .values_list(*_FIELDS)
        )
        if rows and rows[0] == before.last:
            return _keep(run, _on(run, before.state, rows[1:]), rows[-1])
    state = folded(run)
    last = Event.objects.filter(run_id=run.id, seq=run.seq).values_list(*_FIELDS).first()
    return state if last is None else _keep(run, state, last)


def forget() -> None:
    """As in a process that has read no run; for benchmarks and tests."""
    with _lock:
        _kept.clear()


def _on(run: Run, state: State, rows: list[tuple[Any, ...]]) -> State:
    try:
        following = (
            Fact(kind, seq, at.isoformat(), actor, body, schema) for kind, seq, at, actor, body, schema in rows
        )
        state = replay(following, run.reducer_version, state)
    except (AttributeError, LookupError, TypeError, ValueError, IllegalTransition) as error:
        raise RunDamaged from error
    if state.seq != run.seq:
        raise RunDamaged
    return state


def _keep(run: Run, state: State, last: tuple[Any, ...]) -> State:
    with _lock:
        _kept[run.id] = _Kept(state, last)
        _kept.move_to_end(run.id)
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return state
