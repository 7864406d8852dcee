"""The list of proposals as the page and its live pushes show it: one strip a proposal, made from a summary row."""

import json
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from approvals.core.money import exponent
from approvals.core.narrowing import WITHIN, Narrowing
from approvals.selectors.handling import ClaimShown
from approvals.selectors.narrowing import NEWEST_DECIDED, Choices, Sums, choices_of
from approvals.selectors.proposals import (
    VIEWS,
    InboxCounts,
    InboxPage,
    SummaryRow,
    inbox,
    inbox_counts,
    inbox_sums,
)
from approvals.selectors.saved import SavedRow, saved_views
from approvals.web.narrow import Asked, Chip, chips
from audit.core.actor import Actor
from audit.core.once import Once
from audit.core.refusal import Invalid
from audit.core.visible import as_line
from audit.selectors.counted import COUNTED, count_words

_EMPTY = {
    "mine": ("Nothing waits for you", "A proposal appears here as soon as one needs your decision."),
    "all": ("Nothing waits", "No agent is waiting for people."),
    "decided": ("Nothing was decided yet", "Approved, rejected and expired proposals are kept here."),
}
_NO_REVIEWER = ("You are not asked to decide", "Reviewers decide. What waits for them stands under All.")
_NOT_FOUND = ("Nothing fits", "Search for something else, or look in another view.")
_NOT_NARROWED = ("Nothing fits these filters", "Take one away above, or look in another view.")
_NONE_DECIDED = f" Of what was decided, the newest {NEWEST_DECIDED:,} are looked through."
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
    # What changed since it was asked before, for one that is asked anew.
    anew: str
    agent: str
    progress: str
    same_as: str
    claim: ClaimShown | None
    revision: int
    # What choosing several needs of it; `tool` is "" where this reader does not decide it.
    tool: str
    minor: int | None
    currency: str
    digits: int
    hidden_characters: bool
    stuck: bool
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
    """One view with its count (None: not counted). `saved` is the id of a view that the reader keeps, or None."""

    key: str
    word: str
    href: str
    current: bool
    count: int | None
    saved: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The list of one view. `more` is the address of the next rows or "", `here` the list's own; `fresh` counts rows
    that the reader does not have; `problem` is a sentence instead of silence. `choices` is None where the filters are
    not offered (beside a proposal)."""

    asked: Asked
    now: datetime
    strips: list[Strip]
    counts_of: InboxCounts
    here: str
    more: str = ""
    fresh: int = 0
    problem: str = ""
    decides: bool = True
    tabs: list[Tab] = field(default_factory=list)
    kept: list[Tab] = field(default_factory=list)
    chips: list[Chip] = field(default_factory=list)
    sums: Sums | None = None
    choices: Choices | None = None

    @property
    def view(self) -> str:
        """Its view."""
        return self.asked.view

    @property
    def kept_here(self) -> Tab | None:
        """The kept view that this list is, if it is one."""
        return next((tab for tab in self.kept if tab.current), None)

    @property
    def all_here(self) -> str:
        """The address of the view without any filter."""
        return Asked(view=self.view, narrowing=Narrowing()).address()

    @property
    def empty(self) -> tuple[str, str]:
        """Heading and sentence for a list without rows."""
        if self.asked.narrowing:
            heading, words = _NOT_NARROWED if self.asked.filters else _NOT_FOUND
            return heading, words + (_NONE_DECIDED if self.view == "decided" else "")
        if self.view == "mine" and not self.decides:
            return _NO_REVIEWER
        return _EMPTY[self.view]

    @property
    def within(self) -> list[tuple[str, str]]:
        """What "expires within" offers: (minutes, words)."""
        return list(WITHIN.items())

    @property
    def sum_words(self) -> str:
        """What the rows come to, in words; "" where there is nothing to sum up."""
        if self.sums is None or not self.sums.amounts:
            return ""
        rows = f"The first {self.sums.rows:,}" if self.sums.more else f"{self.sums.rows:,}"
        noun = "proposals come" if self.sums.rows > 1 else "proposal comes"
        bare = f"; {self.sums.bare:,} of them without an amount" if self.sums.bare else ""
        return f"{rows} {noun} to {' and '.join(self.sums.amounts)}{bare}."

    @property
    def counts(self) -> str:
        """The tabs' numbers as JSON, for the live page."""
        counts = {"mine": self.counts_of.mine, "all": self.counts_of.all}
        counts |= {f"kept-{id_}": count for id_, count in self.counts_of.saved.items()}
        return json.dumps({key: n if n <= COUNTED else count_words(n) for key, n in counts.items()})


