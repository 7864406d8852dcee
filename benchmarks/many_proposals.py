"""Very many proposals, by SQL: each is a copy of one that the services made, with another order, amount, run and time.

Nothing that ships is switched off: every index and trigger stands while the rows are written. Digests are those of the
rows' own bytes; whoever opens one of the rows that have entries in the log sees an intact proposal.
"""

import time
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.support import factories
from tests.support.approvals import Held, World, asking, world

DAY_S = 86_400
WITH_ENTRIES = 2_000
"""The newest past proposals that have entries in the log, beside every pending one."""
WITH_MORE = 500_000
"""The newest past proposals that have decisions, permits, resolutions and runs as well. All of these are looked up by
the proposals that a page shows; five million more of each would double the time of filling and change nothing else."""
READY = 200
"""Rows of work that are due."""


@dataclass(frozen=True)
class Filled:
    """The large tenant, a small one, and a reviewer of a group that is asked once in a thousand."""

    big: World
    small: World
    rare: factories.Person
    admin: factories.Person


def fill(url: str, *, pending: int, past: int) -> Filled:
    """Writes the rows as the owner; prints how long it took and what they take on the disk."""
    big, small = world(), world()
    rare, _ = (factories.person(each.tenant, groups=["legal"], name="Lena Law") for each in (big, small))
    began = time.monotonic()
    with psycopg.connect(url, autocommit=True) as owner:
        _write(owner, big, pending=pending, past=past)
        _write(owner, small, pending=10, past=40)
        owner.execute("VACUUM (ANALYZE)")
        [[size]] = owner.execute("SELECT pg_database_size(current_database())").fetchall()
        [[table]] = owner.execute("SELECT pg_total_relation_size('approvals_proposal')").fetchall()
    took = time.monotonic() - began
    print(
        f"{pending:,} pending and {past:,} past proposals (the newest {WITH_MORE:,} with decisions, permits, "
        f"resolutions and runs) written by SQL in {took:.0f} s; "
        f"{size / 1e9:.1f} GB, of which proposals {table / 1e9:.1f} GB",
        flush=True,
    )
    return Filled(big=big, small=small, rare=rare, admin=big.tenant.admin)


def _write(owner: Any, tenant: World, *, pending: int, past: int) -> None:
    held = _templates(tenant)
    numbers = {
        "past": past, "all": past + pending, "spread": 600 * DAY_S / max(past, 1), "tenant": tenant.tenant.id,
        "reviewer": tenant.mara.user_id, "entries_from": max(past - WITH_ENTRIES, 0),
        "more_from": max(past - WITH_MORE, 0), "ready": min(READY, pending),
    }  # fmt: skip
    owner.execute(_TEMPLATES, {"ids": [one.id for one in held]})
    for statement in (_PROPOSALS, _DECISIONS, _PERMITS, _RESOLUTIONS, _ENTRIES, _RUNS, _CALLS, _DISPATCHES):
        owner.execute(statement, numbers)
    owner.execute("DROP TABLE bench_template")


def _templates(tenant: World) -> list[Held]:
    """Real ones, in the order in which the SQL names them: finance, finance and leads, leads, legal."""
    found = []
    for groups in ([("finance", 1)], [("finance", 1), ("leads", 1)], [("leads", 1)], [("legal", 1)]):
        for group, _ in groups:
            factories.group(tenant.tenant, group)
        tenant.publish(asking(*groups, expires_in_s=2 * DAY_S))
        found.append(tenant.hold(4500, expires_in_s=DAY_S, run_title="Ticket 1029"))
    return found


_TEMPLATES = """
CREATE TABLE bench_template AS
SELECT p.*, array_position(%(ids)s::uuid[], p.id) AS place, convert_from(p.canonical, 'UTF8') AS canonical_text,
  convert_from(p.given, 'UTF8') AS given_text,
  to_jsonb(e) AS entry
FROM approvals_proposal p JOIN audit_entry e ON e.object_id = p.id::text AND e.action = 'proposal.held'
WHERE p.id = ANY(%(ids)s::uuid[])
"""

