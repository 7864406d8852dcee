"""Publishing a policy: an immutable version, in force from the next judgement on (A8, S8, S72)."""

import difflib
from uuid import UUID, uuid4

from access.core.rights import require_admin
from access.selectors.actors import group_members
from approvals.core.contract_types import Contract, Finding
from approvals.core.eligibility import REVIEWER
from approvals.core.policy import Policy, catalogue_findings, parse_policy
from approvals.models import PolicyHead, PolicyVersion
from approvals.selectors.catalogue import active_contracts
from approvals.selectors.policies import PolicyRow, policy_version
from approvals.signals import announce_policy
from approvals.store.reach import reach_begin
from audit.core.actor import Actor
from audit.core.refusal import Conflict, Invalid
from audit.services.record import audit_record, audit_refusals
from audit.store import clock

BLOCKING = frozenset({"GROUP_TOO_SMALL"})
"""Findings about the tenant that refuse a policy. A tool that is not in the catalogue yet, or a condition that names
something a tool does not have, denies calls and allows none; they are told and do not block."""
LONGEST_DIFF = 400  # lines


def policy_publish(*, actor: Actor, source: str, based_on: int | None) -> PolicyRow:
    """Publish `source` (YAML or JSON) as the next version; an admin's right.

    `based_on` is the number of the version that it was made from, None where there was none. The same text as the
    active version with `based_on` None publishes nothing and gives that version.
    Raises Forbidden (ROLE_MISSING); Invalid (POLICY_INVALID with `detail.findings`, among them groups that are not
    there or hold too few reviewers for the quorum, S8); Conflict (POLICY_CHANGED): another version is active than the
    one it was based on; `detail` has its `number`, `by`, `at` and a `diff` from the base to it.
    """
    with audit_refusals(actor=actor, action="policy.published", object_type="policy", object_id=actor.tenant_id):
        require_admin(actor)
        policy = _parse(source)
        # Whoever comes second waits at the lock and then reads the number that the first one left.
        PolicyHead.objects.bulk_create([PolicyHead(tenant_id=actor.tenant_id, active_number=0)], ignore_conflicts=True)
        head = PolicyHead.objects.select_for_update().get(tenant_id=actor.tenant_id)
        active = policy_version(actor.tenant_id, head.active_number)
        if active is not None and based_on is None and active.source == source:
            return active
        if (based_on or 0) != head.active_number:
            raise _changed(actor, active, based_on)
        findings = _findings(actor, policy)
        blocking = [finding for finding in findings if finding.code in BLOCKING]
        if blocking:
            raise _invalid(blocking)
        number = _next_number(actor)
        version = PolicyVersion.objects.create(
            id=uuid4(),
            tenant_id=actor.tenant_id,
            number=number,
            source=source,
            document=policy.document,
            digest=policy.digest,
            published_by=actor.name,
            published_at=clock.now(),
        )
        head.active_number = number
        head.save(update_fields=["active_number"])
        # What waits is judged by it next, outside this transaction (services/published.py).
        reach_begin(actor.tenant_id, number)
        announce_policy(UUID(actor.tenant_id))
        audit_record(
            actor=actor,
            action="policy.published",
            object_type="policy",
            object_id=version.id,
            detail={"number": number, "based_on": based_on, "digest": policy.digest, "rules": len(policy.rules),
                    "findings": [finding.as_dict() for finding in findings]},
        )  # fmt: skip
    published = policy_version(actor.tenant_id, number)
    assert published is not None
    return published


def policy_check(*, actor: Actor, source: str) -> list[Finding]:
    """What stands against `source` in the actor's tenant, without publishing anything; for admins.

    Raises Forbidden (ROLE_MISSING) and Invalid (POLICY_INVALID) for a text that is no policy.
    """
    require_admin(actor)
    return _findings(actor, _parse(source))


def _parse(source: str) -> Policy:
    """JSON where the text begins like an object, YAML otherwise."""
    return parse_policy(source, "json" if source.lstrip().startswith("{") else "yaml")


def _findings(actor: Actor, policy: Policy) -> list[Finding]:
    tools: dict[str, Contract] = {found.contract.name: found.contract for found in active_contracts(actor.tenant_id)}
    named = {approver.group for rule in policy.rules for _, asked in rule.asked() for approver in asked}
    # Members who are reviewers: a group of people who may not decide would block every call (S8).
    groups = {slug: len(group_members(actor.tenant_id, slug, role=REVIEWER)) for slug in sorted(named)}
    told = {slug: len(group_members(actor.tenant_id, slug)) for rule in policy.rules for slug in rule.told()}
    return catalogue_findings(policy, tools=tools, groups=groups, told=told)


def _next_number(actor: Actor) -> int:
    last = PolicyVersion.objects.filter(tenant_id=actor.tenant_id).order_by("-number").first()
    return (last.number if last else 0) + 1


def _changed(actor: Actor, active: PolicyRow | None, based_on: int | None) -> Conflict:
    if active is None:
        return Conflict(
            f"There is no version {based_on} of the policy: none was published yet. Publish without a base.",
            code="POLICY_CHANGED",
            detail={"number": 0},
        )
    base = policy_version(actor.tenant_id, based_on) if based_on else None
    diff = list(
        difflib.unified_diff(
            (base.source if base else "").splitlines(),
            active.source.splitlines(),
            f"version {based_on or 0}",
            f"version {active.number}",
            lineterm="",
        )
    )
    at = active.published_at
    return Conflict(
        f"{active.published_by} published version {active.number} at {at:%Y-%m-%d %H:%M:%S} UTC; yours was made from "
        f"{f'version {based_on}' if based_on else 'none'}. Nothing was changed. Look at the difference and publish "
        f"again, based on {active.number}.",
        code="POLICY_CHANGED",
        detail={
            "number": active.number, "by": active.published_by, "at": at.isoformat(), "diff": diff[:LONGEST_DIFF],
        },
    )  # fmt: skip


def _invalid(findings: list[Finding]) -> Invalid:
    return Invalid(
        f"The policy cannot be published: {findings[0].message} A rule must name groups that can decide.",
        code="POLICY_INVALID",
        detail={"findings": [finding.as_dict() for finding in findings]},
    )
