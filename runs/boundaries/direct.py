"""The direct boundary (B1): tools that only read, called from this process with the server's own credential.

A tool with effects is turned away here whatever its contract says elsewhere. The result is untrusted, cut at the tool's
cap and labelled by the adapter (E4); its deadline is its own.
"""

from collections.abc import Callable, Mapping

from approvals.core.contract_types import Contract
from audit.core.jsondoor import Json
from audit.core.refusal import Refusal
from runs.boundaries.backend import backend_of
from runs.tools.outcome import Observation, Outcome
from runs.tools.registry import Tool

NAME = "direct"


def read_state(
    contract: Contract, arguments: Mapping[str, Json], *, tenant_id: str, principal: Mapping[str, Json], deadline: float
) -> Observation:
    """The target's state now. `deadline` in `time.monotonic()` seconds. Raises Refusal (see HttpTool.read_state)."""
    return _tool(contract, tenant_id).read_state(arguments, deadline=deadline, principal=principal)


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
    """Read once and say how it ended. Raises Refusal (BOUNDARY_REFUSED) for a tool that does more than read."""
    return _tool(contract, tenant_id).execute(
        arguments, observation=observation, key=key, deadline=deadline, before_send=before_send, principal=principal
    )


def _tool(contract: Contract, tenant_id: str) -> Tool:
    if not contract.read_only:
        raise Refusal(
            f"{contract.name} has effects; the direct boundary only reads. Nothing was sent.",
            code="BOUNDARY_REFUSED",
            status=500,
        )
    return backend_of(contract, tenant_id)
