"""To whom the log is open."""

from audit.core.actor import Actor

READERS = ("auditor", "admin")


def may_read(actor: Actor) -> bool:
    """A person with the role auditor or admin in a session of their own; never an agent, whomever it acts for."""
    return actor.kind == "person" and actor.via == "session" and actor.has_role(*READERS)
