"""What open lists of proposals lack. Any number of them, of one organisation, is answered by one reading.

What people see of a list follows from their roles and groups, from what they are involved in themselves, and from what
they narrowed it to (selectors/sharing.py). Everything is read and made once for each such kind of reader and handed to
all of it; only which rows a page has already is its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import batched
from uuid import UUID

from approvals.core.narrowing import Narrowing
from approvals.selectors.proposals import (
    LIVE_ROWS,
    InboxCounts,
    InboxPage,
    SummaryRow,
    inbox,
    inbox_counts,
    inbox_sums,
    rows_by_id,
)
from approvals.selectors.saved import SavedRow, saved_views_of
from approvals.selectors.sharing import in_whose_name
from approvals.selectors.watch import row_tokens
from approvals.web.narrow import Asked
from approvals.web.strips import Listing, Strip, strip_of, strip_version
from audit.core.actor import Actor
from audit.core.once import Once

type Kept = tuple[str, Narrowing]
"""A view and what it is narrowed to."""

COUNTS_AT_ONCE = 100
"""Kept views that one statement counts."""


@dataclass(frozen=True, slots=True)
class ListHas:
    """What a page's list shows: its view and narrowing, its rows with their versions, whether these are all there are,
    and what it was told beside rows (how many are new, the counts)."""

    asked: Asked
    rows: Mapping[UUID, int]
    whole: bool
    told: tuple[int, str] = (0, "")


type News = tuple[Listing, ListHas]
"""A list's rows that changed and how many are new, and what the page has with them."""


def inbox_changed(actor: Actor, has: ListHas) -> News | None:
    """What one list lacks, with what it has then. None: nothing."""
    [found] = inbox_news([(actor, has)])
    if isinstance(found, Exception):
        raise found
    return found


def inbox_news(asks: Sequence[tuple[Actor, ListHas]]) -> list[News | Exception | None]:
    """What each of these lists lacks; None where it lacks nothing. A list that cannot be read has its own error and
    costs no other one its answer. The number of queries grows with the kinds of readers, not with the lists."""
    reading = _Reading.of(asks)
    found: list[News | Exception | None] = []
    for actor, has in asks:
        try:
            found.append(reading.news(actor, has))
        except Exception as error:
            found.append(error)
    return found


@dataclass(slots=True)
class _Reading:
    """One reading. `names`: in whose name each actor's list is read; what is made for a name is made in it alone, so
    nothing that is shared can hold a word that only one of its readers may see."""

    names: Mapping[Actor, Actor]
    saved: Mapping[str, list[SavedRow]]
    kept: dict[Actor, dict[Kept, SavedRow]] = field(default_factory=dict)
    moved: dict[Actor, set[UUID]] = field(default_factory=dict)
    once: Once = field(default_factory=Once)

    @classmethod
    def of(cls, asks: Sequence[tuple[Actor, ListHas]]) -> "_Reading":
        actors = {actor for actor, _ in asks}
        people: dict[str, set[str]] = {}
        for actor in actors:
            if actor.kind == "person":
                people.setdefault(actor.tenant_id, set()).add(actor.id)
        saved: dict[str, list[SavedRow]] = {}
        for tenant_id, ids in people.items():
            saved |= saved_views_of(tenant_id, ids)
        reading = cls(names=in_whose_name(actors), saved=saved)
        for actor in actors:
            views = reading.kept.setdefault(reading.names[actor], {})
            views |= {(row.view, row.narrowing): row for row in saved.get(actor.id, ())}
        tokens = _versions(asks)
        for actor, has in asks:
            lacks = {row for row, version in has.rows.items() if tokens.get((actor.tenant_id, row), version) > version}
            reading.moved.setdefault(reading.names[actor], set()).update(lacks)
        return reading

    def news(self, actor: Actor, has: ListHas) -> News | None:
        name, view, narrowing = self.names[actor], has.asked.view, has.asked.narrowing
        once = self.once
        page = once((name, "page", view, narrowing), lambda: inbox(name, view=view, narrowing=narrowing, once=once))
        rows = self.once((name, "rows"), lambda: self._rows(name))
        changed = [
            strip
            for row_id, version in has.rows.items()
            if row_id in rows and (strip := self._strip(name, rows[row_id], has.asked)).version > version
        ]
        listing = Listing(
            asked=has.asked,
            now=page.now,
            strips=changed,
            counts_of=self._counts(actor),
            here=has.asked.address(),
            fresh=_fresh(page, has),
        )
        told = (listing.fresh, listing.counts)
        if not changed and told == has.told:
            return None
        sums = once(
            (name, "sums", view, narrowing), lambda: inbox_sums(name, view=view, narrowing=narrowing, once=once)
        )
        held = dict(has.rows) | {strip.id: strip.version for strip in changed}
        return replace(listing, sums=sums), replace(has, rows=held, told=told)

    def _rows(self, name: Actor) -> Mapping[UUID, SummaryRow]:
        moved = sorted(self.moved[name])
        return {row.id: row for ids in batched(moved, LIVE_ROWS) for row in rows_by_id(name, ids)}

    def _strip(self, name: Actor, row: SummaryRow, asked: Asked) -> Strip:
        return self.once((name, "strip", row.id, asked.view, asked.narrowing), lambda: strip_of(row, asked))

    def _counts(self, actor: Actor) -> InboxCounts:
        name = self.names[actor]
        counts, kept = self.once((name, "counts"), lambda: _counted(name, self.kept[name]))
        mine = self.saved.get(actor.id, ()) if actor.kind == "person" else ()
        return replace(
            counts, saved={row.id: kept[row.view, row.narrowing] for row in mine if (row.view, row.narrowing) in kept}
        )


def _versions(asks: Sequence[tuple[Actor, ListHas]]) -> Mapping[tuple[str, UUID], int]:
    """By tenant and id how far the rows are that any of these lists has."""
    asked: dict[str, set[UUID]] = {}
    for actor, has in asks:
        asked.setdefault(actor.tenant_id, set()).update(has.rows)
    return {
        (tenant_id, row): strip_version(*token)
        for tenant_id, rows in asked.items()
        for ids in batched(sorted(rows), LIVE_ROWS)
        for row, token in row_tokens(tenant_id, ids).items()
    }


def _counted(name: Actor, kept: Mapping[Kept, SavedRow]) -> tuple[InboxCounts, Mapping[Kept, int]]:
    counts = InboxCounts(mine=0, all=0)
    found: dict[Kept, int] = {}
    for rows in list(batched(kept.values(), COUNTS_AT_ONCE)) or [()]:
        counts = inbox_counts(name, rows)
        found |= {(row.view, row.narrowing): counts.saved[row.id] for row in rows if row.id in counts.saved}
    return counts, found


def _fresh(page: InboxPage, has: ListHas) -> int:
    """Rows of the first page that the list does not have. Where the list ends before the view does, a row behind its
    end is not new: it only moved up when another one left."""
    ids = [row.id for row in page.rows]
    if has.whole:
        return sum(row_id not in has.rows for row_id in ids)
    last = max((place for place, row_id in enumerate(ids) if row_id in has.rows), default=-1)
    return sum(row_id not in has.rows for row_id in ids[:last])
