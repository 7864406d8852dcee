"""Has anything changed? One query each for everything that a process has pages open of; the answer is compared with the
one before. Only another answer is worth the reading that makes a page or a list."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Min, Q, Sum

from approvals.models import Proposal
from approvals.selectors.standing import with_standing
from audit.store.clock import StatementNow


def proposal_tokens(ids: Collection[UUID]) -> Mapping[UUID, tuple[int, str]]:
    """Of each proposal its version and its standing of this instant, which a deadline changes too."""
    found: Any = with_standing(Proposal.objects.filter(pk__in=ids)).only("version")
    return {proposal.pk: (proposal.version, proposal.standing) for proposal in found}  # annotated


def row_tokens(tenant_id: str, ids: Collection[UUID]) -> Mapping[UUID, tuple[int, str]]:
    """The same of those among them that are the tenant's."""
    found: Any = with_standing(Proposal.objects.filter(tenant_id=tenant_id, pk__in=ids)).only("version")
    return {proposal.pk: (proposal.version, proposal.standing) for proposal in found}  # annotated


def list_tokens(tenant_ids: Collection[UUID]) -> Mapping[UUID, tuple[int, int, datetime | None]]:
    """Of each tenant another value whenever a proposal comes to wait, stops waiting or changes while it does: how many
    wait, the sum of the versions (they only rise), and the next deadline."""
    pending = Proposal.objects.filter(tenant_id__in=tenant_ids, status="pending").order_by().values("tenant_id")
    # The status stands in no filter of these: it would take every row from the table and not from the index alone.
    in_time = Q(expires_at__gt=StatementNow())
    told = pending.annotate(
        waiting=Count("pk", filter=in_time), versions=Sum("version", default=0), next=Min("expires_at", filter=in_time)
    )
    return {row["tenant_id"]: (row["waiting"], row["versions"], row["next"]) for row in told}
