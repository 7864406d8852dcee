"""Whether it is proven that an old request had no effect, so that people may say so or send it again.

A look-up that finds nothing proves nothing before the request's deadline plus the target's settling time; asked at that
moment or later, its silence is the proof. A target that cannot be asked proves nothing ever: after the same moment
nothing of the old request can arrive any more, and people may decide by what they find out elsewhere.
What it does not cover stands in RISKS.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

type Standing = Literal["open", "nothing", "blind"]

RISKS = (
    "a whole machine that was frozen and goes on past the request's deadline, with the old request still in hand",
    "a wall clock that was set back meanwhile",
    "a target that took longer than it declared",
)
"""What can still make a second effect of a retry at a target that does not recognise our key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A look-up: when its question was sent, and whether it read everything and found nothing."""

    at: datetime
    nothing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Where the proof stands. *open*: not yet, see `because`. *nothing*: the target was asked in time and shows
    nothing. *blind*: it cannot be asked, and nothing of the old request can arrive any more."""

    standing: Standing
    conclusive_at: datetime
    because: str = ""

    @property
    def conclusive(self) -> bool:
        """Whether *it did not happen* and *send it again* may be said."""
        return self.standing != "open"


def proof_of(
    *,
    now: datetime,
    conclusive_at: datetime,
    can_be_asked: bool,
    asking: bool,
    nothing: Asked | None,
    last: Asked | None,
) -> Proof:
    """The proof at `now`. `asking`: a look-up is due or under way; `nothing` the newest look-up that found nothing,
    `last` the newest of all."""
    if nothing is not None and nothing.at >= conclusive_at:
        return Proof(standing="nothing", conclusive_at=conclusive_at)
    # A look-up that has ended without an answer will not be repeated by itself: the rows are damaged, or it fails here.
    if not can_be_asked or (not asking and last is not None and not last.nothing):
        if now >= conclusive_at:
            return Proof(standing="blind", conclusive_at=conclusive_at)
        return Proof(standing="open", conclusive_at=conclusive_at, because="time")
    return Proof(standing="open", conclusive_at=conclusive_at, because="time" if now < conclusive_at else "answer")


def clock_text(at: datetime) -> str:
    """A moment to the second, in UTC, for sentences; pages show the reader's own zone beside it."""
    return f"{at:%H:%M:%S} UTC"
