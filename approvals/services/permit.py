"""Redeeming the authority of a granted round: once, by one dispatch, after everything was checked again (A4, A5).

`permit_redeem` is called by runs inside its own transaction, under the run's head. A refusal is *returned*, never
raised: what it writes (expired, refused, the next round) must commit with the run's own events.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from django.db import connection

from access.selectors.actors import RequesterFacts
from approvals.core.digest import digest as digest_of
from approvals.core.digest import snapshot_bytes, snapshot_hash
from approvals.core.eligibility import tally
from approvals.core.policy import Verdict, is_frozen, same_or_looser
from approvals.models import Decision, Permit, Proposal
from approvals.selectors.bound import Altered, Bound, read_bound
from approvals.selectors.deciders import counted_votes, requires_of
from approvals.selectors.judging import facts_of
from approvals.services.judge import call_judge
from approvals.services.published import policy_changed
from approvals.store import rounds
from approvals.store.epochs import CurrentEpoch, elsewhere
from approvals.store.rounds import Because
from approvals.store.rows import ProposalRow, change, lock_permit, lock_proposal, row_of, votes_and_now
from audit.core.actor import SYSTEM, Actor
from audit.core.jsondoor import Json
from audit.core.refusal import Conflict, Refusal
from audit.services.record import audit_record

logger = logging.getLogger(__name__)

MAX_STATE_AGE = timedelta(seconds=5)
"""How old the target's state may be when the permit is redeemed."""

type RefusedKind = Literal["expired", "refused", "ask_again", "retry_read", "taken", "frozen"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Redeemed:
    """The permit is this dispatch's: it may record its intent at `at` and send until `deadline`, once."""

    permit_id: UUID
    round: int
    at: datetime
    deadline: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The permit was not redeemed; nothing may be sent.

    `kind`: *expired* and *refused* are final, the proposal has been closed in this transaction (or was before);
    *ask_again*: the proposal waits for people in `proposal.round`, the call has to wait too; *retry_read*: nothing
    changed, read the target's state again and come back; *taken*: another dispatch has the permit and the call, this
    one has nothing to say about it; *frozen*: nothing changed, come back when the freeze is over. `verdict` is today's
    judgement where there was one.
    """

    kind: RefusedKind
    code: str
    message: str
    proposal: ProposalRow | None = None
    verdict: Verdict | None = None

    def refusal(self) -> Refusal:
        """What the agent is told (E3)."""
        return Conflict(self.message, code=self.code, retry_safe=False)


type RedeemResult = Redeemed | Refused


def permit_redeem(
    *,
    proposal_id: UUID | str,
    canonical: bytes,
    digest: str,
    dispatch_id: UUID,
    state: Mapping[str, Json] | None,
    state_read_at: datetime,
    requester: RequesterFacts,
    request_ms: int,
    actor: Actor | None = None,
) -> RedeemResult:
    """Check everything again and consume the permit for `dispatch_id`, or say why not. The proposal then says that it
    was started, with the deadline of the request: `request_ms` from now.

    `canonical` and `digest` are those of the call's own row, `state` what the target said at `state_read_at` (database
    clock), `requester` the requester's rights of now. In order: both copies of the bytes, expiry, age of the state,
    today's policy, the state that was approved, the deciders' rights of now, and last one conditional UPDATE.

    Raises RuntimeError outside a transaction, Unavailable (RESTORED) in a restored database whose epoch was not raised
    yet, and nothing else of its own. Does not prevent a redeemed dispatch from
    sending late: that is the fence's and the kernel timer's part.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("a permit is redeemed in the transaction that records the intent")
    proposal = lock_proposal(UUID(str(proposal_id)))
    if proposal is None:
        return Refused(kind="refused", code="NOT_FOUND", message="The proposal of this call is not there.")
    permit = lock_permit(proposal)
    told = votes_and_now(proposal)
    if told.epoch is None:
        raise elsewhere()
    worker = actor or SYSTEM("worker", str(proposal.tenant_id))
    standing = _standing(proposal, permit, told.epoch)
    if standing is not None:
        return standing
    check = _Check(proposal, permit, worker, told.now, told.epoch, told.votes)  # type: ignore[arg-type]  # a granted round without one was refused
    try:
        return check.redeem(canonical, digest, dispatch_id, state, state_read_at, requester, request_ms)
    except Refusal as refusal:  # bytes, contract or policy are not what was written
        return check.refuse(refusal.code, refusal.message)


def _standing(proposal: Proposal, permit: Permit | None, epoch: UUID) -> Refused | None:
    """The answer where the proposal is not granted with an unused permit; nothing is changed.

    One that a restore has made void is like an unused one of before: it is asked anew, and nobody's fault.
    """
    words = {
        "pending": ("ask_again", "ASKED_AGAIN", "The call waits for people again."),
        "expired": ("expired", "EXPIRED", "The approval expired before the call was executed."),
    }
    if proposal.status != "granted":
        kind, code, message = words.get(
            proposal.status, ("refused", proposal.status.upper(), f"The call is {proposal.status}.")
        )
        return Refused(kind=kind, code=code, message=message, proposal=row_of(proposal))  # type: ignore[arg-type]
    if permit is None or (permit.status == "void" and permit.epoch == epoch):
        because = permit.void_because if permit is not None else "There is none."
        return Refused(
            kind="refused", code="PERMIT_VOID", message=f"The permit is void: {because}", proposal=row_of(proposal)
        )
    if permit.status == "redeemed":
        return Refused(
            kind="taken",
            code="PERMIT_REDEEMED",
            message="The permit was redeemed already; one approval executes once.",
            proposal=row_of(proposal),
        )
    return None


