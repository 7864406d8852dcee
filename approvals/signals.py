"""The one back-signal: something about a proposal changed. It is only a hint (data rule 5).

Whoever hears it reads the row again; whoever misses it is found by the sweep. It is sent after the commit, robustly:
a receiver that raises never shows the caller an error for a row that is committed.
"""

from functools import partial
from typing import Protocol
from uuid import UUID

from django.db import transaction
from django.dispatch import Signal

proposal_changed = Signal()
"""Sent with `tenant_id`, `proposal_id`, `run_id` (UUIDs) and `version` (the row's version, rising)."""


class Changed(Protocol):
    """What a hint tells of a proposal; ids and a version, never content."""

    id: UUID
    tenant_id: UUID
    run_id: UUID
    version: int


def announce(proposal: Changed) -> None:
    """Send `proposal_changed` once the current transaction has committed."""
    hint = {
        "tenant_id": proposal.tenant_id,
        "proposal_id": proposal.id,
        "run_id": proposal.run_id,
        "version": proposal.version,
    }
    transaction.on_commit(partial(proposal_changed.send_robust, sender=None, **hint), robust=True)
