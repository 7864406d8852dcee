"""Which rows of work a stop holds back, as SQL: for the claims that pass them over, and for pages that say so."""

PASSED_OVER = """(d.kind = 'dispatch' AND EXISTS (
  SELECT 1 FROM runs_stop s, runs_call c, runs_run r WHERE s.lifted_at IS NULL AND c.id = d.call_id AND r.id = d.run_id
    AND (s.tenant_id IS NULL OR s.tenant_id = c.tenant_id AND (s.kind = 'tenant'
      OR s.kind = 'agent' AND s.subject = r.agent_id::text OR s.kind = 'tool' AND s.subject = c.tool))
    AND NOT coalesce(least(c.deadline, r.deadline) <= (SELECT now FROM clock), false)))"""
"""SQL: whether the row `d` of runs_dispatch is held back by a stop. Needs a `clock` with a column `now`.

Only sending is held back: judging, looking up and timers send nothing that changes a target. A call whose own deadline
has passed is let through, because all that is left to do is to tell its agent that it expired.
"""
