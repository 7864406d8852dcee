"""Which policy is in force, and what it says. A version never changes; an edited row decides nothing (S84)."""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from approvals.core.policy import Policy, load_policy
from approvals.models import PolicyHead, PolicyVersion
from audit.core.canonical import canonical_bytes, sha256_hex
from audit.core.refusal import Conflict


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRow:
    """One published version with its source as written."""

    number: int
    source: str
    digest: str
    published_by: str
    published_at: datetime


NOTHING_ALLOWED = Policy(number=0, rules=(), digest="", canonical=b'{"rules":[],"version":1}')
"""What holds before anything was published: no rule matches, so every call is refused (S63)."""


def policy_in_force(tenant_id: UUID | str) -> PolicyRow | None:
    """The active version; None if none was ever published."""
    number = PolicyHead.objects.filter(tenant_id=tenant_id).values_list("active_number", flat=True).first()
    return policy_version(tenant_id, number) if number else None


def policy_version(tenant_id: UUID | str, number: int) -> PolicyRow | None:
    """Version `number` of the tenant's policy; None if there is none."""
    row = PolicyVersion.objects.filter(tenant_id=tenant_id, number=number).first()
    if row is None:
        return None
    return PolicyRow(
        number=row.number,
        source=row.source,
        digest=row.digest,
        published_by=row.published_by,
        published_at=row.published_at,
    )


def rules_of(tenant_id: UUID | str, number: int) -> Policy:
    """The parsed rules of a version; 0 is the state before the first one.

    Raises `Conflict` (POLICY_ALTERED) if the stored document is not the one that was published, or is not there.
    """
    if number == 0:
        return NOTHING_ALLOWED
    version = PolicyVersion.objects.filter(tenant_id=tenant_id, number=number).values_list("id", flat=True).first()
    if version is None:
        raise Conflict(
            f"Version {number} of the policy is not there, so nothing is allowed. Tell an operator.",
            code="POLICY_ALTERED",
        )
    return _rules(version)


@lru_cache(maxsize=256)
def _rules(version_id: UUID) -> Policy:
    row = PolicyVersion.objects.get(pk=version_id)
    if sha256_hex(canonical_bytes(row.document)) != row.digest:
        raise Conflict(
            f"Version {row.number} of the policy is not as it was published, so nothing is allowed by it. "
            "Publish it again and tell an operator.",
            code="POLICY_ALTERED",
        )
    return load_policy(row.document, number=row.number)
