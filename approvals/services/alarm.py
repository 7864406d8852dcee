"""Whether the people that waiting proposals need are still there, looked at when rights change (A9, S8).

A group that loses its last reviewers, or the passkeys that it signs with, blocks what waits for it. Admins are told
once; when somebody joins or adds a passkey, the alarm ends by itself. Only writes down and tells: whoever looks at a
proposal judges by the rights of that moment.
"""

import logging
from collections.abc import Iterator, Mapping
from uuid import UUID

from django.db import connection, transaction

from access.selectors.reviewers import reviewers_words
from access.services.webhook import webhook_tell
from approvals.models import Decision, Proposal
from approvals.selectors.deciders import can_be_decided
from approvals.store import rounds
from approvals.store.alarms import end_alarm, forget_old_alarms, open_alarms
from approvals.store.rows import change, votes_of
from approvals.store.told import told_of
from audit.core.actor import SYSTEM
from audit.services.record import audit_record
from audit.store import clock

logger = logging.getLogger(__name__)

AGAIN = "proposal.decidable_again"

# Proposals without votes or edits whose people are the same need looking at only once.
ALIKE = """
SELECT (array_agg(id ORDER BY id))[1:%(most)s]
  FROM approvals_proposal p
 WHERE tenant_id = %(tenant)s AND status = 'pending' AND expires_at > (SELECT clearance_now())
 GROUP BY requires, acting_user_id, agent_owner_id, why->'prepared_by'->>'id',
       why->'verdict'->'terms'->>'authentication',
       CASE WHEN revision_number > 1 OR EXISTS (SELECT 1 FROM approvals_decision d
              WHERE d.proposal_id = p.id AND d.round = p.round) THEN id END
"""
MOST = 500
"""Of one kind no more are told of at one look; the rest at the next."""


def alarms_look(*, known: dict[UUID, str]) -> int:
    """Begin and end alarms; how many. `known` is the caller's memory of the rights that it last looked at: where they
    are the same, only alarms that are open are looked at."""
    moved = sum(_in_own_transaction(proposal_id) for proposal_id in open_alarms(MOST))
    for tenant_id, word in _rights().items():
        if known.get(tenant_id) == word:
            continue
        alarmed, whole = 0, True
        for proposals in _alike(tenant_id):
            if _stands(proposals[0]):
                continue
            whole = whole and len(proposals) < MOST
            alarmed += sum(_in_own_transaction(proposal_id) for proposal_id in proposals)
        moved += alarmed
        # With more of a kind than one look tells of, it goes on until a look finds none that is new.
        if whole or not alarmed:
            known[tenant_id] = word
    return moved


def alarms_forget_old(*, limit: int = 5_000) -> int:
    """Remove alarms that were over 30 days ago; how many. For the sweep."""
    return forget_old_alarms(limit=limit)


def _rights() -> Mapping[UUID, str]:
    """Of each organisation with something that waits who could decide there, as one word."""
    waiting = Proposal.objects.filter(status="pending").order_by().values_list("tenant_id", flat=True).distinct()
    return reviewers_words(list(waiting))


def _alike(tenant_id: UUID) -> Iterator[list[UUID]]:
    with connection.cursor() as cursor:
        cursor.execute(ALIKE, {"tenant": tenant_id, "most": MOST})
        rows = cursor.fetchall()
    for (proposals,) in rows:
        yield proposals


def _stands(proposal_id: UUID) -> bool:
    """Read without a lock: whoever begins an alarm locks the row and looks again."""
    proposal = Proposal.objects.filter(pk=proposal_id).first()
    return proposal is None or can_be_decided(proposal, votes_of(proposal))


def _in_own_transaction(proposal_id: UUID) -> bool:
    try:
        with transaction.atomic():
            proposal = Proposal.objects.select_for_update(skip_locked=True).filter(pk=proposal_id).first()
            return proposal is not None and _look(proposal, votes_of(proposal))
    except Exception:
        logger.exception("Whether proposal %s can be decided could not be looked at", proposal_id)
        return False


def _look(proposal: Proposal, votes: list[Decision]) -> bool:
    waits = proposal.status == "pending" and clock.now() < proposal.expires_at
    actor = SYSTEM("sweep", str(proposal.tenant_id))
    if not waits:
        return end_alarm(proposal)
    if not can_be_decided(proposal, votes):
        begun = rounds.warn_if_nobody_can_decide(proposal, actor=actor, votes=votes)
        if begun:
            change(proposal)  # lists and pages that are open hear of it
        return begun
    if not end_alarm(proposal):
        return False
    change(proposal)
    audit_record(actor=actor, action=AGAIN, detail={"round": proposal.round}, **rounds.audited(proposal))
    webhook_tell(tenant_id=proposal.tenant_id, kind=AGAIN, data=told_of(proposal))
    return True
