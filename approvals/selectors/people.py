"""Who decides on a proposal, who has, and how somebody who looks at it stands to it (screens.md, Proposal 8)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from approvals.core.eligibility import Vote, tally
from approvals.core.policy import Approver
from approvals.core.present import Piece, visible
from approvals.models import Decision, Permit
from approvals.selectors.deciders import (
    Able,
    Capacity,
    able_to_decide,
    best_of,
    in_the_way,
    named_deciders,
    needs_words,
    requires_of,
    terms_of,
)
from audit.core.actor import Actor
from audit.core.visible import as_line


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteRow:
    """One decision. `counts` is false for an earlier round's, and for an approval by somebody who may not any more.
    `name` tells in whose place it was given, where it was."""

    round: int
    reviewer_id: UUID
    name: str
    verdict: str
    reason: tuple[Piece, ...]
    at: datetime
    counts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """As whom somebody may decide: `id` is what the click says ("self", or the giver's id). `until` is the end of the
    delegation."""

    id: str
    name: str
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """What a group has still to give: `words` such as "1 of leads", and who could, by name, `more` beyond the first."""

    words: str
    names: tuple[str, ...]
    more: int


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """Who must decide and who has (8). `words` is the quorum in words; `left` how many approvals are missing in all.

    `may_decide` is for the actor that looks; `reason` says in words why, or why not. `nobody`: the groups hold too few
    people who may decide (S8), counting who has decided already, or too few who can sign: then `keyless` says so, with
    who has no passkey and what mends it. `approve_does` is what an approval by this actor would
    do: "runs now", or "1 of 2, nothing runs yet"; `reject_does` the same of a rejection, "" where one rejects.
    `places` are those in which this actor may decide, `missing` what each group has still to give.
    """

    needs: str
    words: str
    left: int
    votes: tuple[VoteRow, ...]
    may_decide: bool
    reason: str
    nobody: bool
    approve_does: str
    reject_does: str
    missing: tuple[Missing, ...]
    places: tuple[Place, ...] = ()
    keyless: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stance:
    """All of a proposal that is different for different people who may see it."""

    may_decide: bool
    reason: str
    may_revoke: bool
    places: tuple[Place, ...]
    # Whether this reader is who claims it.
    claimed: bool = False


type Judged = Sequence[tuple[Decision, Vote | None]]
"""The decisions of the current round, each with the vote that it is now (`deciders.judged_votes`)."""


def in_force(judged: Judged) -> list[Decision]:
    """Those that count now: their persons and places have voted."""
    return [decision for decision, vote in judged if vote is not None]


def people_of(proposal: Any, decisions: Sequence[Decision], judged: Judged) -> People:
    """The people of a row that carries `standing`, as they are for nobody in particular."""
    requires = requires_of(proposal)
    counted = [vote for _, vote in judged if vote is not None]
    standing = in_force(judged)
    counting = {decision.pk for decision in standing}
    rejections = terms_of(proposal).rejections
    stand = tally(requires, counted, rejections=rejections)
    against = sum(vote.verdict == "reject" for vote in counted)
    wanted = sum(approver.count for approver in requires)
    left = sum(approver.count for approver in stand.missing)
    waiting = proposal.standing == "pending"
    able = named_deciders(proposal) if waiting else {}
    stands = able_to_decide(proposal, counted, able) if waiting else Able(True)
    return People(
        needs=needs_words(requires),
        words=stand.words,
        left=left,
        votes=tuple(
            VoteRow(
                round=vote.round,
                reviewer_id=vote.reviewer_id,
                name=vote.by,
                verdict=vote.verdict,
                reason=tuple(visible(vote.reason)),
                at=vote.at,
                counts=vote.pk in counting,
            )
            for vote in decisions
        ),
        may_decide=False,
        reason="",
        nobody=not stands.enough,
        keyless=_keyless(stands),
        approve_does="runs now" if left <= 1 else f"{wanted - left + 1} of {wanted}, nothing runs yet",
        reject_does="" if rejections - against <= 1 else f"{against + 1} of {rejections} rejections",
        missing=tuple(_missing(approver, able, standing) for approver in stand.missing) if waiting else (),
    )


def _keyless(stands: Able) -> str:
    """Why nobody can approve it for want of passkeys, and the remedy; "" where that is not why."""
    if not stands.for_want_of_keys:
        return ""
    if stands.problem:
        return f"Approving this is signed by a passkey, and none can be used here. {stands.problem}"
    names = [as_line(name) for name in stands.keyless]
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    verb = "has" if len(names) == 1 else "have"
    return (
        "Approving this is signed by a passkey, and too few who may have one: "
        f"{', '.join(names[:_NAMES])}{more} {verb} none. Each adds one under Account, Passkeys and codes; until enough "
        "have, it can only be rejected or expire. Admins are told."
    )


_NAMES = 6
"""More names than this are told as a number."""


def _missing(
    approver: Approver, able: Mapping[str, tuple[str, frozenset[str]]], standing: Sequence[Decision]
) -> Missing:
    used = {vote.place for vote in standing} | {str(vote.reviewer_id) for vote in standing}
    names = [name for person, (name, groups) in able.items() if approver.group in groups and person not in used]
    return Missing(words=needs_words([approver]), names=tuple(names[:_NAMES]), more=max(len(names) - _NAMES, 0))


def stance_of(
    actor: Actor,
    proposal: Any,
    judged: Judged,
    permit: Permit | None,
    *,
    tampered: bool,
    capacities: Sequence[Capacity],
) -> Stance:
    """How the actor stands to it. `capacities` are as whom they may decide, by the rights of this moment."""
    standing = in_the_way(proposal, judged)
    taken = {vote.place: vote for vote in standing}
    open_ones = [one for one in capacities if one.allowed.ok and _id(one, actor) not in taken]
    allowed = best_of(open_ones or capacities).allowed
    given = next((taken[_id(one, actor)] for one in capacities if one.allowed.ok and _id(one, actor) in taken), None)
    mine = next((vote for vote in standing if str(vote.reviewer_id) == actor.id), None)
    if tampered:
        may, reason = False, "Nobody decides on it: the stored proposal is not the one that was made."
    elif proposal.standing != "pending":
        may, reason = False, "There is nothing left to decide."
    elif mine is not None:
        may, reason = False, f"You {'approved' if mine.verdict == 'approve' else 'rejected'} it; one verdict a round."
    elif given is not None and not open_ones:
        word = "approved" if given.verdict == "approve" else "rejected"
        may, reason = False, f"{given.by} {word} it; giver and delegate have one vote."
    else:
        may, reason = allowed.ok, allowed.reason
    return Stance(
        may_decide=may,
        reason=reason,
        may_revoke=_may_revoke(actor, proposal, [decision for decision, _ in judged], permit),
        places=tuple(_place(one) for one in open_ones) if may else (),
    )


def _id(capacity: Capacity, actor: Actor) -> str:
    return capacity.giver.id if capacity.giver else actor.id


def _place(capacity: Capacity) -> Place:
    if capacity.giver is None:
        return Place(id="self", name="", until=None)
    return Place(id=capacity.giver.id, name=as_line(capacity.giver.name), until=capacity.giver.ends_at)


def _may_revoke(actor: Actor, proposal: Any, current: Sequence[Decision], permit: Permit | None) -> bool:
    """Whether to offer taking the approval back; the service judges again."""
    if proposal.standing != "granted" or permit is None or permit.status != "ready" or actor.kind != "person":
        return False
    return actor.has_role("operator", "admin") or any(str(vote.reviewer_id) == actor.id for vote in current)
