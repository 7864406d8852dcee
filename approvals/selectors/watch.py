"""Has anything changed? One query each for everything that a process has pages open of; the answer is compared with the
one before. Only another answer is worth the reading that makes a page or a list."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Count, Min, Q, Sum

from approvals.models import Proposal
from approvals.selectors.standing import with_standing
from audit.store.clock import StatementNow

# What else a page of a proposal that waits shows: the newest calls that are the same or for the same customer, which
# its history is made of, and whether somebody's claim stands at this instant. By two indexes, twenty entries each.
_BESIDE = """
SELECT p.id,
       ARRAY(SELECT o.version FROM approvals_proposal o WHERE o.tenant_id = p.tenant_id AND o.digest = p.digest
              ORDER BY o.created_at DESC LIMIT 20),
       ARRAY(SELECT o.version FROM approvals_proposal o
              WHERE o.tenant_id = p.tenant_id AND o.tool = p.tool AND o.customer = p.customer AND o.customer <> ''
              ORDER BY o.created_at DESC LIMIT 20),
       EXISTS (SELECT 1 FROM approvals_claim c WHERE c.proposal_id = p.id AND c.until > clearance_now())
  FROM approvals_proposal p WHERE p.id = ANY(%s) AND p.status = 'pending'
"""


def proposal_tokens(ids: Collection[UUID]) -> Mapping[UUID, tuple[Any, ...]]:
    """Of each proposal its version and its standing of this instant, which a deadline changes too; of one that waits
    what its history is made of and whether it is claimed."""
    found: Any = with_standing(Proposal.objects.filter(pk__in=ids)).only("version")
    with connection.cursor() as cursor:
        cursor.execute(_BESIDE, [list(ids)])
        beside = {row: (tuple(same), tuple(customers), claimed) for row, same, customers, claimed in cursor.fetchall()}
    return {
        proposal.pk: (proposal.version, proposal.standing, beside.get(proposal.pk))  # annotated
        for proposal in found
    }


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
