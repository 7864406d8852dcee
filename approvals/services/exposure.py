"""Counting what is started, and taking it back where it is proven that nothing happened (issue of limits: A8, S63).

Counted in the transaction that starts the effect, so that a call that was started is counted and one that was not is
not. A call whose outcome is unknown stays counted until it is proven that nothing happened.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import connection

from approvals.core.contract_types import Contract
from approvals.core.exposure import Subjects, asked_about, subjects_of
from approvals.core.policy import Policy
from approvals.core.policy_names import call_money
from approvals.selectors.exposure import exposure_of
from approvals.store import exposure as counters

SETTLED_WITHOUT_EFFECT = frozenset({"retry", "failed"})
"""Words of `permit_settle` that prove that nothing happened outside."""


def exposure_judged(
    *, tenant_id: UUID | str, policy: Policy, contract: Contract, subjects: Subjects, key: str, acting: bool
) -> dict[str, Any]:
    """What was started before this call, as far as `policy` asks for it. `acting`: in the transaction that acts on the
    verdict; then nobody else judges by the same sums until it ends."""
    asked = asked_about(policy, contract.name)
    if not asked:
        return {}
    if acting:
        counters.hold(tenant_id=tenant_id, tool=contract.name, subjects=subjects, dimensions=asked)
    return exposure_of(tenant_id=tenant_id, tool=contract.name, subjects=subjects, key=key, dimensions=asked)


def exposure_count(
    *,
    tenant_id: UUID | str,
    key: str,
    contract: Contract,
    arguments: Mapping[str, Any],
    state: Mapping[str, Any] | None,
    agent_id: UUID | str,
) -> bool:
    """Count a call that is started now; False where it is counted already or only reads.

    In the transaction that records the intent. `key` is the call's idempotency key: a further attempt of the same call
    is not counted again. Raises RuntimeError outside a transaction.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("a call is counted in the transaction that starts it")
    if contract.read_only:
        return False
    subjects = subjects_of(contract, arguments=arguments, state=state, agent_id=str(agent_id))
    amount, currency = call_money(contract, arguments)
    entered = counters.enter(
        tenant_id=tenant_id, key=key, tool=contract.name, subjects=subjects, currency=currency, amount=amount or 0
    )
    return entered is not None


def exposure_take_back(*, tenant_id: UUID | str, key: str) -> bool:
    """It is proven that nothing happened; False where nothing was counted. In the transaction that records that."""
    if not connection.in_atomic_block:
        raise RuntimeError("a call is taken back in the transaction that records what became of it")
    return counters.take_back(tenant_id=tenant_id, key=key)


def exposure_settle(*, tenant_id: UUID | str, key: str, settled: str) -> bool:
    """Take the call back if `settled`, a word of `permit_settle`, proves that nothing happened."""
    return settled in SETTLED_WITHOUT_EFFECT and exposure_take_back(tenant_id=tenant_id, key=key)


def exposure_forget_old(*, limit: int = 5_000) -> int:
    """Remove counters that no window reaches any more; how many. For the sweep."""
    return counters.forget_old(limit=limit)
