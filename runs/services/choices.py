"""What each choice about an unknown outcome does, in the transaction and under the lock of reconciliation.py."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from approvals.services.again import proposal_ask_after_unknown
from approvals.services.exposure import exposure_take_back
from approvals.services.settling import permit_settle
from audit.core.actor import Actor
from audit.core.jsondoor import Json
from audit.core.refusal import Conflict, Invalid, Refusal
from audit.core.visible import visible
from audit.services.record import audit_record
from runs.core.answers import Answer, ended, worked
from runs.core.kinds import CallState
from runs.core.kinds import EventKind as K
from runs.core.proof import Proof, clock_text
from runs.core.state import CallMachine
from runs.models import Call
from runs.selectors.proving import Proving, proving
from runs.services.compensating import (
    compensation_drop_in,
    compensation_prepare_in,
    compensation_record_in,
    compensation_settle_in,
)
from runs.services.work import Job, Work
from runs.store import resources
from runs.store.append import Loaded, append, as_conflict, tell_call

LONGEST_REFERENCE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconciledRow:
    """What a click did. `state` is the call's now; `message` a sentence for the person; `repeated`: the same was
    recorded before by the same person and nothing was changed."""

    id: UUID
    run_id: UUID
    call_id: str
    choice: str
    state: str
    message: str
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An unknown call under the lock, and who decides."""

    actor: Actor
    call: Call
    loaded: Loaded
    machine: CallMachine
    reason: str

    @property
    def known(self) -> Proving:
        return proving(self.call, self.machine, self.loaded.at)

    def fact(self, outcome: str, proof: Proof, **more: Json) -> tuple[K, dict[str, Json]]:
        """The event of this decision."""
        body: dict[str, Json] = {
            "call_id": self.call.call_id,
            "outcome": outcome,
            "by": self.actor.name or self.actor.id,
            "conclusive": proof.conclusive,
            "reason": self.reason,
            "attempt": self.machine.attempt,
        }
        return K.OUTCOME_RECONCILED, body | more

    def row(self, choice: str, state: str, message: str) -> ReconciledRow:
        return ReconciledRow(
            id=self.call.id,
            run_id=self.call.run_id,
            call_id=self.call.call_id,
            choice=choice,
            state=state,
            message=message,
        )

    def record(self, action: str, **detail: object) -> None:
        """The audit entry, in this transaction."""
        audit_record(
            actor=self.actor,
            action=action,
            object_type="call",
            object_id=self.call.id,
            run_id=self.call.run_id,
            call_id=self.call.call_id,
            tool=self.call.tool,
            detail={"reason": self.reason, "attempt": self.machine.attempt, "key": self.call.key, **detail},
        )

    def happened(self, reference: str) -> ReconciledRow:
        """May be said at any time: an effect that was found is a proof of its own."""
        reference = _reference_of(reference)
        receipt = {
            "reference": reference, "key": self.call.key, "found_by": "operator", "by": self.actor.name,
            "reason": self.reason,
        }  # fmt: skip
        answer = worked(
            result=None,
            observed_at=self.loaded.at.isoformat(),
            receipt=receipt,
            read_only=False,
            problems=[
                "No answer of the target arrived; an operator found that it happened and recorded its reference."
            ],
        )
        loaded = self._append(self.fact("happened", self.known.proof, reference=reference), answer)
        if self.machine.proposal_id:
            permit_settle(
                proposal_id=self.machine.proposal_id, outcome="succeeded", detail=receipt | {"call": str(self.call.id)}
            )
        resources.free(self.machine.dispatch_id)
        if self.machine.compensates:
            compensation_settle_in(loaded=loaded, actor=self.actor, call_id=self.call.call_id)
        self.record("call.reconciled", outcome="happened", reference=reference)
        return self.row(
            "happened", CallState.SUCCEEDED, "Recorded: it happened. The agent is told, with the reference."
        )

    def did_not_happen(self) -> ReconciledRow:
        proof = self._proven()
        loaded = compensation_drop_in(loaded=self.loaded, call=self.call, actor=self.actor)
        told = Refusal(
            f"It did not happen: {self.actor.name} looked into it after its outcome was unknown ({self.reason}). It "
            "was closed as failed; ask again under a new call id if it is still wanted.",
            code="DID_NOT_HAPPEN",
            status=502,
            outcome="none",
            retry_safe=True,
        )
        self._append(self.fact("did_not_happen", proof), ended("failed", told.as_dict()), loaded=loaded)
        if self.machine.proposal_id:
            permit_settle(
                proposal_id=self.machine.proposal_id,
                outcome="failed",
                detail={
                    "code": told.code,
                    "message": told.message,
                    "by": self.actor.name,
                    "call": str(self.call.id),
                },
            )
        exposure_take_back(tenant_id=self.call.tenant_id, key=self.call.key)
        resources.free(self.machine.dispatch_id)
        self.record("call.reconciled", outcome="did_not_happen", proof=proof.standing)
        return self.row("did_not_happen", CallState.FAILED, "Recorded: it did not happen. The agent is told.")

    def retry(self) -> ReconciledRow:
        """Once more with the same key. Where the approval still stands its permit is given back, and everything is
        checked again when it is redeemed; where its time is over, people are asked anew first."""
        if self.loaded.state.stop_asked:
            raise Conflict(
                "The run was stopped, and nothing new is started in it. Record whether it happened.", code="RUN_STOPPED"
            )
        proof = self._proven()
        # What is sent again has to be what was asked; raises Conflict.
        Work.verified(Job.looking_at(self.call))
        known = self.known
        if known.deadline is not None and known.deadline <= self.loaded.at:
            raise Conflict(
                f"The call's deadline was {clock_text(known.deadline)}; it is not sent again. Record whether it "
                "happened.",
                code="DEADLINE_PASSED",
                detail={"deadline": known.deadline.isoformat()},
            )
        loaded = compensation_drop_in(loaded=self.loaded, call=self.call, actor=self.actor)
        void = known.approval_ends is not None and known.approval_ends <= self.loaded.at
        told = Refusal(
            f"It had not happened: {self.actor.name} looked into it and decided that it is sent again with the same "
            "key. "
            + ("People are asked anew first. " if void else "Everything is checked once more first. ")
            + "Do not ask for it under another call id; read this call again later.",
            code="SENT_AGAIN",
            status=202,
            retry_after=5,
        )
        standing = "waiting" if void else "ready"
        answer = ended(standing, told.as_dict())
        fact = self.fact("retry", proof, approval="void" if void else "holds")
        loaded = self._append(fact, answer, loaded=loaded)
        exposure_take_back(tenant_id=self.call.tenant_id, key=self.call.key)
        resources.free(self.machine.dispatch_id)
        proposal_id = self.machine.proposal_id
        if proposal_id and void:
            self._ask_anew(loaded, UUID(proposal_id), known.deadline)
        elif proposal_id:
            told_there = {
                "message": f"{self.actor.name} found that it had not happened: {self.reason}",
                "by": "operator",
            }
            permit_settle(proposal_id=proposal_id, outcome="retry", detail=told_there)
        self.record("call.reconciled", outcome="retry", proof=proof.standing, approval="void" if void else "holds")
        message = (
            "Its approval's time is over, so people are asked anew; then it is sent with the same key."
            if void
            else "It is sent again with the same key, after everything was checked once more."
        )
        return self.row("retry", standing, message)

    def _ask_anew(self, loaded: Loaded, proposal_id: UUID, latest: datetime | None) -> None:
        row = proposal_ask_after_unknown(actor=self.actor, proposal_id=proposal_id, reason=self.reason, latest=latest)
        held = {
            "call_id": self.call.call_id,
            "proposal_id": str(row.id),
            "round": row.round,
            "expires_at": row.expires_at.isoformat(),
            "rule_id": self.machine.rule_id or "",
            "policy_number": self.machine.policy_number or 0,
        }
        with as_conflict():
            append(loaded, [(K.CALL_HELD, held)], actor=self.actor)

    def compensate(self, tool: str, arguments: Json) -> ReconciledRow:
        if not tool.strip():
            raise Invalid("Name the tool whose call makes up for it.", code="TOOL_REQUIRED", missing=["tool"])
        made, appended = compensation_prepare_in(
            loaded=self.loaded,
            call=self.call,
            actor=self.actor,
            tool=tool.strip(),
            arguments=arguments,
            reason=self.reason,
        )
        self._tell_still_unknown(appended.loaded, f"{made.tool} ({made.call_id}) is to make up for it.")
        self.record("call.compensation_prepared", compensating=made.call_id, tool=made.tool, digest=made.digest)
        return self.row(
            "compensate",
            CallState.UNKNOWN,
            f"{made.call_id} is prepared and judged like every call, people included. This call stays unknown until "
            "that one has succeeded.",
        )

    def link(self, call_id: str) -> ReconciledRow:
        other = self.loaded.state.calls.get(call_id.strip())
        if other is None:
            raise Invalid(
                f"There is no call {call_id[:100]!r} in this run. Name one that has succeeded.",
                code="CALL_REQUIRED",
                missing=["call_id"],
            )
        body: dict[str, Json] = {"reason": self.reason}
        if other.compensates is None:
            body["linked"] = True
        compensation_record_in(
            loaded=self.loaded,
            actor=self.actor,
            call_id=self.call.call_id,
            made_good_by=other,
            by=self.actor.name or self.actor.id,
            body=body,
        )
        return self.row("link", CallState.COMPENSATED, f"Recorded: {other.call_id} made up for it. The agent is told.")

    def leave(self) -> ReconciledRow:
        """Noted, and nothing else: it stays listed until somebody knows."""
        self.record("call.left_unknown")
        tell_call(self.loaded, self.call.call_id, self.call.answer or {})
        return self.row("leave", CallState.UNKNOWN, "Noted. It stays listed until somebody knows what happened.")

    def _proven(self) -> Proof:
        """The proof that lets people say that nothing happened. Raises Conflict NOT_CONCLUSIVE."""
        proof = self.known.proof
        if proof.conclusive:
            return proof
        wait = max(0, -int(-(proof.conclusive_at - self.loaded.at).total_seconds() // 1))
        when = clock_text(proof.conclusive_at)
        if proof.because == "time":
            sentence = (
                f"Until {when} the old request can still take effect, so nothing that a look-up finds proves that it "
                "did not. Decide after that."
            )
        else:
            sentence = (
                f"The old request's time was over at {when}, but the target has not been asked since, or did not "
                "answer. Ask it, and decide on what it says."
            )
        raise Conflict(
            sentence,
            code="NOT_CONCLUSIVE",
            retry_after=wait or 1,
            outcome="unknown",
            detail={"conclusive_at": proof.conclusive_at.isoformat(), "because": proof.because},
        )

    def _append(self, fact: tuple[K, dict[str, Json]], answer: Answer, loaded: Loaded | None = None) -> Loaded:
        with as_conflict():
            return append(loaded or self.loaded, [fact], actor=self.actor, answers={self.call.call_id: answer}).loaded

    def _tell_still_unknown(self, loaded: Loaded, more: str) -> None:
        told = Refusal(
            f"Whether {self.call.tool} happened is not known. An operator looked into it: {more} Do not send it again "
            "under another call id. Read this call again later.",
            code="OUTCOME_UNKNOWN",
            status=202,
            outcome="unknown",
            retry_after=30,
        )
        tell_call(loaded, self.call.call_id, ended("unknown", told.as_dict()))


def _reference_of(text: str) -> str:
    reference = text.strip()
    if any(char == "\0" or "\ud800" <= char <= "\udfff" for char in reference) or len(reference) > LONGEST_REFERENCE:
        raise Invalid(
            f"A reference has at most {LONGEST_REFERENCE} characters that can be kept. Copy it from the provider.",
            code="REFERENCE_INVALID",
        )
    if not any(piece.kind != "escape" and piece.text.strip() for piece in visible(reference)):
        raise Invalid(
            "Give the provider's own reference of the effect: it is the proof that it happened.",
            code="REFERENCE_REQUIRED",
            missing=["reference"],
        )
    return reference
