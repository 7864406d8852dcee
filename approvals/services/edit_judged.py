"""What an edit of a held call would make: judged like any other call, nothing written (S15, E2)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from access.selectors.actors import RequesterFacts, requester_facts
from approvals.core.contract import effective_arguments
from approvals.core.contract_types import Contract
from approvals.core.digest import CallFacts, call_bytes, idempotency_key, parse_call_bytes, parse_snapshot
from approvals.core.digest import digest as digest_of
from approvals.core.policy import Verdict, is_frozen
from approvals.core.present import Row, argument_rows
from approvals.core.revisions import MISSING, Change, changes_between
from approvals.core.rounds import both_hold, expiry_after
from approvals.core.template import render_text
from approvals.models import Proposal, Revision
from approvals.selectors.bound import Bound, read_bound
from approvals.selectors.catalogue import still_admitted
from approvals.selectors.deciders import prepared_by_of
from approvals.selectors.judging import facts_of
from approvals.selectors.proposals import earlier_rejection
from approvals.services.judge import call_judge
from approvals.services.question import clock_settled
from approvals.store.click import check_eligible, check_open, check_person, check_same_thing, locked_for
from approvals.store.rows import lock_permit, votes_of
from audit.core.actor import Actor
from audit.core.canonical import canonical_bytes
from audit.core.jsondoor import Json
from audit.core.refusal import Conflict, Invalid, Refusal
from audit.store import clock

MOST_REVISIONS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One changed place, as a page shows it; a side is None where there is no value."""

    path: str
    label: str
    was: Row | None
    becomes: Row | None


@dataclass(frozen=True, slots=True)
class Made:
    """An edit that passed every check but was not written."""

    number: int
    step_id: str
    key: str
    canonical: bytes
    given: bytes
    digest: str
    target: str
    resource: str
    facts: CallFacts
    verdict: Verdict
    state: Mapping[str, Json] | None
    read_at: datetime
    expires_at: datetime
    stopped: timedelta
    changes: list[Change]
    differences: tuple[Difference, ...]
    requester: RequesterFacts = field(repr=False)


def opened_for_edit(*, actor: Actor, proposal_id: UUID, digest: str, round: int) -> tuple[Proposal, Bound, datetime]:
    """The locked proposal, verified, for whoever may edit it now. Raises like `proposal_edit`."""
    check_person(actor, "Editing")
    proposal = locked_for(actor, proposal_id)
    now = clock.now()
    votes = votes_of(proposal)
    bound = read_bound(proposal, decisions=votes, permit=lock_permit(proposal))
    check_open(proposal, votes, now)
    check_eligible(actor, proposal)
    check_same_thing(proposal, digest, round)
    _check_editable(proposal, bound)
    return proposal, bound, now


def _check_editable(proposal: Proposal, bound: Bound) -> None:
    """Whether this call may be edited by anybody. Raises Forbidden or Conflict."""
    refusal = _not_editable(proposal, bound)
    if refusal is not None:
        raise refusal


def _not_editable(proposal: Proposal, bound: Bound) -> Refusal | None:
    """Why nobody may edit this call, or None."""
    if not bound.requirement.terms.editable:
        return Conflict(
            "The policy does not let this call be edited. Reject it with what is wrong, and the agent can ask again.",
            code="EDIT_NOT_ALLOWED",
        )
    if prepared_by_of(proposal):
        return Conflict(
            "An operator prepared this call to make up for another one. Reject it, and a new one can be prepared.",
            code="EDIT_NOT_ALLOWED",
        )
    if proposal.revision_number >= MOST_REVISIONS:
        return Conflict(
            f"This is revision {proposal.revision_number} already. Decide on it, or reject it.",
            code="REVISIONS_USED_UP",
        )
    if not still_admitted(proposal.tool_version_id):
        return Conflict(
            "The contract that this call was made for is no longer admitted. Reject it; the agent can ask again under "
            "today's contract.",
            code="CONTRACT_CHANGED",
        )
    return None


