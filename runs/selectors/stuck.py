"""Runs that do not go on by themselves, each with a word why: what an operator looks at first."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from django.db import connection

from audit.core.actor import Actor
from runs.core.words import Tone
from runs.selectors.passed_over import PASSED_OVER

type Why = Literal["late", "unknown", "unclaimed", "held", "people"]

LATE_S = 5
"""Seconds after a request's deadline by which its worker, or the sweep, should have said what came of it."""
UNCLAIMED_S = 60
"""Seconds that a row of work lies about before that is worth a word: a worker takes one in milliseconds."""
PEOPLE_S = 1800
"""Seconds that a run waits for people before it counts as stuck."""
MOST = 200
"""As many are looked for, the gravest first."""

WORDS: dict[Why, tuple[str, Tone]] = {
    "late": ("Answer overdue", "bad"),
    "unknown": ("Outcome unknown", "unsure"),
    "unclaimed": ("No worker takes it", "bad"),
    "held": ("Held back by a stop", "still"),
    "people": ("Waits for people", "wait"),
}
_SINCE: dict[Why, str] = {
    "late": "was sent, and its answer was awaited until",
    "unknown": "needs reconciliation since",
    "unclaimed": "could be worked on since",
    "held": "is approved and held back since",
    "people": "nobody has decided since",
}

# Of those in one state the longest are enough: each counts once there, and one that is graver elsewhere only makes room
# for itself.
_FIND = f"""
WITH clock AS MATERIALIZED (SELECT clearance_now() AS now), found (run_id, why, since, tool, grave) AS (
  SELECT d.run_id, 'late', d.request_deadline, c.tool, 0 FROM runs_dispatch d JOIN runs_call c ON c.id = d.call_id
    WHERE d.status IN ('claimed', 'started') AND d.status = 'started' AND c.tenant_id = %(tenant)s
      AND d.request_deadline < (SELECT now FROM clock) - %(late)s * interval '1 second'
  UNION ALL
  (SELECT r.id, 'unknown', r.updated_at, '', 1 FROM runs_run r
    WHERE r.tenant_id = %(tenant)s AND r.status = 'needs_reconciliation'
    ORDER BY r.updated_at, r.id LIMIT %(most)s)
  UNION ALL
  SELECT d.run_id, 'unclaimed', d.not_before, c.tool, 2 FROM runs_dispatch d JOIN runs_call c ON c.id = d.call_id
    WHERE d.status = 'ready' AND c.tenant_id = %(tenant)s
      AND d.not_before < (SELECT now FROM clock) - %(unclaimed)s * interval '1 second' AND NOT {PASSED_OVER}
  UNION ALL
  SELECT d.run_id, 'unclaimed', d.lease_until, c.tool, 2 FROM runs_dispatch d JOIN runs_call c ON c.id = d.call_id
    WHERE d.status IN ('claimed', 'started') AND d.status = 'claimed' AND c.tenant_id = %(tenant)s
      AND d.lease_until < (SELECT now FROM clock) - %(unclaimed)s * interval '1 second'
  UNION ALL
  SELECT d.run_id, 'held', d.not_before, c.tool, 3 FROM runs_dispatch d JOIN runs_call c ON c.id = d.call_id
    WHERE d.status = 'ready' AND c.tenant_id = %(tenant)s AND d.not_before <= (SELECT now FROM clock)
      AND EXISTS (SELECT 1 FROM runs_stop WHERE lifted_at IS NULL) AND {PASSED_OVER}
  UNION ALL
  (SELECT r.id, 'people', r.updated_at, '', 4 FROM runs_run r
    WHERE r.tenant_id = %(tenant)s AND r.status = 'waiting_approval'
      AND r.updated_at < (SELECT now FROM clock) - %(people)s * interval '1 second'
    ORDER BY r.updated_at, r.id LIMIT %(most)s))
SELECT run_id, why, since, tool FROM (SELECT DISTINCT ON (run_id) * FROM found ORDER BY run_id, grave, since) one
ORDER BY grave, since, run_id LIMIT %(most)s
"""  # noqa: S608 - a constant of ours


@dataclass(frozen=True, slots=True)
class Stuck:
    """Why a run is stuck, and since when. `tool` is the call's, "" where the whole run is meant."""

    run_id: UUID
    why: Why
    since: datetime
    tool: str

    @property
    def word(self) -> str:
        """The word of its tag."""
        return WORDS[self.why][0]

    @property
    def tone(self) -> Tone:
        """The tone of its tag."""
        return WORDS[self.why][1]

    @property
    def told(self) -> str:
        """What goes before the moment."""
        return _SINCE[self.why]


def stuck_runs(actor: Actor) -> list[Stuck]:
    """The tenant's stuck runs, the gravest first and those that have been longest, at most MOST. One query, over what
    is open. Whether the actor may see them is for the caller to look at."""
    limits = {"late": LATE_S, "unclaimed": UNCLAIMED_S, "people": PEOPLE_S, "most": MOST}
    with connection.cursor() as cursor:
        cursor.execute(_FIND, {"tenant": actor.tenant_id, **limits})
        return [Stuck(*row) for row in cursor.fetchall()]
