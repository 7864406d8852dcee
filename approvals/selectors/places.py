"""In whose place a decision is given: one's own, or that of the giver of a delegation (A9, S7)."""

from collections.abc import Sequence

from access.core.delegation import Giver
from approvals.models import Decision, Proposal
from approvals.selectors.deciders import best_of, capacities_of
from audit.core.actor import Actor
from audit.core.refusal import Conflict, Forbidden

OWN = "self"


def giver_for(actor: Actor, proposal: Proposal, votes: Sequence[Decision], wanted: str) -> Giver | None:
    """Whose vote the actor gives: None for their own. By the rights of this moment, of both people.

    `wanted` as in `decision_record`. Raises Forbidden with the reason: DELEGATION_OVER where there is no such
    delegation in force, else the code of what stands against it.
    """
    capacities = capacities_of(actor, proposal)
    if wanted:
        giver_id = "" if wanted == OWN else wanted
        chosen = next((one for one in capacities if (one.giver.id if one.giver else "") == giver_id), None)
        if chosen is None:
            raise Forbidden(
                "You do not decide for this person: the delegation has ended, was called back or never was. "
                "Nothing was recorded; load the page again.",
                code="DELEGATION_OVER",
            )
    else:
        taken = {vote.place for vote in votes}
        free = [one for one in capacities if (one.giver.id if one.giver else actor.id) not in taken]
        chosen = best_of([one for one in free if one.allowed.ok] or capacities)
    if not chosen.allowed.ok:
        raise Forbidden(chosen.allowed.reason, code=chosen.allowed.code, missing=chosen.allowed.missing)
    return chosen.giver


def check_place_free(actor: Actor, giver: Giver | None, votes: Sequence[Decision]) -> None:
    """Of giver and delegate the first counts. Raises Conflict (ALREADY_DECIDED) for whoever comes second."""
    place = giver.id if giver else actor.id
    before = next((vote for vote in votes if vote.place == place), None)
    if before is None:
        return
    word = "approved" if before.verdict == "approve" else "rejected"
    whose = f"{giver.name} has" if giver else "You have"
    raise Conflict(
        f"{before.by} {word} this at {before.at:%H:%M:%S} UTC. {whose} one vote, and it was given.",
        code="ALREADY_DECIDED",
        detail={
            "by": before.by, "at": before.at.isoformat(), "verdict": before.verdict, "reason": before.reason,
        },
    )  # fmt: skip
