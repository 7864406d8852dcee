"""Pages of runs: the list, one run with its timeline, and cancel."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST, require_safe

from access.web.requests import PersonRequest, signed_in
from audit.core.refusal import Invalid
from runs.selectors.pages import RunsListed, run_shown, runs_listed
from runs.services.run import run_cancel


@require_safe
@signed_in
def runs(request: PersonRequest) -> HttpResponse:
    """The list of runs; for htmx its body, or only further rows behind a cursor."""
    state, q, cursor = (_text(request, name) for name in ("state", "q", "after"))
    problem = ""
    try:
        listing = runs_listed(request.actor, state=state, q=q, cursor=cursor)
    except Invalid as refusal:
        problem, cursor = refusal.message, ""
        listing = runs_listed(request.actor, state=state, q=q)
    part = "#rows" if cursor and request.htmx else "#body" if request.htmx else ""
    return render(request, f"runs/runs.html{part}", {"place": "runs", "listing": _Linked(listing, problem)})


@require_safe
@signed_in
def run(request: PersonRequest, run_id: UUID) -> HttpResponse:
    """One run; for htmx the events before a sequence number."""
    before = _text(request, "before")
    number = int(before) if before.isascii() and before.isdigit() and len(before) < 16 else None
    shown = run_shown(request.actor, run_id, before=number)
    part = "#older" if number is not None and request.htmx else ""
    return render(request, f"runs/run.html{part}", {"place": "runs", "shown": shown})


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
        self.here = _address(listing, "")
        self.more = _address(listing, listing.next) if listing.next else ""
        filtered = listing.q or listing.state
        self.empty = (
            ("No run fits", "Search for something else, or show every state.")
            if filtered
            else ("No runs yet", "A run appears here when an agent opens one.")
        )

    def __getattr__(self, name: str) -> object:
        return getattr(self._listing, name)


def _address(listing: RunsListed, cursor: str) -> str:
    chosen = {"state": listing.state, "q": listing.q, "after": cursor}
    return reverse("runs") + "?" + urlencode({name: value for name, value in chosen.items() if value})


def _text(request: HttpRequest, name: str) -> str:
    """A query parameter; PostgreSQL takes no NUL, and nothing here holds one."""
    return request.GET.get(name, "").replace("\0", "")[:200]
