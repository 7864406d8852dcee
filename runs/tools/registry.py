"""The one place where an adapter is made from a contract.

G6 in a sentence: a tool reaches this registry only as an admitted contract, whose every guard (timeout, retry class,
breaker, cap, redaction, look-up) is a required field, and a kind of adapter that is not listed here is refused.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Protocol

from approvals.core.contract_types import Contract, HttpAdapter
from audit.core.jsondoor import Json
from audit.core.refusal import Refusal
from runs.tools.adapter import HttpTool
from runs.tools.outcome import LookedUp, Observation, Outcome


class Tool(Protocol):
    """The declared operations of a tool, whatever it is reached by. See HttpTool for what each promises."""

    contract: Contract

    def read_state(
        self, arguments: Mapping[str, Json], *, deadline: float, principal: Mapping[str, Json] = ...
    ) -> Observation: ...

    def execute(
        self,
        arguments: Mapping[str, Json],
        *,
        observation: Observation,
        key: str,
        deadline: float,
        before_send: Callable[[], None] | None = None,
        principal: Mapping[str, Json] = ...,
    ) -> Outcome: ...

    def look_up(
        self,
        arguments: Mapping[str, Json],
        *,
        key: str,
        deadline: float,
        observation: Observation | None = None,
        principal: Mapping[str, Json] = ...,
    ) -> LookedUp: ...

    def postcondition_holds(
        self,
        arguments: Mapping[str, Json],
        *,
        before: Mapping[str, Json],
        after: Mapping[str, Json],
        result: Mapping[str, Json],
    ) -> bool | None: ...


class Factory(Protocol):
    """Makes a Tool of one kind."""

    def __call__(
        self, contract: Contract, *, credential: Callable[[], str] | None, reference_dir: Path, tenant_slug: str
    ) -> Tool: ...


_FACTORIES: Final[dict[type, Factory]] = {HttpAdapter: HttpTool}


def tool_for(
    contract: Contract, *, credential: Callable[[], str] | None, reference_dir: Path, tenant_slug: str
) -> Tool:
    """The adapter of an admitted contract. Raises Refusal (ADAPTER_UNKNOWN) for a kind that is not registered.

    `credential` reveals the secret that the contract names, at the moment of each request.
    """
    factory = _FACTORIES.get(type(contract.adapter))
    if factory is None:
        raise Refusal(
            f"{contract.name} is reached by an adapter that this server does not have. Ask an admin to admit it again.",
            code="ADAPTER_UNKNOWN",
            status=501,
        )
    return factory(contract, credential=credential, reference_dir=reference_dir, tenant_slug=tenant_slug)
