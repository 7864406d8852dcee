"""A draft tried on 100,000 past calls of one organisation: how long it takes, from asking for it to its result.

    python -m benchmarks.policy_replay [--calls 100000]

The calls are written by SQL as copies of two that the services made; what is measured is the whole of it: reading them,
judging each by the version in force and by the draft, counting sums of the last day and month, writing progress down.
"""

import argparse
import statistics
import sys
import time
from typing import Any

from benchmarks.ground import Figure, machine, servers, tell

BENCH = "policy_replay"
BOUND_S = 30.0
EVALUATION_MS = 1.0
RULES = 100

_RUNS = """
INSERT INTO runs_run (id, tenant_id, title, agent_id, agent_name, agent_version, acting_user_id, acting_user_name,
  client_ref, reducer_version, seq, status, detail, created_at, updated_at)
SELECT md5(%(tenant)s::text || 'run' || n)::uuid, %(tenant)s::uuid, 'Ticket ' || n, %(agent)s::uuid,
  'support-agent', '1.0', %(user)s::uuid, 'Jon Hale', '', 1, 1, 'completed', '',
  clearance_now() - interval '29 days', clearance_now()
FROM generate_series(0, %(count)s::int / 10) n
"""
_CALLS = """
INSERT INTO runs_call (id, run_id, tenant_id, call_id, message_id, trace_id, tool, contract_version, canonical, given,
  digest, key, target, resource, reason, scopes, created_at, state, version)
SELECT md5(%(tenant)s::text || 'call' || n)::uuid, md5(%(tenant)s::text || 'run' || n / 10)::uuid,
  %(tenant)s::uuid, 'call-' || n, '', '', tool, 1, canonical, canonical, encode(sha256(canonical), 'hex'), 'clr_' || n,
  'payments/order/' || n, 'order:' || n, '', %(scopes)s::text[],
  clearance_now() - interval '29 days' + make_interval(secs => n * 29 * 86400.0 / %(count)s::int),
  CASE n %% 10 WHEN 9 THEN 'refused' ELSE 'succeeded' END, 1
FROM (SELECT n, CASE WHEN n %% 5 < 3 THEN 'get_order' ELSE 'refund_order' END AS tool,
    convert_to(CASE WHEN n %% 5 < 3 THEN replace(%(read)s::text, 'ord_1029', 'ord_' || n)
      ELSE replace(replace(%(refund)s::text, 'ord_1029', 'ord_' || n), '4500',
        (100 + n * 37 %% 190000)::text) END, 'UTF8') AS canonical
  FROM generate_series(1, %(count)s::int) n) numbered
"""
_JUDGED = """
INSERT INTO approvals_judgement (tenant_id, run_id, call_id, at, state, principal, effect, code, rule_id, policy_number)
SELECT tenant_id, run_id, call_id, created_at,
  CASE tool WHEN 'refund_order'
    THEN replace(%(state)s::text, 'Anna Berg', 'Customer ' || (hashtext(call_id) %% 5000))::bytea END,
  %(principal)s::jsonb, 'ask', 'held', 'refund', 1
FROM runs_call WHERE tenant_id = %(tenant)s::uuid
"""


def policy(*, small: int, rules: int = RULES, limit: str = "") -> str:
    """So many rules, of which the last ones decide most calls, so that all are looked at."""
    never = "".join(
        f"  - {{id: never-{n}, tool: refund_order, when: \"args.amount == {n} && state.customer == 'Nobody {n}'\", "
        "effect: deny}\n"
        for n in range(rules - 5)
    )
    return (
        "version: 1\nrules:\n"
        "  - {id: read-orders, tool: get_order, effect: allow}\n" + never +
        '  - {id: too-large, tool: refund_order, when: "args.amount > 100000", effect: deny, message: By hand.}\n'
        f'  - {{id: small, tool: refund_order, when: "args.amount <= {small} && state.left >= args.amount", '
        "effect: allow}\n"
        '  - {id: middle, tool: refund_order, when: "args.amount <= 50000", effect: ask, '
        "approvers: [{group: finance, count: 1}]}\n"
        "  - {id: refund, tool: refund_order, effect: ask, approvers: [{group: finance, count: 2}]}\n" + limit
    )  # fmt: skip


LIMIT = "limits:\n  - {id: month, tool: refund_order, per: customer, window: 30d, amount: {AUD: 600000}, over: deny}\n"


