"""What a look-up said, kept on its row, and people's wish to have the target asked again at once.

Only a worker or the sweep asks; whoever looks at a page only writes a wish.
"""

import json
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from django.db import connection

from runs.models import Dispatch
from runs.selectors.look_ups import Note

AGAIN_AFTER = timedelta(seconds=2)
"""A target that was asked less than this ago is not asked again for a click."""

type Wish = Literal["asked", "under_way", "just_asked"]


def note(dispatch_id: UUID, said: Note) -> None:
    """Keep what the target said. A newer note is not replaced by an older one: two workers may have asked."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE runs_dispatch SET observed = %s WHERE id = %s AND kind = 'look_up' AND (observed IS NULL "
            "OR (observed ->> 'asked_at')::timestamptz <= %s)",
            [json.dumps(said.to_json()), dispatch_id, said.asked_at],
        )


def ask_now(*, call_pk: UUID, run_id: UUID, now: datetime) -> Wish:
    """See to it that a worker asks the target now. Under the run's head, for a call that is unknown.

    One live look-up a call: one that waits is put first, one that is under way is left alone.
    """
    rows = Dispatch.objects.filter(call_id=call_pk, kind="look_up")
    live = rows.filter(status__in=("ready", "claimed"))
    if live.filter(status="ready").update(not_before=now):
        return "asked"
    if live.exists():
        return "under_way"
    if rows.filter(finished_at__gt=now - AGAIN_AFTER).exists():
        return "just_asked"
    made = Dispatch.objects.bulk_create(
        [Dispatch(run_id=run_id, call_id=call_pk, kind="look_up", not_before=now, created_at=now)],
        ignore_conflicts=True,
    )
    return "asked" if made else "under_way"
