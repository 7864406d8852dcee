"""The only caller of the four boundaries: reading a target's state, holding for people, sending, looking up."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction

from access.selectors.actors import RequesterFacts
from approvals.core.contract_types import Contract
from approvals.core.digest import snapshot_bytes, snapshot_hash
from approvals.services.judge import Verdict
from audit.core.jsondoor import Json
from audit.core.refusal import Refusal
from audit.store import clock
from runs.boundaries import approval, direct, gateway
from runs.core import leases
from runs.core.kinds import EventKind as K
from runs.core.retry import ErrorClass
from runs.models import Dispatch
from runs.selectors.compensation import prepared_by
from runs.services.refusing import dispatch_refuse_in
from runs.services.work import Work
from runs.store import claims
from runs.store.append import Loaded, append
from runs.store.claims import Claim
from runs.store.connection import release
from runs.tools import guard_timer
from runs.tools.outcome import LookedUp, Observation, Outcome

HTTP_MARGIN_S = 0.25
"""The HTTP client gives up at least this long before the kernel timer: the timer is for what froze."""
RECORD_S = 0.75
"""Of the lease, kept for recording the outcome."""
LOOK_UP_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Observed:
    """The target's state (None: the tool reads none) and when, by the database clock, it was asked for."""

    observation: Observation
    state: dict[str, Json] | None
    read_at: datetime

    def fact(self, call_id: str) -> tuple[K, dict[str, Any]]:
        """The event that this was seen."""
        seen = {"snapshot_hash": snapshot_hash(snapshot_bytes(self.state)), "read_at": self.read_at.isoformat()}
        return K.STATE_OBSERVED, {"call_id": call_id, **seen}

    def as_dict(self) -> dict[str, Any]:
        """What a later look-up needs."""
        kept = self.observation
        return {"state": kept.state, "names": kept.names, "read_at": self.read_at.isoformat()}


def dispatch_read_state(*, work: Work, deadline: float | None = None, asked_at: datetime | None = None) -> Observed:
    """Ask the target for its state, through the boundary of the tool's risk. Raises Refusal (HttpTool.read_state's).

    `deadline` in `time.monotonic()` seconds; by itself the contract's time limit. `asked_at` is a time by the
    database's clock that was read a moment ago; the state is taken to be that old, so it never passes for younger.
    """
    return state_read(
        contract=work.contract,
        arguments=work.arguments,
        tenant_id=work.tenant_id,
        principal=work.principal,
        deadline=deadline,
        asked_at=asked_at,
    )


def state_read(
    *,
    contract: Contract,
    arguments: Mapping[str, Json],
    tenant_id: str,
    principal: Mapping[str, Json],
    deadline: float | None = None,
    asked_at: datetime | None = None,
) -> Observed:
    """The same by a contract and arguments alone, where there is no call: nothing is stored. Raises Refusal."""
    read_at = asked_at or clock.now()
    release()
    boundary = direct if contract.read_only else gateway
    observation = boundary.read_state(
        contract,
        arguments,
        tenant_id=tenant_id,
        principal=principal,
        deadline=deadline or time.monotonic() + contract.timeout_ms / 1000,
    )
    reads = contract.adapter.read_state is not None
    return Observed(observation, observation.state if reads else None, read_at)


def dispatch_hold(
    *, work: Work, loaded: Loaded, observed: Observed, verdict: Verdict, requester: RequesterFacts
) -> None:
    """Hand the call to people, in the caller's transaction and under the run's head; or refuse it, where approvals
    does not take it (the same was rejected in this run before, its time is over already)."""
    call, run = work.call, work.run
    seconds = verdict.expires_in_s or work.contract.expires_in_s
    expires_at = leases.after(loaded.at, seconds * 1000)
    try:
        # A savepoint: what approvals refuses is undone, and the refusal is recorded in the same transaction.
        with transaction.atomic():
            held = approval.hold(
                actor=work.actor,
                tenant_id=call.tenant_id,
                run_id=run.id,
                run_title=run.title,
                call_id=call.call_id,
                key=call.key,
                tool=call.tool,
                tool_version_id=work.tool_version_id,
                canonical=bytes(call.canonical),
                given=bytes(call.given),
                digest=call.digest,
                target=call.target,
                resource=call.resource,
                state=observed.state,
                state_read_at=observed.read_at,
                verdict=verdict,
                requester=requester,
                expires_at=min(expires_at, work.deadline) if work.deadline else expires_at,
                reason=call.reason,
                agent_name=run.agent_name,
                agent_version=run.agent_version,
                token_session_id=call.token_session_id,
                prepared_by=prepared_by(run.id, loaded.state, call.call_id),
            )
    except Refusal as refusal:
        dispatch_refuse_in(loaded=loaded, job=work, refusal=refusal)
        return
    dispatch_held_in(
        loaded=loaded,
        work=work,
        observed=observed,
        proposal_id=held.id,
        round_=held.round,
        expires_at=held.expires_at,
        rule_id=verdict.rule_id,
        policy_number=verdict.policy_number,
    )


