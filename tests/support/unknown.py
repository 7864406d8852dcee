"""A call whose outcome is unknown, made through the store: nothing was sent anywhere. For tests that only need one."""

from datetime import timedelta
from typing import TYPE_CHECKING

from django.db import transaction

from audit.store import clock
from runs.core.kinds import EventKind as K
from runs.selectors.rows import CallRow
from runs.services.resolution import resolutions_consume
from runs.store import claims
from runs.store.append import append, lock_run
from tests.support.histories import SYSTEM, claimed, guard_of

if TYPE_CHECKING:
    from tests.support.world import World


def lost(world: "World") -> CallRow:
    """A refund that was approved, whose intent was recorded half a minute ago, and whose worker died."""
    call = world.held()
    world.decide(call)
    resolutions_consume(run_id=call.run_id)
    claim = claimed(call.run_id, "dispatch")
    sent = {"call_id": call.call_id, "dispatch_id": str(claim.id)}
    now = clock.now()
    deadline = now - timedelta(seconds=25)
    started = {**sent, "fence": claim.fence, "attempt": 1, "deadline": deadline.isoformat(), "key": call.key}
    with transaction.atomic():
        loaded = append(
            lock_run(call.run_id), [(K.DISPATCH_STARTED, started)], actor=SYSTEM, guard=guard_of(claim)
        ).loaded
        assert claims.mark_started(
            claim,
            started_at=now - timedelta(seconds=30),
            request_deadline=deadline,
            lease_until=now + timedelta(seconds=30),
        )
        append(loaded, [(K.OUTCOME_UNKNOWN, {**sent, "reason": "The worker died"})], actor=SYSTEM)
    return world.look(call)
