"""May this call happen? First its shape and the token's scopes, then, with the target's state, the one evaluate() (E2).

`call_prepare` runs in the request and touches no target; `call_judge` runs in a worker, at proposal and at dispatch
alike, inside the transaction that acts on its verdict.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from access.selectors.actors import RequesterFacts, requester_facts
from approvals.core.contract import Absent, effective_arguments
from approvals.core.contract_types import Contract
from approvals.core.digest import call_bytes, digest, parse_call_bytes
from approvals.core.exposure import asked_about, subjects_of
from approvals.core.policy import DENIED, Policy, Request, Verdict, evaluate
from approvals.core.template import render_text
from approvals.models import Proposal
from approvals.selectors.catalogue import active_contract, alternatives_for, contract_of, tools_for
from approvals.selectors.judging import facts_of, ground_of, principal_of_requester
from approvals.selectors.policies import rules_of_version
from approvals.selectors.shown_tools import is_shown, not_exposed
from approvals.services.exposure import exposure_judged
from approvals.store.rows import active_policy_number
from audit.core.actor import Actor
from audit.core.canonical import canonical_bytes
from audit.core.jsondoor import Json
from audit.core.refusal import Forbidden, NotFound, Refusal
from audit.store import clock

__all__ = ["Prepared", "Verdict", "call_judge", "call_prepare", "proposal_judge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A call whose shape and scopes are right. `given` are the canonical bytes of what the agent sent, `effective` the
    arguments with defaults, `canonical` the bytes that are shown, hashed and executed, `digest` their SHA-256."""

    contract: Contract = field(repr=False)
    contract_version: int
    tool_version_id: UUID
    effective: dict[str, Json]
    canonical: bytes
    given: bytes
    digest: str
    target: str
    resource: str


def call_prepare(
    *, actor: Actor, tool: str, arguments: Json | Absent, acting_user: str, shown_only: bool = True
) -> Prepared:
    """Check shape, then token and scopes (E2), then whether the agent is shown the tool (R10). `acting_user` is the id
    of the user that the agent acts for, or "". Without `shown_only` a tool that the agent is not shown is taken too:
    for a call that a person prepares in the agent's place.

    Raises NotFound (UNKNOWN_TOOL), Invalid (ARGUMENTS_MISSING, ARGUMENTS_INVALID, TEMPLATE_NAME_MISSING, …), TooLarge,
    Forbidden (SCOPE_MISSING, with the scopes in `missing`; NOT_EXPOSED); each names alternatives that this actor may
    use.
    """
    admitted = active_contract(actor.tenant_id, tool)
    if admitted is None:
        raise NotFound(
            f"There is no tool called {tool[:64]} here. Use one of the alternatives.",
            code="UNKNOWN_TOOL",
            alternatives=[found.name for found in tools_for(actor)],
        )
    contract = admitted.contract
    try:
        effective = effective_arguments(contract, arguments)
        missing = sorted(set(contract.scopes) - actor.scopes)
        if missing:
            raise Forbidden(
                f"The token lacks {', '.join(missing)} for {tool}. Ask for a token with it, or use an alternative.",
                code="SCOPE_MISSING",
                missing=missing,
            )
        if shown_only and not is_shown(actor, tool):
            raise not_exposed(tool)
        names: dict[str, Json] = {"args": effective}
        target, resource = render_text(contract.target, names), render_text(contract.resource, names)
    except Refusal as refusal:
        raise refusal.with_alternatives(alternatives_for(actor, contract)) from None
    canonical = call_bytes(
        tool=contract.name,
        contract_version=admitted.number,
        target=target,
        acting_user=acting_user,
        arguments=effective,
    )
    return Prepared(
        contract=contract,
        contract_version=admitted.number,
        tool_version_id=admitted.tool_version_id,
        effective=effective,
        canonical=canonical,
        given=canonical_bytes(arguments),  # type: ignore[arg-type]  # an absent argument object was refused above
        digest=digest(canonical),
        target=target,
        resource=resource,
    )