def made_by_edit(*, proposal: Proposal, bound: Bound, now: datetime, arguments: Mapping[str, Json], tool: str) -> Made:
    """What these arguments make of it, judged. Raises like `proposal_edit`; nothing is written."""
    contract, before = bound.contract, bound.facts.arguments
    if tool not in ("", contract.name):
        raise Invalid(
            f"This is a call of {contract.name}. Another tool is a new request: reject this one and say in the reason "
            "what to use.",
            code="TOOL_NOT_EDITABLE",
        )
    effective = effective_arguments(contract, dict(arguments))
    names: dict[str, Json] = {"args": effective}
    target, resource = render_text(contract.target, names), render_text(contract.resource, names)
    if (target, resource) != (proposal.target, proposal.resource):
        raise Invalid(
            f"The edited call would be about {target} and not about {proposal.target}. Another record is a new "
            "request: reject this one and say in the reason which is meant.",
            code="TARGET_NOT_EDITABLE",
        )
    changes = changes_between(before, effective)
    if not changes:
        raise Invalid("Nothing is different from what the agent asked for.", code="NOTHING_CHANGED")
    canonical = call_bytes(
        tool=contract.name,
        contract_version=bound.facts.contract_version,
        target=target,
        acting_user=bound.facts.acting_user,
        arguments=effective,
    )
    digest = digest_of(canonical)
    rejected = earlier_rejection(proposal.run_id, digest)
    if rejected is not None:
        raise rejected
    given = _given(bound.given, effective, changes)
    state, read_at = _last_read(proposal)
    requester = _requester(proposal)
    step_id = Revision.objects.filter(pk=proposal.pk).values_list("step_id", flat=True).first() or proposal.call_id
    key = idempotency_key(str(proposal.run_id), step_id, contract.name, proposal.revision_number + 1)
    today = call_judge(
        tenant_id=proposal.tenant_id,
        tool_version_id=proposal.tool_version_id,
        canonical=canonical,
        state=state,
        requester=requester,
        **(facts_of(proposal) | {"key": key}),
    )
    if today.effect == "deny":
        raise _refused(today)
    # Nobody's edit takes people out of it: what was asked for the call as it came is asked for the revision too.
    verdict = both_hold(bound.requirement, today)
    expires_at, stopped = clock_settled(proposal=proposal, now=now)
    expires_at = expiry_after(created_at=proposal.created_at + stopped, expires_at=expires_at, requirement=verdict)
    if expires_at <= now:
        raise Conflict("Today's rule gives the edited call less time, and that has passed.", code="EXPIRED")
    return Made(
        number=proposal.revision_number + 1,
        step_id=step_id,
        key=key,
        canonical=canonical,
        given=canonical_bytes(given),
        digest=digest,
        target=target,
        resource=resource,
        facts=parse_call_bytes(canonical),
        verdict=verdict,
        state=state,
        read_at=read_at,
        expires_at=expires_at,
        stopped=stopped,
        changes=changes,
        differences=_differences(contract, bound, given, effective, changes),
        requester=requester,
    )


def _refused(verdict: Verdict) -> Invalid:
    message = f"The edited call would be refused: {verdict.message}"
    if is_frozen(verdict):
        times = verdict.matched[0].text
        own = "" if times in verdict.message else f" {verdict.message}"
        message = (
            f"An edit asks for a new call, and inside a freeze of the policy nothing new is asked for "
            f"({verdict.rule_id.removeprefix('freeze:')}, {times}). Nothing was changed: this call waits as it is and "
            f"can be decided, or edited when the freeze is over.{own}"
        )
    return Invalid(message, code="EDIT_DENIED", detail=_denied(verdict))


def _denied(verdict: Verdict) -> dict[str, Any]:
    return {
        "code": verdict.code.upper(),
        "rule": verdict.rule_id,
        "policy": verdict.policy_number,
        "why": [match.text for match in verdict.matched],
    }


def _given(before: Json, effective: Mapping[str, Json], changes: list[Change]) -> dict[str, Json]:
    """What counts as said by somebody and not as a default: what the agent sent and what was changed."""
    sent = set(before) if isinstance(before, dict) else set()
    touched = {change.path.split("/")[1].replace("~1", "/").replace("~0", "~") for change in changes}
    return {name: value for name, value in effective.items() if name in sent | touched}


def _differences(
    contract: Contract, bound: Bound, given: Mapping[str, Json], effective: Mapping[str, Json], changes: list[Change]
) -> tuple[Difference, ...]:
    old = {row.path: row for row in argument_rows(contract, bound.given, bound.facts.arguments)}
    new = {row.path: row for row in argument_rows(contract, dict(given), effective)}
    found = []
    for one in changes:
        was = old.get(one.path) if one.before is not MISSING else None
        becomes = new.get(one.path) if one.after is not MISSING else None
        row = becomes or was
        found.append(Difference(path=one.path, label=row.label if row else one.path, was=was, becomes=becomes))
    return tuple(found)


def _last_read(proposal: Proposal) -> tuple[dict[str, Json] | None, datetime]:
    if proposal.observed is not None and proposal.observed_at is not None:
        return parse_snapshot(bytes(proposal.observed)), proposal.observed_at
    return parse_snapshot(bytes(proposal.snapshot)), proposal.snapshot_at


def _requester(proposal: Proposal) -> RequesterFacts:
    return requester_facts(
        tenant_id=proposal.tenant_id,
        agent_id=proposal.agent_id,
        acting_user_id=proposal.acting_user_id,
        token_session_id=proposal.token_session_id,
    )
