"""The target's states that proposals kept: what a worker read last of each, for whoever looks at a past call."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from approvals.core.digest import parse_snapshot
from approvals.models import Proposal
from approvals.selectors.standing import EXECUTED
from audit.core.refusal import Conflict


def states_of(
    tenant_id: UUID | str, proposal_ids: Iterable[UUID]
) -> Mapping[UUID, tuple[dict[str, Any] | None, datetime]]:
    """(state, when it was read) by proposal; the state None for a tool that reads none. One whose bytes are not what
    was written is left out."""
    rows = Proposal.objects.filter(tenant_id=tenant_id, pk__in=list(proposal_ids))
    found = {}
    columns = ("id", "snapshot", "snapshot_at", "observed", "observed_at")
    for id_, snapshot, at, observed, observed_at in rows.values_list(*columns):
        # Read anew by a worker since somebody looked at the proposal.
        data, read_at = (snapshot, at) if observed is None else (observed, observed_at)
        try:
            found[id_] = (parse_snapshot(bytes(data)), read_at)
        except Conflict:
            continue
    return found


def executed_before(tenant_id: UUID | str, digest: str) -> tuple[UUID, str, datetime] | None:
    """(proposal, outcome, when it was asked) of the newest proposal with this digest whose call was started."""
    found = Proposal.objects.filter(tenant_id=tenant_id, digest=digest, outcome__in=EXECUTED).order_by("-created_at")
    return found.values_list("id", "outcome", "created_at").first()
