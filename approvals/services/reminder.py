"""Reminding people that the time to decide is nearly over, and telling others of it, once a round (A3, A9).

Written down by the sweep in one transaction with the lines of mail and the webhook's event; mailed later, many lines in
one mail. Nothing here decides or changes a proposal, and an address in a mail only opens its page (S11).
"""

import logging
from datetime import datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import transaction

from access.selectors.actors import group_members
from access.selectors.addressees import Addressee, addressee, holders_for
from access.services.mail import waiting_send
from access.services.webhook import webhook_tell
from approvals.core.rounds import reminder_at
from approvals.models import Alarm, Decision, Notice, Proposal, Reminder
from approvals.selectors.deciders import able_of, named_deciders, terms_of, votes_in_force
from approvals.store import alarms, rounds
from approvals.store.rows import votes_of
from approvals.store.told import address_of, sentence_told, told_of
from audit.core.actor import SYSTEM
from audit.services.record import audit_record
from audit.store import clock

logger = logging.getLogger(__name__)

REMINDED = "proposal.reminded"
QUIET = timedelta(seconds=60)
"""Nobody gets a second mail before so long."""
MOST_LINES = 30
"""More lines than this are told as a number; the inbox has them all."""
MOST_TRIES = 5


def proposals_remind(*, limit: int = 200) -> int:
    """Remind of proposals whose time is nearly over; how many. Each has a transaction of its own."""
    return sum(_remind(proposal_id) for proposal_id in alarms.remind_due(limit))


def _remind(proposal_id: UUID) -> bool:
    try:
        with transaction.atomic():
            proposal = Proposal.objects.select_for_update(skip_locked=True).filter(pk=proposal_id).first()
            return proposal is not None and proposal.remind_at is not None and _remind_of(proposal)
    except Exception:
        logger.exception("Nobody could be reminded of proposal %s", proposal_id)
        return False


def _remind_of(proposal: Proposal) -> bool:
    now = clock.now()
    row = Proposal.objects.filter(pk=proposal.pk)
    if proposal.status != "pending" or now >= proposal.expires_at:
        row.update(remind_at=None)
        return False
    terms = terms_of(proposal)
    due = reminder_at(asked_at=_asked_at(proposal), expires_at=proposal.expires_at, percent=terms.remind_at_percent)
    if due > now:
        # The time to decide became longer since: a question to the agent stopped the clock.
        row.update(remind_at=due)
        return False
    row.update(remind_at=None)
    if Reminder.objects.filter(proposal=proposal, round=proposal.round).exists():
        return False
    Reminder.objects.create(proposal=proposal, round=proposal.round, at=now)
    votes = votes_of(proposal)
    asked = _asked_still(proposal, votes)
    told = {person for group in terms.escalate_to for person, _ in group_members(proposal.tenant_id, group)}
    alarms.add_notices(proposal, "reminder", sorted(asked), now)
    alarms.add_notices(proposal, "escalation", sorted(told - asked), now)
    webhook_tell(
        tenant_id=proposal.tenant_id,
        kind=REMINDED,
        data=told_of(proposal) | {"needs": proposal.requires, "escalate_to": list(terms.escalate_to)},
    )
    audit_record(
        actor=SYSTEM("sweep", str(proposal.tenant_id)),
        action=REMINDED,
        detail={"round": proposal.round, "asked": len(asked), "escalated_to": list(terms.escalate_to)},
        **rounds.audited(proposal),
    )
    return True


def _asked_at(proposal: Proposal) -> datetime:
    """When the round was opened: a next round begins later than the call was asked for."""
    opened = proposal.why.get("opened_because") if isinstance(proposal.why, dict) else None
    try:
        return datetime.fromisoformat(opened["at"]) if opened else proposal.created_at
    except (KeyError, TypeError, ValueError):
        return proposal.created_at


def _asked_still(proposal: Proposal, votes: list[Decision]) -> set[str]:
    """Whoever may decide and has not, and whoever decides in the place of one of them."""
    standing = votes_in_force(proposal, votes)
    used = {vote.place for vote in standing} | {str(vote.reviewer_id) for vote in standing}
    asked = {person for person in named_deciders(proposal) if person not in used}
    return asked | (set(holders_for(proposal.tenant_id, asked)) - used)


def digests_due(*, limit: int = 50) -> list[UUID]:
    """People with something to be mailed, whose turn came first; nobody who got a mail just now."""
    return alarms.people_due(limit, quiet=QUIET)


def notices_forget_old(*, limit: int = 5_000) -> int:
    """Remove lines of mails that ended long ago (30 days, 90 where they were given up); how many. For the sweep."""
    return alarms.forget_old(limit=limit)


def digest_send(*, person_id: UUID) -> bool:
    """One mail to one person with everything that is due; False where there was nothing, or it could not be sent.

    Never in a transaction. At least once: a process that dies between sending and writing that down lets it be sent
    again. What was decided meanwhile is left out.
    """
    with transaction.atomic():
        rows = alarms.take_notices(person_id, 1_000)
    by_tenant: dict[UUID, list[Notice]] = {}
    for row in rows:
        by_tenant.setdefault(row.proposal.tenant_id, []).append(row)
    sent = [_mail(person_id, tenant_id, mine) for tenant_id, mine in by_tenant.items()]
    return any(sent)


def _mail(person_id: UUID, tenant_id: UUID, rows: list[Notice]) -> bool:
    to = addressee(person_id, tenant_id)
    now = clock.now()
    fresh = [row for row in rows if to is not None and _waits(row, now)]
    alarms.end_notices([row for row in rows if row not in fresh], "stale")
    if to is None or not fresh:
        return False
    lines = [_line(row, to) for row in fresh[:MOST_LINES]]
    try:
        waiting_send(to=to, lines=lines, more=len(fresh) - len(lines))
    except OSError as error:
        logger.warning("A mail about what waits could not be sent: %s", type(error).__name__)
        tries = max(row.attempts for row in fresh) + 1
        if tries >= MOST_TRIES:
            alarms.end_notices(fresh, "given_up")
        else:
            alarms.put_back(fresh, timedelta(minutes=2**tries))
        return False
    alarms.end_notices(fresh, "sent")
    return True


def _waits(row: Notice, now: datetime) -> bool:
    """Whether it is still as the line says: nobody is told to look at what is over."""
    proposal = row.proposal
    if proposal.status != "pending" or proposal.round != row.round or now >= proposal.expires_at:
        return False
    if row.kind == "alarm":
        return Alarm.objects.filter(proposal=proposal, ended_at=None).exists()
    votes = votes_of(proposal)
    return row.kind == "escalation" or str(row.person_id) in _asked_still(proposal, votes)


_WORDS = {
    "reminder": "waits for you",
    "escalation": "waits for others; you are told because its time is nearly over",
    "alarm": "cannot be decided: too few people are left who may",
    "keyless": "cannot be approved: too few who may have a passkey; they add one under Account, Passkeys and codes",
}


def _wants_keys(proposal: Proposal) -> bool:
    return able_of(proposal, votes_of(proposal)).for_want_of_keys


def _line(row: Notice, to: Addressee) -> dict[str, str]:
    proposal = row.proposal
    until = proposal.expires_at.astimezone(ZoneInfo(to.time_zone or "UTC"))
    return {
        "sentence": sentence_told(proposal),
        "words": _WORDS["keyless" if row.kind == "alarm" and _wants_keys(proposal) else row.kind],
        "until": f"{until:%-d %b %Y, %H:%M:%S %Z}",
        "url": address_of(proposal),
    }
