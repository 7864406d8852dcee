"""The question that access asks of whoever builds on it, without knowing them."""

import logging
from uuid import UUID

from django.dispatch import Signal

from access.core.needs import GroupNeed, merged

logger = logging.getLogger(__name__)

groups_needed = Signal()
"""Sent with `tenant_id` (UUID). A receiver answers with a dict of group slug to `GroupNeed`: what waits for the group
and what names it, for the warnings beside changes of people and groups."""


def needs_of(tenant_id: UUID) -> tuple[dict[str, GroupNeed], bool]:
    """(what depends on each group, whether everybody answered). A receiver that fails hides no page (S87)."""
    answers = groups_needed.send_robust(sender=None, tenant_id=tenant_id)
    failed = [answer for _, answer in answers if isinstance(answer, Exception)]
    for error in failed:
        logger.error("What depends on groups could not be read", exc_info=error)
    return merged(answer for _, answer in answers if isinstance(answer, dict)), not failed
