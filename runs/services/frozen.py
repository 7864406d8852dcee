"""Approved calls that a freeze of the policy holds back: given back untouched, looked at again, started after it.

Like a stop: the call is neither refused nor started. The look before the target is asked for anything only saves the
way, and attempts at a target that may be down for the very reason of the freeze; what decides is the judgement in the
transaction that redeems the permit. When the approval ends meanwhile, the sweep says so (services/held_back.py).
"""

from datetime import timedelta

from approvals.selectors.frozen import Freezing, freeze_of
from audit.store import clock
from runs.services.work import Work
from runs.store import claims

AGAIN = timedelta(seconds=30)
"""A freeze that is taken out of the policy, or shortened, is noticed after so long."""


def dispatch_frozen(*, work: Work) -> bool:
    """True if a freeze holds this approved call back: its row is given back for later.

    A call that nobody had to approve is not meant: it did not wait for anybody, has no time after which it is void, and
    is refused at its start.
    """
    found = _of(work)
    if found is None or found.status != "granted":
        return False
    _give_back(work, found)
    return True


def dispatch_wait_frozen(*, work: Work) -> None:
    """The same where the judgement at the start found the freeze."""
    _give_back(work, _of(work))


def _of(work: Work) -> Freezing | None:
    proposal_id = work.call.proposal_id
    return None if proposal_id is None else freeze_of(tenant_id=work.tenant_id, proposal_id=proposal_id)


def _give_back(work: Work, found: Freezing | None) -> None:
    # None: it was over before it was looked up. Then the call is due at once.
    now = clock.now()
    ends = [now + AGAIN, found.looked_at] if found else [now]
    if work.deadline is not None:
        ends.append(work.deadline)
    wait_ms = max(round((min(ends) - now).total_seconds() * 1000), 50)
    claims.give_back(work.claim, wait_ms=wait_ms, count_attempt=False, error=claims.FROZEN)
