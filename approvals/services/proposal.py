"""A call that waits for people: held, withdrawn, cancelled, observed again, expired.

Whoever calls from `runs` has locked the run's head first; nothing here locks a run (lock order: run head, proposal).
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.db.models.functions import Coalesce

from access.selectors.actors import RequesterFacts
from approvals.core.digest import check_call_bytes, snapshot_bytes, snapshot_hash
from approvals.core.exposure import customer_key, customer_of
from approvals.core.policy import Verdict
from approvals.core.present import primary_money
from approvals.core.rounds import reminder_at
from approvals.models import Proposal
from approvals.selectors.bound import HELD, Altered, parties_of, read_bound
from approvals.selectors.catalogue import contract_of
from approvals.selectors.proposals import earlier_rejection
from approvals.selectors.standing import WAITING, visible_proposals
from approvals.services.judge import proposal_judge
from approvals.signals import announce
from approvals.store import rounds
from approvals.store.rounds import Because
from approvals.store.rows import (
    ProposalRow,
    change,
    is_redeemed,
    lock_permit,
    lock_proposal,
    lock_proposal_of,
    now_and_rejected,
    overdue,
    row_of,
    votes_of,
)
from audit.core.actor import SYSTEM, Actor
from audit.core.jsondoor import Json
from audit.core.refusal import Conflict, Refusal
from audit.services.record import audit_record, audit_record_or_owe
from audit.store import clock

logger = logging.getLogger(__name__)

FRESH_FOR = timedelta(seconds=2)
"""A state read less than this ago need not be read again for a page."""


__all__ = [
    "ProposalRow",
    "ToRefresh",
    "proposal_cancel_for_run",
    "proposal_expire_due",
    "proposal_hold",
    "proposal_observe",
    "proposal_refresh_ask",
    "proposal_withdraw",
    "proposals_to_refresh",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToRefresh:
    """A proposal whose target's state somebody wants to see anew."""

    proposal_id: UUID
    tenant_id: UUID
    run_id: UUID
    call_id: str


def proposal_hold(
    *,
    actor: Actor,
    tenant_id: UUID | str,
    run_id: UUID,
    run_title: str,
    call_id: str,
    key: str,
    tool: str,
    tool_version_id: UUID,
    canonical: bytes,
    given: bytes,
    digest: str,
    target: str,
    resource: str,
    state: Mapping[str, Json] | None,
    state_read_at: datetime,
    verdict: Verdict,
    requester: RequesterFacts,
    expires_at: datetime,
    reason: str = "",
    agent_name: str = "",
    agent_version: str = "",
    token_session_id: UUID | None = None,
    prepared_by: Mapping[str, str] | None = None,
) -> ProposalRow:
    """Store a call that the policy holds (`verdict` asks), or open the next round of the one that is there.

    In the caller's transaction, and in a savepoint of the caller's where that goes on after a refusal. A next round
    voids votes and permit, keeps key and deadline; a proposal past its deadline comes back `expired` instead.
    `agent_name` and `agent_version` default to today's.
    `prepared_by` is {id, name} of the person who asked in the agent's place, and who therefore never decides it (A9).

    Raises Conflict: CALL_DIFFERS (the call id was used for other bytes, S2), PROPOSAL_CLOSED (it was decided, or is
    being executed), EXPIRED (`expires_at` is not in the future: nothing was stored), REJECTED_BEFORE (the same digest
    was rejected in this run, S16: nobody is disturbed), PROPOSAL_ALTERED, DIGEST_MISMATCH, CALL_DAMAGED.
    """
    contract = contract_of(tool_version_id)
    facts = check_call_bytes(canonical, digest)
    existing = lock_proposal_of(run_id, call_id)
    # The clock in a statement behind the one that may have waited for the lock (data rule 11).
    now, rejected_before = now_and_rejected(run_id, digest)
    if existing is not None:
        if bytes(existing.canonical) != canonical or existing.digest != digest:
            raise Conflict(
                f"Call id {call_id} was used in this run for another call. Use a new id.", code="CALL_DIFFERS"
            )
        return _hold_again(existing, verdict, state, state_read_at, actor, now)
    if expires_at <= now:
        raise Conflict("The time to decide was over before anybody could be asked.", code="EXPIRED")
    if rejected_before and (rejected := earlier_rejection(run_id, digest)) is not None:
        raise rejected
    user = requester.user
    proposal = Proposal(
        id=uuid4(),
        tenant_id=UUID(str(tenant_id)),
        run_id=run_id,
        run_title=run_title,
        call_id=call_id,
        key=key,
        tool=tool,
        tool_version_id=tool_version_id,
        canonical=canonical,
        given=given,
        digest=digest,
        target=target,
        resource=resource,
        agent_id=UUID(str(requester.agent["id"])),
        agent_name=agent_name or str(requester.agent["name"]),
        agent_version=agent_version or str(requester.agent["version"]),
        agent_owner_id=UUID(requester.owner_user_id) if requester.owner_user_id else None,
        acting_user_id=UUID(str(user["id"])) if user else None,
        acting_user_name=str(user["name"]) if user else "",
        token_session_id=token_session_id,
        scopes=sorted(requester.scopes),
        reason=reason,
        created_at=now,
        expires_at=expires_at,
        remind_at=reminder_at(asked_at=now, expires_at=expires_at, percent=verdict.terms.remind_at_percent),
        why=rounds.why(verdict, prepared_by),
        **rounds.judged(contract, facts, state, verdict, state_read_at),
    )
    proposal.amount_minor, proposal.currency = primary_money(contract, facts.arguments)
    proposal.customer = customer_key(customer_of(contract, facts.arguments, state)) or ""
    if (facts.tool, facts.target, facts.acting_user) != (tool, target, str(proposal.acting_user_id or "")):
        raise Altered("call")
    try:
        proposal.save(force_insert=True)
    except IntegrityError:
        raise Conflict(f"Call {call_id} is being held already.", code="PROPOSAL_CLOSED") from None
    audit_record(
        actor=actor,
        action=HELD,
        detail={
            "digest": digest, "expires_at": expires_at, "snapshot": proposal.snapshot_hash, "key": key,
            "rule": proposal.rule_id, "policy": proposal.policy_number, "requires": proposal.requires,
            "terms": verdict.terms.as_dict(), "parties": parties_of(proposal),
            "sentence": rounds.logged_sentence(contract, facts, state),
        },
        **rounds.audited(proposal),
    )  # fmt: skip
    rounds.warn_if_nobody_can_decide(proposal, actor=actor)
    announce(proposal, for_run=False)
    return row_of(proposal)


