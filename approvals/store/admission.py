"""A tool's row, locked, and the one place where a version comes into force. In the caller's transaction."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from approvals.core.contract import Contract
from approvals.models import Tool, ToolVersion
from approvals.selectors.tool_waiting import Waiting, waiting_on
from audit.core.actor import Actor
from audit.core.jsondoor import Json
from audit.core.refusal import NotFound
from audit.services.record import audit_record
from audit.store import clock


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolVersionRow:
    """One admitted version. `created` is false if this very document had been admitted before. `refused` counts the
    waiting proposals of other versions, which are refused at dispatch now."""

    id: UUID
    tool: str
    number: int
    digest: str
    admitted_by: str
    admitted_at: datetime
    created: bool
    refused: int = 0


def tool_locked(actor: Actor, name: str, *, make: bool) -> Tool:
    """The tool's row, locked: whoever comes second waits here, and then sees what the first one did. Raises NotFound
    where it is not there and not to be made. A tool has a row from its first admission on."""
    if make:
        Tool.objects.bulk_create([Tool(tenant_id=actor.tenant_id, name=name)], ignore_conflicts=True)
    found = Tool.objects.select_for_update().filter(tenant_id=actor.tenant_id, name=name).first()
    if found is None:
        raise NotFound
    return found


def admit_in(
    *, actor: Actor, tool: Tool, contract: Contract, document: dict[str, Json], detail: dict[str, Any]
) -> ToolVersionRow:
    """Admit in the caller's transaction, under the tool's lock."""
    versions = ToolVersion.objects.filter(tool=tool).order_by("-number")
    version = versions.filter(digest=contract.digest).first()
    created = version is None
    if version is None:
        last = versions.first()
        version = ToolVersion.objects.create(
            id=uuid4(),
            tool=tool,
            number=(last.number if last else 0) + 1,
            document=document,
            digest=contract.digest,
            admitted_by=actor.name,
            admitted_at=clock.now(),
        )
    refused = 0
    if tool.active_version != version.number:
        waiting = waiting_on(tool.tenant_id, tool.name, tool.active_version)
        refused = waiting.count
        put_in_force(
            actor=actor, tool=tool, version=version, contract=contract, change="admitted", waiting=waiting,
            detail=detail,
        )  # fmt: skip
    return row_of(version, tool, created=created, refused=refused)


def put_in_force(
    *,
    actor: Actor,
    tool: Tool,
    version: ToolVersion,
    contract: Contract,
    change: str,
    waiting: Waiting,
    detail: dict[str, Any],
) -> None:
    """Make a version the one in force and record it, in the caller's transaction."""
    before, tool.active_version = tool.active_version, version.number
    stamp(actor, tool, change)
    audit_record(
        actor=actor, action=f"contract.{change}", object_type="tool", object_id=tool.id, tool=tool.name,
        detail={"number": version.number, "before": before, "digest": version.digest,
                "origin": contract.origin.kind, "reviewed_by": contract.origin.reviewed_by,
                "refused_at_dispatch": waiting.count} | {name: value for name, value in detail.items() if value},
    )  # fmt: skip


def row_of(version: ToolVersion, tool: Tool, *, created: bool, refused: int = 0) -> ToolVersionRow:
    """The value of a version's row."""
    return ToolVersionRow(
        id=version.id,
        tool=tool.name,
        number=version.number,
        digest=version.digest,
        admitted_by=version.admitted_by,
        admitted_at=version.admitted_at,
        created=created,
        refused=refused,
    )


def stamp(actor: Actor, tool: Tool, change: str) -> None:
    """Note on the tool's row what changed last."""
    tool.change, tool.changed_by, tool.changed_at = change, actor.name, clock.now()
    tool.save(update_fields=["active_version", "change", "changed_by", "changed_at"])
