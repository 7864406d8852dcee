"""What of a tenant's tools and rules cannot work as it stands; for the system checks and whoever operates."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import F

from access.selectors.actors import group_members, tenant_slug
from approvals.core.eligibility import REVIEWER
from approvals.core.policy import load_policy
from approvals.models import PolicyHead, PolicyVersion, ToolVersion
from audit.core.canonical import canonical_bytes, sha256_hex
from audit.core.jsondoor import Json
from audit.core.refusal import Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """`kind` is contract_altered, policy_altered, no_policy or group_too_small; `subject` names the tool, the version
    or the group."""

    kind: str
    tenant: str
    subject: str
    message: str


def problems() -> list[Problem]:
    """Every problem of every tenant, from the stored rows and not from what this process has read before. Reads each
    active contract and policy once; not for requests."""
    found: list[Problem] = []
    active = ToolVersion.objects.filter(number=F("tool__active_version")).order_by("tool__tenant_id", "tool__name")
    with_tools: dict[UUID, None] = {}
    for version in active.select_related("tool").iterator(chunk_size=50):
        with_tools[version.tool.tenant_id] = None
        if not _as_recorded(version.document, version.digest):
            message = f"Version {version.number} is not as it was admitted, so nothing is run by it."
            found.append(_problem("contract_altered", version.tool.tenant_id, version.tool.name, message))
    heads = dict(PolicyHead.objects.filter(active_number__gt=0).values_list("tenant_id", "active_number"))
    for tenant_id in with_tools:
        if tenant_id not in heads:
            message = "It has tools and no policy, so every call is refused."
            found.append(_problem("no_policy", tenant_id, "", message))
    for tenant_id, number in sorted(heads.items()):
        found.extend(_policy_problems(tenant_id, number))
    return found


def _policy_problems(tenant_id: UUID, number: int) -> list[Problem]:
    version = PolicyVersion.objects.filter(tenant_id=tenant_id, number=number).first()
    if version is None or not _as_recorded(version.document, version.digest):
        message = "It is not as it was published, so nothing is allowed by it."
        return [_problem("policy_altered", tenant_id, f"version {number}", message)]
    wanted: dict[str, int] = {}
    for asked in load_policy(version.document, number=number).asked():
        for approver in asked:
            wanted[approver.group] = max(approver.count, wanted.get(approver.group, 0))
    found = []
    for group, count in wanted.items():
        there = len(group_members(tenant_id, group, role=REVIEWER))
        if there < count:
            message = f"The policy asks for {count} of {group}; {there} active reviewers are in it. Calls wait in vain."
            found.append(_problem("group_too_small", tenant_id, group, message))
    return found


def _as_recorded(document: Json, digest: str) -> bool:
    try:
        return sha256_hex(canonical_bytes(document)) == digest
    except Refusal:
        return False


def _problem(kind: str, tenant_id: UUID, subject: str, message: str) -> Problem:
    return Problem(kind=kind, tenant=tenant_slug(tenant_id), subject=subject, message=message)