def _hold_again(
    proposal: Proposal,
    verdict: Verdict,
    state: Mapping[str, Json] | None,
    read_at: datetime,
    actor: Actor,
    now: datetime,
) -> ProposalRow:
    permit = lock_permit(proposal)
    open_still = proposal.status == "pending" or (
        proposal.status == "granted" and permit is not None and permit.status == "ready"
    )
    if proposal.status == "expired":
        return row_of(proposal)
    if not open_still:
        raise Conflict(
            f"Call {proposal.call_id} is {proposal.status} and is not asked about again.", code="PROPOSAL_CLOSED"
        )
    bound = read_bound(proposal, decisions=votes_of(proposal), permit=permit)
    if proposal.expires_at <= now:
        _expire(proposal, actor=actor, now=now)
        return row_of(proposal)
    rounds.open_next_round(
        proposal,
        bound=bound,
        today=verdict,
        state=state,
        read_at=read_at,
        actor=actor,
        now=now,
        because=Because(code="JUDGED_AGAIN", message="The call was judged again before it was executed."),
    )
    return row_of(proposal)


def proposal_withdraw(*, actor: Actor, run_id: UUID, call_id: str, reason: str = "") -> ProposalRow | None:
    """The agent takes its call back. In the run's transaction; None if the call has no proposal.

    A proposal that has ended stays as it is. Stops things, so it works while the audit log does not (S69).
    Raises Conflict (ALREADY_STARTED): the permit was redeemed, and the effect is on its way or done.
    """
    proposal = Proposal.objects.select_for_update().filter(run_id=run_id, call_id=call_id).first()
    if proposal is None:
        return None
    now = clock.now()
    if is_redeemed(proposal):
        raise Conflict("The call was started already; it cannot be withdrawn any more.", code="ALREADY_STARTED")
    message = reason.strip() or "The agent took the call back."
    _stop(proposal, "withdrawn", Because(code="WITHDRAWN", message=message), actor, now)
    return row_of(proposal)


def proposal_cancel_for_run(*, actor: Actor, run_id: UUID, reason: str = "") -> list[ProposalRow]:
    """The run is cancelled: its cards leave the queue as "cancelled, never ran" (S18). In the run's transaction.

    What was redeemed stays as it is: its effect is an open question, not a cancelled one. Works while the audit log
    does not (S69). Returns those that were closed.
    """
    closed = []
    for proposal in (
        Proposal.objects.select_for_update().filter(run_id=run_id, status__in=["pending", "granted"]).order_by("id")
    ):
        now = clock.now()
        if not is_redeemed(proposal):
            because = Because(code="RUN_CANCELLED", message=reason.strip() or "The run was cancelled; it never ran.")
            _stop(proposal, "cancelled", because, actor, now)
            closed.append(row_of(proposal))
    return closed


def proposal_expire_due(*, limit: int = 200) -> int:
    """Write down what has expired, pending or granted and never redeemed (S82); returns how many.

    Only writes down: everybody who looks judges by the clock. Each row has a transaction of its own, so that a bad one
    hides none, and rows that somebody holds are passed over until the next time.
    """
    return sum(_expire_one(proposal_id) for proposal_id in overdue(limit))


