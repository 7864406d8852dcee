"""A run again from its history, with the reducer that made it (R1), and when a checkpoint is worth its bytes."""

from collections.abc import Iterable

from runs.core.events import Event
from runs.core.reducer import REDUCERS, State
from runs.core.status import waits

EVERY = 50


def replay(events: Iterable[Event], version: int = 1, since: State | None = None) -> State:
    """The state after `events`, from the start or from the checkpoint `since`.

    Commands are dropped: they were stored when the events were. Raises IllegalTransition when the history could not
    have been made by this reducer, LookupError when the version is unknown.
    """
    reducer = REDUCERS.get(version)
    if reducer is None:
        raise LookupError(f"Reducer version {version} is not known here; this code folds {sorted(REDUCERS)}.")
    state = reducer.initial_state() if since is None else since
    for event in events:
        state, _ = reducer.fold(state, event)
    return state


def checkpoint_due(seq: int, state: State) -> bool:
    """Whether the state after event `seq` should be written down.

    After 50 events since the checkpoint it was loaded from, and at waits after a tenth of that. In long runs the gap
    grows with the history (an eighth of it): a checkpoint holds every call, so a fixed gap would make the bytes
    written grow with the square of the steps (data rule 9).
    """
    step = max(EVERY, seq // 8)
    gap = seq - state.restored_at
    return gap >= step or (gap * 10 >= step and waits(state))
