"""Trying a file on past calls at a command line: in this process, or by the worker that was quicker."""

import time
from collections.abc import Callable, Iterator

from approvals.selectors.replays import MoveRow, ReplayRow, replay_get
from approvals.services.replay import replay_ask
from approvals.signals import replay_waits
from audit.core.actor import Actor
from audit.core.refusal import NotFound

LOOK_S = 0.5


def replay_file(*, actor: Actor, source: str, days: int, tell: Callable[[str], object]) -> ReplayRow:
    """Ask for it and wait for its end; `tell` hears how far it is. Raises like `replay_ask`."""
    asked = replay_ask(actor=actor, source=source, days=days)
    while True:
        # Nothing to do where a worker has it; where that one dies, this takes it up again.
        replay_waits.send(sender=None, replay_id=asked.id, here=True)
        row = replay_get(actor, asked.id)
        if row is None:
            raise NotFound
        if not row.open:
            return row
        tell(f"{row.percent} %")
        time.sleep(LOOK_S)


def replay_lines(row: ReplayRow) -> Iterator[str]:
    """The result, a line each."""
    yield (
        f"{row.judged:,} calls of the last {row.days} days, by version {row.against_number} and by this text; "
        "no tool was called."
    )
    for move in row.moves:
        yield from _move(move)
    yield f"{row.same:,} calls would be judged as today."
    if row.as_now:
        yield f"Of {row.as_now:,} calls it was not kept which roles and groups their person had: those of today count."
    for left in row.left_out:
        yield f"{left.calls:,} calls are left out: {left.why}"


def _move(move: MoveRow) -> Iterator[str]:
    after = "ask others" if move.before == move.after else move.after
    sums = f", {', '.join(move.sums)}" if move.sums else ""
    rejected = f"; {move.rejected:,} of them had been rejected by people" if move.rejected else ""
    yield f"{move.before} -> {after}: {move.calls:,} calls{sums}{rejected}"
    for before, now, calls in move.rules:
        yield f"    {before} -> {now}: {calls:,}"
    for one in move.examples[:3]:
        yield f"    for example {one.money or one.tool} {one.target} (run {one.run_id}, call {one.call_id})"
