"""The tools that one run may call: those that its agent is shown, cut to what the run was opened with (R10)."""

from collections.abc import Sequence
from uuid import UUID

from approvals.selectors.catalogue import ToolSummary, tools_for
from audit.core.actor import Actor
from audit.core.refusal import Invalid
from runs.core.state import State
from runs.selectors.history import folded
from runs.selectors.runs import run_visible


def tools_of(state: State) -> frozenset[str] | None:
    """The names that the run was opened with; None: all that its agent is shown."""
    tools = state.scope.get("tools")
    return None if tools is None else frozenset(str(name) for name in tools)


def narrowed_to(actor: Actor, tools: Sequence[str]) -> list[str]:
    """These names for a new run. Raises Invalid (TOOLS_INVALID) for one that the agent is not shown: a run narrows what
    it may call and never widens it."""
    mine = {tool.name for tool in tools_for(actor)}
    others = sorted(set(tools) - mine)
    if others:
        raise Invalid(
            f"{others[0][:64]} is not among the tools that you are shown. Leave it out; GET tools lists yours.",
            code="TOOLS_INVALID",
            detail={"tools": [name[:64] for name in others[:20]]},
        )
    return sorted(set(tools))


def tools_in_run(actor: Actor, run_id: UUID) -> list[ToolSummary]:
    """What `actor` is shown for one of its runs. Raises NotFound."""
    named = tools_of(folded(run_visible(actor, run_id)))
    return [tool for tool in tools_for(actor) if named is None or tool.name in named]
