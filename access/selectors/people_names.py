"""Names of people to choose from, for pages that act in their place."""

from uuid import UUID

from access.models import Membership


def people_names(tenant_id: UUID | str) -> list[tuple[str, str]]:
    """(user id, name) of every active member, by name."""
    rows = Membership.objects.filter(tenant_id=tenant_id, is_active=True, user__is_active=True)
    found = rows.order_by("user__name", "user_id").values_list("user_id", "user__name")
    return [(str(user_id), name) for user_id, name in found]
