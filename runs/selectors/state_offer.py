"""What a page may offer of reading a tool's target for a simulation."""

from dataclasses import dataclass

from access.core.rights import is_admin
from approvals.core.contract_types import Contract
from audit.core.actor import Actor
from audit.core.refusal import Conflict, Refusal

LONGEST_S = 10.0
"""A page waits no longer, whatever the contract allows a worker."""


@dataclass(frozen=True, slots=True)
class Offer:
    """Whether a page offers to read a tool's target, and in words what would be asked or why not."""

    possible: bool
    text: str


def read_offer(actor: Actor, contract: Contract) -> Offer:
    """What an actor is offered on the page of a simulation."""
    adapter = contract.adapter
    if adapter.read_state is None and adapter.reference is None:
        return Offer(False, "This tool reads no state: its guards look at the arguments and at who asks.")
    unsafe = unsafe_read(contract)
    if unsafe is not None:
        return Offer(False, unsafe.message)
    if not is_admin(actor):
        return Offer(False, "Only an admin has a target read from here, because it is done with its credential.")
    if adapter.read_state is None:
        return Offer(True, "Only its row of the reference table is looked up: this tool reads no state.")
    seconds = f"{min(LONGEST_S, contract.timeout_ms / 1000):g} s"
    return Offer(True, f"It is asked once, at most {seconds}, as a worker would; never the effect. It is recorded.")


def unsafe_read(contract: Contract) -> Refusal | None:
    """The refusal of a read that could do more than read, or None.

    Every contract that is admitted reads by GET; one that came into the table another way is not believed.
    """
    reading = contract.adapter.read_state
    if reading is None:
        return None
    request = reading.request
    if request.method == "GET" and request.form is None and request.json is None:
        return None
    return Conflict(
        f"This contract reads the state by {request.method}, and a simulation sends nothing but a GET without a body. "
        "Give the state yourself.",
        code="READ_NOT_SAFE",
    )
