"""One person's verdict on one proposal (A2, A3, A4, A9).

Everything is judged after the row is locked, in statements that come after the lock: the clock (data rule 11), the
bytes (S84), the state, and the decider's rights of that moment (S17). A decision never locks a run.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Literal
from uuid import UUID, uuid4

from django.db import IntegrityError

from access.core.delegation import Giver
from approvals.core.eligibility import Tally, tally
from approvals.core.reasons import reason_of
from approvals.models import Claim, Decision, Permit, Proposal
from approvals.selectors.bound import Bound, read_bound
from approvals.selectors.catalogue import still_admitted
from approvals.selectors.deciders import counted_votes, requires_of, votes_in_force
from approvals.selectors.frozen import freeze_of
from approvals.selectors.places import OWN, check_place_free, giver_for
from approvals.services.published import proposal_judge_published, stricter_today
from approvals.services.signing import Answer, Judged, signing_judge
from approvals.store import rounds
from approvals.store.click import (
    already,
    check_open,
    check_person,
    check_same_thing,
    clock_text,
    locked_for,
)
from approvals.store.epochs import CurrentEpoch
from approvals.store.rows import change, lock_permit, resolve, votes_and_now
from audit.core.actor import Actor
from audit.core.refusal import Conflict, Invalid
from audit.services.record import audit_record, audit_refusals

DECIDED = "proposal.decided"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRow:
    """What a click did. `status` is the proposal's now; `message` a sentence for the person; `repeated` says that the
    same verdict of the same person was recorded before and nothing was changed."""

    proposal_id: UUID
    status: str
    round: int
    verdict: str
    message: str
    repeated: bool


def decision_record(
    *,
    actor: Actor,
    proposal_id: UUID,
    verdict: Literal["approve", "reject"],
    digest: str,
    reason: str = "",
    round: int | None = None,
    read_to_end: bool | None = None,
    in_place_of: str = "",
    signed: Answer | None = None,
) -> DecisionRow:
    """Record the actor's verdict on the exact call with this digest; the one that completes the quorum grants.

    `digest` is the one that the page showed (A2), `round` the one it stood in (None where the caller has seen none).
    `read_to_end` is what the person said of long texts (S13), None where they were not asked; it goes into the log.
    `in_place_of` is "self", or the id of the giver of a delegation whose one vote this is; "" takes the actor's own
    right where there is one, else the first delegation that gives one. `signed` is a passkey's answer, where the terms
    ask an approval for one (services/signing.py); rejecting needs none.
    Decision, permit, resolution, audit entry and the proposal's new status are one transaction. The same verdict of
    the same person again is a normal answer (`repeated`).

    Raises Forbidden PERSON_REQUIRED, SELF_APPROVAL, ROLE_MISSING, GROUP_MISSING (`missing` names the groups), INACTIVE,
    FRESH_REQUIRED, SIGNATURE_REQUIRED;
    NotFound for an unknown or foreign id; Conflict PROPOSAL_ALTERED, ALREADY_DECIDED (`detail.by`, `detail.at`),
    EXPIRED, CLOSED, ROUND_CHANGED, DIGEST_CHANGED, CONTRACT_CHANGED, SIGNATURE_GONE; Invalid VERDICT_UNKNOWN,
    REASON_REQUIRED, REASON_TOO_LONG, REASON_INVALID, PASSKEY_REFUSED, PASSKEY_UNKNOWN, PASSKEY_COPIED.
    Each is in the audit log as refused.
    """
    click = partial(
        _decide,
        actor=actor,
        proposal_id=proposal_id,
        verdict=verdict,
        digest=digest,
        reason=reason,
        read_to_end=read_to_end,
        in_place_of=in_place_of,
        signed=signed,
    )
    try:
        return click(round=round)
    except _PolicyMovedOn as moved:
        # In a transaction of its own, so that the next round stands whatever becomes of this click.
        proposal_judge_published(proposal_id=proposal_id)
        seen = moved.round
    try:
        return click(round=seen)
    except _PolicyMovedOn:
        raise Conflict(
            "The policy was changed while you decided. Nothing was recorded; load the page again.", code="ROUND_CHANGED"
        ) from None


class _PolicyMovedOn(Exception):
    """A newer version of the policy asks more of this call, and it was not judged by that one yet (A5). The click was
    for `round`."""

    def __init__(self, round: int) -> None:
        super().__init__()
        self.round = round


def _decide(
    *,
    actor: Actor,
    proposal_id: UUID,
    verdict: Literal["approve", "reject"],
    digest: str,
    reason: str,
    round: int | None,
    read_to_end: bool | None,
    in_place_of: str,
    signed: Answer | None,
) -> DecisionRow:
    """One attempt, in a transaction of its own. Raises `_PolicyMovedOn` where the call has to be judged first."""
    asked: dict[str, object] = {"verdict": str(verdict)[:20]}
    if in_place_of not in ("", OWN):
        asked["for"] = in_place_of[:40]
    with audit_refusals(actor=actor, action=DECIDED, object_type="proposal", object_id=proposal_id, detail=asked):
        check_person(actor, "Deciding")
        if verdict not in ("approve", "reject"):
            raise Invalid("A verdict is approve or reject.", code="VERDICT_UNKNOWN")
        proposal = locked_for(actor, proposal_id)
        permit = lock_permit(proposal)
        told = votes_and_now(proposal)
        now, votes = told.now, told.votes
        bound = read_bound(proposal, decisions=votes, permit=permit)
        # While it waits, a vote that counts no more is none: its person and its place may vote again. And so may all,
        # where enough count and none of them was the last.
        standing = votes_in_force(proposal, votes) if proposal.status == "pending" else votes
        mine = next((vote for vote in standing if str(vote.reviewer_id) == actor.id), None)
        if mine is not None and mine.verdict == verdict and mine.digest == digest and round in (None, proposal.round):
            return _repeated(proposal, mine)
        check_open(proposal, votes, now)
        giver = giver_for(actor, proposal, standing, in_place_of)
        check_same_thing(proposal, digest, round)
        if mine is not None:
            word = "approved" if mine.verdict == "approve" else "rejected"
            raise already(f"You {word} this already; one verdict a round.", mine)
        check_place_free(actor, giver, standing)
        said = reason_of(reason, required=verdict == "reject" or bound.requirement.terms.reason_to_approve)
        if verdict == "approve" and not still_admitted(proposal.tool_version_id):
            raise Conflict(
                "The contract that this call was made for is no longer admitted, so it would be refused when executed. "
                "Reject it, or let it expire; the agent can ask again under today's contract.",
                code="CONTRACT_CHANGED",
            )
        if verdict == "approve" and stricter_today(proposal=proposal, requirement=bound.requirement) is not None:
            raise _PolicyMovedOn(proposal.round)
        signature = None
        if verdict == "approve":
            terms = bound.requirement.terms
            signature = signing_judge(actor=actor, proposal=proposal, terms=terms, answer=signed)
        return _record(actor, giver, proposal, bound, votes, verdict, said, now, read_to_end, signature)


def _record(
    actor: Actor,
    giver: Giver | None,
    proposal: Proposal,
    bound: Bound,
    votes: list[Decision],
    verdict: Literal["approve", "reject"],
    reason: str,
    now: datetime,
    read_to_end: bool | None,
    signature: Judged | None,
) -> DecisionRow:
    decision = Decision(
        id=uuid4(),
        proposal=proposal,
        round=proposal.round,
        reviewer_id=UUID(actor.id),
        reviewer_name=actor.name,
        for_user_id=UUID(giver.id) if giver else None,
        for_user_name=giver.name if giver else "",
        verdict=verdict,
        reason=reason,
        digest=proposal.digest,
        snapshot_hash=proposal.snapshot_hash,
        at=now,
    )
    same = [vote.nth for vote in votes if vote.place == decision.place or vote.reviewer_id == decision.reviewer_id]
    decision.nth = 1 + max(same, default=0)
    try:
        decision.save(force_insert=True)
        if signature is not None:
            signature.keep(decision)
    except IntegrityError:
        # The lock makes this impossible; the constraint stands for whoever gets past it. No savepoint: the refusal
        # takes the whole transaction back.
        raise Conflict("You decided this already; one verdict a round.", code="ALREADY_DECIDED") from None
    requires = requires_of(proposal)
    counted, _ = counted_votes(proposal, [*votes, decision])
    stand = tally(requires, counted, rejections=bound.requirement.terms.rejections)
    Claim.objects.filter(pk=proposal.pk, person_id=actor.id).delete()
    by: dict[str, object] = {"name": decision.by, "id": actor.id, "reason": reason}
    if stand.outcome == "rejected":
        change(proposal, status="rejected", decided_at=now, refresh_asked_at=None)
        resolve(proposal, "rejected", at=now, by=by)
    elif stand.outcome == "granted":
        Permit.objects.create(
            id=uuid4(),
            proposal=proposal,
            round=proposal.round,
            digest=proposal.digest,
            granted_at=now,
            epoch=CurrentEpoch(),  # type: ignore[misc]
        )
        change(proposal, status="granted", decided_at=now, refresh_asked_at=None)
        resolve(proposal, "granted", at=now, by=by)
    else:
        change(proposal)
        # Whoever voted gives no second vote: with too few people left, that is said now and not at the deadline.
        rounds.warn_if_nobody_can_decide(proposal, actor=actor, votes=[*votes, decision])
    audit_record(
        actor=actor,
        action=DECIDED,
        detail={
            "verdict": verdict, "reason": reason, "round": proposal.round, "status": proposal.status,
            # What the reviewer saw (U1): the call and the state by their hashes, the sentence as it read.
            "digest": proposal.digest, "snapshot": proposal.snapshot_hash,
            "sentence": rounds.logged_sentence(bound.contract, bound.facts, bound.state),
            "rule": proposal.rule_id, "policy": proposal.policy_number, "quorum": stand.words,
            **({} if read_to_end is None else {"read_to_end": read_to_end}),
            **({} if verdict == "reject" else _authenticated(bound, signature)),
            **({"for": {"id": giver.id, "name": giver.name}} if giver else {}),
        },
        **rounds.audited(proposal),
    )  # fmt: skip
    return DecisionRow(
        proposal_id=proposal.pk,
        status=proposal.status,
        round=proposal.round,
        verdict=verdict,
        message=_message(proposal, verdict, stand),
        repeated=False,
    )


def _authenticated(bound: Bound, signature: Judged | None) -> dict[str, object]:
    """How it was shown that it is they, for the log; nothing where an open session was enough."""
    asked = bound.requirement.terms.authentication
    key = {} if signature is None else {"signed_by": signature.by.fingerprint}
    return {} if asked == "session" else {"authentication": asked, **key}


def _message(proposal: Proposal, verdict: str, stand: Tally) -> str:
    if proposal.status == "rejected":
        return "Rejected. Nothing runs, and the agent is told your reason."
    if verdict == "reject":
        return f"Your rejection is recorded; nothing runs, and others may still decide: it {stand.words}."
    if proposal.status == "granted":
        freeze = freeze_of(tenant_id=proposal.tenant_id, proposal_id=proposal.pk)
        if freeze is not None:
            return (
                f"Approved. A freeze of the policy ({freeze.id}) starts nothing like this until "
                f"{clock_text(freeze.until)}: it waits, and runs then if its own time has not run out."
            )
        return "Approved. It runs now, after everything was checked once more."
    return f"Your approval is recorded; nothing runs yet: it {stand.words}."


def _repeated(proposal: Proposal, mine: Decision) -> DecisionRow:
    word = "approved" if mine.verdict == "approve" else "rejected"
    return DecisionRow(
        proposal_id=proposal.pk,
        status=proposal.status,
        round=proposal.round,
        verdict=mine.verdict,
        message=f"You {word} this at {clock_text(mine.at)}. It is recorded once.",
        repeated=True,
    )
