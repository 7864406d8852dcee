"""Who was shown a proposal, and in which state (U1: decisions with what the reviewer saw)."""

from datetime import timedelta
from uuid import UUID

from django.db import transaction

from approvals.core.digest import snapshot_hash
from approvals.selectors.standing import visible_proposals
from approvals.store import rounds
from audit.core.actor import Actor
from audit.core.filters import EntryFilters
from audit.core.refusal import NotFound
from audit.selectors.entries import entries_page
from audit.services.record import audit_record
from audit.store import clock

SHOWN = "proposal.shown"
AGAIN_AFTER = timedelta(minutes=1)
"""The same person who is shown the same again within this time is one entry: a reload tells nothing new."""


def proposal_show(*, actor: Actor, proposal_id: UUID, long_texts: int, readable: bool) -> None:
    """Record that the page of a proposal is shown to a person, or that an open page was pushed another state of it.

    The entry binds what was seen: round, digest, the state that was judged, the newer one (`seen`) that the page shows
    beside it, and how many long texts were to be read to their end (S13). `readable` is False where the stored bytes
    are not the ones that were made and the page shows no call. No lock: showing moves nothing. Raises NotFound.
    """
    with transaction.atomic():
        proposal = visible_proposals(actor).filter(pk=proposal_id).first()
        if proposal is None:
            raise NotFound
        detail: dict[str, object] = {
            "round": proposal.round,
            "status": proposal.status,
            "digest": proposal.digest,
            "snapshot": proposal.snapshot_hash,
            "seen": snapshot_hash(bytes(proposal.observed)) if proposal.observed is not None else None,
            "long_texts": long_texts,
            "readable": readable,
        }
        lately = EntryFilters(
            action=SHOWN,
            actor_id=actor.id,
            object_type="proposal",
            object_id=str(proposal.pk),
            since=clock.now() - AGAIN_AFTER,
        )
        if all(entry.detail != detail for entry in entries_page(actor.tenant_id, lately)):
            audit_record(actor=actor, action=SHOWN, detail=detail, **rounds.audited(proposal))
