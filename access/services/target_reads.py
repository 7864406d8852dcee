"""How often one person may have a tool's target asked from a page."""

from access.core.rights import require_admin
from access.core.throttle import TARGET_READ, wait_words
from access.store import throttle
from audit.core.actor import Actor
from audit.core.refusal import TooMany


def target_read_take(*, actor: Actor) -> None:
    """Count one question to a target. In the caller's transaction, so that it counts only with its audit entry.

    An admin's right: whoever writes contracts can have any target read by them; nobody else gets that here. Raises
    Forbidden, TooMany (TARGET_READ_THROTTLED).
    """
    require_admin(actor)
    taken = throttle.take(TARGET_READ, f"{actor.tenant_id}:{actor.id}")
    if taken.wait:
        raise TooMany(
            f"You have had targets read several times just now. Wait {wait_words(taken.wait)}, or give the state "
            "yourself.",
            code="TARGET_READ_THROTTLED",
            retry_after=taken.wait,
        )
