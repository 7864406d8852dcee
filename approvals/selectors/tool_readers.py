"""Who may read the contracts of tools, and how a document is written out for them."""

import json

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


def document_text(document: object) -> str:
    """A document as people read and edit it."""
    return json.dumps(document, indent=2, ensure_ascii=False)
