"""The WebSockets of the live pages: /ws/inbox/, /ws/proposals/<id>/, /ws/runs/, /ws/runs/<id>/ (routing.py)."""

from collections.abc import Mapping
from datetime import datetime
from time import monotonic
from typing import Any
from uuid import UUID

from channels.generic.websocket import AsyncWebsocketConsumer
from django.template.loader import render_to_string
from django.utils import timezone

from access.web.sessions import Person
from approvals.selectors.proposals import LIVE_ROWS, VIEWS
from approvals.services.proposal import proposal_refresh_ask
from approvals.services.showing import proposal_show
from approvals.web.narrow import asked_for, asked_for_text
from approvals.web.shown import proposal_changed
from approvals.web.strips import ListHas, inbox_changed
from runs.live import hub
from runs.live.page import LivePage, Push
from runs.selectors.asked import narrowed_of, wanted_of_query
from runs.selectors.listed import RunsHas, runs_changed
from runs.selectors.pages import run_changed
from runs.selectors.runs import RunFilter
from runs.selectors.stops import stops_banner_of_proposal
from runs.selectors.timeline import WHOLE, Narrowed

WISH_SECONDS = 30.0
"""How old a target's state may grow before an open page wishes to see it anew."""


class RunPage(LivePage):
    """One run. The page has the events up to a sequence number and gets what follows, without a gap (S43)."""

    def keys(self) -> list[hub.Key]:
        return [("run", str(self.run_id))]

    @property
    def run_id(self) -> UUID:
        return self.scope["url_route"]["kwargs"]["run_id"]

    def read_hello(self, hello: Mapping[str, Any]) -> tuple[int, Narrowed]:
        after = hello["after"]
        if type(after) is not int or not 0 <= after < 2**53:
            raise ValueError("after is a sequence number")
        if not all(isinstance(hello.get(name, ""), str) for name in ("kind", "call")):
            raise TypeError("a filter is text")
        return after, narrowed_of(hello)

    def look(self, person: Person, has: tuple[int, Narrowed] | None) -> Push | None:
        # Before the hello too: an id that is not this person's closes at once.
        after, narrowed = has or (2**53, WHOLE)
        shown = run_changed(person.actor, self.run_id, after=after, narrowed=narrowed)
        if shown is None:
            return None
        return Push(_rendered("runs/run.html#news", person, shown=shown), (shown.last, narrowed))


class ProposalPage(LivePage):
    """One proposal. The page says which state it shows and gets the parts of another one."""

    async def connect(self) -> None:
        self.wished_at = monotonic()
        await super().connect()

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
        if shown.deadline is not None:
            # What is pushed into a page that can still decide was shown to whoever decides on it (U1).
            proposal_show(
                actor=person.actor,
                proposal_id=self.proposal_id,
                long_texts=shown.long_count,
                readable=shown.content is not None,
            )
        stopped = stops_banner_of_proposal(person.actor, self.proposal_id)
        return Push(_rendered("approvals/proposal.html#news", person, shown=shown, stopped=stopped), shown.state)

    def attend(self) -> None:
        """While somebody looks, the target's state is read anew every so often; opening the page wished it first."""
        at = monotonic()
        if self.person is not None and at - self.wished_at >= WISH_SECONDS:
            self.wished_at = at
            proposal_refresh_ask(actor=self.person.actor, proposal_id=self.proposal_id)


class InboxPage(LivePage):
    """The list of proposals: rows by id and version."""

    rest_seconds = 0.3

    def keys(self) -> list[hub.Key]:
        return [("inbox", self.tenant_id)]

    def read_hello(self, hello: Mapping[str, Any]) -> ListHas:
        view, q, rows = _list_hello(hello)
        if view not in VIEWS:
            raise ValueError("no such view")
        # The whole narrowing as the page's address has it; a page that only searches says what it searches for.
        query = hello.get("query")
        if query is not None and not (isinstance(query, str) and len(query) <= 2_000):
            raise ValueError("query is the list's part of an address")
        asked = asked_for({"view": view, "q": q}) if query is None else asked_for_text(query)
        return ListHas(asked, rows, whole=bool(hello.get("whole", True)))

    def look(self, person: Person, has: ListHas | None) -> Push | None:
        found = inbox_changed(person.actor, has) if has is not None else None
        if found is None:
            return None
        listing, now_has = found
        return Push(_rendered("approvals/list.html#news", person, listing=listing), now_has)


class RunsPage(LivePage):
    """The list of runs. A second between two pushes: a tenant's runs change all the time."""

    rest_seconds = 1.0

    def keys(self) -> list[hub.Key]:
        return [("run*", self.tenant_id)]

    def read_hello(self, hello: Mapping[str, Any]) -> RunsHas:
        state, q, rows = _list_hello(hello)
        since = datetime.fromisoformat(hello["since"])
        if since.tzinfo is None:
            raise ValueError("a time has a zone")
        query = hello.get("query")
        if query is not None and not (isinstance(query, str) and len(query) <= 2_000 and "\0" not in query):
            raise ValueError("query is the list's part of an address")
        wanted = RunFilter(state=state, q=q) if query is None else wanted_of_query(query)
        return RunsHas(wanted, rows, since)

    def look(self, person: Person, has: RunsHas | None) -> Push | None:
        found = runs_changed(person.actor, has) if has is not None else None
        if found is None:
            return None
        listing, now_has = found
        return Push(_rendered("runs/runs.html#news", person, listing=listing), now_has)


def _list_hello(hello: Mapping[str, Any]) -> tuple[str, str, dict[UUID, int]]:
    """View, search and rows with their versions. Raises ValueError, TypeError or KeyError."""
    view, q, rows = hello["view"], hello["q"], hello["rows"]
    if not (isinstance(view, str) and isinstance(q, str) and isinstance(rows, dict)):
        raise TypeError("a list says its view, its search and its rows")
    if len(rows) > LIVE_ROWS or len(view) > 40 or len(q) > 200 or "\0" in view + q:
        raise ValueError("too much for one list")
    if any(type(version) is not int for version in rows.values()):
        raise TypeError("versions are whole numbers")
    return view, q, {UUID(row): version for row, version in rows.items()}


class Nowhere(AsyncWebsocketConsumer):
    """Any other address: refused at the handshake. The router itself would raise, and fill the log for a scanner."""

    channel_layer_alias = "none is needed"

    async def connect(self) -> None:
        await self.close()


def _rendered(template: str, person: Person, **context: Any) -> str:
    """A fragment in the reader's zone. `strip`: the page tells a beat from news by the first characters."""
    with timezone.override(person.zone):
        return render_to_string(template, {"actor": person.actor, **context}).strip()
