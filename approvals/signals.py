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
"""Sent with `tenant_id`, `proposal_id`, `run_id` (UUIDs), `version` (the row's version, rising) and `for_run`: whether
the run may have something to take up. False where the run itself has brought about the change."""


class Changed(Protocol):
    """What a hint tells of a proposal; ids and a version, never content."""

    id: UUID
    tenant_id: UUID
    run_id: UUID
    version: int


def announce(proposal: Changed, *, for_run: bool = True) -> None:
    """Send `proposal_changed` once the current transaction has committed."""
    hint = {
        "tenant_id": proposal.tenant_id,
        "proposal_id": proposal.id,
        "run_id": proposal.run_id,
        "version": proposal.version,
        "for_run": for_run,
    }
    transaction.on_commit(partial(proposal_changed.send_robust, sender=None, **hint), robust=True)


policy_published = Signal()
"""Sent with `tenant_id` after a version of its policy was committed: what waits has to be judged again. A hint."""
replay_waits = Signal()
"""Sent with `replay_id` after somebody asked for a replay; a hint. With `here=True` the caller asks that it be done in
its own process now, and a receiver that did it answers True."""


def announce_policy(tenant_id: UUID) -> None:
    """Send `policy_published` once the current transaction has committed."""
    transaction.on_commit(partial(policy_published.send_robust, sender=None, tenant_id=tenant_id), robust=True)


def announce_replay(replay_id: UUID) -> None:
    """Send `replay_waits` once the current transaction has committed."""
    transaction.on_commit(partial(replay_waits.send_robust, sender=None, replay_id=replay_id), robust=True)