@dataclass(frozen=True, slots=True)
class _Check:
    """One attempt to redeem a locked, ready permit."""

    proposal: Proposal
    permit: Permit
    actor: Actor
    now: datetime
    epoch: UUID
    votes: list[Decision]

    def redeem(
        self,
        canonical: bytes,
        digest: str,
        dispatch_id: UUID,
        state: Mapping[str, Json] | None,
        state_read_at: datetime,
        requester: RequesterFacts,
        request_ms: int,
    ) -> RedeemResult:
        proposal = self.proposal
        bound = read_bound(proposal, decisions=self.votes, permit=self.permit)
        if digest_of(canonical) != digest or digest != proposal.digest or canonical != bytes(proposal.canonical):
            raise Altered("call")
        if self.now >= proposal.expires_at:
            return self.expire()
        if not timedelta(0) <= self.now - state_read_at <= MAX_STATE_AGE:
            return Refused(
                kind="retry_read",
                code="STATE_TOO_OLD",
                message="The target's state is too old to execute on; it is read again.",
                proposal=row_of(proposal),
            )
        today = call_judge(
            tenant_id=proposal.tenant_id,
            tool_version_id=proposal.tool_version_id,
            canonical=canonical,
            state=state,
            requester=requester,
            **facts_of(proposal),
            acting=True,
        )
        if is_frozen(today):
            return self._refused("frozen", Because(code=today.code.upper(), message=today.message), today)
        if today.effect == "deny":
            return self.refuse(today.code.upper(), today.message, today)
        because = self._changed(bound, today, state, self.votes)
        if because is not None:
            return self.ask_again(bound, today, state, state_read_at, because)
        return self._consume(dispatch_id, self.now + timedelta(milliseconds=request_ms), today, state_read_at)

    def _changed(
        self, bound: Bound, today: Verdict, state: Mapping[str, Json] | None, votes: Sequence[Decision]
    ) -> Because | None:
        """What voids the votes, or None. The state first: then people see what they decide on."""
        if self.permit.epoch != self.epoch:
            return rounds.RESTORED
        if snapshot_hash(snapshot_bytes(state)) != self.proposal.snapshot_hash:
            return rounds.STATE_CHANGED
        if not same_or_looser(bound.requirement, today):
            return policy_changed(asked=bound.requirement, today=today)
        counted, uncounted = counted_votes(self.proposal, votes)
        rejections = bound.requirement.terms.rejections
        if tally(requires_of(self.proposal), counted, rejections=rejections).outcome != "granted":
            names = ", ".join(uncounted) or "Somebody"
            return Because(
                code="DECIDER_CHANGED", message=f"{names} approved it and may no longer decide it, so it is asked anew."
            )
        return None

    def _consume(self, dispatch_id: UUID, deadline: datetime, today: Verdict, state_read_at: datetime) -> RedeemResult:
        ready = Permit.objects.filter(pk=self.permit.pk, status="ready", epoch=CurrentEpoch())
        if ready.update(status="redeemed", redeemed_at=self.now, dispatch_id=dispatch_id) != 1:
            return Refused(
                kind="taken",
                code="PERMIT_REDEEMED",
                message="The permit was redeemed already; one approval executes once.",
                proposal=row_of(self.proposal),
            )
        told = {"deadline": deadline.isoformat()}
        change(self.proposal, for_run=False, outcome="started", outcome_at=self.now, outcome_detail=told)
        audit_record(
            actor=self.actor,
            action="permit.redeemed",
            detail={
                "round": self.proposal.round, "dispatch": dispatch_id, "digest": self.proposal.digest,
                # What was checked again, and found as it was approved: the state's hash and age, today's policy.
                "snapshot": self.proposal.snapshot_hash, "state_read_at": state_read_at,
                "rule": today.rule_id, "policy": today.policy_number,
            },
            **rounds.audited(self.proposal),
        )  # fmt: skip
        return Redeemed(permit_id=self.permit.pk, round=self.proposal.round, at=self.now, deadline=deadline)

    def expire(self) -> Refused:
        because = Because(code="EXPIRED", message="It was approved, but not executed in time.")
        rounds.close(self.proposal, "expired", actor=self.actor, now=self.now, because=because)
        return self._refused("expired", because)

    def refuse(self, code: str, message: str, verdict: Verdict | None = None) -> Refused:
        because = Because(code=code, message=message)
        rounds.close(self.proposal, "refused", actor=self.actor, now=self.now, because=because)
        return self._refused("refused", because, verdict)

    def ask_again(
        self,
        bound: Bound,
        today: Verdict,
        state: Mapping[str, Json] | None,
        state_read_at: datetime,
        because: Because,
    ) -> Refused:
        waits = rounds.open_next_round(
            self.proposal,
            bound=bound,
            today=today,
            state=state,
            read_at=state_read_at,
            actor=self.actor,
            now=self.now,
            because=because,
        )
        if not waits:
            late = Because(code="EXPIRED", message=f"{because.message} The time that is left for it has passed.")
            return self._refused("expired", late, today)
        return self._refused("ask_again", because, today)

    def _refused(self, kind: RefusedKind, because: Because, verdict: Verdict | None = None) -> Refused:
        return Refused(
            kind=kind, code=because.code, message=because.message, proposal=row_of(self.proposal), verdict=verdict
        )