def call_judge(
    *,
    tenant_id: UUID | str,
    tool_version_id: UUID,
    canonical: bytes,
    state: Mapping[str, Json] | None,
    requester: RequesterFacts,
    run: Mapping[str, Json] | None = None,
    key: str = "",
    acting: bool = False,
    waiting: bool = False,
    under: int | None = None,
) -> Verdict:
    """The verdict of now on a call: the requester's rights, the contract's admission and checks, today's policy (A5).

    `run` is what `run_facts` made, `key` the call's idempotency key: what it was counted for itself is not held against
    it. `acting`: the effect starts in this transaction if the verdict lets it; then the sums that limits are judged by
    are held until it ends, so that of two calls that together pass a limit one passes. `waiting`: it is asked what
    becomes of a call that waits for people, and nothing is started on the answer; then freezes are left out, which only
    say when nothing may be started. `under` an older version instead of the one in force, to compare the two.

    Needs the transaction that acts on the verdict: the policy's number is held in it, so that nobody publishes another
    one in between. Never raises for what a rule or value is (S63). Raises Conflict (CALL_DAMAGED, CONTRACT_ALTERED,
    POLICY_ALTERED) for stored rows that are not what was written.
    """
    if not connection.in_atomic_block or (acting and waiting):
        raise RuntimeError("a verdict holds only in the transaction that acts on it")
    contract = contract_of(tool_version_id)
    facts = parse_call_bytes(canonical)
    number = active_policy_number(tenant_id, hold=True)
    refused = requester_refused(
        contract=contract, requester=requester, policy_number=number, acting_user=facts.acting_user
    )
    if refused is not None:
        return refused
    judged_by = number if under is None else under
    ground = ground_of(tenant_id=tenant_id, tool_version_id=tool_version_id, policy_number=judged_by)
    if not ground.admitted:
        return _deny(
            "contract_changed",
            f"The contract of {contract.name} that this call was made for is no longer admitted. "
            "Ask again under today's contract.",
            number,
        )
    policy = rules_of_version(judged_by, ground.policy_version)
    if waiting and policy.freezes:
        policy = replace(policy, freezes=())
    request = request_judged(
        tenant_id=tenant_id,
        policy=policy,
        contract=contract,
        arguments=facts.arguments,
        state=state,
        requester=requester,
        run=run or {},
        key=key,
        acting=acting,
        at=ground.at,
    )
    return evaluate(policy, request)


def request_judged(
    *,
    tenant_id: UUID | str,
    policy: Policy,
    contract: Contract,
    arguments: Mapping[str, Any],
    state: Mapping[str, Json] | None,
    requester: RequesterFacts,
    run: Mapping[str, Json],
    key: str,
    acting: bool = False,
    at: datetime | None = None,
) -> Request:
    """What `evaluate` is asked: the call with the requester's rights, the sums and the time of now. `at` is that time
    where it was read a moment ago; behind sums that others may have held it is read anew."""
    subjects = subjects_of(contract, arguments=arguments, state=state, agent_id=str(requester.agent.get("id", "")))
    return Request(
        tool=contract.name,
        contract=contract,
        arguments=arguments,
        state=state,
        principal=principal_of_requester(requester, str(tenant_id)),
        run=run,
        exposure=exposure_judged(
            tenant_id=tenant_id, policy=policy, contract=contract, subjects=subjects, key=key, acting=acting
        ),
        now=clock.now() if at is None or asked_about(policy, contract.name) else at,
    )


def proposal_judge(*, proposal: Proposal, state: Mapping[str, Json] | None, under: int | None = None) -> Verdict:
    """The verdict of now on a held call, while it waits, with the rights that its requester has now (A5). `under` as
    for `call_judge`."""
    return call_judge(
        tenant_id=proposal.tenant_id,
        tool_version_id=proposal.tool_version_id,
        canonical=bytes(proposal.canonical),
        state=state,
        requester=requester_facts(
            tenant_id=proposal.tenant_id,
            agent_id=proposal.agent_id,
            acting_user_id=proposal.acting_user_id,
            token_session_id=proposal.token_session_id,
        ),
        **facts_of(proposal),
        waiting=True,
        under=under,
    )


def requester_refused(
    *, contract: Contract, requester: RequesterFacts, policy_number: int, acting_user: str
) -> Verdict | None:
    """The denial of whoever may not ask, by the rights of now; None for who may."""
    if not requester.ok:
        return _deny(requester.code or DENIED, requester.message, policy_number)
    if str((requester.user or {}).get("id", "")) != acting_user:
        return _deny("principal_differs", "The call names another person than the agent acts for.", policy_number)
    missing = sorted(set(contract.scopes) - requester.scopes)
    if missing:
        message = f"The agent no longer has {', '.join(missing)}, which {contract.name} needs."
        return _deny("scope_missing", message, policy_number)
    return None


def _deny(code: str, message: str, policy_number: int) -> Verdict:
    return Verdict("deny", code, message, "", policy_number)
