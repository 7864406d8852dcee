"""What is known about an unknown call beside its history: its look-ups, its limits, and whether anything is proven."""

from dataclasses import dataclass
from datetime import datetime

from approvals.core.contract_types import Contract
from approvals.selectors.catalogue import contract_version
from approvals.selectors.links import proposal_ends
from audit.core.refusal import Refusal
from runs.core import leases
from runs.core.proof import Asked, Proof, proof_of
from runs.core.state import CallMachine
from runs.models import Call
from runs.selectors.look_ups import LookUps, Note, look_ups_of
from runs.selectors.restored import last_deadline


@dataclass(frozen=True, slots=True, kw_only=True)
class Proving:
    """`contract` is None where its stored version cannot be trusted: then nothing can be proven by it and `proof` stays
    open. `deadline` is the call's own or its run's, `approval_ends` when the people's approval is over (None: nobody
    was asked). `look_ups` are those of this call, of every attempt."""

    contract: Contract | None
    look_ups: LookUps
    proof: Proof
    deadline: datetime | None
    approval_ends: datetime | None

    @property
    def can_be_asked(self) -> bool:
        """Whether the contract says how the target is asked about a key."""
        return self.contract is not None and self.contract.adapter.look_up is not None

    @property
    def key_enforced(self) -> bool:
        """Whether the target itself recognises our key, so that even a second request has one effect."""
        return self.contract is not None and self.contract.enforced_by_target


def proving(call: Call, machine: CallMachine, now: datetime, look_ups: LookUps | None = None) -> Proving:
    """What is known at `now`, by the database clock. Gives the run's own facts; reads no target."""
    known = look_ups if look_ups is not None else look_ups_of([call.id]).get(call.id, LookUps())
    contract = contract_or_none(call)
    request_deadline = datetime.fromisoformat(machine.request_deadline) if machine.request_deadline else now
    deadlines = [moment for moment in (call.deadline, call.run.deadline) if moment is not None]
    return Proving(
        contract=contract,
        look_ups=known,
        proof=proof_at(now=now, request_deadline=request_deadline, contract=contract, look_ups=known),
        deadline=min(deadlines) if deadlines else None,
        approval_ends=proposal_ends(call.tenant_id, machine.proposal_id) if machine.proposal_id else None,
    )


def proof_at(*, now: datetime, request_deadline: datetime, contract: Contract | None, look_ups: LookUps) -> Proof:
    """The proof of one call at `now`."""
    if contract is None:
        return Proof(standing="open", conclusive_at=request_deadline, because="contract")
    return proof_of(
        now=now,
        conclusive_at=leases.conclusive_at(
            last_deadline(request_deadline, contract.timeout_ms), contract.settle_after_ms
        ),
        can_be_asked=contract.adapter.look_up is not None,
        asking=look_ups.asking,
        nothing=_asked(look_ups.nothing),
        last=_asked(look_ups.last),
    )


def contract_or_none(call: Call) -> Contract | None:
    """The contract that the call was made for; None when its stored version is not the one that was admitted."""
    try:
        found = contract_version(call.tenant_id, call.tool, call.contract_version)
    except Refusal:
        return None
    return found.contract if found is not None else None


def _asked(note: Note | None) -> Asked | None:
    return None if note is None else Asked(at=note.asked_at, nothing=note.status == "nothing")
