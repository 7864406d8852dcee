"""Who may read the contracts of tools."""

from audit.core.actor import Actor
from audit.core.refusal import Forbidden

READERS = ("operator", "auditor", "admin")
"""Roles that read contracts; admins write too."""


def require_reader(actor: Actor) -> None:
    """Raises Forbidden (ROLE_MISSING) for whoever is neither admin nor operator nor auditor."""
    if actor.kind != "person" or not actor.has_role(*READERS):
        raise Forbidden(
            "Contracts of tools are read by operators, auditors and admins. Ask an admin of this organisation.",
            code="ROLE_MISSING",
            missing=["operator"],
        )
