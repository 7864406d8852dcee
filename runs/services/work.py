"""What a worker knows of a claimed row: first the call it is about, then, verified, what may be sent for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from access.selectors.actors import RequesterFacts, requester_facts
from approvals.core.contract_types import Contract
from approvals.core.digest import check_call_bytes
from approvals.core.policy_names import run_facts
from approvals.selectors.catalogue import active_contract, contract_version
from approvals.selectors.shown_tools import ShownList, shown_list
from audit.core.actor import Actor
from audit.core.jsondoor import Json
from audit.core.refusal import Conflict, Refusal
from runs.core.reducer import CallMachine
from runs.models import Call, Run
from runs.selectors.history import History, call_with_history, folded
from runs.store.append import Guard, Loaded
from runs.store.claims import Claim, system_actor


class Gone(Exception):
    """Somebody else has settled what this row was about: nothing to do, nothing to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A claimed row and its call, nothing verified yet: enough to end it with a refusal."""

    claim: Claim
    run: Run
    call: Call
    history: History | None = None
    """The run's, as it was read with the call."""

    @staticmethod
    def of(claim: Claim) -> "Job":
        """Read the call's row."""
        call, history = call_with_history(claim.call_pk)
        return Job(claim=claim, run=call.run, call=call, history=history)

    @staticmethod
    def looking_at(call: Call) -> "Job":
        """For reading a call's target without any row of work: by this claim nothing is accepted anywhere."""
        nobody = UUID(int=0)
        claim = Claim(nobody, call.run_id, call.id, "evaluate", 0, "", 0, 0, call.created_at, call.created_at)
        return Job(claim=claim, run=call.run, call=call)

    @property
    def tenant_id(self) -> str:
        """The tenant as text."""
        return str(self.call.tenant_id)

    @property
    def actor(self) -> Actor:
        """This process, as events and audit entries name it, on behalf of whom the agent acts for."""
        return system_actor(self.tenant_id, on_behalf_of=str(self.run.acting_user_id or ""))

    @property
    def guard(self) -> Guard:
        """The right to append with this claim."""
        return Guard(self.claim.id, self.claim.fence)

    @property
    def deadline(self) -> datetime | None:
        """When the call is too late to be sent: its own deadline or its run's, whichever comes first."""
        given = [moment for moment in (self.call.deadline, self.run.deadline) if moment is not None]
        return min(given) if given else None

    @property
    def audit(self) -> dict[str, Any]:
        """The fields by which every audit entry names this call."""
        return {
            "object_type": "call",
            "object_id": str(self.call.id),
            "run_id": str(self.run.id),
            "call_id": self.call.call_id,
            "tool": self.call.tool,
        }

    @property
    def judged_as(self) -> dict[str, Any]:
        """What `call_judge` has to be told of the call beside its bytes."""
        run = self.run
        facts = run_facts(run_id=run.id, title=run.title, agent_version=run.agent_version, reason=self.call.reason)
        return {"run": facts, "key": self.call.key}

    def standing(self, loaded: Loaded, *states: str) -> CallMachine:
        """Where the call stands under the head's lock. Raises Gone when that is not one of `states`."""
        machine = loaded.state.calls.get(self.call.call_id)
        if machine is None or machine.state not in states:
            raise Gone
        return machine

    def requester(self) -> RequesterFacts:
        """The rights of this moment of whoever asked."""
        return requester_facts(
            tenant_id=self.call.tenant_id,
            agent_id=self.run.agent_id,
            acting_user_id=self.run.acting_user_id,
            token_session_id=self.call.token_session_id,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Work(Job):
    """A job whose stored bytes are the recorded ones, with the contract it was made for."""

    contract: Contract
    tool_version_id: UUID
    arguments: dict[str, Json]
    asked_by: RequesterFacts

    @classmethod
    def verified(cls, job: Job) -> Self:
        """Verify and read. Raises Conflict (DIGEST_MISMATCH, CALL_DAMAGED, CALL_ALTERED, CONTRACT_ALTERED): stored rows
        were edited, so nothing is sent on them (S84).

        The bytes are hashed again, and what the row says beside them must be what they say. An owner who edits bytes
        and digest in step, or the key, is seen by the run's history, which names both as they were proposed.
        """
        call = job.call
        facts = check_call_bytes(bytes(call.canonical), call.digest)
        told = folded(job.run) if job.history is None else job.history.folded(job.run)
        proposed = told.calls.get(call.call_id)
        acting_user = str(job.run.acting_user_id or "")
        if (
            proposed is None
            or (proposed.digest, proposed.key) != (call.digest, call.key)
            or (facts.tool, facts.contract_version, facts.target) != (call.tool, call.contract_version, call.target)
            or facts.acting_user != acting_user
        ):
            raise Conflict(
                "The stored call is not the one that the run's history tells of, so nothing is done with it. The agent "
                "has to ask again under a new call id; tell an operator.",
                code="CALL_ALTERED",
            )
        admitted = contract_version(call.tenant_id, call.tool, call.contract_version)
        if admitted is None:
            raise Conflict(
                f"Version {call.contract_version} of {call.tool} is not there any more.", code="CONTRACT_ALTERED"
            )
        return cls(
            claim=job.claim,
            run=job.run,
            call=call,
            contract=admitted.contract,
            tool_version_id=admitted.tool_version_id,
            arguments=facts.arguments,
            asked_by=job.requester(),
        )

    @property
    def resource(self) -> str:
        """What the effect is made on; "" where nothing is changed, so that readers neither hold nor wait (R9)."""
        return "" if self.contract.read_only else self.call.resource

    @property
    def principal(self) -> Mapping[str, Json]:
        """Who asks, for the contract's templates."""
        return {"agent": dict(self.asked_by.agent), "user": dict(self.asked_by.user or {})}

    def with_alternatives(self, refusal: Refusal) -> Refusal:
        """The refusal, naming the contract's alternatives that the requester may use (E3)."""
        if refusal.alternatives:
            return refusal
        shown = shown_list(self.tenant_id, self.run.agent_id) if self.contract.alternatives else ShownList()
        return refusal.with_alternatives(
            [
                name
                for name in self.contract.alternatives
                if (found := active_contract(self.tenant_id, name)) is not None
                and self.asked_by.scopes.issuperset(found.contract.scopes)
                and shown.holds(name)
            ]
        )
