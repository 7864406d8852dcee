"""Taking up what was decided about a proposal: the outbox row of approvals becomes an event of the run, once.

The run's head is locked first and the row consumed under it, in one transaction: two who find the same row, or an
approval that arrives while the run is about to wait, end in one event (S41). What a lost hint missed the sweep finds.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction

from approvals.core.revisions import is_revision_id
from approvals.services.resolution import ResolutionRow, resolution_consume, resolutions_for_run, resolutions_open
from audit.core.refusal import Refusal
from audit.services.record import audit_record
from runs.core.answers import ended
from runs.core.kinds import EventKind as K
from runs.core.reducer import IllegalTransition
from runs.services.asking import questions_consume
from runs.services.patience import Patience
from runs.services.revising import revision_begin, revision_drop, revision_goes_on, revision_of, revision_words
from runs.store.append import HeadBusy, Loaded, append, lock_run
from runs.store.claims import system_actor

log = logging.getLogger(__name__)
_damaged: Patience[UUID] = Patience()

WORDS: Mapping[str, tuple[str, str]] = {
    "rejected": ("REJECTED", "It was rejected{by}{because}. Nothing was executed; do not ask for the same again."),
    "expired": ("APPROVAL_EXPIRED", "Nobody decided in time, so it is refused. Nothing was executed."),
    "withdrawn": ("WITHDRAWN", "It was taken back{by}{because}. Nothing was executed."),
    "superseded": ("SUPERSEDED", "It was replaced by an edited revision{by}. Nothing of this call was executed."),
    "cancelled": ("RUN_CANCELLED", "Its run was cancelled{by}{because}. Nothing was executed."),
    "refused": ("REFUSED_AT_RECHECK", "It no longer holds{because}. Nothing was executed."),
}
"""Code and sentence for the agent, by the resolution's kind."""


def resolutions_consume(*, run_id: UUID | None = None, limit: int = 100) -> int:
    """Take up what was decided and not taken up yet, of one run, or of all whose heads nobody holds; how many were."""
    return _take(resolutions_open(limit=limit, run_id=run_id, without=_damaged.left_alone()), wait=run_id is not None)


def resolutions_take_up(*, run_id: UUID) -> None:
    """Take up what people said about a run's calls: what they decided, then what they asked its agent."""
    found = resolutions_for_run(run_id=run_id)
    left_alone = set(_damaged.left_alone())
    _take([row for row in found.resolutions if row.proposal_id not in left_alone], wait=True)
    if found.question:
        questions_consume(run_id=run_id)


def _take(rows: Sequence[ResolutionRow], *, wait: bool) -> int:
    taken = 0
    for row in rows:
        try:
            taken += resolution_take(row=row, wait=wait)
        except HeadBusy:
            continue
        except Exception:
            # One damaged run must not keep the decisions of all others waiting, nor fill the log.
            pause_s = _damaged.failed(row.proposal_id)
            log.exception(
                "The resolution of proposal %s could not be taken up; tried again in %d s.", row.proposal_id, pause_s
            )
        else:
            _damaged.settled(row.proposal_id)
    return taken


def resolutions_late(*, limit: int, older_than_s: float) -> list[UUID]:
    """Runs with decisions that nobody has taken up for longer, without those that just failed."""
    rows = resolutions_open(limit=limit, older_than_s=older_than_s, without=_damaged.left_alone())
    return [row.run_id for row in rows]


def resolution_take(*, row: ResolutionRow, wait: bool = True) -> bool:
    """Take up one. False when somebody else has. Raises HeadBusy when not told to wait for the run's head, NotFound for
    a run that is not there."""
    with transaction.atomic():
        loaded = lock_run(row.run_id, wait=wait)
        if is_revision_id(row.call_id) and row.call_id not in loaded.state.calls:
            loaded = _edits_first(loaded, row)
        consumed = resolution_consume(resolution_id=row.id)
        if consumed is None:
            return False
        _tell(loaded, consumed)
    return True


def _edits_first(loaded: Loaded, row: ResolutionRow) -> Loaded:
    """A revision that was decided before its run heard of the edit: whoever reads passed over the row of the edit,
    because somebody held the head for a moment. It is taken up first, or the decision would find no call."""
    for earlier in resolutions_open(run_id=row.run_id):
        if earlier.id < row.id and earlier.kind == "superseded":
            consumed = resolution_consume(resolution_id=earlier.id)
            loaded = _tell(loaded, consumed) if consumed is not None else loaded
    return loaded


def _tell(loaded: Loaded, row: ResolutionRow) -> Loaded:
    """Write it into the history; the run as it then is."""
    actor = system_actor(loaded.run.tenant_id, on_behalf_of=str(loaded.run.acting_user_id or ""))
    by = dict(row.by or {})
    body: dict[str, Any] = {
        "call_id": row.call_id,
        "proposal_id": str(row.proposal_id),
        "resolution": row.kind,
        "by": by.get("name") or None,
        "reason": by.get("reason") or None,
        "round": row.round,
    }
    answers = None
    revision = revision_of(by=by)
    if row.kind != "granted":
        refusal = revision_words(revision=revision) if revision is not None else _refusal(row.kind, by)
        body |= {"code": refusal.code, "message": refusal.message}
        answers = {row.call_id: ended(row.kind, refusal.as_dict())}
    before = loaded.state.calls.get(row.call_id)
    edited = revision is not None and revision_goes_on(loaded=loaded, before=before, proposal_id=row.proposal_id)
    try:
        moved = append(loaded, [(K.RESOLUTION_CONSUMED, body)], actor=actor, answers=answers)
    except IllegalTransition as error:
        # The history has no place for it (the call ended otherwise, or waits for a later round): consumed all the
        # same, or it would be found again every second.
        log.info("The resolution %s of call %s moves nothing: %s", row.kind, row.call_id, error.sentence)
        verdict = "duplicate"
    else:
        verdict = "duplicate" if moved.state.calls[row.call_id] == before else "ok"
        loaded = moved.loaded
    audit_record(
        actor=actor,
        action="call.resolved",
        object_type="proposal",
        object_id=row.proposal_id,
        verdict=verdict,
        run_id=loaded.run.id,
        call_id=row.call_id,
        detail={"resolution": row.kind, "round": row.round, "by": by.get("name", "")},
    )
    if revision is None:
        return loaded
    if edited:
        return revision_begin(loaded=loaded, of_call_id=row.call_id, revision=revision, actor=actor)
    revision_drop(loaded=loaded, revision=revision, actor=actor)
    return loaded


def _refusal(kind: str, by: Mapping[str, Any]) -> Refusal:
    code, sentence = WORDS[kind]
    name, reason = by.get("name"), by.get("reason")
    message = sentence.format(by=f" by {name}" if name else "", because=f": {reason}" if reason else "")
    return Refusal(message, code=code, status=409)
