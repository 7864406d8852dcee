"""The WebSockets of the live pages: /ws/inbox/, /ws/proposals/<id>/, /ws/runs/, /ws/runs/<id>/ (routing.py)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from functools import partial
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
from approvals.web.news import ListHas, News, inbox_news
from approvals.web.shown import ProposalShown, proposal_news
from audit.core.once import Once
from runs.live import hub
from runs.live.page import Push, Question, SharedPage
from runs.selectors.asked import narrowed_of, wanted_of_query
from runs.selectors.listed import RunsHas, RunsNews, runs_news
from runs.selectors.pages import run_changed
from runs.selectors.runs import RunFilter
from runs.selectors.stops import stops_banner_of_proposal
from runs.selectors.timeline import WHOLE, Narrowed

WISH_SECONDS = 30.0
"""How old a target's state may grow before an open page wishes to see it anew."""

_wished: dict[UUID, float] = {}
"""When this process wished it last for a proposal that somebody has open."""


class RunPage(SharedPage):
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

    def about(self) -> tuple[UUID]:
        return (self.run_id,)

    @classmethod
    def answers(cls, questions: Sequence[Question]) -> list[Push | Exception | None]:
        (run_id,), once = questions[0].about, Once()

        def told(question: Question) -> Push | None:
            # Before the hello too: an id that is not this person's closes at once.
            after, narrowed = question.has or (2**53, WHOLE)
            name, zone = replace(question.person.actor.nameless(), groups=frozenset()), question.person.zone
            shown = once((name, after, narrowed), lambda: run_changed(name, run_id, after=after, narrowed=narrowed))
            if shown is None:
                return None
            html = once(
                (name, after, narrowed, zone), lambda: _rendered("runs/run.html#news", zone, actor=name, shown=shown)
            )
            return Push(html, (shown.last, narrowed))

        return [_answer(told, question) for question in questions]


class ProposalPage(SharedPage):
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

    def about(self) -> tuple[UUID]:
        return (self.proposal_id,)

    @classmethod
    def answers(cls, questions: Sequence[Question]) -> list[Push | Exception | None]:
        (proposal_id,), once = questions[0].about, Once()

        def told(question: Question, shown: ProposalShown) -> Push:
            actor, zone = question.person.actor, question.person.zone
            if shown.deadline is not None:
                # What is pushed into a page that can still decide was shown to whoever decides on it (U1).
                proposal_show(
                    actor=actor,
                    proposal_id=proposal_id,
                    long_texts=shown.long_count,
                    readable=shown.content is not None,
                )
            name = replace(actor.nameless(), groups=frozenset())
            stopped = once(name, lambda: stops_banner_of_proposal(name, proposal_id))
            # One `shown` stands for all who stand to the proposal in one way, and for nobody else.
            html = once(
                (name, id(shown), zone),
                lambda: _rendered("approvals/proposal.html#news", zone, actor=name, shown=shown, stopped=stopped),
            )
            return Push(html, shown.state)

        found = proposal_news(proposal_id, [(question.person.actor, question.has) for question in questions])
        return _answers(told, questions, found)

    async def attend(self) -> None:
        """While somebody looks, the target's state is read anew every so often, once for all who do; opening the page
        wished it first."""
        person, at = self.person, monotonic()
        if person is None or at - _wished.setdefault(self.proposal_id, at) < WISH_SECONDS:
            return
        for proposal_id in [one for one, wished_at in _wished.items() if at - wished_at > 4 * WISH_SECONDS]:
            del _wished[proposal_id]
        _wished[self.proposal_id] = at
        await hub.read(partial(proposal_refresh_ask, actor=person.actor, proposal_id=self.proposal_id))


class InboxPage(SharedPage):
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

    async def answer(self, person: Person, has: ListHas | None) -> Push | None:
        return None if has is None else await super().answer(person, has)

    @classmethod
    def answers(cls, questions: Sequence[Question]) -> list[Push | Exception | None]:
        once = Once()

        def told(question: Question, news: News) -> Push:
            (listing, has), zone = news, question.person.zone
            # All that the fragment is made of: pages that are told the very same are one rendering.
            said = (zone, listing.now, tuple(listing.strips), listing.fresh, listing.counts, listing.sum_words)
            return Push(once(said, lambda: _rendered("approvals/list.html#news", zone, listing=listing)), has)

        found = inbox_news([(question.person.actor, question.has) for question in questions])
        return _answers(told, questions, found)


class RunsPage(SharedPage):
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

    async def answer(self, person: Person, has: RunsHas | None) -> Push | None:
        return None if has is None else await super().answer(person, has)

    @classmethod
    def answers(cls, questions: Sequence[Question]) -> list[Push | Exception | None]:
        once = Once()

        def told(question: Question, news: RunsNews) -> Push:
            (listing, has), zone = news, question.person.zone
            # All that the fragment is made of, as above; its links to all stuck runs keep the filter.
            rows = tuple((row.run, row.standing, row.meaning, row.detail, row.stuck) for row in listing.rows)
            said = (zone, listing.now, rows, listing.stuck_sig, listing.fresh, listing.counts, listing.stuck_query)
            return Push(once(said, lambda: _rendered("runs/runs.html#news", zone, listing=listing)), has)

        found = runs_news([(question.person.actor, question.has) for question in questions])
        return _answers(told, questions, found)


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


def _answers[T](
    told: Callable[[Question, T], Push], questions: Sequence[Question], found: Sequence[T | Exception | None]
) -> list[Push | Exception | None]:
    """The answers to what was found for each question."""

    def pushed(question: Question, news: T | Exception | None) -> Push | Exception | None:
        if news is None or isinstance(news, Exception):
            return news
        return _answer(lambda asked: told(asked, news), question)

    return [pushed(question, news) for question, news in zip(questions, found, strict=True)]


def _answer(told: Callable[[Question], Push | None], question: Question) -> Push | Exception | None:
    """A page that cannot be told costs no other one its answer."""
    try:
        return told(question)
    except Exception as error:
        return error


def _rendered(template: str, zone: tzinfo, **context: Any) -> str:
    """A fragment in the readers' zone. `strip`: the page tells a beat from news by the first characters."""
    with timezone.override(zone):
        return render_to_string(template, context).strip()
