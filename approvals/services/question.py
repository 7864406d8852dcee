"""A reviewer asks the agent about its call before deciding (S20).

A question is open until the agent has answered it; one is open at a time, and asking the same again is the same
question. The run learns of it as of a decision: it takes up what its history has not told yet, in its own transaction
and under its head, so the agent is woken once however often it was asked or hinted at.

Where the policy says so, the time to decide stands still meanwhile. The deadline is moved on by all that may be
stopped, at most MOST_STOPPED in all, and what was not used is taken back with the answer: whoever looks at the deadline
is right at every moment, and a question that is never answered ends.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from django.db import connection

from approvals.core.reasons import words_of
from approvals.core.rounds import MOST_STOPPED
from approvals.models import Proposal, Question
from approvals.selectors.bound import QUESTION_ANSWERED, QUESTION_ASKED, read_bound
from approvals.store import rounds
from approvals.store.click import check_eligible, check_open, check_person, check_same_thing, clock_text, locked_for
from approvals.store.rows import change, lock_permit, votes_of
from audit.core.actor import Actor
from audit.core.refusal import Conflict, NotFound
from audit.services.record import audit_record, audit_refusals
from audit.store import clock

MOST_QUESTIONS = 20
"""Questions about one proposal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRow:
    """A question. `repeated`: it was asked before and nothing was changed."""

    id: UUID
    proposal_id: UUID
    run_id: UUID
    call_id: str
    text: str
    by_name: str
    by_id: UUID
    at: datetime
    expires_at: datetime
    repeated: bool = False


def question_ask(*, actor: Actor, proposal_id: UUID, digest: str, round: int, text: str) -> QuestionRow:
    """Ask the agent about the call with this digest, in the round that its page showed.

    For whoever may decide it. The same words while they are open are the same question. Raises Forbidden, NotFound and
    Conflict as a decision does; Conflict QUESTION_OPEN (another one waits for its answer), QUESTIONS_USED_UP; Invalid
    QUESTION_REQUIRED, QUESTION_TOO_LONG, QUESTION_INVALID.
    """
    with audit_refusals(actor=actor, action=QUESTION_ASKED, object_type="proposal", object_id=proposal_id):
        check_person(actor, "Asking the agent")
        proposal = locked_for(actor, proposal_id)
        now = clock.now()
        votes = votes_of(proposal)
        bound = read_bound(proposal, decisions=votes, permit=lock_permit(proposal))
        said = words_of(text, what="question")
        waiting = Question.objects.filter(proposal=proposal, answered_at=None).first()
        if waiting is not None and (str(waiting.asked_by_id), waiting.text) == (actor.id, said):
            return _row(waiting, proposal, repeated=True)
        check_open(proposal, votes, now)
        check_eligible(actor, proposal)
        check_same_thing(proposal, digest, round)
        if waiting is not None:
            raise Conflict(
                f"{waiting.asked_by_name} asked the agent at {clock_text(waiting.at)}, and it has not answered yet. "
                "One question is open at a time; decide without the answer, or wait for it.",
                code="QUESTION_OPEN",
                detail={"by": waiting.asked_by_name, "at": waiting.at.isoformat()},
            )
        if Question.objects.filter(proposal=proposal).count() >= MOST_QUESTIONS:
            raise Conflict(
                f"The agent was asked {MOST_QUESTIONS} times about this call. Decide on it.", code="QUESTIONS_USED_UP"
            )
        stops = bound.requirement.terms.question_clock == "stops"
        allowed = MOST_STOPPED - proposal.stopped if stops else timedelta(0)
        question = Question.objects.create(
            id=uuid4(),
            proposal=proposal,
            round=proposal.round,
            asked_by_id=UUID(actor.id),
            asked_by_name=actor.name,
            text=said,
            at=now,
            clock="stops" if stops else "runs",
            allowed=allowed,
        )
        change(proposal, expires_at=proposal.expires_at + allowed, stopped=proposal.stopped + allowed)
        audit_record(
            actor=actor,
            action=QUESTION_ASKED,
            detail={
                "round": proposal.round, "digest": proposal.digest, "question": question.pk, "text": said,
                **({"clock_stops": True, "expires_at": proposal.expires_at} if stops else {}),
            },
            **rounds.audited(proposal),
        )  # fmt: skip
        return _row(question, proposal)