# n counts all, the past ones first; o is the order: every fiftieth call asks for the same as the one before it.
_NUMBERED = """
SELECT n, o, minor, to_char(minor / 100.0, 'FM999990.00') AS money,
  CASE WHEN n > %(past)s THEN 'pending' WHEN n %% 100 < 70 THEN 'granted' WHEN n %% 100 < 85 THEN 'rejected'
    WHEN n %% 100 < 95 THEN 'expired' WHEN n %% 100 < 98 THEN 'withdrawn' ELSE 'cancelled' END AS status,
  CASE WHEN o %% 1000 = 1 THEN 4 WHEN o %% 10 < 6 THEN 1 WHEN o %% 10 < 8 THEN 2 ELSE 3 END AS place,
  md5(%(tenant)s || 'proposal' || n)::uuid AS id,
  md5(%(tenant)s || 'run' || CASE WHEN n > %(past)s THEN n ELSE n / 10 END)::uuid AS run_id,
  'call-' || n AS call_id,
  CASE WHEN n > %(past)s THEN clearance_now() - make_interval(secs => (n * 7919) %% 21600)
    ELSE clearance_now() - make_interval(secs => (%(past)s - n + 1) * %(spread)s + 1000) END AS created_at
FROM (SELECT n, n - (n %% 50 = 0)::int AS o, 100 + (n - (n %% 50 = 0)::int) * 37 %% 11900 AS minor
  FROM generate_series(1::bigint, %(all)s) n) numbered
"""

_PROPOSALS = f"""
INSERT INTO approvals_proposal (id, tenant_id, run_id, run_title, call_id, key, tool, tool_version_id, canonical, given,
  digest, target, resource, snapshot, snapshot_hash, snapshot_at, agent_id, agent_name, agent_version, agent_owner_id,
  acting_user_id, acting_user_name, token_session_id, scopes, reason, policy_number, rule_id, why, requires, sentence,
  amount_minor, currency, hidden_characters, status, round, version, created_at, expires_at, decided_at, outcome,
  outcome_at, outcome_detail)
SELECT r.id, t.tenant_id, r.run_id, 'Ticket ' || r.n, r.call_id, 'clr_' || md5(r.run_id || r.call_id), t.tool,
  t.tool_version_id, r.canonical, convert_to(
    replace(replace(t.given_text, 'ord_1029', 'ord_' || r.o), '"amount":4500', '"amount":' || r.minor), 'UTF8'),
  encode(sha256(r.canonical), 'hex'), replace(t.target, 'ord_1029', 'ord_' || r.o),
  replace(t.resource, 'ord_1029', 'ord_' || r.o), t.snapshot, t.snapshot_hash, r.created_at, t.agent_id, t.agent_name,
  t.agent_version, t.agent_owner_id, t.acting_user_id, t.acting_user_name, t.token_session_id, t.scopes, t.reason,
  t.policy_number, t.rule_id, t.why, t.requires,
  replace(replace(t.sentence, 'ord_1029', 'ord_' || r.o), '45.00', r.money), r.minor, t.currency, false, r.status, 1,
  CASE r.status WHEN 'pending' THEN 1 WHEN 'granted' THEN 4 ELSE 2 END, r.created_at,
  CASE r.status WHEN 'pending' THEN r.now + make_interval(secs => 3600 + (r.n * 104729) %% 80000)
    ELSE r.created_at + interval '15 minutes' END,
  CASE r.status WHEN 'pending' THEN NULL WHEN 'expired' THEN r.created_at + interval '15 minutes 1 second'
    ELSE r.created_at + make_interval(secs => 20 + r.n %% 800) END,
  CASE WHEN r.status <> 'granted' THEN '' WHEN r.n %% 1000 < 3 THEN 'failed' WHEN r.n %% 100000 = 5 THEN 'unknown'
    ELSE 'succeeded' END,
  CASE WHEN r.status = 'granted' THEN r.created_at + make_interval(secs => 21 + r.n %% 800) END, t.outcome_detail
FROM (SELECT n.*, clearance_now() AS now, t.place AS found, convert_to(replace(replace(t.canonical_text, 'ord_1029',
    'ord_' || n.o), '"amount":4500', '"amount":' || n.minor), 'UTF8') AS canonical
  FROM ({_NUMBERED}) n JOIN bench_template t ON t.place = n.place) r
JOIN bench_template t ON t.place = r.place
"""

_LATE = """(SELECT p.* FROM generate_series(%(more_from)s + 1::bigint, %(all)s) n
  JOIN approvals_proposal p ON p.id = md5(%(tenant)s || 'proposal' || n)::uuid) p"""

_DECISIONS = f"""
INSERT INTO approvals_decision (id, proposal_id, round, reviewer_id, reviewer_name, verdict, reason, digest,
  snapshot_hash, at)
SELECT md5('decision' || p.id)::uuid, p.id, 1, %(reviewer)s, 'Mara Lind',
  CASE p.status WHEN 'granted' THEN 'approve' ELSE 'reject' END, CASE p.status WHEN 'granted' THEN '' ELSE 'No.' END,
  p.digest, p.snapshot_hash, p.decided_at
FROM {_LATE} WHERE p.status IN ('granted', 'rejected')
"""