def _expire_one(proposal_id: UUID) -> bool:
    try:
        with transaction.atomic():
            proposal = Proposal.objects.select_for_update(skip_locked=True).filter(pk=proposal_id).first()
            if proposal is None or proposal.status not in ("pending", "granted"):
                return False
            now = clock.now()
            if now < proposal.expires_at or is_redeemed(proposal):
                return False
            _expire(proposal, actor=SYSTEM("sweep", str(proposal.tenant_id)), now=now)
    except Exception:
        logger.exception("Proposal %s is overdue and could not be closed", proposal_id)
        return False
    return True


def _expire(proposal: Proposal, *, actor: Actor, now: datetime) -> None:
    late = (
        "It was approved, but not executed in time."
        if proposal.status == "granted"
        else "Nobody decided in time; silence never approves."
    )
    rounds.close(proposal, "expired", actor=actor, now=now, because=Because(code="EXPIRED", message=late))


def proposal_refresh_ask(*, actor: Actor, proposal_id: UUID) -> bool:
    """Record the wish to see the target's state as it is now; a worker fulfils it (approvals never reads a target).

    Changes nothing that anybody decides by, so opening a page may do it (S11). False where there is nothing to wish
    for: unknown or foreign id, closed or overdue, asked for already, or seen within the last two seconds.
    """
    waiting = visible_proposals(actor).filter(WAITING, pk=proposal_id, refresh_asked_at=None)
    stale = waiting.annotate(seen_at=Coalesce("observed_at", "snapshot_at")).filter(
        seen_at__lt=clock.ClearanceNow() - FRESH_FOR
    )
    return stale.update(refresh_asked_at=clock.ClearanceNow()) == 1


def proposals_to_refresh(*, limit: int = 50) -> list[ToRefresh]:
    """Open wishes, oldest first. Whoever reads the target for one ends the wish with `proposal_observe`."""
    rows = Proposal.objects.filter(refresh_asked_at__isnull=False).order_by("refresh_asked_at")
    return [
        ToRefresh(proposal_id=id_, tenant_id=tenant, run_id=run, call_id=call)
        for id_, tenant, run, call in rows.values_list("id", "tenant_id", "run_id", "call_id")[:limit]
    ]


def proposal_observe(*, proposal_id: UUID, state: Mapping[str, Json] | None, read_at: datetime) -> None:
    """What a worker read for a wish; `state` None if the target could not be read.

    Another state than the one that the round was judged on is a relevant change (A5): a pending proposal is judged
    again by today's rules and asked anew, votes void, or refused if today denies it. An older reading changes nothing.
    """
    with transaction.atomic():
        proposal = lock_proposal(proposal_id)
        if proposal is None:
            return
        now = clock.now()
        newer = read_at > (proposal.observed_at or proposal.snapshot_at)
        if state is None or not newer:
            Proposal.objects.filter(pk=proposal.pk).update(refresh_asked_at=None)
            return
        seen = snapshot_bytes(state)
        if proposal.status == "pending" and now < proposal.expires_at and snapshot_hash(seen) != proposal.snapshot_hash:
            _judge_again(proposal, state, read_at, now)
        else:
            change(proposal, observed=seen, observed_at=read_at, refresh_asked_at=None)


def _judge_again(proposal: Proposal, state: Mapping[str, Json], read_at: datetime, now: datetime) -> None:
    actor = SYSTEM("worker", str(proposal.tenant_id))
    try:
        bound = read_bound(proposal, decisions=votes_of(proposal), permit=None)
    except Refusal as refusal:
        logger.error("Proposal %s is not judged again: %s", proposal.pk, refusal)
        Proposal.objects.filter(pk=proposal.pk).update(refresh_asked_at=None)
        return
    today = proposal_judge(proposal=proposal, state=state)
    if today.effect == "deny":
        because = Because(code=today.code.upper(), message=today.message)
        rounds.close(proposal, "refused", actor=actor, now=now, because=because)
        return
    rounds.open_next_round(
        proposal,
        bound=bound,
        today=today,
        state=state,
        read_at=read_at,
        actor=actor,
        now=now,
        because=rounds.STATE_CHANGED,
    )


def _stop(proposal: Proposal, kind: str, because: Because, actor: Actor, now: datetime) -> None:
    if proposal.status not in ("pending", "granted"):
        return
    if proposal.expires_at <= now:
        # It was over before it was stopped; the word stays the true one whether a sweep ran or not.
        kind, because = "expired", Because(code="EXPIRED", message="The time to decide had passed.")
    rounds.close(proposal, kind, actor=actor, now=now, because=because, by=actor.name, record=audit_record_or_owe)
