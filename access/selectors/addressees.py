"""Whom mail reaches: active people of an organisation, with their addresses and zones."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from access.models import Delegation, Membership
from audit.store import clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Addressee:
    """Somebody who can be written to. `time_zone` is an IANA name, or "" where they chose none."""

    user_id: str
    name: str
    email: str
    time_zone: str


def people_with_role(tenant_id: str | UUID, role: str) -> list[tuple[str, str]]:
    """(user id, name) of the active people who hold a role, by name."""
    places = Membership.objects.filter(
        tenant_id=tenant_id, is_active=True, user__is_active=True, roles__contains=[role]
    ).order_by("user__name", "user_id")
    return [(str(user_id), name) for user_id, name in places.values_list("user_id", "user__name")]


def addressee(user_id: str | UUID, tenant_id: str | UUID) -> Addressee | None:
    """Where to write to somebody; None for whoever is not active in the organisation any more."""
    place = (
        Membership.objects.filter(tenant_id=tenant_id, user_id=user_id, is_active=True, user__is_active=True)
        .select_related("user")
        .first()
    )
    if place is None:
        return None
    user = place.user
    return Addressee(user_id=str(user.pk), name=user.name, email=user.email, time_zone=user.time_zone)


def holders_for(tenant_id: str | UUID, giver_ids: Collection[str]) -> list[str]:
    """Ids of the people who decide in the place of one of these now."""
    found = Delegation.objects.filter(
        tenant_id=tenant_id,
        from_user_id__in=list(giver_ids),
        revoked_at=None,
        starts_at__lte=clock.ClearanceNow(),
        ends_at__gt=clock.ClearanceNow(),
    )
    return [str(user_id) for user_id in found.values_list("to_user_id", flat=True).distinct()]
