"""What became of a call whose permit was or was not redeemed, told by runs for the proposal's page (A4, E6)."""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from approvals.models import Permit, Proposal
from approvals.store import rounds
from approvals.store.rounds import Because
from approvals.store.rows import change, is_redeemed, lock_proposal
from audit.core.actor import SYSTEM
from audit.core.redact import redact_secrets
from audit.services.record import audit_record
from audit.store import clock

logger = logging.getLogger(__name__)

ENDED = ("succeeded", "failed", "compensated")
OUTCOMES = ("unknown", "refused", "retry", *ENDED)


def permit_settle(*, proposal_id: UUID | str, outcome: str, detail: Mapping[str, object] | None = None) -> None:
    """What became of the call, for the proposal's page; in the run's transaction, which has recorded it already.

    `outcome` is *succeeded*, *failed*, *unknown* (redeeming said that it was started); *refused*: it ended before the
    permit was redeemed, so the proposal is closed (said of a redeemed one it moves nothing: an effect may exist); or
    *retry*: proven that nothing happened outside and the same request will be sent again, so the permit is given back,
    and everything is checked again when it is redeemed. A late word after succeeded or failed moves nothing. Secrets in
    `detail` are redacted (E5). Raises ValueError for a word that is no outcome.
    """
    if outcome not in OUTCOMES:
        raise ValueError(f"{outcome} is no outcome; use one of {', '.join(OUTCOMES)}")
    with transaction.atomic(savepoint=False):
        proposal = lock_proposal(UUID(str(proposal_id)))
        if proposal is None or proposal.outcome in ENDED:
            return
        told = redact_secrets(dict(detail or {}))  # type: ignore[arg-type]
        if outcome == "refused":
            if is_redeemed(proposal):
                # Somebody may have sent it: no word of ours may say that nothing ran.
                logger.error("Proposal %s was told refused after its permit was redeemed: %s", proposal.pk, told)
            else:
                _close_refused(proposal, told, clock.now())
        elif outcome == "retry":
            if is_redeemed(proposal):
                _give_back(proposal, told, clock.now())
        else:
            change(proposal, for_run=False, outcome=outcome, outcome_at=clock.ClearanceNow(), outcome_detail=told)


def _close_refused(proposal: Proposal, told: Any, now: datetime) -> None:
    if proposal.status not in ("pending", "granted"):
        return
    because = Because(code=str(told.get("code") or "REFUSED"), message=str(told.get("message") or "It was refused."))
    kind = "refused"
    if proposal.expires_at <= now:
        kind, because = "expired", Because(code="EXPIRED", message="It was not executed in time.")
    rounds.close(proposal, kind, actor=SYSTEM("worker", str(proposal.tenant_id)), now=now, because=because)


def _give_back(proposal: Proposal, told: Any, now: datetime) -> None:
    given = Permit.objects.filter(proposal_id=proposal.pk, status="redeemed")
    if given.update(status="ready", redeemed_at=None, dispatch_id=None) != 1:
        return
    change(proposal, outcome="", outcome_at=now, outcome_detail=told)
    audit_record(
        actor=SYSTEM("worker", str(proposal.tenant_id)),
        action="permit.given_back",
        detail={"round": proposal.round, "told": told},
        **rounds.audited(proposal),
    )
