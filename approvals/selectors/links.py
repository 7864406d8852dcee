"""The little that an agent's answer says of a proposal; one cheap query, because every poll asks for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, Subquery
from django.db.models.functions import Coalesce, JSONObject

from approvals.models import Proposal, Question
from approvals.selectors.revisions import changes_told, told_of
from approvals.selectors.standing import visible_proposals, with_standing
from audit.core.actor import Actor


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """What a person changed: the call `call_id` has taken the place of `of`. `changes` are {path, from, to}."""

    call_id: str
    of: str
    revision: int
    by: str
    at: datetime
    reason: str
    digest: str
    changes: list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question of a person that waits for the agent's answer."""

    id: UUID
    text: str
    by: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalLink:
    """Where people decide, until when, about which digest. `status` is the standing of this instant.

    `edited`: the edit that took its place, else the one that made it. `question`: the one that is open while people
    decide.
    """

    id: UUID
    status: str
    round: int
    expires_at: datetime
    digest: str
    edited: Edited | None = None
    question: Asked | None = None


def proposal_link(actor: Actor, proposal_id: UUID) -> ProposalLink | None:
    """The proposal as the actor may see it; None for a foreign or unknown id."""
    open_question = Question.objects.filter(proposal=OuterRef("pk"), answered_at=None).values(
        facts=JSONObject(id="id", text="text", by="asked_by_name", at="at")
    )
    found = with_standing(visible_proposals(actor).filter(pk=proposal_id)).annotate(
        edit=Coalesce(told_of("previous_id"), told_of("proposal_id")), open_question=Subquery(open_question[:1])
    )
    columns = ("id", "standing", "round", "expires_at", "digest", "edit", "open_question")
    row = found.values_list(*columns).first()
    if row is None:
        return None
    return ProposalLink(
        id=row[0],
        status=row[1],
        round=row[2],
        expires_at=row[3],
        digest=row[4],
        edited=_edited(row[5]) if row[5] else None,
        question=_asked(row[6]) if row[6] and row[1] == "pending" else None,
    )


def _edited(facts: Mapping[str, Any]) -> Edited:
    return Edited(
        call_id=facts["call_id"],
        of=facts["previous_call_id"],
        revision=facts["revision"],
        by=facts["by"],
        at=datetime.fromisoformat(facts["at"]),
        reason=facts["reason"],
        digest=facts["digest"],
        changes=changes_told(facts["changes"]),
    )


def _asked(facts: Mapping[str, Any]) -> Asked:
    return Asked(id=UUID(facts["id"]), text=facts["text"], by=facts["by"], at=datetime.fromisoformat(facts["at"]))


def proposal_ends(tenant_id: UUID | str, proposal_id: UUID | str) -> datetime | None:
    """When the approval of a proposal is over, for our own parts; None for an unknown one."""
    found = Proposal.objects.filter(tenant_id=tenant_id, pk=proposal_id)
    return found.values_list("expires_at", flat=True).first()
