"""An agent opens the next turn of its run: which tools its model is shown, until the one after (R10)."""

from collections.abc import Sequence
from uuid import UUID

from approvals.selectors.catalogue import tools_for
from audit.core.actor import Actor
from audit.core.refusal import Conflict, Invalid
from audit.services.record import audit_record, audit_refusals
from runs.core.kinds import EventKind as K
from runs.core.kinds import RunPhase
from runs.core.turns import TURN_ID, Turn, open_turn
from runs.selectors.run_tools import TurnRow, cut_to_run, narrowed_to, turn_row
from runs.services.call import own_run
from runs.store.append import Loaded, append, as_conflict, lock_run

_OF_THE_RUN = "of this run. Leave it out; GET runs/{run}/tools lists them"


def turn_open(*, actor: Actor, run_id: UUID, turn_id: str, tools: Sequence[str] | None = None) -> TurnRow:
    """Open the next turn for the run's agent; the turn before is over then.

    `tools` narrows what may be called in it to these of the run's; None: all that the agent is shown for the run now,
    and nothing that is added to them later, because the model was not shown it. The open turn's id with the same
    `tools` gives that turn (`repeated`). Nothing is granted: every call is checked anew.

    Raises NotFound, Forbidden (AGENT_REQUIRED, PRINCIPAL_DIFFERS), Invalid (TURN_ID_INVALID, TOOLS_INVALID,
    DEADLINE_PASSED), Conflict (TURN_ID_REUSED; NOT_IN_THIS_STATE: the run is paused, being stopped or over).
    """
    with audit_refusals(actor=actor, action="run.turn_opened", object_type="run", object_id=run_id, run_id=run_id):
        run = own_run(actor=actor, run_id=run_id)
        if TURN_ID.fullmatch(turn_id) is None:
            raise Invalid(
                "A turn's id has 1 to 128 letters, digits or . _ : ~ @ + = - and begins with a letter or digit.",
                code="TURN_ID_INVALID",
                missing=["turn_id"],
            )
        loaded = lock_run(run.id)
        mine = cut_to_run(tools_for(actor), loaded.state)
        is_new = turn_id not in loaded.state.turns or loaded.state.phase is not RunPhase.OPEN
        if is_new:
            names = [tool.name for tool in mine] if tools is None else narrowed_to(mine, tools, _OF_THE_RUN)
            turn = _open(actor, loaded, turn_id, names, narrowed=tools is not None)
        else:
            turn = _same(loaded, turn_id, tools)
        audit_record(
            actor=actor,
            action="run.turn_opened",
            object_type="run",
            object_id=run.id,
            verdict="ok" if is_new else "duplicate",
            run_id=run.id,
            detail={
                "turn_id": turn_id,
                "number": turn.number,
                "narrowed": turn.narrowed,
                "tools": list(turn.tools),
            },
        )
        return turn_row(run.id, turn, mine, repeated=not is_new)


def _open(actor: Actor, loaded: Loaded, turn_id: str, names: list[str], *, narrowed: bool) -> Turn:
    until = loaded.run.deadline
    if until is not None and until <= loaded.at:
        raise Invalid(
            "The run's deadline has passed; nothing was started.",
            code="DEADLINE_PASSED",
            detail={"deadline": until.isoformat()},
        )
    number = len(loaded.state.turns) + 1
    body = {"turn_id": turn_id, "number": number, "tools": names, "narrowed": narrowed}
    with as_conflict():
        turn = open_turn(append(loaded, [(K.TURN_OPENED, body)], actor=actor).state)
    assert turn is not None
    return turn


def _same(loaded: Loaded, turn_id: str, tools: Sequence[str] | None) -> Turn:
    """The open turn, where it is the one that is asked for; an earlier one is never opened again, however late the
    request comes."""
    turn = open_turn(loaded.state)
    assert turn is not None
    if turn.turn_id != turn_id:
        raise Conflict(
            f"Turn {turn_id} is over since turn {turn.turn_id} was opened. A new turn needs a new id; nothing was "
            "changed.",
            code="TURN_ID_REUSED",
            detail={"open": {"turn_id": turn.turn_id, "number": turn.number}},
        )
    if turn.narrowed != (tools is not None) or (tools is not None and sorted(set(tools)) != list(turn.tools)):
        raise Conflict(
            f"Turn {turn_id} is open with other tools. A new turn needs a new id; nothing was changed.",
            code="TURN_ID_REUSED",
            detail={"tools": list(turn.tools), "narrowed": turn.narrowed},
        )
    return turn
