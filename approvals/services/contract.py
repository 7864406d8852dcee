"""Admission: a contract becomes a version that never changes (R10, G6), or is refused with every reason."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from access.core.rights import require_admin
from approvals.core.contract import parse_contract
from approvals.models import Tool, ToolVersion
from audit.core.actor import Actor
from audit.core.jsondoor import Json
from audit.core.refusal import NotFound
from audit.services.record import audit_record, audit_record_or_owe, audit_refusals
from audit.store import clock


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolVersionRow:
    """One admitted version. `created` is false if this very document had been admitted before."""

    id: UUID
    tool: str
    number: int
    digest: str
    admitted_by: str
    admitted_at: datetime
    created: bool


def contract_admit(*, actor: Actor, document: dict[str, Json]) -> ToolVersionRow:
    """Admit a contract; an admin's right. The same document is the same version, and is in force after this.

    Any change of the document, be it one word of its description, is a new version. Calls and proposals of the version
    before are not carried over: they were made for another contract and are refused at dispatch (A5).
    Raises Forbidden (ROLE_MISSING) and Invalid (CONTRACT_INVALID with `detail.findings`).
    """
    name = str(document.get("name", ""))[:64]
    with audit_refusals(actor=actor, action="contract.admitted", object_type="tool", object_id=name, tool=name):
        require_admin(actor)
        contract = parse_contract(document)
        # Whoever comes second waits here, and then sees the version that the first one made.
        Tool.objects.bulk_create([Tool(tenant_id=actor.tenant_id, name=contract.name)], ignore_conflicts=True)
        tool = Tool.objects.select_for_update().get(tenant_id=actor.tenant_id, name=contract.name)
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
        if tool.active_version != version.number:
            before, tool.active_version = tool.active_version, version.number
            tool.save(update_fields=["active_version"])
            audit_record(
                actor=actor, action="contract.admitted", object_type="tool", object_id=tool.id, tool=tool.name,
                detail={"number": version.number, "before": before, "digest": version.digest,
                        "origin": contract.origin.kind, "reviewed_by": contract.origin.reviewed_by},
            )  # fmt: skip
    return _row(version, tool, created)


def contract_retire(*, actor: Actor, tool: str) -> bool:
    """Take a tool out of the catalogue: no new call, no dispatch of a waiting one. False if it was out already.

    Stops things, so it works while the audit log does not (S69). Raises Forbidden (ROLE_MISSING), NotFound.
    """
    with audit_refusals(actor=actor, action="contract.retired", object_type="tool", object_id=tool, tool=tool):
        require_admin(actor)
        row = Tool.objects.select_for_update().filter(tenant_id=actor.tenant_id, name=tool).first()
        if row is None:
            raise NotFound
        before: Any = row.active_version
        if before is None:
            return False
        row.active_version = None
        row.save(update_fields=["active_version"])
        audit_record_or_owe(
            actor=actor, action="contract.retired", object_type="tool", object_id=row.id, tool=tool,
            detail={"before": before},
        )  # fmt: skip
    return True


def _row(version: ToolVersion, tool: Tool, created: bool) -> ToolVersionRow:
    return ToolVersionRow(
        id=version.id,
        tool=tool.name,
        number=version.number,
        digest=version.digest,
        admitted_by=version.admitted_by,
        admitted_at=version.admitted_at,
        created=created,
    )
