"""Pages of runs: the list, one run with its calls, and cancel. The windows of its history: runs/web/timeline.py."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from access.web.requests import PersonRequest, signed_in
from audit.core.refusal import Invalid
from runs.selectors.asked import narrowed_of, number_of, query_of, text_of, wanted_of
from runs.selectors.listed import RunsListed, choices, runs_listed
from runs.selectors.pages import calls_listed, run_shown
from runs.services.run import run_cancel

_AGES = (
    ("1h", "in the last hour"),
    ("1d", "in the last day"),
    ("7d", "in the last 7 days"),
    ("over-1d", "more than a day ago"),
    ("over-7d", "more than 7 days ago"),
)


@require_safe
@signed_in
def runs(request: PersonRequest) -> HttpResponse:
    """The list of runs; for htmx its body, or only further rows behind a cursor."""
    wanted, cursor, problem = wanted_of(request.GET), text_of(request.GET, "after"), ""
    try:
        listing = runs_listed(request.actor, wanted, cursor=cursor)
    except Invalid as refusal:
        problem, cursor = refusal.message, ""
        listing = runs_listed(request.actor, wanted)
    part = "#rows" if cursor and request.htmx else "#body" if request.htmx else ""
    shown: dict[str, Any] = {"place": "runs", "listing": _Linked(listing, problem), "ages": _AGES}
    if not part:
        shown["choices"] = choices(request.actor)
    return render(request, f"runs/runs.html{part}", shown)


@require_safe
@signed_in
def run(request: PersonRequest, run_id: UUID) -> HttpResponse:
    """One run, with the newest events of its history or those around the one that `at` names."""
    narrowed = narrowed_of(request.GET)
    shown = run_shown(request.actor, run_id, narrowed=narrowed, at=number_of(request.GET, "at"))
    return render(request, "runs/run.html", {"place": "runs", "shown": shown})


@require_safe
@signed_in
def calls(request: PersonRequest, run_id: UUID) -> HttpResponse:
    """All calls of a run, a page of them."""
    listed = calls_listed(request.actor, run_id, after=text_of(request.GET, "after"))
    return render(request, "runs/calls.html", {"place": "runs", "listed": listed})


@require_POST
@signed_in
def cancel(request: PersonRequest, run_id: UUID) -> HttpResponse:
    """Cancel the run and show where it stands then."""
    done = run_cancel(actor=request.actor, run_id=run_id, reason=request.POST.get("reason", ""))
    messages.info(
        request,
        "The run had been cancelled before." if done.repeated else "Cancelled: nothing new starts in this run.",
    )
    return HttpResponseRedirect(reverse("run", args=[run_id]))


class _Linked:
    """A listing with the addresses of this request."""

    def __init__(self, listing: RunsListed, problem: str) -> None:
        self._listing = listing
        self.problem = problem
        self.query = query_of(listing.wanted)
        self.here = _address(self.query)
        self.more = _address(query_of(listing.wanted, after=listing.next)) if listing.next else ""
        self.empty = (
            ("Nothing is stuck", "Every run that passes the filter goes on by itself or has ended.")
            if listing.wanted.stuck
            else ("No run fits", "Search for something else, or take a filter away.")
            if listing.wanted
            else ("No runs yet", "A run appears here when an agent opens one.")
        )

    @property
    def tabs(self) -> list[tuple[Any, str]]:
        """(state, address) of every state that has runs, and of the chosen one."""
        wanted = self._listing.wanted
        return [
            (option, _address(query_of(wanted, state=option.value, stuck="")))
            for option in self._listing.states
            if option.count or option.value == wanted.state
        ]

    @property
    def every(self) -> str:
        """The address without a state."""
        return _address(query_of(self._listing.wanted, state="", stuck=""))

    def __getattr__(self, name: str) -> object:
        return getattr(self._listing, name)


def _address(query: str) -> str:
    return reverse("runs") + (f"?{query}" if query else "")
