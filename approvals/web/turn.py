"""From one proposal to the next, in the order of the list that it was opened from."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from approvals.selectors.detail import Detail
from approvals.selectors.proposals import Near, near
from approvals.selectors.summary import UNREADABLE
from approvals.web.narrow import Asked
from approvals.web.strips import Listing, Strip
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


def turn_of(actor: Actor, asked: Asked, detail: Detail, listing: Listing | None = None) -> Turn:
    """The neighbours of a proposal; two queries, unless the list's first page, that stands beside it, shows both."""
    found = _shown_beside(listing, detail.id) if listing else None
    before, behind = found or near(actor, view=asked.view, narrowing=asked.narrowing, of=detail)
    previous, following = (
        Way(id=one.id, href=asked.address("proposal", one.id), sentence=one.sentence) if one else None
        for one in (before, behind)
    )
    return Turn(previous=previous, next=following, back=asked.address(), query=asked.query)


def _shown_beside(listing: Listing, proposal_id: UUID) -> tuple[Near | None, Near | None] | None:
    """The neighbours among the rows of a list's first page; None where one of them may stand outside of it."""
    ids = [strip.id for strip in listing.strips]
    if proposal_id not in ids:
        return None
    place = ids.index(proposal_id)
    if place == len(ids) - 1 and listing.more:
        return None
    before, behind = listing.strips[:place][-1:], listing.strips[place + 1 :][:1]
    return _near(before), _near(behind)


def _near(strips: Sequence[Strip]) -> Near | None:
    return Near(id=strips[0].id, sentence=UNREADABLE if strips[0].broken else strips[0].sentence) if strips else None
