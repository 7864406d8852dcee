"""The WebSockets of the live pages: /ws/inbox/, /ws/proposals/<id>/, /ws/runs/, /ws/runs/<id>/ (routing.py)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from approvals.web.shown import inbox_changed, proposal_changed
from django.template.loader import render_to_string
from django.utils import timezone

from access.web.sessions import Person
from runs.live import hub
from runs.live.page import LivePage, Push
from runs.selectors.pages import run_changed, runs_changed

ROWS_LIMIT = 1000
"""Rows of a list that one page follows; further ones are read again when the page is."""


class RunPage(LivePage):
    """One run. The page has the events up to a sequence number and gets what follows, without a gap (S43)."""

    def keys(self) -> list[hub.Key]:
        return [("run", str(self.run_id))]

    @property
    def run_id(self) -> UUID:
        return self.scope["url_route"]["kwargs"]["run_id"]

    def read_hello(self, hello: Mapping[str, Any]) -> int:
        after = hello["after"]
        if type(after) is not int or not 0 <= after < 2**53:
            raise ValueError("after is a sequence number")
        return after

    def look(self, person: Person, has: int | None) -> Push | None:
        # Before the hello too: an id that is not this person's closes at once.
        shown = run_changed(person.actor, self.run_id, after=2**53 if has is None else has)
        if shown is None:
            return None
        return Push(_rendered("runs/run.html#news", person, shown=shown), shown.last)


class ProposalPage(LivePage):
    """One proposal. The page says which state it shows and gets the parts of another one."""

    def keys(self) -> list[hub.Key]:
        return [("proposal", str(self.proposal_id))]

    @property
    def proposal_id(self) -> UUID:
        return self.scope["url_route"]["kwargs"]["proposal_id"]

    def read_hello(self, hello: Mapping[str, Any]) -> str:
        seen = hello["seen"]
        if not isinstance(seen, str) or len(seen) > 200:
            raise ValueError("seen is the state of the page's head")
        return seen

    def look(self, person: Person, has: str | None) -> Push | None:
        shown = proposal_changed(person.actor, self.proposal_id, seen=has)
        if shown is None:
            return None
        return Push(_rendered("approvals/proposal.html#news", person, shown=shown), shown.state)


@dataclass(frozen=True, slots=True)
class ListHas:
    """What a list shows: its view, its rows with their versions, since when, and what it was told beside rows."""

    view: str
    q: str
    since: datetime
    rows: Mapping[UUID, int]
    told: tuple[int, str] = (0, "")


class ListPage(LivePage):
    """What both lists share: rows by id and version."""

    rest_seconds = 0.3

    def read_hello(self, hello: Mapping[str, Any]) -> ListHas:
        view, q, since, rows = hello["view"], hello["q"], datetime.fromisoformat(hello["since"]), hello["rows"]
        if not (isinstance(view, str) and isinstance(q, str) and isinstance(rows, dict) and since.tzinfo):
            raise ValueError("a list says its view, its search, its time and its rows")
        if len(rows) > ROWS_LIMIT or len(view) > 40 or len(q) > 200 or "\0" in view + q:
            raise ValueError("too much for one list")
        if any(type(version) is not int for version in rows.values()):
            raise ValueError("versions are whole numbers")
        return ListHas(view, q, since, {UUID(row): version for row, version in rows.items()})


class InboxPage(ListPage):
    """The list of proposals."""

    def keys(self) -> list[hub.Key]:
        return [("proposal*", self.tenant_id)]

    def look(self, person: Person, has: ListHas | None) -> Push | None:
        if has is None:
            return None
        found = inbox_changed(person.actor, view=has.view, q=has.q, has=has.rows, since=has.since, told=has.told)
        if found is None:
            return None
        listing, rows, told = found
        html = _rendered("approvals/list.html#news", person, listing=listing)
        return Push(html, ListHas(has.view, has.q, has.since, rows, told))


class RunsPage(ListPage):
    """The list of runs. A second between two pushes: a tenant's runs change all the time."""

    rest_seconds = 1.0

    def keys(self) -> list[hub.Key]:
        return [("run*", self.tenant_id)]

    def look(self, person: Person, has: ListHas | None) -> Push | None:
        if has is None:
            return None
        found = runs_changed(person.actor, state=has.view, q=has.q, has=has.rows, since=has.since, told=has.told)
        if found is None:
            return None
        listing, rows, told = found
        html = _rendered("runs/runs.html#news", person, listing=listing)
        return Push(html, ListHas(has.view, has.q, has.since, rows, told))


def _rendered(template: str, person: Person, **context: Any) -> str:
    """A fragment in the reader's zone. `strip`: the page tells a beat from news by the first characters."""
    with timezone.override(person.zone):
        return render_to_string(template, {"actor": person.actor, **context}).strip()
