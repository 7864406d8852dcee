"""The rows that follow from an append: the calls as they stand now, and the work that is left to do."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import connection

from runs.core.kinds import FINAL_CALLS, CallState, CommandKind
from runs.core.reducer import CallMachine, Command, State
from runs.models import Call, Dispatch, Run

# Which rows of work fit a call that stands somewhere. A live row of any other kind has nothing left to do.
FITTING: Mapping[CallState, frozenset[str]] = {
    CallState.NEW: frozenset({"evaluate"}),
    CallState.READY: frozenset({"dispatch", "timer"}),
    CallState.STARTED: frozenset({"dispatch"}),
    CallState.UNKNOWN: frozenset({"look_up"}),
}
ROW_OF: Mapping[CommandKind, str] = {
    CommandKind.EVALUATE: "evaluate",
    CommandKind.DISPATCH: "dispatch",
    CommandKind.LOOK_UP: "look_up",
    CommandKind.SET_TIMER: "timer",
}
"""Commands that are rows. Reading the state is the first half of *evaluate*; a hold is written by whoever asks for it;
telling the agent is the signal."""

type Rows = dict[str, tuple[UUID, int]]
"""By call id: the row's id and its version."""


# In a call that is ready again, what has started is the attempt that has just ended: a started row never becomes ready
# (R7). New rows of work come in a later statement: one live row of a kind for a call is a constraint.
_MOVE = """
WITH moved AS (
  UPDATE runs_call SET state = %(state)s, proposal_id = %(proposal)s, version = version + 1,
    settled_at = COALESCE(%(settled)s::timestamptz, settled_at), answer = COALESCE(%(answer)s::jsonb, answer)
  WHERE run_id = %(run)s AND call_id = ANY(%(calls)s) RETURNING call_id, id, version
),
ended AS (
  UPDATE runs_dispatch d SET status = 'done', lease_until = NULL, finished_at = %(at)s::timestamptz
  FROM moved WHERE d.call_id = moved.id AND d.status IN ('ready', 'claimed', 'started')
    AND (d.kind <> ALL(%(fitting)s) OR (d.status = 'started' AND %(ready)s))
)
SELECT call_id, id, version FROM moved
"""


def write_calls(
    run: Run, moved: Sequence[CallMachine], before: State, at: str, answers: Mapping[str, dict[str, Any]]
) -> Rows:
    """Bring the rows of calls that moved to where the history says they stand, and end their rows of work that have
    nothing left to do. An answer for a call that did not move is not written: it has ended otherwise."""
    # A cancelled run gives a thousand calls one end: one statement for each end, not for each call.
    groups: dict[tuple[CallState, str | None, bool, int], list[str]] = {}
    for call in moved:
        was = before.calls.get(call.call_id)
        settled = call.state in FINAL_CALLS and (was is None or was.state not in FINAL_CALLS)
        end = (call.state, call.proposal_id, settled, id(answers.get(call.call_id)))
        groups.setdefault(end, []).append(call.call_id)
    rows: Rows = {}
    with connection.cursor() as cursor:
        for (state, proposal_id, settled, _), call_ids in groups.items():
            answer = answers.get(call_ids[0])
            cursor.execute(
                _MOVE,
                {
                    "state": state.value, "proposal": proposal_id, "at": at, "settled": at if settled else None,
                    "answer": None if answer is None else json.dumps(answer), "run": run.id, "calls": call_ids,
                    "fitting": sorted(FITTING.get(state, ())), "ready": state is CallState.READY,
                },
            )  # fmt: skip
            rows |= {call_id: (row_id, version) for call_id, row_id, version in cursor.fetchall()}
    return rows


def write_dispatches(run: Run, commands: Sequence[Command], at: str, rows: Rows) -> bool:
    """Add the rows of work that the reducer ordered. True if any was added."""
    orders = [command for command in commands if command.kind in ROW_OF]
    if not orders:
        return False
    known = {call_id: row_id for call_id, (row_id, _) in rows.items()}
    missing = {order.call_id for order in orders if order.call_id not in known}
    if missing:  # a resumed run repeats what its pause held back, for calls that did not move
        known |= dict(Call.objects.filter(run=run, call_id__in=missing).values_list("call_id", "id"))
    # One live row of a kind for a call: an order that is repeated is the same row.
    Dispatch.objects.bulk_create(
        [
            Dispatch(
                run=run,
                call_id=known[order.call_id or ""],
                kind=ROW_OF[order.kind],
                not_before=order.body.get("due") or at,
                created_at=at,
            )
            for order in orders
        ],
        ignore_conflicts=True,
    )
    return True
