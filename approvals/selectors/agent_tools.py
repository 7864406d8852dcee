"""One agent's tools for its page: what its scopes allow, what its list shows, and what it is shown by both."""

from dataclasses import dataclass
from uuid import UUID

from access.selectors.names import agent_rights
from approvals.core.contract_words import SIDE_EFFECTS
from approvals.selectors.catalogue import active_contracts
from approvals.selectors.shown_tools import ShownList, shown_list
from approvals.selectors.tool_readers import require_reader
from audit.core.actor import Actor
from audit.core.refusal import NotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTool:
    """One tool in force. `missing` are the scopes that the agent lacks for it; `shown`: it is shown it now."""

    name: str
    title: str
    side_effect: str
    missing: tuple[str, ...]
    listed: bool
    shown: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentToolsShown:
    """The page. `gone` are names on the list whose tool is retired."""

    agent_id: UUID
    agent: str
    active: bool
    own: ShownList
    tools: list[AgentTool]
    gone: list[str]


def agent_tools_shown(actor: Actor, agent_id: UUID) -> AgentToolsShown:
    """An agent's tools. Raises Forbidden, NotFound, and Conflict (CONTRACT_ALTERED) like the catalogue."""
    require_reader(actor)
    found = next((row for row in agent_rights(actor.tenant_id) if row[0] == agent_id), None)
    if found is None:
        raise NotFound
    _, name, active, scopes = found
    listed = shown_list(actor.tenant_id, agent_id)
    tools = []
    for admitted in active_contracts(actor.tenant_id):
        contract = admitted.contract
        missing = tuple(sorted(set(contract.scopes) - scopes))
        on_list = listed.holds(contract.name)
        tools.append(
            AgentTool(
                name=contract.name,
                title=contract.title,
                side_effect=SIDE_EFFECTS[contract.side_effect],
                missing=missing,
                listed=on_list,
                shown=on_list and not missing,
            )
        )
    known = {tool.name for tool in tools}
    return AgentToolsShown(
        agent_id=agent_id,
        agent=name,
        active=active,
        own=listed,
        tools=tools,
        gone=sorted((listed.tools or frozenset()) - known),
    )
