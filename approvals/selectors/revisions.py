"""Which call is an edit of which, who edited it, and what was changed (S15, A9)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, Subquery
from django.db.models.functions import JSONObject

from approvals.models import Proposal, Revision
from audit.core.actor import Actor
from audit.core.visible import Piece, visible


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """One place that an edit changed, as people read it; empty pieces where there was, or is, no value."""

    path: str
    label: str
    was: tuple[Piece, ...]
    becomes: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionRow:
    """One edit. `proposal_id` is the revision, `previous_id` the call that it took the place of."""

    proposal_id: UUID
    previous_id: UUID
    number: int
    editor_id: UUID
    editor_name: str
    changes: tuple[ChangeRow, ...]
    reason: tuple[Piece, ...]
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Where a proposal stands among its revisions: what made it, and what took its place."""

    made_by: RevisionRow | None
    replaced_by: RevisionRow | None


def editors_of(proposal: Proposal) -> frozenset[str]:
    """Whoever edited this revision or one before it, by user id: none of them approves it (A9)."""
    if proposal.revision_number < 2:
        return frozenset()
    found = Revision.objects.filter(pk=proposal.pk).values_list("editor_ids", flat=True).first()
    return frozenset(str(editor) for editor in found or ())


def edited_by(actor: Actor) -> Q:
    """The proposals that this actor edited, or edited one before; a filter for lists."""
    return Q(Exists(Revision.objects.filter(pk=OuterRef("pk"), editor_ids__contains=[actor.id])))


def line_of(proposal_id: UUID) -> Line:
    """The edits around a proposal. One query."""
    rows = {"made": None, "replaced": None}
    found: dict[str, RevisionRow | None] = dict(rows)
    for row in Revision.objects.filter(Q(pk=proposal_id) | Q(previous_id=proposal_id)):
        found["made" if row.pk == proposal_id else "replaced"] = _row(row)
    return Line(made_by=found["made"], replaced_by=found["replaced"])


def told_of(link: str) -> Subquery:
    """For an agent's answer: the edit whose `link` ("proposal_id" or "previous_id") is the row, as JSON."""
    facts = JSONObject(
        call_id=F("proposal__call_id"),
        previous_call_id=F("previous__call_id"),
        revision="number",
        by="editor_name",
        reason="reason",
        at="at",
        changes="changes",
        digest=F("proposal__digest"),
    )
    return Subquery(Revision.objects.filter(**{link: OuterRef("pk")}).values(facts=facts)[:1])


def changes_told(changes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The stored changes as an agent is told them: `path`, and `from` and `to` where there was and is a value."""
    return [{name: change[name] for name in ("path", "from", "to") if name in change} for change in changes]


def _row(row: Revision) -> RevisionRow:
    return RevisionRow(
        proposal_id=row.pk,
        previous_id=row.previous_id,
        number=row.number,
        editor_id=row.editor_id,
        editor_name=row.editor_name,
        changes=tuple(
            ChangeRow(
                path=str(change["path"]),
                label=str(change["label"]),
                was=tuple(visible(str(change["was"]))),
                becomes=tuple(visible(str(change["becomes"]))),
            )
            for change in row.changes
        ),
        reason=tuple(visible(row.reason)),
        at=row.at,
    )
