"""The gateway boundary (B2): tools with effects, called with the tenant's own credential for that backend.

The caller's token ends at our door: what goes out is the secret that an admin stored for this backend, revealed at the
moment of the request and held nowhere (E5). The derived key goes out unchanged with every attempt (E6). Nothing is
decided here; whoever calls has redeemed a permit, or was allowed by today's policy, in a transaction that recorded the
intent.
"""

from collections.abc import Callable, Mapping

from approvals.core.contract_types import Contract
from audit.core.jsondoor import Json
from audit.core.refusal import Refusal
from runs.boundaries.backend import backend_of
from runs.tools.outcome import LookedUp, Observation, Outcome

NAME = "gateway"


def read_state(
    contract: Contract, arguments: Mapping[str, Json], *, tenant_id: str, principal: Mapping[str, Json], deadline: float
) -> Observation:
    """The target's state now. `deadline` in `time.monotonic()` seconds. Raises Refusal (see HttpTool.read_state)."""
    return backend_of(contract, tenant_id).read_state(arguments, deadline=deadline, principal=principal)


def execute(
    contract: Contract,
    arguments: Mapping[str, Json],
    *,
    tenant_id: str,
    observation: Observation,
    key: str,
    deadline: float,
    before_send: Callable[[], None],
    principal: Mapping[str, Json],
) -> Outcome:
    """Do it once and say how it ended. The caller has armed the kernel timer. Raises Refusal (BOUNDARY_REFUSED) without
    a key: an effect that cannot be looked up by its key must not be sent."""
    if not key:
        raise Refusal("A call with effects needs its idempotency key. Nothing was sent.", code="BOUNDARY_REFUSED")
    return backend_of(contract, tenant_id).execute(
        arguments, observation=observation, key=key, deadline=deadline, before_send=before_send, principal=principal
    )


def look_up(
    contract: Contract,
    arguments: Mapping[str, Json],
    *,
    tenant_id: str,
    key: str,
    observation: Observation | None,
    deadline: float,
    principal: Mapping[str, Json],
) -> LookedUp:
    """Ask the target whether `key` took effect. `observation` is what the effect was sent on."""
    return backend_of(contract, tenant_id).look_up(
        arguments, key=key, deadline=deadline, observation=observation, principal=principal
    )


def postcondition_holds(
    contract: Contract,
    arguments: Mapping[str, Json],
    *,
    tenant_id: str,
    before: Mapping[str, Json],
    after: Mapping[str, Json],
    result: Mapping[str, Json],
) -> bool | None:
    """Whether the state read after the effect shows it; None when that cannot be decided."""
    return backend_of(contract, tenant_id).postcondition_holds(arguments, before=before, after=after, result=result)
