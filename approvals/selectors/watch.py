"""Has anything changed? One cheap query each, asked every few seconds for every open page; the answer is compared with
the one before. Only another answer is worth the reading that makes a page or a list."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Min, Q, Sum

from approvals.selectors.standing import WAITING, visible_proposals, with_standing
from audit.core.actor import Actor
from audit.core.refusal import NotFound

type Token = tuple[int, int, datetime | None]


def proposal_token(actor: Actor, proposal_id: UUID) -> tuple[int, str]:
    """The proposal's version and its standing of this instant, which a deadline changes too. Raises NotFound."""
    found: Any = with_standing(visible_proposals(actor)).only("version").filter(pk=proposal_id).first()
    if found is None:
        raise NotFound
    return found.version, found.standing  # the latter is annotated


def list_token(actor: Actor, shown: Sequence[UUID]) -> Token:
    """Another value whenever a proposal comes to wait, stops waiting or changes while it does, and whenever one of
    `shown` changes: how many wait, the sum of the versions (they only rise), and the next deadline."""
    watched = visible_proposals(actor).filter(Q(status="pending") | Q(pk__in=shown))
    told = watched.aggregate(
        waiting=Count("pk", filter=WAITING), versions=Sum("version", default=0), next=Min("expires_at", filter=WAITING)
    )
    return told["waiting"], told["versions"], told["next"]
