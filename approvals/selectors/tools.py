"""The pages of tools: every tool, and one with its versions and candidates.

For admins, who write, and for operators and auditors, who read. Another organisation's tool is an unknown one (S62).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from access.core.rights import is_admin
from access.selectors.names import agent_rights
from approvals.core.contract import Contract
from approvals.core.contract_signing import NOT_SIGNED, Signed
from approvals.core.contract_text import written
from approvals.core.contract_words import Part, boundary_words, contract_words
from approvals.models import Tool, ToolCandidate, ToolVersion
from approvals.selectors.candidates import CandidateShown, candidates_of
from approvals.selectors.catalogue import contract_of
from approvals.selectors.contract_signatures import in_force_signed, signed_version
from approvals.selectors.shown_tools import ShownList, shown_lists
from approvals.selectors.tool_readers import require_reader
from approvals.selectors.tool_waiting import Waiting, waiting_on
from audit.core.actor import Actor
from audit.core.refusal import NotFound, Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolListed:
    """One tool in the list. `number` 0: retired, or never admitted. `damaged` says why its contract cannot be read."""

    name: str
    number: int
    title: str = ""
    boundary: str = ""
    reason: str = ""
    scopes: tuple[str, ...] = ()
    shown_to: tuple[str, ...] = ()
    agents: int = 0
    waiting: int = 0
    change: str = ""
    changed_by: str = ""
    changed_at: datetime | None = None
    damaged: str = ""
    signed: Signed = NOT_SIGNED


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionListed:
    """One admitted version. `active`: it is in force."""

    number: int
    digest: str
    admitted_by: str
    admitted_at: datetime
    active: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolShown:
    """One tool. `version` is what the page tells in words: the one in force, or the one that was asked for."""

    name: str
    title: str
    in_force: int
    version: VersionListed | None
    words: list[Part]
    document: str
    problem: str
    versions: list[VersionListed]
    candidates: list[CandidateShown]
    shown_to: list[tuple[UUID, str, bool]]
    waiting: Waiting
    change: str
    changed_by: str
    changed_at: datetime | None
    may_change: bool
    # What holds of the signature of the version that the page tells of.
    signed: Signed


def tools_listed(actor: Actor) -> list[ToolListed]:
    """Every tool the organisation has or had, and names that only candidates know, by name. Raises Forbidden."""
    require_reader(actor)
    waiting = Counter(
        ToolCandidate.objects.filter(tenant_id=actor.tenant_id, status="waiting").values_list("tool", flat=True)
    )
    agents, lists = agent_rights(actor.tenant_id), shown_lists(actor.tenant_id)
    tools = {tool.name: tool for tool in Tool.objects.filter(tenant_id=actor.tenant_id)}
    numbers = {tool.id: tool.active_version for tool in tools.values() if tool.active_version is not None}
    versions = ToolVersion.objects.filter(tool_id__in=numbers)
    active = {
        tool_id: id_
        for id_, tool_id, number in versions.values_list("id", "tool_id", "number")
        if numbers[tool_id] == number
    }
    signed = {one.tool: one.signed for one in in_force_signed(actor.tenant_id)}
    rows = []
    for name in sorted({*tools, *waiting}):
        tool = tools.get(name)
        if tool is None:
            rows.append(ToolListed(name=name, number=0, waiting=waiting[name], change="new"))
            continue
        known: dict[str, Any] = {
            "name": name,
            "number": tool.active_version or 0,
            "waiting": waiting[name],
            "change": tool.change,
            "changed_by": tool.changed_by,
            "changed_at": tool.changed_at,
            "signed": signed.get(name, NOT_SIGNED),
        }
        rows.append(ToolListed(**known, **_facts(active.get(tool.id), agents, lists)))
    return rows


def _facts(
    version_id: UUID | None,
    agents: list[tuple[UUID, str, bool, frozenset[str]]],
    lists: Mapping[UUID, ShownList],
) -> dict[str, Any]:
    if version_id is None:
        return {}
    try:
        contract = contract_of(version_id)
    except Refusal as refusal:
        return {"damaged": refusal.message}
    kind, reason = boundary_words(contract)
    shown = _shown_to(contract, agents, lists)
    return {
        "title": contract.title,
        "boundary": kind,
        "reason": reason,
        "scopes": contract.scopes,
        "shown_to": tuple(name for _, name, _ in shown),
        "agents": sum(active for _, _, active, _ in agents),
    }


def _shown_to(
    contract: Contract,
    agents: list[tuple[UUID, str, bool, frozenset[str]]],
    lists: Mapping[UUID, ShownList],
) -> list[tuple[UUID, str, bool]]:
    """(id, name, by a list of its own) of the active agents that are shown the tool."""
    return [
        (id_, name, id_ in lists and lists[id_].tools is not None)
        for id_, name, active, scopes in agents
        if active and scopes.issuperset(contract.scopes) and lists.get(id_, ShownList()).holds(contract.name)
    ]


def tool_shown(actor: Actor, name: str, number: int | None = None) -> ToolShown:
    """One tool; with `number` told by that version. Raises Forbidden, NotFound."""
    require_reader(actor)
    tool = Tool.objects.filter(tenant_id=actor.tenant_id, name=name).first()
    candidates = candidates_of(actor, name)
    if tool is None and not candidates:
        raise NotFound
    versions = _versions(tool)
    wanted = number if number is not None else tool.active_version if tool is not None else None
    version = next((row for row in versions if row.number == wanted), None)
    if number is not None and version is None:
        raise NotFound
    contract, document, problem, signed = _told(tool, version)
    shown = []
    if contract is not None:
        shown = _shown_to(contract, agent_rights(actor.tenant_id), shown_lists(actor.tenant_id))
    return ToolShown(
        name=name,
        title=contract.title if contract else "",
        in_force=(tool.active_version or 0) if tool else 0,
        version=version,
        words=contract_words(contract) if contract else [],
        document=document,
        problem=problem,
        versions=versions,
        candidates=candidates,
        shown_to=shown,
        waiting=waiting_on(actor.tenant_id, name, tool.active_version if tool else None),
        change=tool.change if tool else "",
        changed_by=tool.changed_by if tool else "",
        changed_at=tool.changed_at if tool else None,
        may_change=is_admin(actor),
        signed=signed,
    )


def _versions(tool: Tool | None) -> list[VersionListed]:
    if tool is None:
        return []
    rows = ToolVersion.objects.filter(tool=tool).order_by("-number")
    found = rows.values_list("number", "digest", "admitted_by", "admitted_at")
    return [
        VersionListed(
            number=number, digest=digest, admitted_by=by, admitted_at=at, active=number == tool.active_version
        )
        for number, digest, by, at in found
    ]


def _told(tool: Tool | None, version: VersionListed | None) -> tuple[Contract | None, str, str, Signed]:
    """(contract, document as text, why it cannot be read, what holds of its signature) of a version."""
    if tool is None or version is None:
        return None, "", "", NOT_SIGNED
    row = ToolVersion.objects.get(tool=tool, number=version.number)
    text, signed = written(row.document), signed_version(tool.tenant_id, row)
    try:
        return contract_of(row.id), text, "", signed
    except Refusal as refusal:
        return None, text, refusal.message, signed