_PERMITS = f"""
INSERT INTO approvals_permit (id, proposal_id, round, digest, status, void_because, granted_at, redeemed_at,
  dispatch_id, epoch)
SELECT md5('permit' || p.id)::uuid, p.id, 1, p.digest, 'redeemed', '', p.decided_at, p.outcome_at,
  md5('d' || p.id)::uuid, clearance_epoch()
FROM {_LATE} WHERE p.status = 'granted'
"""

_RESOLUTIONS = f"""
INSERT INTO approvals_resolution (proposal_id, round, kind, by, at, consumed_at)
SELECT p.id, 1, p.status, '{{}}', p.decided_at, p.decided_at
FROM {_LATE} WHERE p.status <> 'pending'
"""

_ENTRIES = f"""
INSERT INTO audit_entry (at, tenant_id, action, verdict, actor_kind, actor_id, actor_name, on_behalf_of, via,
  object_type, object_id, run_id, call_id, tool, detail)
SELECT p.created_at, p.tenant_id, 'proposal.held', 'ok', t.entry->>'actor_kind', t.entry->>'actor_id',
  t.entry->>'actor_name', t.entry->>'on_behalf_of', t.entry->>'via', 'proposal', p.id::text, p.run_id::text, p.call_id,
  p.tool, (t.entry->'detail') || jsonb_build_object('digest', p.digest, 'key', p.key, 'expires_at',
    to_char(p.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
FROM ({_NUMBERED}) n JOIN bench_template t ON t.place = n.place JOIN approvals_proposal p ON p.id = n.id
WHERE n.n > %(entries_from)s
"""

_RUNS = f"""
INSERT INTO runs_run (id, tenant_id, title, agent_id, agent_name, agent_version, acting_user_id, acting_user_name,
  client_ref, reducer_version, seq, status, detail, created_at, updated_at, finished_at)
SELECT n.run_id, t.tenant_id, 'Ticket ' || n.n, t.agent_id, t.agent_name, t.agent_version, t.acting_user_id,
  t.acting_user_name, '', 1, 8, CASE WHEN n.n > %(past)s THEN 'waiting_approval' ELSE 'completed' END, '', n.created_at,
  n.created_at + interval '1 second', CASE WHEN n.n <= %(past)s THEN n.created_at + interval '1 second' END
FROM ({_NUMBERED}) n JOIN bench_template t ON t.place = n.place
WHERE n.n > %(past)s OR n.n > %(more_from)s AND n.n %% 10 = 0 OR n.n = %(more_from)s + 1
"""

_CALLS = f"""
INSERT INTO runs_call (id, run_id, tenant_id, call_id, message_id, trace_id, tool, contract_version, canonical, given,
  digest, key, target, resource, reason, scopes, created_at, state, proposal_id, settled_at, version)
SELECT md5('call' || p.id)::uuid, p.run_id, p.tenant_id, p.call_id, '', '', p.tool, 1, p.canonical, p.given, p.digest,
  p.key, p.target, p.resource, p.reason, p.scopes, p.created_at,
  CASE WHEN p.status = 'pending' THEN 'waiting' WHEN p.status = 'granted' THEN 'succeeded' ELSE p.status END, p.id,
  p.decided_at, 1
FROM ({_NUMBERED}) n JOIN approvals_proposal p ON p.id = n.id
WHERE n.n > %(past)s OR n.n > %(more_from)s AND n.n %% 10 = 0
"""

_DISPATCHES = """
INSERT INTO runs_dispatch (id, run_id, call_id, kind, status, not_before, attempts, max_attempts, fence, worker,
  last_error, created_at, finished_at)
SELECT md5('dispatch' || c.id)::uuid, c.run_id, c.id, 'evaluate', 'done', c.created_at, 1, 5, 1, 'w', '', c.created_at,
  c.created_at FROM runs_call c WHERE c.tenant_id = %(tenant)s
UNION ALL
SELECT md5('ready' || c.id)::uuid, c.run_id, c.id, 'evaluate', 'ready', clearance_now() - interval '5 seconds', 0, 5, 0,
  '', '', clearance_now() - interval '5 seconds', NULL
FROM (SELECT * FROM runs_call WHERE tenant_id = %(tenant)s AND state = 'waiting' LIMIT %(ready)s) c
"""
