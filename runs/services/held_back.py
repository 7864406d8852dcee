"""Calls that a stop or a freeze holds back while their approval ends: expired, taken back, asked anew.

Nobody claims them, so nobody redeems their permit and is told there. Found by the sweep; without it the agent would
wait for a call that can never run.
"""

import logging
from uuid import UUID

from django.db import transaction

from approvals.services.permit import Refused
from approvals.services.unredeemed import resolution_unredeemed, resolutions_unredeemed
from audit.services.record import audit_record
from runs.core.kinds import CallState
from runs.core.kinds import EventKind as K
from runs.models import Call
from runs.services.patience import Patience
from runs.services.refusing import dispatch_refuse_in
from runs.services.work import Gone, Job
from runs.store import stops
from runs.store.append import HeadBusy, Loaded, append, lock_run

log = logging.getLogger(__name__)
_damaged: Patience[UUID] = Patience()

LOOKED_AT = 5_000


def sweep_held_back(*, limit: int = LOOKED_AT) -> int:
    """Give calls that are held back, and whose approval has ended, the word of that end; how many were."""
    by_proposal = stops.held_back(limit=limit)
    settled = 0
    for damaged in _damaged.left_alone():
        by_proposal.pop(damaged, None)
    for proposal_id in resolutions_unredeemed(proposal_ids=list(by_proposal)) if by_proposal else []:
        try:
            settled += _settle(by_proposal[proposal_id], proposal_id)
        except (HeadBusy, Gone):
            continue  # somebody is at it; if that did not settle it, it is found again
        except Exception:
            pause_s = _damaged.failed(proposal_id)
            log.exception(
                "The end of approval %s could not be recorded for its call; tried again in %d s.", proposal_id, pause_s
            )
        else:
            _damaged.settled(proposal_id)
    return settled


def _settle(call_pk: UUID, proposal_id: UUID) -> bool:
    call = Call.objects.select_related("run").get(pk=call_pk)
    job = Job.looking_at(call)
    with transaction.atomic():
        loaded = lock_run(call.run_id, wait=False)
        machine = job.standing(loaded, CallState.READY)
        ended = resolution_unredeemed(proposal_id=proposal_id) if machine.proposal_id == str(proposal_id) else None
        if ended is None or ended.code == "SUPERSEDED":  # an edit's own resolution ends the call
            return False
        if ended.kind == "ask_again":
            _held_again(loaded, job, ended)
        else:
            final = "expired" if ended.kind == "expired" else "refused"
            dispatch_refuse_in(
                loaded=loaded, job=job, refusal=ended.refusal(), final=final, guarded=False, settled=True
            )
    return True


def _held_again(loaded: Loaded, job: Job, ended: Refused) -> None:
    proposal = ended.proposal
    if proposal is None:  # cannot be: it is what is asked again
        raise Gone
    held = {
        "call_id": job.call.call_id,
        "proposal_id": str(proposal.id),
        "round": proposal.round,
        "expires_at": proposal.expires_at.isoformat(),
        "rule_id": loaded.state.calls[job.call.call_id].rule_id or "",
        "policy_number": loaded.state.calls[job.call.call_id].policy_number or 0,
    }
    append(loaded, [(K.CALL_HELD, held)], actor=job.actor)
    audit_record(
        actor=job.actor,
        action="call.held_again",
        verdict="refused",
        detail={"code": ended.code, "message": ended.message, "round": proposal.round},
        **job.audit,
    )
