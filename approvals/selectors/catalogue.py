"""Which tools a tenant has, and what exactly was admitted (R10).

A version never changes, so a parsed contract is kept per version for the life of the process. The first load compares
the stored document with the digest that was recorded at admission: an edited document is refused, not run (S84).
"""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import F

from approvals.core.contract import parse_contract
from approvals.core.contract_types import Contract
from approvals.models import Tool, ToolVersion
from approvals.selectors.shown_tools import shown_to
from audit.core.actor import Actor
from audit.core.canonical import canonical_bytes, sha256_hex
from audit.core.jsondoor import Json
from audit.core.refusal import Conflict


class Admitted(NamedTuple):
    """One admitted version: its contract, its number (from 1) and the id of its row."""

    contract: Contract
    number: int
    tool_version_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSummary:
    """What an agent is shown of a tool it may call. Names and descriptions are untrusted text (R10)."""

    name: str
    title: str
    description: str
    side_effect: str
    scopes: tuple[str, ...]
    number: int
    input_schema: Mapping[str, Json]


def active_contract(tenant_id: UUID | str, tool: str) -> Admitted | None:
    """The version of `tool` that is admitted now; None for an unknown, retired or foreign tool.

    Raises `Conflict` (CONTRACT_ALTERED) if the stored document is not the one that was admitted.
    """
    return _version(tenant_id, tool, None)


def contract_version(tenant_id: UUID | str, tool: str, number: int) -> Admitted | None:
    """Version `number` of `tool`, whether it is still admitted or not; None if there is none. Raises as above."""
    return _version(tenant_id, tool, number)


def contracts_of(tenant_id: UUID | str, wanted: Collection[tuple[str, int]]) -> dict[tuple[str, int], Contract]:
    """The contracts of these (tool, number), for pages. One that is not there, or is not what was admitted, is left
    out. One query, and one more for each version that this process has not read before."""
    names = {tool for tool, _ in wanted}
    rows = ToolVersion.objects.filter(tool__tenant_id=tenant_id, tool__name__in=names)
    found = {}
    for id_, tool, number in rows.values_list("id", "tool__name", "number"):
        if (tool, number) in wanted:
            with suppress(Conflict):
                found[tool, number] = _contract(id_)
    return found


def contract_document(
    tenant_id: UUID | str, tool: str, number: int | None = None
) -> tuple[int, dict[str, Json]] | None:
    """The number and the document of a version as it was admitted; with None of the one in force."""
    versions = ToolVersion.objects.filter(tool__tenant_id=tenant_id, tool__name=tool)
    found = versions.filter(number=F("tool__active_version") if number is None else number)
    return found.values_list("number", "document").first()


def contract_of(tool_version_id: UUID) -> Contract:
    """The contract of a version by its row's id. Raises `Conflict` (CONTRACT_ALTERED), also if there is no such row."""
    return _contract(tool_version_id)


@lru_cache(maxsize=1024)
def number_of(tool_version_id: UUID) -> int:
    """The number of a version by its row's id, which never changes either. Raises `Conflict` (CONTRACT_ALTERED)."""
    number = ToolVersion.objects.filter(pk=tool_version_id).values_list("number", flat=True).first()
    if number is None:
        raise _not_there()
    return number


def still_admitted(tool_version_id: UUID) -> bool:
    """True while this very version is the admitted one: a newer contract or a retired tool ends it (A5)."""
    version = ToolVersion.objects.filter(pk=tool_version_id).values_list("number", "tool__active_version").first()
    return version is not None and version[0] == version[1]


def tools_for(actor: Actor) -> list[ToolSummary]:
    """The admitted tools that the actor is shown and whose scopes it has, by name. Listing grants nothing: every call
    is checked anew."""
    shown = shown_to(actor)
    return [
        ToolSummary(
            name=found.contract.name,
            title=found.contract.title,
            description=found.contract.description,
            side_effect=found.contract.side_effect,
            scopes=found.contract.scopes,
            number=found.number,
            input_schema=found.contract.input_schema,
        )
        for found in active_contracts(actor.tenant_id)
        if actor.scopes.issuperset(found.contract.scopes) and (shown is None or found.contract.name in shown)
    ]


def tool_names(tenant_id: UUID | str) -> list[tuple[str, bool]]:
    """(name, admitted now) of every tool that the tenant ever had, by name. Reads no contract: a damaged one must not
    hide a tool from whoever wants to stop it."""
    rows = Tool.objects.filter(tenant_id=tenant_id).order_by("name").values_list("name", "active_version")
    return [(name, version is not None) for name, version in rows]


def alternatives_for(actor: Actor, contract: Contract) -> list[str]:
    """The contract's declared alternatives that this actor may use itself (E3)."""
    if not contract.alternatives:
        return []
    usable = {tool.name for tool in tools_for(actor)}
    return [name for name in contract.alternatives if name in usable]


def active_contracts(tenant_id: UUID | str) -> list[Admitted]:
    """Every admitted version of the tenant, by the tool's name."""
    rows = Tool.objects.filter(tenant_id=tenant_id, active_version__isnull=False).order_by("name")
    numbers = dict(rows.values_list("id", "active_version"))
    versions = ToolVersion.objects.filter(tool_id__in=numbers).values_list("id", "tool_id", "number")
    active = {tool_id: (number, id_) for id_, tool_id, number in versions if numbers[tool_id] == number}
    return [
        Admitted(_contract(active[tool][1]), active[tool][0], active[tool][1]) for tool in numbers if tool in active
    ]


def _version(tenant_id: UUID | str, tool: str, number: int | None) -> Admitted | None:
    """With None the admitted one. By hand: it is asked several times for each call."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT v.id, v.number FROM approvals_toolversion v JOIN approvals_tool t ON t.id = v.tool_id "
            "WHERE t.tenant_id = %s AND t.name = %s AND v.number = COALESCE(%s, t.active_version)",
            [str(tenant_id), tool, number],
        )
        found = cursor.fetchone()
    return None if found is None else Admitted(_contract(found[0]), found[1], found[0])


@lru_cache(maxsize=1024)
def _contract(tool_version_id: UUID) -> Contract:
    row = (
        ToolVersion.objects.filter(pk=tool_version_id).values_list("document", "digest", "tool__name", "number").first()
    )
    if row is None:
        raise _not_there()
    document, digest, name, number = row
    if sha256_hex(canonical_bytes(document)) != digest or document.get("name") != name:
        raise Conflict(
            f"The stored contract of {name}, version {number}, is not the one that was admitted. Nothing is run by it; "
            "admit the right one again and tell an operator.",
            code="CONTRACT_ALTERED",
        )
    return parse_contract(document)


def _not_there() -> Conflict:
    return Conflict("This version of the tool is not there. Tell an operator.", code="CONTRACT_ALTERED")
