"""Every admitted tool against every active agent: what becomes of its calls, by which rules (A8, W3).

Agents of whom the same is said stand together, so that 200 tools and 200 agents are a few lines a tool.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from access.selectors.names import agent_rights
from approvals.core.contract_types import Contract
from approvals.core.coverage import Cover, Coverage
from approvals.selectors.catalogue import active_contracts
from approvals.selectors.policies import policy_head, rules_of
from approvals.selectors.policy_drafts import require_policy_reader
from approvals.selectors.shown_tools import shown_lists
from audit.core.actor import Actor

OUTCOMES = ("allowed", "asked", "denied", "depends", "no scope", "not shown")
PAGE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What of it is looked at. "" or None is everything."""

    q: str = ""
    agent: UUID | None = None
    outcome: str = ""
    effects_only: bool = False
    unasked_only: bool = False

    @property
    def narrowed(self) -> bool:
        """Whether anything is left out."""
        return self != Wanted()


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent by name."""

    id: UUID
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """Agents of whom the same holds for a tool. `cover` is None where their calls never reach the policy: then
    `missing` names the scopes that they lack, or is empty where they are not shown the tool."""

    outcome: str
    cover: Cover | None
    missing: tuple[str, ...]
    agents: tuple[AgentRow, ...]

    @property
    def unasked(self) -> bool:
        """Calls may be allowed and nobody is ever asked."""
        return self.cover is not None and self.cover.unasked


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRow:
    """A tool. `unasked`: it has side effects, and for some agent calls are allowed that no rule ever asks about."""

    name: str
    title: str
    side_effect: str
    number: int
    unasked: bool
    together: tuple[Together, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveragePage:
    """A page of tools, those that stand out first. `tools` and `agents` count all that there are; `unasked` the tools
    that stand out, of those that are looked at."""

    policy_number: int
    tools: int
    agents: int
    found: int
    unasked: int
    rows: tuple[ToolRow, ...]
    more: bool


def coverage_page(actor: Actor, wanted: Wanted, *, page: int = 1) -> CoveragePage:
    """For admins and auditors. Raises Forbidden, Conflict (POLICY_ALTERED, CONTRACT_ALTERED)."""
    require_policy_reader(actor)
    tenant = actor.tenant_id
    number = policy_head(tenant).active_number
    coverage = Coverage(rules_of(tenant, number))
    agents = [_Agent(id_, name, scopes) for id_, name, active, scopes in agent_rights(tenant) if active]
    shown = shown_lists(tenant)
    for agent in agents:
        agent.shown = shown[agent.id].tools if agent.id in shown else None
    admitted = active_contracts(tenant)
    looked_at = [agent for agent in agents if wanted.agent in (None, agent.id)]
    rows = []
    for found in admitted:
        contract = found.contract
        if wanted.q and wanted.q.casefold() not in f"{contract.name}\n{contract.title}".casefold():
            continue
        if wanted.effects_only and contract.read_only:
            continue
        together = tuple(one for one in _together(coverage, contract, looked_at) if wanted.outcome in ("", one.outcome))
        if not together and (wanted.outcome or wanted.agent):
            continue
        unasked = not contract.read_only and any(one.unasked for one in together)
        if wanted.unasked_only and not unasked:
            continue
        rows.append(
            ToolRow(
                name=contract.name,
                title=contract.title,
                side_effect=contract.side_effect,
                number=found.number,
                unasked=unasked,
                together=together,
            )
        )
    rows.sort(key=lambda row: (not row.unasked, row.name))
    start = (max(page, 1) - 1) * PAGE
    return CoveragePage(
        policy_number=number,
        tools=len(admitted),
        agents=len(agents),
        found=len(rows),
        unasked=sum(row.unasked for row in rows),
        rows=tuple(rows[start : start + PAGE]),
        more=len(rows) > start + PAGE,
    )


@dataclass(slots=True)
class _Agent:
    id: UUID
    name: str
    scopes: frozenset[str]
    shown: frozenset[str] | None = None
    principal: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        named = {"id": str(self.id), "name": self.name}
        self.principal = {"kind": "agent", **named, "scopes": sorted(self.scopes), "agent": named}


def _together(coverage: Coverage, contract: Contract, agents: list[_Agent]) -> list[Together]:
    by_agent = coverage.by_agent(contract.name)
    same: Cover | None = None
    groups: dict[tuple[str, Cover | None, tuple[str, ...]], list[AgentRow]] = {}
    for agent in agents:
        missing = tuple(sorted(set(contract.scopes) - agent.scopes))
        cover: Cover | None = None
        if missing:
            outcome = "no scope"
        elif agent.shown is not None and contract.name not in agent.shown:
            outcome = "not shown"
        else:
            if same is None or by_agent:
                same = coverage.of(contract, agent.principal)
            cover, outcome = same, same.outcome
        groups.setdefault((outcome, cover, missing), []).append(AgentRow(agent.id, agent.name))
    found = [
        Together(outcome=outcome, cover=cover, missing=missing, agents=tuple(members))
        for (outcome, cover, missing), members in groups.items()
    ]
    return sorted(found, key=lambda one: (OUTCOMES.index(one.outcome), one.agents[0].name))
