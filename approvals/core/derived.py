"""What a contract derives from a state, for a state that was written by hand."""

from collections.abc import Mapping

from approvals.core.cel import Bindings, CelError, compile_value, evaluate
from approvals.core.contract_types import Contract
from audit.core.jsondoor import Json

_NAMES = ("args", "state")


def with_derived(contract: Contract, given: Json, state: Mapping[str, Json]) -> dict[str, Json]:
    """The state with the values that the contract derives from it, where they are not given."""
    reading = contract.adapter.read_state
    found = dict(state)
    bindings = Bindings({"args": given if isinstance(given, dict) else {}, "state": dict(state)})
    for name, expression in (reading.derived if reading else {}).items():
        if name not in found:
            try:
                found[name] = evaluate(compile_value(expression, _NAMES), bindings)
            except CelError:
                continue  # what asks for it will say that it is not there
    return found
