"""Questions of people to the agent, between the proposal and the run's history (S20).

A question is taken up like a decision: under the run's head, in the transaction of its event, once. The answer comes
through the run, since only its own agent gives it, and stands with the proposal in the same transaction.
"""

import logging
from uuid import UUID

from django.db import transaction

from approvals.services.question import QuestionRow, Untold, question_answer, question_take, questions_untold
from audit.core.actor import Actor
from audit.core.refusal import NotFound
from audit.services.record import audit_refusals
from runs.core.kinds import EventKind as K
from runs.core.reducer import IllegalTransition
from runs.models import Call
from runs.selectors.rows import CallRow, call_row_of
from runs.services.call import own_run
from runs.services.patience import Patience
from runs.store.append import HeadBusy, Loaded, append, lock_run
from runs.store.claims import system_actor

log = logging.getLogger(__name__)
_damaged: Patience[UUID] = Patience()


def questions_consume(*, run_id: UUID | None = None, limit: int = 100) -> int:
    """Tell the runs what their agents were asked, one run's or all whose heads nobody holds; how many were told."""
    told = 0
    for untold in questions_untold(limit=limit, run_id=run_id, without=_damaged.left_alone()):
        try:
            told += _tell(untold, wait=run_id is not None)
        except HeadBusy:
            continue
        except Exception:
            # One damaged run must not keep the questions of all others waiting, nor fill the log.
            pause_s = _damaged.failed(untold.id)
            log.exception("Question %s could not be told to its run; tried again in %d s.", untold.id, pause_s)
        else:
            _damaged.settled(untold.id)
    return told


def questions_late(*, limit: int, older_than_s: float) -> list[UUID]:
    """Runs that were not told of a question for longer, without those where that just failed."""
    rows = questions_untold(limit=limit, older_than_s=older_than_s, without=_damaged.left_alone())
    return [row.run_id for row in rows]


def _tell(untold: Untold, *, wait: bool) -> bool:
    with transaction.atomic():
        loaded = lock_run(untold.run_id, wait=wait)
        return _take(loaded, untold.id) is not None


def _take(loaded: Loaded, question_id: UUID) -> Loaded | None:
    """Write it into the history; None if it was there."""
    question = question_take(question_id=question_id)
    if question is None:
        return None
    body = {
        "call_id": question.call_id,
        "proposal_id": str(question.proposal_id),
        "question_id": str(question.id),
        "text": question.text,
        "by": question.by_name,
        "expires_at": question.expires_at.isoformat(),
    }
    actor = system_actor(loaded.run.tenant_id, on_behalf_of=str(loaded.run.acting_user_id or ""))
    try:
        return append(loaded, [(K.QUESTION_ASKED, body)], actor=actor).loaded
    except IllegalTransition as error:
        # The call was decided or has ended meanwhile: nobody waits for an answer any more.
        log.info("Question %s is not told: %s", question.id, error.sentence)
        return loaded


def call_answer(*, actor: Actor, run_id: UUID, call_id: str, text: str, question_id: UUID | None = None) -> CallRow:
    """The agent answers the open question about its call; again with the same words: no change (`repeated`).

    Raises NotFound, Forbidden, Conflict (NO_QUESTION, CLOSED), Invalid (ANSWER_REQUIRED, ANSWER_TOO_LONG, …).
    """
    with audit_refusals(
        actor=actor, action="proposal.question_answered", object_type="call", object_id=call_id, run_id=run_id,
        call_id=call_id,
    ):  # fmt: skip
        run = own_run(actor=actor, run_id=run_id)
        loaded = lock_run(run.id)
        call = Call.objects.filter(run=run, call_id=call_id).first()
        if call is None:
            raise NotFound
        answered = question_answer(actor=actor, run_id=run.id, call_id=call_id, text=text, question_id=question_id)
        if not answered.repeated:
            _tell_answer(loaded, answered, text.strip(), actor)
        call.refresh_from_db()
        return call_row_of(call, repeated=answered.repeated)


def _tell_answer(loaded: Loaded, question: QuestionRow, text: str, actor: Actor) -> None:
    # Whoever polls may have read the question before its own history told it.
    loaded = _take(loaded, question.id) or loaded
    body = {"call_id": question.call_id, "question_id": str(question.id), "text": text}
    try:
        append(loaded, [(K.QUESTION_ANSWERED, body)], actor=actor)
    except IllegalTransition as error:
        log.info("The answer to question %s moves nothing: %s", question.id, error.sentence)
