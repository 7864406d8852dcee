"""Who may use the services that give and take rights."""

from audit.core.actor import Actor
from audit.core.refusal import Forbidden


def require_admin(actor: Actor) -> None:
    """A person with the role admin, in a session of their own, or our own process at a command line; else `Forbidden`.

    An agent never gives rights, whomever it acts for (S85: an agent that shared the store enrolled itself).
    """
    if actor.kind == "system" or (actor.kind == "person" and actor.via == "session" and actor.has_role("admin")):
        return
    raise Forbidden(
        "Only an admin may do this. Ask an admin of this organisation.", code="ROLE_MISSING", missing=["admin"]
    )


def is_admin(actor: Actor) -> bool:
    """`require_admin` as an answer."""
    try:
        require_admin(actor)
    except Forbidden:
        return False
    return True
