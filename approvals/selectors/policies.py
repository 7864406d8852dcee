"""Which policy is in force, and what it says. A version never changes; an edited row decides nothing (S84)."""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from django.db import connection

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
    reason: str = ""
    asked_by: str = ""
    taken_from: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadRow:
    """Which version is in force (0 before the first) and whether a second admin is needed to publish. `end_by` is who
    wants that rule to end, "" for nobody; another admin ends it."""

    active_number: int = 0
    second_admin: bool = False
    end_by: str = ""
    end_by_id: str = ""


NOTHING_ALLOWED = Policy(number=0, rules=(), digest="", canonical=b'{"rules":[],"version":1}')
"""What holds before anything was published: no rule matches, so every call is refused (S63)."""


def policy_in_force(tenant_id: UUID | str) -> PolicyRow | None:
    """The active version; None if none was ever published."""
    number = PolicyHead.objects.filter(tenant_id=tenant_id).values_list("active_number", flat=True).first()
    return policy_version(tenant_id, number) if number else None


def policy_head(tenant_id: UUID | str) -> HeadRow:
    """The tenant's head; where nothing was published yet, the one that then holds."""
    row = PolicyHead.objects.filter(tenant_id=tenant_id).first()
    if row is None:
        return HeadRow()
    return HeadRow(
        active_number=row.active_number,
        second_admin=row.second_admin,
        end_by=row.second_admin_end_by,
        end_by_id=row.second_admin_end_by_id,
    )


def policy_versions(tenant_id: UUID | str, *, before: int = 0, limit: int = 50) -> list[PolicyRow]:
    """The versions of a tenant, newest first; those below `before` where that is given."""
    rows = PolicyVersion.objects.filter(tenant_id=tenant_id).order_by("-number")
    return [_row(row) for row in (rows.filter(number__lt=before) if before else rows)[:limit]]


def policy_version(tenant_id: UUID | str, number: int) -> PolicyRow | None:
    """Version `number` of the tenant's policy; None if there is none."""
    row = PolicyVersion.objects.filter(tenant_id=tenant_id, number=number).first()
    return None if row is None else _row(row)


def _row(row: PolicyVersion) -> PolicyRow:
    return PolicyRow(
        number=row.number,
        source=row.source,
        digest=row.digest,
        published_by=row.published_by,
        published_at=row.published_at,
        reason=row.reason,
        asked_by=row.asked_by,
        taken_from=row.taken_from,
    )


def rules_of(tenant_id: UUID | str, number: int) -> Policy:
    """The parsed rules of a version; 0 is the state before the first one.

    Raises `Conflict` (POLICY_ALTERED) if the stored document is not the one that was published, or is not there.
    """
    if number == 0:
        return NOTHING_ALLOWED
    version = PolicyVersion.objects.filter(tenant_id=tenant_id, number=number).values_list("id", flat=True).first()
    return rules_of_version(number, version)


def rules_of_version(number: int, version: UUID | None) -> Policy:
    """The same where the id of the version's row was read already; None: there is no such row."""
    if number == 0:
        return NOTHING_ALLOWED
    if version is None:
        raise Conflict(
            f"Version {number} of the policy is not there, so nothing is allowed. Tell an operator.",
            code="POLICY_ALTERED",
        )
    return _rules(version)


def rules_in_force(tenant_id: UUID | str) -> Policy:
    """The parsed rules of the active version, for pages; whoever acts on a verdict holds the version (`call_judge`).
    Raises like `rules_of`."""
    # By hand: a worker asks it before it sends.
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT v.id FROM approvals_policyhead h JOIN approvals_policyversion v "
            "ON v.tenant_id = h.tenant_id AND v.number = h.active_number WHERE h.tenant_id = %s",
            [str(tenant_id)],
        )
        row = cursor.fetchone()
    return NOTHING_ALLOWED if row is None else _rules(row[0])


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
