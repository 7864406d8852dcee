"""Who acts. One frozen type that every service takes and every event and audit entry keeps."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

type ActorKind = Literal["person", "agent", "system"]
type ActorVia = Literal["session", "token", "system"]


NOBODY = "00000000-0000-0000-0000-000000000000"
"""The id that nobody has."""


@dataclass(frozen=True, slots=True)
class Actor:
    """One authenticated caller in one tenant.

    `id` is the user's, agent's or system part's id as text. `on_behalf_of` is the user id an agent acts for, or "".
    `via` says by which door it came: a person's browser session, an agent's token, or our own process.
    `chain` lists the agents between the person and this actor, outermost first (A7).
    `stands_in` are the people whose place they hold now, each with the groups it is for; for lists only: a decision
    reads rights anew.
    `step_due`: since or until when they owe their organisation a second step at the sign-in, None where they owe none;
    `owes_step`: that time has come, and until they have one they hold no role here.
    Holds no secret: `session_id` names a session, it does not open one.
    """

    kind: ActorKind
    id: str
    name: str
    tenant_id: str
    roles: frozenset[str]
    groups: frozenset[str]
    scopes: frozenset[str]
    on_behalf_of: str = ""
    session_id: str = ""
    via: ActorVia = "system"
    chain: tuple[str, ...] = ()
    stands_in: tuple[tuple[str, tuple[str, ...]], ...] = ()
    step_due: datetime | None = None
    owes_step: bool = False

    def has_role(self, *roles: str) -> bool:
        """True if the actor has at least one of `roles`."""
        return not self.roles.isdisjoint(roles)

    def nameless(self) -> "Actor":
        """Somebody of the same tenant with the same roles and groups who is no person in particular: in whose name to
        read what all of them see alike. An agent has no such one: what it sees is its own."""
        if self.kind != "person":
            return self
        return replace(self, id=NOBODY, name="", session_id="", step_due=None, owes_step=False)

    def as_record(self) -> dict[str, object]:
        """What events and audit entries keep of the actor (U1); JSON types only, nothing that grants anything."""
        return {
            "kind": self.kind,
            "id": self.id,
            "name": self.name,
            "on_behalf_of": self.on_behalf_of,
            "via": self.via,
            "session_id": self.session_id,
        }


def SYSTEM(name: str, tenant_id: str) -> Actor:
    """The actor of one of our own parts (`sweep`, `worker`, …) working in one tenant: no roles, groups or scopes."""
    return Actor(
        kind="system",
        id=f"system:{name}",
        name=name,
        tenant_id=tenant_id,
        roles=frozenset(),
        groups=frozenset(),
        scopes=frozenset(),
    )
