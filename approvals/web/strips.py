"""The list of proposals as the page and its live pushes show it: one strip a proposal, made from a summary row."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse

from approvals.selectors.proposals import VIEWS, InboxCounts, InboxPage, SummaryRow, inbox, inbox_counts, rows_by_id
from audit.core.actor import Actor
from audit.core.refusal import Invalid
from audit.core.visible import as_line

_EMPTY = {
    "mine": ("Nothing waits for you", "A proposal appears here as soon as one needs your decision."),
    "all": ("Nothing waits", "No agent is waiting for people."),
    "decided": ("Nothing was decided yet", "Approved, rejected and expired proposals are kept here."),
}
_NO_REVIEWER = ("You are not asked to decide", "Reviewers decide. What waits for them stands under All.")
_NOT_FOUND = ("Nothing fits", "Search for something else, or look in another view.")
_WORDS = {"mine": "Mine", "all": "All", "decided": "Decided"}

# (tone, word) of a proposal that left the queue, by its standing and what became of the call.
_STANDING = {
    "rejected": ("bad", "rejected"),
    "expired": ("bad", "expired, refused"),
    "withdrawn": ("still", "taken back by the agent"),
    "cancelled": ("still", "cancelled, never ran"),
    "superseded": ("still", "replaced by an edited revision"),
    "refused": ("bad", "refused when judged again"),
}
_OUTCOME = {
    "": ("work", "approved"),
    "started": ("work", "approved, under way"),
    "succeeded": ("good", "approved, succeeded"),
    "failed": ("bad", "approved, failed"),
    "compensated": ("still", "approved, made up for by another call"),
    "unknown": ("unsure", "approved, outcome unknown"),
    "refused": ("bad", "approved, refused when checked again"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One row. `deadline` is there while it can be decided, `at` when it left the queue. `within` says whether it still
    belongs to the view, None where nobody asks; `word` is its state, `plain` its sentence for being said aloud."""

    id: UUID
    version: int
    href: str
    sentence: str
    plain: str
    amount: str
    why: str
    agent: str
    progress: str
    same_as: str
    hidden_characters: bool
    deadline: datetime | None
    at: datetime | None
    tone: str
    word: str
    over: bool
    broken: bool
    current: bool = False
    within: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    """One view with its count (None: not counted)."""

    key: str
    word: str
    href: str
    current: bool
    count: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The list of one view. `more` is the address of the next rows or "", `here` the list's own; `fresh` counts rows
    that the reader does not have; `problem` is a sentence instead of silence."""

    view: str
    q: str
    now: datetime
    strips: list[Strip]
    counts_of: InboxCounts
    here: str
    more: str = ""
    fresh: int = 0
    problem: str = ""
    decides: bool = True
    tabs: list[Tab] = field(default_factory=list)

    @property
    def empty(self) -> tuple[str, str]:
        """Heading and sentence for a list without rows."""
        if self.view == "mine" and not self.decides:
            return _NO_REVIEWER
        return _NOT_FOUND if self.q else _EMPTY[self.view]

    @property
    def counts(self) -> str:
        """The tabs' numbers as JSON, for the live page."""
        return json.dumps({"mine": self.counts_of.mine, "all": self.counts_of.all})


@dataclass(frozen=True, slots=True)
class ListHas:
    """What a page's list shows: its view and search, its rows with their versions, whether these are all there are, and
    what it was told beside rows (how many are new, the counts)."""

    view: str
    q: str
    rows: Mapping[UUID, int]
    whole: bool
    told: tuple[int, str] = (0, "")


def listed(actor: Actor, *, view: str, q: str, cursor: str = "", current: UUID | None = None) -> Listing:
    """One page of the list. An unknown view or a cursor that is not ours gives the first page with a sentence."""
    problem = ""
    view = view if view in VIEWS else "mine"
    try:
        page = inbox(actor, view=view, search=q, cursor=cursor)
    except Invalid as refusal:
        problem = refusal.message
        page = inbox(actor, view=view, search=q)
    listing = _listing(actor, page, q)
    strips = [replace(strip, current=strip.id == current) for strip in listing.strips]
    return replace(listing, strips=strips, problem=problem)


