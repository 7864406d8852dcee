"""Many audit entries at once, by SQL: the six entries of each of many calls, as the services write them."""

INSERT = """
INSERT INTO audit_entry (at, tenant_id, action, verdict, actor_kind, actor_id, actor_name, on_behalf_of, via,
  object_type, object_id, run_id, call_id, tool, detail, result_bytes, duration_ms)
SELECT
  %(until)s::timestamptz - make_interval(secs => (%(entries)s - n) * %(apart)s),
  CASE WHEN n %% 20 = 7 THEN %(other)s ELSE %(tenant)s END,
  (ARRAY['call.submitted', 'proposal.held', 'proposal.decided', 'permit.redeemed', 'call.started', 'call.succeeded'])
    [n %% 6 + 1],
  CASE WHEN n %% 500 = 0 THEN 'refused' WHEN n %% 700 = 0 THEN 'duplicate' ELSE 'ok' END,
  CASE n %% 6 WHEN 0 THEN 'agent' WHEN 2 THEN 'person' ELSE 'system' END,
  CASE n %% 6 WHEN 0 THEN %(agent)s WHEN 2 THEN md5('person' || n / 6 %% 40)::uuid::text ELSE 'system:worker' END,
  CASE n %% 6 WHEN 0 THEN 'support-agent' WHEN 2 THEN 'Person ' || n / 6 %% 40 ELSE 'worker' END,
  CASE WHEN n %% 6 IN (0, 4, 5) THEN md5('for' || n / 6 %% 200)::uuid::text ELSE '' END,
  CASE n %% 6 WHEN 0 THEN 'token' WHEN 2 THEN 'session' ELSE 'system' END,
  CASE WHEN n %% 6 IN (1, 2, 3) THEN 'proposal' ELSE 'call' END,
  md5('call' || n / 6)::uuid::text,
  md5('run' || n / 60)::uuid::text,
  'call-' || n / 6,
  CASE WHEN n / 6 %% 9 = 0 THEN 'get_order' WHEN n / 6 %% 5000 = 1 THEN 'close_account' ELSE 'refund_order' END,
  CASE WHEN n %% 6 = 2 THEN jsonb_build_object('verdict', 'approve', 'reason', 'Müller, Änderung ' || n, 'round', 1,
         'status', 'granted', 'digest', md5(n::text) || md5('x' || n), 'snapshot', md5('s' || n) || md5('t' || n),
         'sentence', 'Refund A$45.00 of A$120.00 to Anna Berg for order ord_' || n, 'rule', 'refund', 'policy', 8,
         'quorum', 'has 1 of 1 of finance')
       ELSE jsonb_build_object('digest', md5(n::text) || md5('x' || n), 'key', 'clr_' || md5('k' || n), 'fence', 1,
         'attempt', 1, 'rule', 'refund', 'policy', 8, 'reference', '=re_' || n) END,
  CASE WHEN n %% 6 = 5 THEN 300 END,
  CASE WHEN n %% 6 = 5 THEN n %% 400 END
FROM generate_series(1, %(entries)s) n
"""


def parameters(tenant: str, *, entries: int, until: object, apart: float = 0.01) -> dict[str, object]:
    """For INSERT: `entries` ending at `until`, `apart` seconds between two; every twentieth is another tenant's."""
    agent = "0b5a3c1e-1111-4222-8333-444455556666"
    return {
        "tenant": tenant, "other": "00000000-0000-4000-8000-000000000000", "agent": agent, "entries": entries,
        "until": until, "apart": apart,
    }  # fmt: skip
