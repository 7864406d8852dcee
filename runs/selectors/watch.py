"""Has anything changed? One query each for everything that a process has pages open of (see approvals' watch)."""

from collections.abc import Collection, Mapping
from datetime import datetime
from uuid import UUID

from django.db import connection

from runs.models import Run


def run_tokens(ids: Collection[UUID]) -> Mapping[UUID, int]:
    """Of each run its last sequence."""
    return dict(Run.objects.filter(pk__in=ids).values_list("pk", "seq"))


def list_tokens(tenant_ids: Collection[UUID]) -> Mapping[UUID, datetime]:
    """Of each tenant the time at which one of its runs changed last."""
    with connection.cursor() as cursor:
        # A tenant at a time, so that the index answers with its first entry whatever the number of runs.
        cursor.execute(
            "SELECT id, (SELECT max(updated_at) FROM runs_run WHERE tenant_id = id_of.id) "
            "FROM unnest(%s::uuid[]) AS id_of(id)",
            [list(tenant_ids)],
        )
        return {tenant_id: last for tenant_id, last in cursor.fetchall() if last is not None}
