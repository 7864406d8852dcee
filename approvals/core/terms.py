"""The terms that an ask stands under: who approves, how many rejections reject, and how it is decided (A3, A9).

A policy gives them for a rule, and a tier of it may override them. They are stored with the verdict, bound by the audit
entry of the round, and only ever grow stricter while a call waits (A5).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from audit.core.jsondoor import Json

type Authentication = Literal["session", "fresh", "signed"]
type QuestionClock = Literal["runs", "stops"]

AUTHENTICATIONS: tuple[Authentication, ...] = ("session", "fresh", "signed")
"""From the weakest to the strongest: any session; re-authenticated within five minutes; a passkey's signature."""
CLOCKS: tuple[QuestionClock, ...] = ("runs", "stops")
MAX_REJECTIONS = 20
REMIND_AT_PERCENT = 80


@dataclass(frozen=True, slots=True)
class Approver:
    """So many different people of one group must approve."""

    group: str
    count: int


def all_of(some: tuple[Approver, ...], others: tuple[Approver, ...]) -> tuple[Approver, ...]:
    """Everybody of both, of each group the larger number."""
    counts = {approver.group: approver.count for approver in some}
    for approver in others:
        counts[approver.group] = max(approver.count, counts.get(approver.group, 0))
    return tuple(Approver(group, count) for group, count in counts.items())


@dataclass(frozen=True, slots=True)
class Terms:
    """How a call that is held is decided.

    `rejections`: so many different people's rejections reject it. `reasons`: sentences offered to whoever rejects.
    `question_clock`: whether a question to the agent lets the time to decide run or stops it. `remind_at_percent` of
    the time, whoever is asked is reminded, and the groups `escalate_to` are told (told, not asked). `editable`: whether
    a reviewer may edit the call. `reason_to_approve`: whether approving needs a reason, as rejecting always does.
    """

    rejections: int = 1
    authentication: Authentication = "session"
    reasons: tuple[str, ...] = ()
    question_clock: QuestionClock = "runs"
    remind_at_percent: int = REMIND_AT_PERCENT
    escalate_to: tuple[str, ...] = ()
    editable: bool = True
    reason_to_approve: bool = False

    def as_dict(self) -> dict[str, Json]:
        """JSON for a stored verdict and the audit entry that binds it."""
        return {
            "rejections": self.rejections,
            "authentication": self.authentication,
            "reasons": list(self.reasons),
            "question_clock": self.question_clock,
            "remind_at_percent": self.remind_at_percent,
            "escalate_to": list(self.escalate_to),
            "editable": self.editable,
            "reason_to_approve": self.reason_to_approve,
        }


NO_TERMS = Terms()
"""The defaults: what a call stands under where nothing was said."""

_IN_POLICY = tuple(name for name in Terms.__dataclass_fields__ if name != "reason_to_approve")


def terms_from(stored: Mapping[str, Any] | None) -> Terms:
    """The terms that `Terms.as_dict` wrote. What was stored before there were terms, or before there was such a member,
    has the defaults. Raises TypeError or ValueError for anything else: a damaged row decides nothing."""
    if stored is None:
        return NO_TERMS
    if not isinstance(stored, Mapping):
        raise TypeError("terms are an object")
    if set(stored) - set(Terms.__dataclass_fields__):
        raise ValueError("terms with members that are not known")
    found = _with(NO_TERMS, stored)
    whole = (found.rejections, found.remind_at_percent)
    if any(type(value) is not int for value in whole) or not 1 <= found.rejections <= MAX_REJECTIONS:
        raise ValueError("terms with a number out of range")
    if found.authentication not in AUTHENTICATIONS or found.question_clock not in CLOCKS:
        raise ValueError("terms with a word that is not known")
    if not all(isinstance(value, bool) for value in (found.editable, found.reason_to_approve)):
        raise TypeError("terms with a member that is no boolean")
    if not all(isinstance(text, str) for text in (*found.reasons, *found.escalate_to)):
        raise TypeError("terms with a text that is none")
    return found


def policy_terms(written: Mapping[str, Any], *, under: Terms | None = None) -> Terms:
    """The terms of a rule, or of a tier `under` its rule's; `written` was checked by the document's schema."""
    return _with(under or NO_TERMS, {name: written[name] for name in _IN_POLICY if name in written})


def terms_hold(asked: Terms, today: Terms) -> bool:
    """True if votes given under `asked` still satisfy `today`: at least the authentication, a reason where one is
    needed, and no more rejections allowed. The other terms are about how people are told, and void no vote."""
    return (
        AUTHENTICATIONS.index(asked.authentication) >= AUTHENTICATIONS.index(today.authentication)
        and (asked.reason_to_approve or not today.reason_to_approve)
        and asked.rejections <= today.rejections
    )


def both_terms(asked: Terms, today: Terms) -> Terms:
    """The stricter of each (A5): both must hold in the next round. The words offered are those of today."""
    return Terms(
        rejections=min(asked.rejections, today.rejections),
        authentication=max(asked.authentication, today.authentication, key=AUTHENTICATIONS.index),
        reasons=today.reasons,
        question_clock="runs" if "runs" in (asked.question_clock, today.question_clock) else "stops",
        remind_at_percent=min(asked.remind_at_percent, today.remind_at_percent),
        escalate_to=tuple(dict.fromkeys((*asked.escalate_to, *today.escalate_to))),
        editable=asked.editable and today.editable,
        reason_to_approve=asked.reason_to_approve or today.reason_to_approve,
    )


def _with(terms: Terms, members: Mapping[str, Any]) -> Terms:
    lists = {name: tuple(members[name]) for name in ("reasons", "escalate_to") if name in members}
    return replace(terms, **cast(dict[str, Any], {**members, **lists}))
