"""Texts that may become a policy: those that are open, and one of them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from access.selectors.actors import decider_facts
from approvals.models import PolicyDraft
from audit.core.actor import Actor
from audit.core.readers import may_read
from audit.core.refusal import Forbidden, NotFound

LIMIT = 50
"""Drafts that an organisation may keep open, so that a list of them is one page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRow:
    """A draft. `revision` counts its saved texts; `asked_by` is who asks another admin to publish it, "" for nobody."""

    id: UUID
    name: str
    source: str
    based_on: int
    revision: int
    status: str
    saved_by: str
    saved_by_id: str
    saved_at: datetime
    asked_by: str
    asked_by_id: str
    asked_at: datetime | None
    asked_reason: str
    taken_from: int
    published_number: int

    @property
    def is_open(self) -> bool:
        """True while it can be changed and published."""
        return self.status == "open"


def require_policy_reader(actor: Actor) -> None:
    """A person with the role admin or auditor in a session of their own; else `Forbidden`."""
    if not may_read(actor):
        raise Forbidden(
            "Policies are open to admins and auditors. Ask an admin for the role auditor.",
            code="ROLE_MISSING",
            missing=["auditor"],
        )


def is_admin_now(tenant_id: UUID | str, user_id: str) -> bool:
    """True if this person is an active admin of the organisation at this moment (A5)."""
    facts = decider_facts(tenant_id=tenant_id, user_id=user_id) if user_id else None
    return facts is not None and facts.active and "admin" in facts.roles


def drafts_open(tenant_id: UUID | str) -> list[DraftRow]:
    """The open drafts of a tenant, the one that was saved last first."""
    rows = PolicyDraft.objects.filter(tenant_id=tenant_id, status="open").order_by("-saved_at")
    return [draft_row(row) for row in rows[:LIMIT]]


def draft_of(tenant_id: UUID | str, draft_id: UUID) -> DraftRow:
    """One draft, also a closed one. Raises NotFound, for a foreign one too (S62)."""
    row = PolicyDraft.objects.filter(tenant_id=tenant_id, pk=draft_id).first()
    if row is None:
        raise NotFound
    return draft_row(row)


def draft_row(row: PolicyDraft) -> DraftRow:
    """The stored draft as other floors know it."""
    return DraftRow(
        id=row.pk,
        name=row.name,
        source=row.source,
        based_on=row.based_on,
        revision=row.revision,
        status=row.status,
        saved_by=row.saved_by,
        saved_by_id=row.saved_by_id,
        saved_at=row.saved_at,
        asked_by=row.asked_by,
        asked_by_id=row.asked_by_id,
        asked_at=row.asked_at,
        asked_reason=row.asked_reason,
        taken_from=row.taken_from,
        published_number=row.published_number,
    )