def inbox_changed(actor: Actor, has: ListHas) -> tuple[Listing, ListHas] | None:
    """What a list lacks: its rows that changed, and how many rows are new; with what it has then. None: nothing."""
    page = inbox(actor, view=has.view, search=has.q)
    changed = [
        strip
        for row in rows_by_id(actor, list(has.rows))
        if (strip := _strip(row, has.view)).version > has.rows[strip.id]
    ]
    fresh = _fresh(page, has)
    listing = replace(_listing(actor, page, has.q), strips=changed, fresh=fresh)
    told = (fresh, listing.counts)
    if not changed and told == has.told:
        return None
    rows = dict(has.rows) | {strip.id: strip.version for strip in changed}
    return listing, replace(has, rows=rows, told=told)


def _fresh(page: InboxPage, has: ListHas) -> int:
    """Rows of the first page that the list does not have. Where the list ends before the view does, a row behind its
    end is not new: it only moved up when another one left."""
    ids = [row.id for row in page.rows]
    if has.whole:
        return sum(row_id not in has.rows for row_id in ids)
    last = max((place for place, row_id in enumerate(ids) if row_id in has.rows), default=-1)
    return sum(row_id not in has.rows for row_id in ids[:last])


def _listing(actor: Actor, page: InboxPage, q: str) -> Listing:
    counts = inbox_counts(actor)
    numbers = {"mine": counts.mine, "all": counts.all}
    return Listing(
        view=page.view,
        q=q,
        now=page.now,
        strips=[_strip(row, page.view) for row in page.rows],
        counts_of=counts,
        decides=actor.has_role("reviewer"),
        here=_address(page.view, q),
        more=_address(page.view, q, page.next) if page.next else "",
        tabs=[
            Tab(
                key=view, word=_WORDS[view], href=_address(view, ""), current=view == page.view, count=numbers.get(view)
            )
            for view in VIEWS
        ],
    )


def _address(view: str, q: str, cursor: str = "") -> str:
    chosen = {"view": view if view != "mine" else "", "q": q, "after": cursor}
    query = urlencode({name: value for name, value in chosen.items() if value})
    return reverse("inbox") + (f"?{query}" if query else "")


def _strip(row: SummaryRow, view: str) -> Strip:
    waiting = row.status == "pending"
    tone, word = _state(row)
    belongs = {"mine": waiting and row.may_decide, "all": waiting, "decided": not waiting}
    href = reverse("proposal", args=[row.id])
    return Strip(
        id=row.id,
        # A deadline that passes changes the row's standing and no column: it counts as half a version.
        version=2 * row.version + (not waiting),
        href=href if view == "mine" else f"{href}?view={view}",
        sentence=row.sentence,
        plain=as_line(row.sentence),
        amount=row.amount,
        why=f"rule {row.rule_id}" if row.rule_id else "",
        agent=row.agent_name,
        progress=row.progress,
        same_as=row.same_as,
        hidden_characters=row.hidden_characters,
        deadline=row.expires_at if waiting and row.readable else None,
        at=row.outcome_at or row.settled_at,
        tone=tone,
        word=word,
        over=not waiting and row.outcome != "unknown",
        broken=not row.readable,
        within=belongs[view],
    )


def _state(row: SummaryRow) -> tuple[str, str]:
    if not row.readable:
        return "bad", "cannot be trusted"
    if row.status == "pending":
        return "wait", f"waiting for {row.needs}"
    if row.status not in ("pending", "granted") and row.outcome == "succeeded":
        return "good", "had happened already"
    tone, word = (
        _OUTCOME.get(row.outcome, ("still", row.outcome))
        if row.status == "granted"
        else _STANDING.get(row.status, ("still", row.status))
    )
    if row.decided_by and row.status in ("granted", "rejected"):
        verb, comma, rest = word.partition(",")
        word = f"{verb} by {as_line(row.decided_by)}{comma}{rest}"
    return tone, word
