"""The first step of judging and of sending: the target's state as it is now, while the claim holds for both."""

from audit.core.refusal import Refusal
from runs.core import leases
from runs.services.dispatch import Observed, dispatch_read_state
from runs.services.refusing import dispatch_refuse, dispatch_try_again, dispatch_unreachable
from runs.services.work import Work
from runs.store import claims


def dispatch_observe(*, work: Work) -> Observed | None:
    """Extend the claim to what the contract may need, and read the target's state outside any transaction.

    None: there is nothing left to do here. The claim was not ours any more, or the target could not be read and the row
    was given back for a later try, or the call has ended with that. Raises FenceLost when it was taken over meanwhile.
    """
    lease_ms = leases.timing(work.contract.timeout_ms).lease_ms
    asked_at = claims.extend(work.claim, lease_until=leases.after(work.claim.claimed_at, lease_ms))
    if asked_at is None:
        return None
    try:
        return dispatch_read_state(work=work, asked_at=asked_at)
    except Refusal as refusal:
        if not dispatch_try_again(work=work, refusal=refusal):
            dispatch_refuse(job=work, refusal=dispatch_unreachable(refusal=refusal))
        return None
