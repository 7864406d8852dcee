"""One proposal as its page and its live pushes show it (screens.md, Proposal). Built from the selector's detail.

Every part that can change carries a signature of what it says. `state` is the signature of all of them: a page says
which one it shows and is pushed another one, whether a row changed, a right, or only the time (S17, S89).
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from access.selectors.actors import deciders_facts
from access.selectors.delegations import givers_by_holder
from approvals.core.present import CompareRow, Row
from approvals.selectors.deciders import capacities_of, capacities_with
from approvals.selectors.detail import Content, Detail, Whole, detail_for, stance_in, whole_of
from approvals.selectors.past import Past, past_in
from approvals.selectors.proposals import proposal_row
from approvals.web.story import Step, closed_words, state_words, steps
from audit.core.actor import Actor
from audit.core.once import Once
from audit.core.visible import Piece

LONG_TEXT = 1_500
LONG_LINES = 20
"""A text longer than this stands in a box of its own and must be opened to its end before Approve opens (S13)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A banner: a sentence and its tone. `href` leads to what it speaks of."""

    tone: str
    text: str
    href: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentShown:
    """One argument. `long` is "" or says how long it is."""

    row: Row
    name: str
    unit: str
    long: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareShown:
    """One row of before → after. `before` is there when the record changed since the call was asked."""

    row: CompareRow
    before: tuple[Piece, ...]
    moved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalShown:
    """Everything the templates lay out; `detail` carries the plain facts."""

    detail: Detail
    content: Content | None
    state: str
    title: str
    tone: str
    word: str
    deadline: datetime | None
    since: datetime | None
    notices: list[Notice]
    steps: list[Step]
    arguments: list[ArgumentShown]
    long_count: int
    compare: list[CompareShown]
    moved: bool
    closed: str
    closed_at: datetime | None
    closed_rest: str
    # The call is closed and nothing ran: what stands under it would have changed, and does not.
    never: bool = False
    # What went before it; None where its bytes cannot be read, or nobody asked.
    past: Past | None = None
    over: "ProposalShown | None" = None
    sig: Mapping[str, str] = field(default_factory=dict)


def proposal_shown(actor: Actor, proposal_id: UUID) -> ProposalShown:
    """The page's content for this actor. Raises NotFound, also for a foreign id."""
    whole = whole_of(proposal_row(actor, proposal_id))
    detail = detail_for(whole, stance_in(whole, actor, capacities_of(actor, whole.proposal)))
    past = _past(whole)
    shown = _shown(detail, past)
    if shown.deadline is None:
        return shown
    # What the page turns into at the moment the time is up; the server's own word follows.
    return replace(shown, over=_shown(_overdue(detail), past))


def _past(whole: Whole) -> Past | None:
    return past_in(whole.proposal) if whole.detail.content else None


def proposal_news(
    proposal_id: UUID, asks: Sequence[tuple[Actor, str | None]]
) -> list[ProposalShown | Exception | None]:
    """For each of these readers the page's content unless it is in the state that they have seen; a state of None asks
    only whether they may see it. One who may not has NotFound.

    It is read once for all whose roles are the same and made once for all who stand to it in the same way: how
    somebody stands to it is all of it that is theirs. The rights are those of this moment, in one query for all.
    """
    once = Once()
    found: list[ProposalShown | Exception | None] = []
    people = {actor.id for actor, _ in asks if actor.kind == "person"}

    def shown_to(actor: Actor) -> ProposalShown:
        name = replace(actor.nameless(), groups=frozenset())
        whole: Whole = once(name, lambda: whole_of(proposal_row(name, proposal_id)))
        rights = once(actor.tenant_id, lambda: deciders_facts(tenant_id=actor.tenant_id, user_ids=people))
        facts = rights.get(actor.id) if actor.kind == "person" else None
        places = once(("places", actor.tenant_id), lambda: givers_by_holder(actor.tenant_id, people))
        capacities = capacities_with(facts, places.get(actor.id, []), actor, whole.proposal)
        stance = stance_in(whole, actor, capacities)
        past = once(("past", actor.tenant_id), lambda: _past(whole))
        return once((name, stance), lambda: _shown(detail_for(whole, stance), past))

    for actor, seen in asks:
        try:
            shown = shown_to(actor)
        except Exception as error:
            found.append(error)
        else:
            found.append(None if seen is None or seen == shown.state else shown)
    return found


