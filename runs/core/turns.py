"""A turn: one step of an agent's loop, in which its model is shown a list of tools and answers with calls (R10).

A turn narrows what the run may call, until the next one opens. Which tools it shows is judged once, when a call is
asked for; what was asked in its turn stays valid when the turn is over.
"""

import re
from dataclasses import dataclass

from runs.core.kinds import RunPhase
from runs.core.state import State

TURN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:~@+=-]{0,127}")
"""Letters that nobody can hide something in; the form of a call id."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The turn that is open. `tools` is what its model was shown, in order; `narrowed`: the agent chose them, else they
    were all of the run's. `at` is ISO 8601 text."""

    turn_id: str
    number: int
    tools: tuple[str, ...]
    narrowed: bool
    at: str

    def shows(self, tool: str) -> bool:
        """Whether a call of this tool may be asked for in it."""
        return tool in self.tools


def open_turn(state: State) -> Turn | None:
    """The last turn that was opened; None in a run whose agent opens none: then only the run's own list cuts."""
    if state.turn is None:
        return None
    told = state.turn
    return Turn(told["turn_id"], told["number"], tuple(told["tools"]), told["narrowed"], told["at"])


def turn_standing(state: State) -> Turn | None:
    """The open turn of a run that still takes calls, or will when it goes on: one that is being stopped or is over has
    none."""
    return open_turn(state) if state.phase in (RunPhase.OPEN, RunPhase.PAUSED) else None
