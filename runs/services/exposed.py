"""Is the tool of a new call among those that its run shows, and its turn (R10)?

Judged under the run's head, once, when the call is asked for: what was taken then goes on when the turn is over. What
an agent and its scopes are shown is judged before (`approvals.services.judge`).
"""

from approvals.core.contract_types import Contract
from approvals.selectors.catalogue import alternatives_for
from approvals.selectors.shown_tools import not_in_run, not_in_turn
from audit.core.actor import Actor
from audit.core.refusal import Conflict
from runs.core.kinds import RunPhase
from runs.core.state import State
from runs.core.turns import Turn, open_turn
from runs.selectors.run_tools import tools_of


def require_in_run(*, actor: Actor, state: State, contract: Contract) -> None:
    """Raises Forbidden (NOT_EXPOSED) where the run was opened without the tool."""
    tools = tools_of(state)
    if tools is not None and contract.name not in tools:
        usable = [name for name in alternatives_for(actor, contract) if name in tools]
        raise not_in_run(contract.name).with_alternatives(usable)


def require_in_turn(*, actor: Actor, state: State, contract: Contract, named: str) -> str | None:
    """The id of the turn that a new call is asked in; None in a run without turns.

    `named` is the turn that the agent says it asks in, "" for the open one, whichever it is. Raises Conflict
    (TURN_NOT_OPEN) where that is over or was never opened, Forbidden (NOT_EXPOSED) where it does not show the tool.
    """
    if state.phase not in (RunPhase.OPEN, RunPhase.PAUSED):
        return None  # the run takes no call at all: its history refuses with the reason, which comes first
    turn = open_turn(state)
    if named and (turn is None or turn.turn_id != named):
        raise _not_open(state, named, turn)
    if turn is None:
        return None
    if not turn.shows(contract.name):
        tools = tools_of(state)
        usable = [
            name for name in alternatives_for(actor, contract) if turn.shows(name) and (tools is None or name in tools)
        ]
        raise not_in_turn(contract.name, turn.turn_id).with_alternatives(usable)
    return turn.turn_id


def _not_open(state: State, named: str, turn: Turn | None) -> Conflict:
    standing = None if turn is None else {"turn_id": turn.turn_id, "number": turn.number}
    if turn is not None and named in state.turns:
        said = f"Turn {named} is over since turn {turn.turn_id} was opened. Let the model choose again in that one."
    else:
        said = f"No turn {named[:64]} was opened in this run. Open it first, or leave turn out."
    return Conflict(said, code="TURN_NOT_OPEN", detail={"open": standing})
