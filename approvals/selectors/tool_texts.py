"""Two versions of a contract beside each other, and the text that an edit begins with."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from approvals.core.contract_diff import Change, contract_changes, diff_lines, loosened
from approvals.core.contract_text import written
from approvals.models import Tool, ToolCandidate, ToolVersion
from approvals.selectors.tool_readers import require_reader
from audit.core.actor import Actor
from audit.core.canonical import canonical_bytes, sha256_hex
from audit.core.refusal import NotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Two versions beside each other; names such as `version 2` or `candidate of Ines`."""

    tool: str
    old: str
    new: str
    old_name: str
    new_name: str
    changes: list[Change]
    loosened: int
    lines: list[tuple[str, str]]
    choices: list[tuple[str, str]]


def tool_compared(actor: Actor, name: str, old: str, new: str) -> Compared:
    """Two of a tool's versions; `old` and `new` are numbers or ids of candidates. Raises Forbidden, NotFound."""
    require_reader(actor)
    before, after = document_of(actor, name, old), document_of(actor, name, new)
    changes = contract_changes(before[1], after[1])
    lines = diff_lines(written(before[1]), written(after[1]), names=(before[0], after[0]))
    rows = ToolVersion.objects.filter(tool__tenant_id=actor.tenant_id, tool__name=name).order_by("-number")
    choices = [(str(number), f"version {number}") for number in rows.values_list("number", flat=True)]
    waiting = ToolCandidate.objects.filter(tenant_id=actor.tenant_id, tool=name, status="waiting")
    choices += [
        (str(id_), f"candidate of {by}, {at:%-d %b, %H:%M} UTC")
        for id_, by, at in waiting.order_by("-stored_at").values_list("id", "stored_by", "stored_at")
    ]
    return Compared(
        tool=name,
        old=old,
        new=new,
        old_name=before[0],
        new_name=after[0],
        changes=changes,
        loosened=loosened(changes),
        lines=lines,
        choices=choices,
    )


def require_tool(actor: Actor, name: str) -> None:
    """Raises NotFound for a name that the organisation knows no tool and no candidate by."""
    mine = {"tenant_id": actor.tenant_id}
    if (
        not Tool.objects.filter(**mine, name=name).exists()
        and not ToolCandidate.objects.filter(**mine, tool=name).exists()
    ):
        raise NotFound


def text_to_edit(actor: Actor, name: str, wanted: str) -> tuple[str, int | None, UUID | None]:
    """(text, version it is based on, candidate that an edit replaces) for the form. "" is the version in force.

    Raises Forbidden, NotFound.
    """
    require_reader(actor)
    candidate_id = _uuid(wanted)
    if candidate_id is not None:
        row = ToolCandidate.objects.filter(tenant_id=actor.tenant_id, tool=name, pk=candidate_id).first()
        if row is None:
            raise NotFound
        return row.source, row.based_on, row.id if row.status == "waiting" else None
    if not wanted:
        number = (
            Tool.objects.filter(tenant_id=actor.tenant_id, name=name).values_list("active_version", flat=True).first()
        )
        wanted = str(number or "")
    document = document_of(actor, name, wanted)[1]
    # As it was written, comments included, where it came in as a candidate.
    same = ToolCandidate.objects.filter(tenant_id=actor.tenant_id, tool=name, digest=_digest(document))
    source = same.order_by("-stored_at").values_list("source", flat=True).first()
    return source or written(document), int(wanted), None


def _digest(document: dict[str, Any]) -> str:
    return sha256_hex(canonical_bytes(document))


def document_of(actor: Actor, name: str, wanted: str) -> tuple[str, dict[str, Any]]:
    """What the version or the candidate is called, and its document. Raises NotFound."""
    candidate_id = _uuid(wanted)
    if candidate_id is not None:
        row = ToolCandidate.objects.filter(tenant_id=actor.tenant_id, tool=name, pk=candidate_id).first()
        if row is not None:
            return f"candidate of {row.stored_by}", row.document
    elif wanted.isascii() and wanted.isdigit() and len(wanted) < 10:
        versions = ToolVersion.objects.filter(tool__tenant_id=actor.tenant_id, tool__name=name, number=int(wanted))
        document = versions.values_list("document", flat=True).first()
        if document is not None:
            return f"version {wanted}", document
    raise NotFound


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
