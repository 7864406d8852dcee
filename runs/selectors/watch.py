"""Has anything changed? One query each for everything that a process has pages open of (see approvals' watch)."""

from collections.abc import Collection, Mapping
from datetime import datetime
from uuid import UUID

from django.db.models import Max

from runs.models import Run


def run_tokens(ids: Collection[UUID]) -> Mapping[UUID, int]:
    """Of each run its last sequence."""
    return dict(Run.objects.filter(pk__in=ids).values_list("pk", "seq"))


def list_tokens(tenant_ids: Collection[UUID]) -> Mapping[UUID, datetime]:
    """Of each tenant the time at which one of its runs changed last."""
    return dict(
        Run.objects.filter(tenant_id__in=tenant_ids)
        .order_by()
        .values_list("tenant_id")
        .annotate(last=Max("updated_at"))
    )