def _shown(detail: Detail, past: Past | None) -> ProposalShown:
    content = detail.content
    tone, word, short = state_words(detail)
    waiting = detail.status == "pending" and not detail.tampered
    arguments = [_argument(row) for row in content.call.rows] if content else []
    compare, moved = _compared(content) if content else ([], False)
    closed, closed_at, closed_rest = closed_words(detail)
    shown = ProposalShown(
        detail=detail,
        content=content,
        state="",
        title=f"{_cut(_line(content))} · {short} · Clearance",
        tone=tone,
        word=word,
        deadline=detail.expires_at if waiting else None,
        since=None if waiting else detail.afterwards.at or detail.decided_at or detail.expires_at,
        notices=_notices(detail),
        steps=steps(detail),
        arguments=arguments,
        long_count=sum(bool(argument.long) for argument in arguments),
        compare=compare,
        moved=moved,
        closed=closed,
        closed_at=closed_at,
        closed_rest=closed_rest,
        never=detail.status not in ("pending", "granted") or detail.afterwards.outcome in ("refused", "failed"),
        past=past,
    )
    sig = _signatures(shown)
    return replace(shown, sig=sig, state=_signature(sig))


def _overdue(detail: Detail) -> Detail:
    people = replace(
        detail.people, may_decide=False, reason="There is nothing left to decide.", nobody=False, keyless=""
    )
    return replace(detail, status="expired", now=detail.expires_at, people=people)


def _line(content: Content | None) -> str:
    """The sentence as one line of ordinary characters, for the title."""
    if content is None:
        return "Proposal"
    return "".join(f"[{p.text}]" if p.kind in ("escape", "unresolved") else p.text for p in content.sentence)


def _cut(text: str, length: int = 80) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def _argument(row: Row) -> ArgumentShown:
    text = "".join(piece.raw for piece in row.shown)
    lines = text.count("\n") + 1
    long = len(text) > LONG_TEXT or lines > LONG_LINES
    is_money = row.type == "whole number" and row.shown and row.shown[0].text != row.raw
    return ArgumentShown(
        row=row,
        name=row.label or row.path,
        unit="minor units" if is_money else row.type,
        long=f"{len(text):,} characters in {lines:,} line{'s' if lines > 1 else ''}" if long else "",
    )


def _compared(content: Content) -> tuple[list[CompareShown], bool]:
    effect = content.effect
    # Newest first: what was seen after the decision, what this round was judged on, what it was when it was asked.
    newest = effect.seen_rows or effect.rows
    older = effect.rows if effect.seen_rows else effect.asked_rows
    known = {row.label: row for row in older}
    shown = []
    for row in newest:
        before = known.get(row.label)
        moved = before is not None and _raw(before.now) != _raw(row.now)
        shown.append(CompareShown(row=row, before=before.now if before else (), moved=moved))
    return shown, bool(older)


def _raw(pieces: tuple[Piece, ...]) -> str:
    return "".join(piece.raw for piece in pieces)


def _notices(detail: Detail) -> list[Notice]:
    notices = []
    if detail.tampered:
        notices.append(Notice(tone="bad", text=detail.tampered))
    if detail.content is not None:
        held, effect = detail.content.held, detail.content.effect
        if held.opened_because and detail.status == "pending":
            again = f"{held.opened_because.rstrip('.')}. Asked anew, round {detail.round}: earlier votes are void."
            notices.append(Notice(tone="unsure", text=again))
        if effect.changed and held.opened_code != "STATE_CHANGED":
            notices.append(Notice(tone="unsure", text="The record changed since it was asked; the table shows both."))
    if detail.restored_at is not None and detail.status == "pending":
        told = (
            f"A backup was restored on {detail.restored_at:%d %b %Y at %H:%M} UTC, after this was asked. "
            "Where the target can be asked whether it happened meanwhile, it is. Look at its state before you decide."
        )
        notices.append(Notice(tone="unsure", text=told))
    if detail.same is not None:
        notices.append(Notice(tone="wait", text=detail.same.words, href=detail.same.id))
    if detail.people.nobody:
        notices.append(
            Notice(
                tone="bad",
                text=detail.people.keyless
                or "Too few people can decide this now: somebody left a group, was deactivated, or has voted. Admins "
                "are told; until somebody joins, it only expires.",
            )
        )
    return notices


def _signatures(shown: ProposalShown) -> dict[str, str]:
    detail = shown.detail
    people = detail.people
    said: dict[str, object] = {
        "head": (shown.word, shown.deadline, shown.since, detail.status, detail.run_title),
        # "5 seconds ago" is no news three seconds later.
        "notices": [notice for notice in shown.notices if notice.href is None or "second" not in notice.text],
        "outcome": shown.steps,
        "effect": (shown.never, shown.compare, shown.moved, detail.content and detail.content.effect.read_at),
        "past": shown.past,
        "talk": (detail.handling.line, detail.handling.questions, shown.deadline is None),
        "people": (detail.round, people.words, people.votes, people.reason, people.may_decide, people.missing),
        "act": (
            people.may_decide,
            detail.may_revoke,
            detail.round,
            people.approve_does,
            people.reject_does,
            people.places,
            people.reason,
            shown.closed,
            shown.closed_at,
            shown.closed_rest,
            detail.handling,
        ),
    }
    return {part: _signature(value) for part, value in said.items()}


def _signature(value: object) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "backslashreplace")).hexdigest()[:16]