def question_answer(
    *, actor: Actor, run_id: UUID, call_id: str, text: str, question_id: UUID | None = None
) -> QuestionRow:
    """The agent's answer to the open question about its call. In the run's transaction, under its head.

    `question_id` may name it. The same answer to the question that was answered last is a normal answer (`repeated`).
    Raises NotFound (there is no such proposal or question), Conflict (NO_QUESTION: none is open; CLOSED: nobody decides
    any more), Invalid (ANSWER_REQUIRED, ANSWER_TOO_LONG, ANSWER_INVALID).
    """
    said = words_of(text, what="answer")
    proposal = (
        Proposal.objects.select_for_update()
        .filter(run_id=run_id, call_id=call_id, tenant_id=actor.tenant_id, agent_id=actor.id)
        .first()
    )
    if proposal is None:
        raise NotFound
    now = clock.now()
    asked = Question.objects.filter(proposal=proposal).order_by("-at", "-id")
    if question_id is not None:
        asked = asked.filter(pk=question_id)
    question = asked.first()
    if question is None:
        if question_id is not None:
            raise NotFound
        raise Conflict("Nobody has asked about this call.", code="NO_QUESTION")
    if question.answered_at is not None:
        if question.answer == said:
            return _row(question, proposal, repeated=True)
        raise Conflict("The question was answered already, and no other one is open.", code="NO_QUESTION")
    if proposal.status != "pending" or now >= proposal.expires_at:
        raise Conflict(
            "Nobody waits for the answer any more: the call was decided, or its time is over. Read the call.",
            code="CLOSED",
            detail={"status": proposal.status},
        )
    expires_at, stopped = clock_settled(proposal=proposal, now=now, question=question)
    Question.objects.filter(pk=question.pk, answered_at=None).update(answer=said, answered_at=now)
    change(proposal, expires_at=expires_at, stopped=stopped)
    audit_record(
        actor=actor,
        action=QUESTION_ANSWERED,
        detail={
            "question": question.pk, "text": said,
            **({"stopped_s": int(stopped.total_seconds()), "expires_at": expires_at} if question.allowed else {}),
        },
        **rounds.audited(proposal),
    )  # fmt: skip
    return _row(question, proposal)


def clock_settled(*, proposal: Proposal, now: datetime, question: Question | None = None) -> tuple[datetime, timedelta]:
    """The deadline of a locked proposal, and how much of it is stopped time, if its open question ended now."""
    if question is None:
        question = Question.objects.filter(proposal=proposal, answered_at=None).first()
    if question is None or not question.allowed:
        return proposal.expires_at, proposal.stopped
    unused = max(question.allowed - (now - question.at), timedelta(0))
    unused = min(unused, proposal.stopped)  # a next round may have shortened what there was to give back
    return proposal.expires_at - unused, proposal.stopped - unused


@dataclass(frozen=True, slots=True, kw_only=True)
class Untold:
    """A question that a run's history has not told."""

    id: UUID
    run_id: UUID


def questions_untold(
    *, limit: int = 100, run_id: UUID | None = None, older_than_s: float = 0, without: Collection[UUID] = ()
) -> list[Untold]:
    """Questions that no run has taken up, oldest first, `without` those with these ids; of one run only if `run_id` is
    given.

    `older_than_s`: only those that were asked longer ago, by the database's clock; their hint was lost.
    """
    rows = Question.objects.filter(told_at=None).order_by("at")
    if older_than_s:
        rows = rows.filter(at__lte=clock.ClearanceNow() - timedelta(seconds=older_than_s))
    if run_id is not None:
        rows = rows.filter(proposal__run_id=run_id)
    if without:
        rows = rows.exclude(pk__in=without)
    return [Untold(id=id_, run_id=run) for id_, run in rows.values_list("id", "proposal__run_id")[:limit]]


def question_take(*, question_id: UUID) -> QuestionRow | None:
    """Take a question up for the caller's transaction, under the run's head; None if somebody else did (S20: once)."""
    if not connection.in_atomic_block:
        raise RuntimeError("a question is taken up in the transaction that tells it")
    taken = Question.objects.filter(pk=question_id, told_at=None).update(told_at=clock.ClearanceNow())
    if taken != 1:
        return None
    question = Question.objects.select_related("proposal").get(pk=question_id)
    return _row(question, question.proposal)


def _row(question: Question, proposal: Proposal, *, repeated: bool = False) -> QuestionRow:
    return QuestionRow(
        id=question.pk,
        proposal_id=proposal.pk,
        run_id=proposal.run_id,
        call_id=proposal.call_id,
        text=question.text,
        by_name=question.asked_by_name,
        by_id=question.asked_by_id,
        at=question.at,
        expires_at=proposal.expires_at,
        repeated=repeated,
    )
