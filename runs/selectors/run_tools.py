"""The tools that one run may call: those that its agent is shown, cut to what the run was opened with, and in a turn to
what that turn shows (R10)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from approvals.selectors.catalogue import ToolSummary, tools_for
from audit.core.actor import Actor
from audit.core.refusal import Invalid
from runs.core.state import State
from runs.core.turns import Turn, turn_standing
from runs.selectors.history import folded, folded_now
from runs.selectors.runs import run_visible


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn that is open. `tools` are those that it shows and that its agent may still use; `narrowed`: the agent
    chose them. `repeated`: this request changed nothing, the turn was open."""

    run_id: UUID
    turn_id: str
    number: int
    narrowed: bool
    opened_at: datetime
    tools: tuple[ToolSummary, ...]
    repeated: bool


@dataclass(frozen=True, slots=True)
class OpenTurnRow:
    """What a run's agent may ask for in its loop now. `turn` is None where none is open; `shown` the names of what its
    model was shown, whether they may still be used or not; `until` the run's deadline: the next turn and the run's end
    may end it earlier."""

    turn: TurnRow | None
    shown: tuple[str, ...]
    until: datetime | None


def turn_row(run_id: UUID, turn: Turn, mine: Sequence[ToolSummary], *, repeated: bool) -> TurnRow:
    """The value of a turn for an agent that may use `mine` in the run now."""
    return TurnRow(
        run_id,
        turn.turn_id,
        turn.number,
        turn.narrowed,
        datetime.fromisoformat(turn.at),
        tuple(tool for tool in mine if turn.shows(tool.name)),
        repeated,
    )


def tools_of(state: State) -> frozenset[str] | None:
    """The names that the run was opened with; None: all that its agent is shown."""
    tools = state.scope.get("tools")
    return None if tools is None else frozenset(str(name) for name in tools)


def narrowed_to(mine: Sequence[ToolSummary], tools: Sequence[str], whose: str) -> list[str]:
    """These names, each once and in order, for a new run or turn. Raises Invalid (TOOLS_INVALID) for one that is not
    among `mine`, whether it is there for others or not: what narrows never widens. `whose` ends the sentence."""
    others = sorted(set(tools) - {tool.name for tool in mine})
    if others:
        raise Invalid(
            f"{others[0][:64]} is not among the tools {whose}.",
            code="TOOLS_INVALID",
            detail={"tools": [name[:64] for name in others[:20]]},
        )
    return sorted(set(tools))


def cut_to_run(mine: Sequence[ToolSummary], state: State) -> list[ToolSummary]:
    """Those of `mine` that the run was opened with."""
    named = tools_of(state)
    return [tool for tool in mine if named is None or tool.name in named]


def tools_in_run(actor: Actor, run_id: UUID) -> list[ToolSummary]:
    """What `actor` is shown for one of its runs. Raises NotFound."""
    return cut_to_run(tools_for(actor), folded(run_visible(actor, run_id)))


def turn_in_run(actor: Actor, run_id: UUID) -> OpenTurnRow:
    """Which turn is open in a run that the actor may see. Behind the run's deadline none is: no call is taken any more.
    Raises NotFound."""
    run = run_visible(actor, run_id)
    state, now = folded_now(run)
    turn = turn_standing(state)
    if turn is None or (run.deadline is not None and run.deadline <= now):
        return OpenTurnRow(None, (), None)
    mine = cut_to_run(tools_for(actor), state)
    return OpenTurnRow(turn_row(run.id, turn, mine, repeated=True), turn.tools, run.deadline)
