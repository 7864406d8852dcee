"""How an execution ended: said as the event, to the agent, to the proposal's page and to the audit log."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from audit.core.canonical import canonical_bytes, sha256_hex
from audit.core.refusal import Refusal
from runs.core import leases
from runs.core.answers import Answer, ended, worked
from runs.core.kinds import EventKind as K
from runs.core.reducer import CallMachine
from runs.core.retry import Certainty, classify, may_retry
from runs.services.work import Work
from runs.tools.outcome import Labelled, LookedUp, Outcome


@dataclass(frozen=True, slots=True)
class Ending:
    """What is recorded of an outcome.

    `answer` is None while the call goes on (a further attempt is planned). `settled` is permit_settle's word.
    `frees`: the resource's lease ends with it; an unknown outcome keeps it.
    """

    kind: K
    body: Mapping[str, Any]
    answer: Answer | None
    settled: str
    verdict: str
    action: str
    frees: bool

    @classmethod
    def of(cls, *, work: Work, machine: CallMachine, outcome: Outcome, now: datetime, stopping: bool) -> "Ending":
        """The ending that `outcome` of the attempt in force means. `now` is the database's time."""
        base = {
            "call_id": work.call.call_id,
            "dispatch_id": str(work.claim.id),
            "fence": work.claim.fence,
        }
        if outcome.status == "succeeded":
            return cls._succeeded(work, base, outcome, now)
        retry_at = None if stopping else _retry_at(work, machine, outcome, now)
        unknown = outcome.status == "unknown"
        if unknown and retry_at is None and not work.contract.read_only:
            return cls._unknown(work, base, outcome)
        failed = base | {
            "error_class": outcome.error_class,
            "code": outcome.code,
            "message": outcome.message,
            "before_effect": outcome.status == "failed_before_effect",
        }
        if retry_at is not None:
            body = failed | {"retry_at": retry_at.isoformat()}
            return cls(K.DISPATCH_FAILED, body, None, "retry", "failed", "call.attempt_failed", frees=True)
        refusal = work.with_alternatives(
            Refusal(
                outcome.message or "The call failed; nothing was done.",
                code=outcome.code or "FAILED",
                status=502,
                retry_after=outcome.retry_after,
                outcome="none",
                # The call has ended; whether a *new* call may be made is what an agent wants to know.
                retry_safe=work.contract.read_only or outcome.status == "failed_before_effect",
                detail={"error_class": outcome.error_class} | _evidence(outcome),
            )
        )
        answer = ended("failed", refusal.as_dict())
        return cls(K.DISPATCH_FAILED, failed, answer, "failed", "failed", "call.failed", frees=True)

    @classmethod
    def _succeeded(cls, work: Work, base: Mapping[str, Any], outcome: Outcome, now: datetime) -> "Ending":
        body = {
            **base,
            "reference": outcome.reference,
            "result_digest": _digest(outcome.result),
            "duration_ms": outcome.duration_ms,
        }
        answer = worked(
            result=outcome.result.as_dict() if outcome.result else None,
            observed_at=now.isoformat(),
            receipt={
                "reference": outcome.reference,
                "key": work.call.key,
                "duration_ms": outcome.duration_ms,
                "found_by": "answer",
            },
            read_only=work.contract.read_only,
        )
        return cls(K.DISPATCH_SUCCEEDED, body, answer, "succeeded", "ok", "call.succeeded", frees=True)

    @classmethod
    def _unknown(cls, work: Work, base: Mapping[str, Any], outcome: Outcome) -> "Ending":
        reason = outcome.message or "No usable answer came."
        return cls(
            K.OUTCOME_UNKNOWN,
            {**base, "reason": reason, "code": outcome.code, "error_class": outcome.error_class},
            dispatch_unknown_answer(work=work, reason=reason, detail={"cause": outcome.code} | _evidence(outcome)),
            "unknown",
            "unknown",
            "call.unknown",
            frees=False,
        )

    @classmethod
    def looked_up(cls, *, work: Work, found: LookedUp, now: datetime) -> "Ending":
        """The target shows that it happened. More than one effect under one key is told as it is."""
        several = found.count > 1
        problems = [found.message] if found.message else []
        if several:
            problems.append(f"The target shows {found.count} effects under this key; an operator has to look at it.")
        answer = worked(
            result=found.result.as_dict() if found.result else None,
            observed_at=now.isoformat(),
            receipt={
                "reference": found.reference,
                "key": work.call.key,
                "found_by": "look-up",
                **({"references": list(found.references)} if several else {}),
            },
            read_only=False,
            problems=problems,
        )
        body = {
            "call_id": work.call.call_id,
            "outcome": "happened",
            "by": "look-up",
            "conclusive": True,
            "reference": found.reference,
            "count": found.count,
        }
        verdict = "duplicate" if several else "ok"
        return cls(K.OUTCOME_RECONCILED, body, answer, "succeeded", verdict, "call.reconciled", frees=True)


def _retry_at(work: Work, machine: CallMachine, outcome: Outcome, now: datetime) -> datetime | None:
    retry = work.contract.retry
    certainty = classify(outcome.error_class)
    if certainty is Certainty.UNKNOWN and machine.proposal_id is not None:
        # What people approved was one sending. It may have happened, so it is looked up, whatever the tool's class.
        return None
    if not may_retry(retry_class=retry.retry_class, side_effect=work.contract.side_effect, certainty=certainty):
        return None
    return leases.next_attempt(
        now=now,
        attempt=machine.attempt,
        attempts=retry.attempts,
        base_ms=retry.base_ms,
        factor=retry.factor,
        dice=random.random(),  # noqa: S311 - spreads retries, protects nothing
        deadline=work.deadline,
        retry_after_ms=(outcome.retry_after or 0) * 1000,
    )


def dispatch_unknown_answer(*, work: Work, reason: str, detail: Mapping[str, Any]) -> Answer:
    """What the agent is told while nobody knows: never to try again by itself."""
    refusal = Refusal(
        f"Whether {work.contract.name} happened is not known ({reason.rstrip('.')}). The target is being asked; do not "
        "send this again under another call id. Read this call again later.",
        code="OUTCOME_UNKNOWN",
        status=202,
        outcome="unknown",
        retry_after=5,
        retry_safe=False,
        detail=detail,
    )
    return ended("unknown", refusal.as_dict())


def _digest(result: Labelled | None) -> str:
    return sha256_hex(canonical_bytes(None if result is None else result.as_dict()))


def _evidence(outcome: Outcome) -> dict[str, Any]:
    """What the target said beside it, as untrusted content."""
    evidence: dict[str, Any] = {}
    if outcome.http_status:
        evidence["http_status"] = outcome.http_status
    if outcome.result is not None:
        evidence["target_said"] = outcome.result.as_dict()
    return evidence
