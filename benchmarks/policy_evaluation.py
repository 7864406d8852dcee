"""One judgement of one call by a policy of a hundred rules, none of which matches before the last.

    python -m benchmarks.policy_evaluation [TURNS]

Beside it the same conditions as plain Python, which a policy that admins can edit cannot be, and, where installed,
as programs of another implementation of CEL (cel-python). Processor time of this process, so that a busy machine makes
no difference; nothing is kept from one turn to the next but what the product keeps itself, compiled conditions.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any

from approvals.core.contract import effective_arguments
from approvals.core.policy import Request, evaluate, parse_policy, principal_of
from approvals.core.policy_names import exposure_values, run_facts
from audit.core.actor import Actor
from benchmarks.ground import Figure, tell
from tests.core.approvals.documents import refund

RULES = 100
BENCH = "policy_evaluation"
STATE = {"amount": 12_000, "refunded": 0, "left": 12_000, "currency": "AUD", "customer": "Anna Berg"}
EXPOSURE = {
    name: {window: {"AUD": {"amount": 40_000, "calls": 4}} for window in ("24h", "30d")}
    for name in ("customer", "agent", "tool")
}
CONDITIONS: tuple[tuple[str, Callable[..., bool]], ...] = (
    ("args.amount > {n}000000", lambda n, v: v["args"]["amount"] > n * 1_000_000),
    (
        "args.currency == 'X{n}' && args.amount > 100",
        lambda n, v: v["args"]["currency"] == f"X{n}" and v["args"]["amount"] > 100,
    ),
    (
        "has(args.note) && args.note.contains('word {n}')",
        lambda n, v: "note" in v["args"] and f"word {n}" in v["args"]["note"],
    ),
    (
        "exposure.customer_30d.amount + args.amount > {n}000000",
        lambda n, v: v["exposure"]["customer_30d"]["amount"] + v["args"]["amount"] > n * 1_000_000,
    ),
    (
        "principal.scopes.exists(s, s == 'scope:{n}') || state.customer == 'Nobody {n}'",
        lambda n, v: (
            any(s == f"scope:{n}" for s in v["principal"]["scopes"]) or v["state"]["customer"] == f"Nobody {n}"
        ),
    ),
)
"""What rules usually ask, five kinds in turn; `{n}` is the rule's number."""


def main(arguments: list[str]) -> int:
    """Measures and tells; 1 if the bound is passed."""
    turns = int(arguments[0]) if arguments else 2_000
    rules = [
        {"id": f"r{n}", "tool": "refund_order", "when": CONDITIONS[n % 5][0].replace("{n}", str(n)), "effect": "deny"}
        for n in range(1, RULES)
    ]
    rules.append({"id": "last", "tool": "refund_order", "effect": "allow"})
    policy = parse_policy(json.dumps({"version": 1, "rules": rules}), "json")
    request = call()

    def judged() -> None:
        assert evaluate(policy, request).rule_id == "last"

    values = {
        "args": dict(request.arguments),
        "state": STATE,
        "principal": dict(request.principal),
        "exposure": exposure_values(EXPOSURE, "AUD"),
    }

    def in_python() -> None:
        assert not any(CONDITIONS[n % 5][1](n, values) for n in range(1, RULES))

    ours, plain = milliseconds(judged, turns), milliseconds(in_python, turns)
    holds = tell(
        Figure(
            bench=BENCH, name=f"one evaluation with {RULES} rules", value=ours, unit="ms", bound=1.0,
            note=f"plain Python {plain:.3f} ms, {ours / plain:.0f} times",
        )
    )  # fmt: skip
    limited = [{"id": f"l{n}", "tool": "refund_order", "window": "24h", "per": "customer", "over": "deny",
                "amount": {"AUD": 1_000_000 + n}} for n in range(20)]  # fmt: skip
    both = parse_policy(json.dumps({"version": 1, "rules": rules, "limits": limited}), "json")
    with_limits = milliseconds(lambda: evaluate(both, request), turns)
    tell(Figure(bench=BENCH, name=f"the same with {len(limited)} limits", value=with_limits, unit="ms"))
    other = milliseconds(in_cel_python([rule["when"] for rule in rules if "when" in rule], values), max(turns // 50, 3))
    if other:
        tell(
            Figure(bench=BENCH, name="cel-python, the same conditions", value=other, unit="ms",
                   note=f"{other / ours:.0f} times ours")
        )  # fmt: skip
    return int(not holds)


def call() -> Request:
    """A refund with everything that a condition may name."""
    contract = refund()
    agent = Actor(
        "agent", "a1", "Shop agent", "t1", frozenset(), frozenset(), frozenset({"refunds:write"}), via="token"
    )
    given = {"order_id": "ord_1029", "amount": 4_500, "currency": "AUD", "note": "The lamp arrived broken. " * 20}
    return Request(
        tool=contract.name,
        contract=contract,
        arguments=effective_arguments(contract, given),
        state=STATE,
        principal=principal_of(agent),
        run=run_facts(run_id="r1", title="Returns", agent_version="3", reason="broken"),
        exposure=EXPOSURE,
        now=datetime(2026, 12, 1, tzinfo=UTC),
    )


def milliseconds(work: Callable[[], Any] | None, turns: int) -> float:
    """The median of `turns`, after a tenth of them for the caches; 0 where there is no work."""
    if work is None:
        return 0.0
    took = []
    for turn in range(turns + turns // 10 + 1):
        began = time.process_time_ns()
        work()
        if turn > turns // 10:
            took.append(time.process_time_ns() - began)
    return statistics.median(took) / 1e6


def in_cel_python(conditions: list[str], values: dict[str, Any]) -> Callable[[], Any] | None:
    """The conditions as programs of cel-python, with values converted at each turn as ours are; None without it."""
    if find_spec("celpy") is None:
        print("cel-python is not installed here, so there is nothing to compare with but plain Python.")
        return None
    import celpy  # type: ignore[import-not-found]  # not among our requirements

    environment = celpy.Environment()
    programs = [environment.program(environment.compile(condition)) for condition in conditions]

    def judged() -> None:
        activation = {name: celpy.json_to_cel(value) for name, value in values.items()}
        assert not any(program.evaluate(activation) for program in programs)

    return judged


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