def dispatch_held_in(
    *,
    loaded: Loaded,
    work: Work,
    observed: Observed,
    proposal_id: UUID,
    round_: int,
    expires_at: datetime,
    rule_id: str,
    policy_number: int,
) -> None:
    """Record that the call waits for people, in this round of its proposal."""
    held = {
        "call_id": work.call.call_id,
        "proposal_id": str(proposal_id),
        "round": round_,
        "expires_at": expires_at.isoformat(),
        "rule_id": rule_id,
        "policy_number": policy_number,
    }
    append(loaded, [observed.fact(work.call.call_id), (K.CALL_HELD, held)], actor=work.actor, guard=work.guard)


def dispatch_look_up(*, work: Work, attempt: Dispatch | None) -> LookedUp:
    """Ask the target whether the call's key took effect, where it was sent (`attempt` is the row that sent it)."""
    seen = attempt.observed if attempt is not None else None
    release()
    return gateway.look_up(
        work.contract,
        work.arguments,
        tenant_id=work.tenant_id,
        key=work.call.key,
        observation=Observation(seen["state"], seen["names"]) if seen else None,
        deadline=time.monotonic() + LOOK_UP_SECONDS,
        principal=work.principal,
    )


def dispatch_send(*, work: Work, observed: Observed) -> Outcome:
    """Call the target, outside any transaction, after the intent was committed. Never raises for what the target does.

    The kernel timer is armed, then deadline and fence are looked at once more, then the request is written.
    """
    boundary = direct if work.contract.read_only else gateway
    read_at = time.monotonic()
    seen = claims.look(work.claim.id)
    left = (seen.request_deadline - seen.now).total_seconds() if seen.request_deadline else 0.0
    hard = guard_timer.monotonic_deadline(left, read_at=read_at)
    token = None
    try:
        if not work.contract.read_only:
            # Before the last look: stopped after it and continued too late, this process ends instead of sending.
            token = guard_timer.arm(hard)
        outcome = boundary.execute(
            work.contract,
            work.arguments,
            tenant_id=work.tenant_id,
            observation=observed.observation,
            key=work.call.key,
            deadline=hard - HTTP_MARGIN_S,
            before_send=partial(_last_look, work.claim),
            principal=work.principal,
        )
    except (Refusal, guard_timer.GuardTimerError) as error:
        code = error.code if isinstance(error, Refusal) else "GUARD_TIMER"
        message = error.message if isinstance(error, Refusal) else str(error)
        return Outcome("failed_before_effect", error_class=ErrorClass.NOT_SENT, code=code, message=message)
    finally:
        if token is not None:
            guard_timer.disarm(token)
    if outcome.status == "succeeded" and work.contract.adapter.postcondition:
        leased = (seen.lease_until - seen.now).total_seconds() if seen.lease_until else 0.0
        return _with_postcondition(work, observed, outcome, at=seen.now, deadline=read_at + leased - RECORD_S)
    return outcome


def _last_look(claim: Claim) -> None:
    """Between arming the timer and the write: is this still our dispatch, and is it still in time?"""
    seen = claims.look(claim.id)
    release()
    in_time = seen.request_deadline is not None and leases.may_send(
        now=seen.now,
        deadline=seen.request_deadline,
        fence=claim.fence,
        current_fence=seen.fence,
        until=seen.lease_until,
    )
    if seen.status != "started" or not in_time or not seen.here:
        raise Refusal(
            "This worker was too late to send, or another one has the call now. Nothing was sent.", code="SEND_TOO_LATE"
        )


def _with_postcondition(work: Work, observed: Observed, outcome: Outcome, *, at: datetime, deadline: float) -> Outcome:
    """Success is what the target shows afterwards, not what it answered (R10). `deadline`: while the lease holds; `at`
    is a time for the reading, which is compared and not kept: nobody asks how old it is."""
    said = outcome.result.value if outcome.result is not None and isinstance(outcome.result.value, dict) else {}
    try:
        after = dispatch_read_state(work=work, deadline=deadline, asked_at=at)
        holds = gateway.postcondition_holds(
            work.contract,
            work.arguments,
            tenant_id=work.tenant_id,
            before=observed.state or {},
            after=after.state or {},
            result=said,
        )
    except Refusal:
        holds = None
    if holds:
        return outcome
    return replace(
        outcome,
        status="unknown",
        error_class=ErrorClass.POSTCONDITION_OPEN,
        code="POSTCONDITION_OPEN",
        message="The target answered that it was done, and its state read afterwards does not show it.",
    )
