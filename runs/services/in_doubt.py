"""A call that was sent, lost its answer and may not be sent again: whether it happened is asked first (S80).

What may be sent again under the same key is; but where today's policy, a right that is gone, a deadline or a target out
of reach is in the way, nobody may be told that nothing happened, and nobody is asked to allow what may have been done.
Every refusal of a call goes through here (refusing.py).
"""

import re

from approvals.selectors.exposure import may_have_happened
from audit.services.record import audit_record
from audit.store import clock
from runs.core import leases
from runs.core.kinds import EventKind as K
from runs.core.reducer import CallMachine
from runs.services.outcome import dispatch_unknown_answer
from runs.services.work import Work
from runs.store.append import Appended, Loaded, append

_CODE = "IN_DOUBT"


def dispatch_in_doubt_in(
    *, loaded: Loaded, work: Work, machine: CallMachine, because: str, guarded: bool = True
) -> Appended | None:
    """Make the call unknown, so that it is looked up, if an earlier attempt of it may have happened; else None and
    nothing. In the caller's transaction, under the run's head. `guarded=False` where no claim is left to append by."""
    if machine.attempt == 0 or work.contract.read_only:
        return None
    if not may_have_happened(tenant_id=work.tenant_id, key=work.call.key):
        return None
    # Only why: a refusal's sentence goes on to say that nothing was done, which is what nobody knows here.
    reason = f"It was sent, its answer was lost, and it may not be sent again ({re.split('[.;]', because)[0]})"
    call_id, dispatch_id = work.call.call_id, str(work.claim.id)
    sent = {
        "call_id": call_id, "dispatch_id": dispatch_id, "fence": work.claim.fence, "attempt": machine.attempt + 1,
        "key": work.call.key,
        "deadline": leases.request_deadline(clock.now(), work.contract.timeout_ms).isoformat(),
    }  # fmt: skip
    lost = {"call_id": call_id, "dispatch_id": dispatch_id, "reason": reason}
    appended = append(
        loaded,
        [(K.DISPATCH_STARTED, sent), (K.OUTCOME_UNKNOWN, lost)],
        actor=work.actor,
        guard=work.guard if guarded else None,
        answers={call_id: dispatch_unknown_answer(work=work, reason=reason, detail={"cause": _CODE})},
    )
    audit_record(
        actor=work.actor, action="call.unknown", verdict="unknown", detail={"code": _CODE, "message": reason},
        **work.audit,
    )  # fmt: skip
    return appended
