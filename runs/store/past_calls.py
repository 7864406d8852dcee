"""The calls of a span of time, in their order, in batches and without the ORM."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from approvals.core.replay import Past

BATCH = 1_000

_CALLS = """
SELECT c.id, c.run_id, c.call_id, c.created_at, c.tool, c.contract_version, c.canonical, c.digest, r.agent_id,
  r.agent_name, r.agent_version, r.acting_user_id, c.scopes, r.title, c.reason, c.state, c.proposal_id
FROM runs_call c JOIN runs_run r ON r.id = c.run_id
WHERE c.tenant_id = %(tenant)s AND (c.created_at, c.id) > (%(at)s, %(id)s) AND c.created_at < %(until)s
ORDER BY c.created_at, c.id LIMIT %(limit)s
"""
_COUNT = "SELECT count(*) FROM runs_call WHERE tenant_id = %s AND created_at >= %s AND created_at < %s"


def past_calls(*, tenant_id: UUID, since: datetime, until: datetime, batch: int = BATCH) -> Iterator[list[Past]]:
    """The tenant's calls from `since` until before `until`, oldest first."""
    at, id_ = since, UUID(int=0)
    while True:
        with connection.cursor() as cursor:
            cursor.execute(_CALLS, {"tenant": tenant_id, "at": at, "id": id_, "until": until, "limit": batch})
            rows = cursor.fetchall()
        if rows:
            yield [_past(row) for row in rows]
            at, id_ = rows[-1][3], rows[-1][0]
        if len(rows) < batch:
            return


def past_calls_count(*, tenant_id: UUID, since: datetime, until: datetime) -> int:
    """How many there are."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, [tenant_id, since, until])
        [count] = cursor.fetchone() or [0]
    return int(count)


def _past(row: tuple[Any, ...]) -> Past:
    (id_, run, call, at, tool, version, canonical, digest, agent, name, agent_version, user, scopes, title, reason,
     state, proposal) = row  # fmt: skip
    return Past(
        id=id_, run_id=run, call_id=call, at=at, tool=tool, contract_version=version,
        canonical=bytes(canonical), digest=digest, agent_id=agent, agent_name=name, agent_version=agent_version,
        acting_user_id=user, scopes=tuple(scopes), run_title=title, reason=reason, state=state, proposal_id=proposal,
    )  # fmt: skip
