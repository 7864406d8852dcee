"""What people did with a proposal before they decide it: its edits, the questions to its agent, who looks at it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, Subquery
from django.db.models.functions import JSONObject

from approvals.models import Claim, Question
from approvals.selectors.deciders import prepared_by_of, terms_of
from approvals.selectors.revisions import Line, line_of
from audit.core.visible import Piece, as_line, visible
from audit.store.clock import StatementNow


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionShown:
    """A question and its answer; `answered_at` None while it is open. `stops`: the time to decide stands still."""

    by: str
    text: tuple[Piece, ...]
    at: datetime
    stops: bool
    answer: tuple[Piece, ...]
    answered_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimShown:
    """Who says that they look at it, and until when."""

    person_id: UUID
    name: str
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Handling:
    """`number` counts revisions from the agent's own call, 1. `editable`: whether anybody may edit it at all.
    `reasons` are offered to whoever rejects; `reason_to_approve`: approving needs one too."""

    number: int
    line: Line
    questions: tuple[QuestionShown, ...]
    claim: ClaimShown | None
    editable: bool
    reasons: tuple[str, ...]
    reason_to_approve: bool
    authentication: str
    # Whether the reader is who claims it.
    claimed: bool = False

    @property
    def open_question(self) -> QuestionShown | None:
        """The one that waits for its answer."""
        return next((one for one in self.questions if one.answered_at is None), None)


def handling_of(proposal: Any) -> Handling:
    """Of a row that carries `standing`. Three queries, and no more however much was done."""
    terms = terms_of(proposal)
    waiting = proposal.standing == "pending"
    claim = Claim.objects.filter(pk=proposal.pk, until__gt=StatementNow()).first() if waiting else None
    return Handling(
        number=proposal.revision_number,
        line=line_of(proposal.pk),
        questions=tuple(_question(row) for row in Question.objects.filter(proposal=proposal).order_by("at", "id")),
        claim=ClaimShown(person_id=claim.person_id, name=as_line(claim.person_name), until=claim.until)
        if claim
        else None,
        editable=terms.editable and not prepared_by_of(proposal),
        reasons=terms.reasons,
        reason_to_approve=terms.reason_to_approve,
        authentication=terms.authentication,
    )


def claim_facts() -> Subquery:
    """For rows of a list: who looks at it and until when, as JSON; NULL where nobody does."""
    standing = Claim.objects.filter(pk=OuterRef("pk"), until__gt=StatementNow())
    return Subquery(standing.values(facts=JSONObject(name="person_name", until="until", id="person_id"))[:1])


def claim_of(facts: Mapping[str, Any] | None) -> ClaimShown | None:
    """What `claim_facts` found."""
    if facts is None:
        return None
    return ClaimShown(
        person_id=UUID(facts["id"]), name=as_line(facts["name"]), until=datetime.fromisoformat(facts["until"])
    )


def _question(row: Question) -> QuestionShown:
    return QuestionShown(
        by=as_line(row.asked_by_name),
        text=tuple(visible(row.text)),
        at=row.at,
        stops=row.clock == "stops",
        answer=tuple(visible(row.answer)),
        answered_at=row.answered_at,
    )