def main(arguments: list[str]) -> int:
    """Prints the figures; 1 if one is over its bound."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.policy_replay")
    parser.add_argument("--calls", type=int, default=100_000)
    calls = parser.parse_args(arguments).calls
    with servers() as (postgres, _):
        return int(not measured(postgres.owner_url, calls))


def measured(url: str, calls: int) -> bool:
    """Fill, try, tell; whether every figure holds its bound."""
    from approvals.selectors.replays import replay_get
    from approvals.services.replay import replay_ask
    from runs.services.replay import replay_run
    from tests.support.approvals import world

    ok = True
    for rules in (RULES, 10):
        made = world(
            policy(small=2_000, rules=rules), contract={"/customer": "${state.customer}", "/approval": "policy"}
        )
        fill(url, made, calls)
        source = policy(small=2_500, rules=rules, limit=LIMIT)
        began, own = time.monotonic(), time.process_time()
        asked = replay_ask(actor=made.tenant.admin.actor, source=source, days=30)
        assert replay_run(replay_id=asked.id)
        took, used = time.monotonic() - began, time.process_time() - own
        found = replay_get(made.tenant.admin.actor, asked.id)
        assert found is not None
        assert (found.judged, found.left_out) == (calls, ()), (found.judged, found.left_out)
        moved = ", ".join(f"{move.before} to {move.after} {move.calls:,}" for move in found.moves)
        ok &= tell(
            Figure(
                bench=BENCH, name=f"a replay of {calls:,} calls, {rules} rules", value=took, unit="s", bound=BOUND_S,
                note=f"CPU {used:.1f} s; {moved}",
            )
        )  # fmt: skip
        if rules == RULES:
            ok &= evaluation(made, source)
    print(machine())
    return ok


def evaluation(made: Any, source: str) -> bool:
    """One evaluation by itself, of a call that the last rule decides."""
    from approvals.core.policy import Request, evaluate
    from approvals.selectors.catalogue import active_contract
    from approvals.selectors.policy_look import parse_source
    from audit.store import clock
    from tests.support.approvals import STATE

    admitted = active_contract(made.tenant.id, "refund_order")
    assert admitted is not None
    request = Request(
        tool="refund_order", contract=admitted.contract,
        arguments={"order_id": "ord_1", "amount": 90_000, "currency": "AUD"},
        state=STATE | {"amount": 200_000, "left": 200_000}, principal={}, now=clock.now(),
    )  # fmt: skip
    drafted = parse_source(source)
    assert evaluate(drafted, request).rule_id == "refund"
    took = []
    for _ in range(500):
        began = time.perf_counter()
        evaluate(drafted, request)
        took.append((time.perf_counter() - began) * 1000)
    return tell(
        Figure(
            bench=BENCH, name=f"one evaluation, {RULES} rules, the last decides", value=statistics.median(took),
            unit="ms", bound=EVALUATION_MS, note=f"p95 {sorted(took)[475]:.2f}",
        )
    )  # fmt: skip


def fill(url: str, made: Any, calls: int) -> None:
    """Write the calls as the owner, in two kinds, with what each was judged by."""
    import psycopg
    from psycopg.types.json import Jsonb

    from approvals.core.digest import snapshot_bytes
    from approvals.selectors.judging import principal_of_requester
    from approvals.services.judge import call_prepare
    from tests.support.approvals import STATE

    read = call_prepare(
        actor=made.actor, tool="get_order", arguments={"order_id": "ord_1029"}, acting_user=made.customer_care.user_id
    )
    state = snapshot_bytes(STATE | {"amount": 300_000, "left": 300_000}).decode()
    began = time.monotonic()
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(_RUNS, {"tenant": made.tenant.id, "agent": made.agent.id, "count": calls,
                              "user": made.customer_care.user_id})  # fmt: skip
        owner.execute(
            _CALLS,
            {
                "tenant": made.tenant.id, "count": calls, "read": read.canonical.decode(),
                "refund": made.prepare(4500).canonical.decode(), "scopes": sorted(made.requester().scopes),
            },
        )  # fmt: skip
        principal = Jsonb(principal_of_requester(made.requester(), str(made.tenant.id)))
        owner.execute(_JUDGED, {"tenant": made.tenant.id, "state": state, "principal": principal})
        owner.execute("ANALYZE")
    print(f"{calls:,} calls written in {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
