"""A new version of the policy and what waits: relevant to that very call and stricter, it is asked anew (A5, S19).

What waits is walked in batches outside the publishing transaction, each proposal in a transaction of its own. Until
its turn comes nothing slips through: whoever approves is judged under the version in force (services/decision.py), and
so is every redeeming of a permit (services/permit.py).
"""

import logging
from datetime import datetime
from typing import Literal
from uuid import UUID

from django.db import transaction

from approvals.core.asked_anew import moved_by_itself, what_changed
from approvals.core.digest import parse_snapshot
from approvals.core.policy import NO_RULE, Verdict, same_or_looser, verdict_from
from approvals.models import Proposal
from approvals.selectors.bound import read_bound
from approvals.selectors.policies import rules_of
from approvals.services.judge import proposal_judge
from approvals.store import rounds
from approvals.store.reach import open_after, reach_move, reach_of, reaches_open
from approvals.store.rounds import Because
from approvals.store.rows import active_policy_number, lock_permit, lock_proposal, votes_of
from audit.core.actor import SYSTEM
from audit.core.jsondoor import Json
from audit.core.refusal import Refusal
from audit.store import clock

__all__ = ["open_judge", "open_tenants", "policy_changed", "proposal_judge_published", "stricter_today"]

logger = logging.getLogger(__name__)

BATCH = 100

type Judged = Literal["same", "asked_anew", "refused"]


def open_tenants(*, limit: int = 50) -> list[UUID]:
    """Organisations whose open proposals were not all judged under the version in force."""
    return reaches_open(limit=limit)


def open_judge(*, tenant_id: UUID, limit: int = BATCH) -> bool:
    """Judge the next `limit` open proposals of the organisation under the version in force; True if more may wait.

    May be called at any time, by any number of workers: what is done twice is found as it should be. One that cannot be
    judged is told in the log and passed over; whoever approves or executes it judges it again.
    """
    place = reach_of(tenant_id)
    if place is None:
        return False
    found = open_after(place, limit=limit)
    counts = {"judged": len(found), "asked_anew": 0, "refused": 0, "failed": 0}
    for one in found:
        try:
            judged = proposal_judge_published(proposal_id=one.id)
        except Exception:
            logger.exception("Proposal %s could not be judged under policy %s.", one.id, place.number)
            judged = "failed"  # type: ignore[assignment]
        if judged != "same":
            counts[judged] += 1
    ended = len(found) < limit
    reach_move(place, found[-1] if found else None, ended=ended, counts=counts)
    return reach_of(tenant_id) is not None


def proposal_judge_published(*, proposal_id: UUID) -> Judged:
    """Judge one open proposal under the version in force, on the state that was read last.

    Stricter for this very call: votes and permit are void and the next round is open, or it is refused where the policy
    denies it now. A loosening, an unrelated edit, a freeze (which holds back what is approved, and closes nothing), and
    whatever the policy did not say, such as an agent without its rights or sums that have moved, change nothing here:
    not even the row's version.
    """
    with transaction.atomic():
        # Most of what waits has not changed: that is found without holding anybody up.
        seen = Proposal.objects.filter(pk=proposal_id, status__in=["pending", "granted"]).first()
        if seen is None or _stricter(seen, verdict_from(seen.why["verdict"])) is None:
            return "same"
    with transaction.atomic():
        proposal = lock_proposal(proposal_id)
        if proposal is None or proposal.status not in ("pending", "granted"):
            return "same"
        permit = lock_permit(proposal)
        now = clock.now()
        if now >= proposal.expires_at or (
            proposal.status == "granted" and (permit is None or permit.status != "ready")
        ):
            return "same"
        bound = read_bound(proposal, decisions=votes_of(proposal), permit=permit)
        today = _stricter(proposal, bound.requirement)
        if today is None:
            return "same"
        actor = SYSTEM("worker", str(proposal.tenant_id))
        because = policy_changed(asked=bound.requirement, today=today)
        if today.effect == "deny":
            rounds.close(proposal, "refused", actor=actor, now=now, because=because)
            return "refused"
        state, read_at = _last_read(proposal)
        rounds.open_next_round(
            proposal, bound=bound, today=today, state=state, read_at=read_at, actor=actor, now=now, because=because
        )
        return "asked_anew"


def stricter_today(*, proposal: Proposal, requirement: Verdict) -> Verdict | None:
    """Today's verdict where a version that `requirement` was not judged by asks more of this call, or denies it.

    For a locked proposal. The version in force is held until the transaction ends.
    """
    if active_policy_number(proposal.tenant_id, hold=True) == requirement.policy_number:
        return None
    return _stricter(proposal, requirement)


def policy_changed(*, asked: Verdict, today: Verdict) -> Because:
    """Why a round ended, for whoever is asked anew or told that it is refused."""
    if today.effect == "deny":
        by = f"rule {today.rule_id}" if today.rule_id else "no rule allows it"
        message = f"Policy {today.policy_number} refuses this call ({by}): {today.message}"
        return Because(code=today.code.upper(), message=message)
    return Because(code="POLICY_CHANGED", message=what_changed(asked, today))


def _stricter(proposal: Proposal, requirement: Verdict) -> Verdict | None:
    state, _ = _last_read(proposal)
    today = proposal_judge(proposal=proposal, state=state)
    if (today.effect == "deny" and not _by_policy(today)) or same_or_looser(requirement, today):
        return None
    return None if _moved_by_itself(proposal, state, requirement, today) else today


def _moved_by_itself(proposal: Proposal, state: dict[str, Json] | None, requirement: Verdict, today: Verdict) -> bool:
    """Whether the version that it was asked under would say the same by now, since the sums or the hour have moved: no
    publication voids a vote for that. What it comes to is asked when it starts, when the sums are held."""
    asked_under = requirement.policy_number
    if asked_under == today.policy_number:
        return True
    try:
        was = rules_of(proposal.tenant_id, asked_under)
        now = rules_of(proposal.tenant_id, today.policy_number)
        before = proposal_judge(proposal=proposal, state=state, under=asked_under)
    except Refusal:
        return False  # it cannot be said any more, so the stricter one applies
    return moved_by_itself(was=was, before=before, now=now, today=today)


def _by_policy(verdict: Verdict) -> bool:
    """Not what a person did to the agent, its session or the contract since: that may be put right before it is
    executed, and is checked then."""
    return verdict.code == NO_RULE or (verdict.rule_id != "" and not verdict.rule_id.startswith("check:"))


def _last_read(proposal: Proposal) -> tuple[dict[str, Json] | None, datetime]:
    if proposal.observed is not None and proposal.observed_at is not None:
        return parse_snapshot(bytes(proposal.observed)), proposal.observed_at
    return parse_snapshot(bytes(proposal.snapshot)), proposal.snapshot_at
