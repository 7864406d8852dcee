"""From one proposal to the next, in the order of the list that it was opened from."""

from dataclasses import dataclass
from uuid import UUID

from approvals.selectors.detail import Detail
from approvals.selectors.proposals import near
from approvals.web.narrow import Asked
from audit.core.actor import Actor


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A link to a neighbour: its address and its sentence."""

    id: UUID
    href: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Where one goes from a proposal. `onward` is what is offered after the decision: the next one, or what is left
    before it. `back` is the list, `query` what the links carry."""

    previous: Way | None
    next: Way | None
    back: str
    query: str

    @property
    def onward(self) -> Way | None:
        """What is offered after a decision."""
        return self.next or self.previous


def turn_of(actor: Actor, asked: Asked, detail: Detail) -> Turn:
    """The neighbours of a proposal; two queries."""
    before, behind = near(actor, view=asked.view, narrowing=asked.narrowing, of=detail)
    previous, following = (
        Way(id=one.id, href=asked.address("proposal", one.id), sentence=one.sentence) if one else None
        for one in (before, behind)
    )
    return Turn(previous=previous, next=following, back=asked.address(), query=asked.query)
