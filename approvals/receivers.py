"""What approvals answers when another app asks. Connected when the app is ready."""

from typing import Any
from uuid import UUID

from django.dispatch import receiver

from access.core.needs import GroupNeed
from access.signals import groups_needed
from approvals.selectors.needs import groups_needed_here


@receiver(groups_needed, dispatch_uid="approvals")
def tell_needs(tenant_id: UUID, **_: Any) -> dict[str, GroupNeed]:
    """Proposals that wait for groups of the tenant, and rules that ask them."""
    return groups_needed_here(tenant_id)
