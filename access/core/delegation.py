"""Delegations: what one may say, and how it reads (A9, S7). People are accounts, and a delegation names two of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from audit.core.refusal import Invalid
from audit.core.visible import visible

LONGEST = timedelta(days=92)
"""Whoever is away for longer is better taken out of the group."""
LONGEST_REASON = 300  # characters


@dataclass(frozen=True, slots=True)
class Giver:
    """Somebody in whose place another person may decide, with the rights of now: `groups` are those that the giver is
    in and that the delegation is for. `ends_at` None where it is asked of a time that has passed."""

    id: str
    name: str
    active: bool
    roles: frozenset[str]
    groups: frozenset[str]
    ends_at: datetime | None = None


def span_of(starts_at: datetime | None, ends_at: datetime | None, now: datetime) -> tuple[datetime, datetime]:
    """From when until when, never from before `now`: what was decided before somebody could is not made right later.

    Raises `Invalid`: DELEGATION_TIME for an end that is missing, over, before its start, or too far off.
    """
    if ends_at is None:
        raise Invalid("Say until when: a delegation ends by itself.", code="DELEGATION_TIME", missing=["ends_at"])
    start = max(starts_at or now, now)
    if ends_at <= start:
        raise Invalid("The delegation would end before it starts. Choose a later end.", code="DELEGATION_TIME")
    if ends_at - start > LONGEST:
        raise Invalid(
            f"A delegation lasts at most {LONGEST.days} days. Choose an earlier end; it can be given again.",
            code="DELEGATION_TIME",
        )
    return start, ends_at


def groups_of(asked: Iterable[str], held: frozenset[str]) -> list[str]:
    """The groups that a delegation is for; none named means all. Raises `Invalid` (GROUP_UNKNOWN) for one that the
    giver is not in: nobody gives what they do not have."""
    named = sorted(set(asked))
    missing = [group for group in named if group not in held]
    if missing:
        raise Invalid(
            f"Only groups that the giver is in can be given; {', '.join(missing)[:200]} is none of them.",
            code="GROUP_UNKNOWN",
            missing=missing,
        )
    if not held:
        raise Invalid("The giver is in no group, so there is nothing to decide for them.", code="GROUP_UNKNOWN")
    return named


def why_of(text: str) -> str:
    """The reason as it is kept. Raises `Invalid`: REASON_TOO_LONG, REASON_INVALID."""
    reason = " ".join(text.split())
    if len(reason) > LONGEST_REASON:
        raise Invalid(f"The reason has more than {LONGEST_REASON} characters. Shorten it.", code="REASON_TOO_LONG")
    if any(piece.kind == "escape" for piece in visible(reason)):
        raise Invalid("The reason holds characters that people cannot see. Type it again.", code="REASON_INVALID")
    return reason
