"""Which tools an agent is shown (R10): those that its scopes allow, cut to the list that an admin made for it.

Being shown grants nothing, and nothing that is not shown is taken (NOT_EXPOSED): a name that an agent learned elsewhere
opens no tool. Without a list an agent is shown all that its scopes allow.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from approvals.models import AgentTools
from audit.core.actor import Actor
from audit.core.refusal import Forbidden


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownList:
    """An agent's list. `tools` None: all that its scopes allow. `version` is 0 where nobody has changed it yet."""

    tools: frozenset[str] | None = None
    changed_by: str = ""
    changed_at: datetime | None = None
    version: int = 0

    def holds(self, tool: str) -> bool:
        """Whether the list has the tool."""
        return self.tools is None or tool in self.tools


def shown_list(tenant_id: UUID | str, agent_id: UUID | str) -> ShownList:
    """The list of one agent of the organisation."""
    row = AgentTools.objects.filter(tenant_id=tenant_id, agent_id=agent_id).first()
    return ShownList() if row is None else _list(row)


def shown_lists(tenant_id: UUID | str) -> Mapping[UUID, ShownList]:
    """The lists of all agents that have one."""
    return {row.agent_id: _list(row) for row in AgentTools.objects.filter(tenant_id=tenant_id)}


def is_shown(actor: Actor, tool: str) -> bool:
    """Whether the tool is among those that `actor` is shown; people are shown every tool."""
    return actor.kind != "agent" or shown_list(actor.tenant_id, actor.id).holds(tool)


def shown_to(actor: Actor) -> Collection[str] | None:
    """The names of the actor's list; None: every name."""
    return shown_list(actor.tenant_id, actor.id).tools if actor.kind == "agent" else None


def not_exposed(tool: str, where: str = "this agent is shown", remedy: str = "ask an admin to show it") -> Forbidden:
    """The refusal of a tool that is there and allowed, but not shown here. `where` and `remedy` are parts of the
    sentence: which list leaves it out, and what changes that list."""
    return Forbidden(
        f"{tool} is not among the tools that {where}. Use one of the alternatives, or {remedy}.",
        code="NOT_EXPOSED",
    )


def not_in_run(tool: str) -> Forbidden:
    """The refusal where the run was opened without the tool."""
    return not_exposed(tool, "this run is shown", "open another run with it")


def not_in_turn(tool: str, turn_id: str) -> Forbidden:
    """The refusal where the open turn does not show the tool."""
    return not_exposed(tool, f"turn {turn_id} shows", "open the next turn with it")


def _list(row: AgentTools) -> ShownList:
    return ShownList(
        tools=None if row.tools is None else frozenset(row.tools),
        changed_by=row.changed_by,
        changed_at=row.changed_at,
        version=row.version,
    )
