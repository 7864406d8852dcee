"""Several proposals decided with one click: so many single decisions, each about its own digest in its own round.

Whether they may be decided together is judged by the rows as they stand, not by what a form says of them. Then each
has a transaction of its own, with everything that a single decision checks; one that is refused costs no other one
anything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal
from uuid import UUID

from approvals.core.bulk import Chosen, not_together, too_much
from approvals.core.reasons import reason_of
from approvals.selectors.standing import visible_proposals
from approvals.services.decision import decision_record
from approvals.store.click import check_person
from audit.core.actor import Actor
from audit.core.refusal import Refusal


@dataclass(frozen=True, slots=True)
class Choice:
    """One proposal as a page showed it."""

    proposal_id: UUID
    digest: str
    round: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one of them: `done` with the decision's own sentence, or why not."""

    proposal_id: UUID
    done: bool
    message: str


def decisions_record(
    *,
    actor: Actor,
    verdict: Literal["approve", "reject"],
    choices: Sequence[Choice],
    reason: str,
    limits: Mapping[str, Decimal],
    alone: Mapping[UUID, str] | None = None,
) -> list[Outcome]:
    """Decide each of these, in their order. `limits` are what may be approved at once, in major units by currency;
    `alone` says of some why they are not approved here: they have to be looked at by themselves.

    Raises Forbidden (PERSON_REQUIRED), Conflict (NOTHING_CHOSEN, TOO_MANY_CHOSEN, TOOLS_DIFFER, SUM_TOO_LARGE,
    SUM_NOT_LIMITED) and Invalid (REASON_REQUIRED, …) before anything is decided. What a single decision refuses is in
    its own outcome.
    """
    check_person(actor, "Deciding")
    rows = visible_proposals(actor).filter(pk__in=[choice.proposal_id for choice in choices], status="pending")
    chosen = [Chosen(*row) for row in rows.values_list("tool", "amount_minor", "currency")]
    refusal = not_together(chosen)
    if refusal is None and verdict == "approve":
        refusal = too_much(chosen, limits)
    if refusal is not None:
        raise refusal
    said = reason_of(reason, required=verdict == "reject")
    kept = alone or {} if verdict == "approve" else {}
    return [
        Outcome(proposal_id=choice.proposal_id, done=False, message=kept[choice.proposal_id])
        if choice.proposal_id in kept
        else _decided(actor, verdict, choice, said)
        for choice in choices
    ]


def _decided(actor: Actor, verdict: Literal["approve", "reject"], choice: Choice, reason: str) -> Outcome:
    try:
        done = decision_record(
            actor=actor,
            proposal_id=choice.proposal_id,
            verdict=verdict,
            digest=choice.digest,
            round=choice.round,
            reason=reason,
        )
    except Refusal as refusal:
        return Outcome(proposal_id=choice.proposal_id, done=False, message=refusal.message)
    return Outcome(proposal_id=choice.proposal_id, done=True, message=done.message)
