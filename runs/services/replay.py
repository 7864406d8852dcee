"""Handing past calls to a replay of a policy (approvals/services/replay.py). Reads rows; calls no tool."""

import logging
from uuid import UUID

from django.db import OperationalError

from approvals.services.replay import replay_begin
from runs.store.past_calls import past_calls, past_calls_count

log = logging.getLogger(__name__)


def replay_run(*, replay_id: UUID) -> bool:
    """Work on a replay to its end, from where the last one who did came to. False where there was nothing to do, or it
    was cancelled meanwhile."""
    replaying = replay_begin(replay_id=replay_id)
    if replaying is None:
        return False
    try:
        tenant_id, until = replaying.tenant_id, replaying.until
        replaying.total = past_calls_count(tenant_id=tenant_id, since=replaying.since, until=until)
        for calls in past_calls(tenant_id=tenant_id, since=replaying.begins, until=until):
            if not replaying.feed(calls):
                return False
        return replaying.end()
    except OperationalError:
        raise  # the database is away: taken up again where it stood
    except Exception as error:
        log.exception("Replay %s has failed.", replay_id)
        replaying.fail(f"It could not be brought to its end ({type(error).__name__}). Try again, or tell an operator.")
        return False