def listed(
    actor: Actor, asked: Asked, *, cursor: str = "", current: UUID | None = None, filters: bool = False
) -> Listing:
    """One page of the list. What of the address is not understood gives the first page with a sentence. `filters`: with
    what they offer, and the sums."""
    problem, once = " ".join(asked.problems), Once()
    try:
        page = inbox(actor, view=asked.view, narrowing=asked.narrowing, cursor=cursor, once=once)
    except Invalid as refusal:
        problem = refusal.message
        page = inbox(actor, view=asked.view, narrowing=asked.narrowing, once=once)
    listing = _listing(actor, page, asked)
    strips = [replace(strip, current=strip.id == current) for strip in listing.strips]
    choices = choices_of(actor) if filters else None
    sums = inbox_sums(actor, view=asked.view, narrowing=asked.narrowing, once=once) if filters else None
    return replace(listing, strips=strips, problem=problem, choices=choices, sums=sums, chips=chips(asked, choices))


def _listing(actor: Actor, page: InboxPage, asked: Asked) -> Listing:
    saved = saved_views(actor)
    counts = inbox_counts(actor, saved)
    numbers = {"mine": counts.mine, "all": counts.all}
    return Listing(
        asked=asked,
        now=page.now,
        strips=[strip_of(row, asked) for row in page.rows],
        counts_of=counts,
        decides=actor.has_role("reviewer"),
        here=asked.address(),
        more=asked.address(after=page.next) if page.next else "",
        tabs=[
            Tab(
                key=view,
                word=_WORDS[view],
                href=Asked(view=view, narrowing=Narrowing()).address(),
                current=view == page.view,
                count=numbers.get(view),
            )
            for view in VIEWS
        ],
        kept=[_kept(row, counts, asked) for row in saved],
    )


def _kept(row: SavedRow, counts: InboxCounts, asked: Asked) -> Tab:
    mine = Asked(view=row.view, narrowing=row.narrowing)
    return Tab(
        key=f"kept-{row.id}",
        word=row.name,
        href=mine.address(),
        current=(asked.view, asked.narrowing) == (mine.view, mine.narrowing),
        count=counts.saved.get(row.id),
        saved=row.id,
    )


def strip_of(row: SummaryRow, asked: Asked) -> Strip:
    """The strip of a row in the list that was asked for."""
    waiting = row.status == "pending"
    tone, word = _state(row)
    belongs = {"mine": waiting and row.may_decide, "all": waiting, "decided": not waiting}
    return Strip(
        id=row.id,
        version=strip_version(row.version, row.status),
        href=asked.address("proposal", row.id),
        sentence=row.sentence,
        plain=as_line(row.sentence),
        amount=row.amount,
        why=f"rule {row.rule_id}" if row.rule_id else "",
        anew=_anew(row.anew),
        agent=row.agent_name,
        progress=row.progress,
        same_as=row.same_as,
        claim=row.claim if waiting else None,
        revision=row.revision,
        tool=row.tool if waiting and row.may_decide and row.readable else "",
        minor=row.amount_minor,
        currency=row.currency,
        digits=exponent(row.currency) or 0,
        hidden_characters=row.hidden_characters,
        stuck=row.stuck and waiting,
        deadline=row.expires_at if waiting and row.readable else None,
        at=row.outcome_at or row.settled_at,
        tone=tone,
        word=word,
        over=not waiting and row.outcome != "unknown",
        broken=not row.readable,
        within=belongs[asked.view],
    )


def _anew(because: str) -> str:
    """`Asked anew: policy 9 asks 2 of finance, 8 asked 1 of finance (rule refund)`."""
    said = because.removesuffix(", so it is asked anew.").rstrip(".")
    return f"Asked anew: {said[:1].lower()}{said[1:]}" if said else ""


def strip_version(version: int, standing: str) -> int:
    """The version of a strip. A deadline that passes changes the row's standing and no column: that is half a
    version."""
    return 2 * version + (standing != "pending")


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
    elif row.decided_by and row.status == "withdrawn":
        word = f"taken back by {row.decided_by}"
    return tone, word
