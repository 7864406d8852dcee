"""The Guards page: what is stopped, by whom, since when and why; setting and lifting it. And other pages' banner."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from access.web.requests import PersonRequest, signed_in
from audit.core.refusal import Invalid, Refusal
from runs.selectors.stops import banner_for, stops_listed
from runs.services.stop import StopSet, stop_lift, stop_set


@require_safe
@signed_in
def guards(request: PersonRequest) -> HttpResponse:
    """The page."""
    return _page(request)


@require_safe
@signed_in
def banner(request: PersonRequest) -> HttpResponse:
    """The banner of one page, which asks for it every few seconds; empty where nothing that concerns it is stopped.
    204 where the page shows it already (`seen`): a screen reader is told what is new, not every five seconds."""
    named = {name: _id(request.GET.get(name, "")) for name in ("run_id", "proposal_id")}
    found = banner_for(request.actor, **named)
    if request.GET.get("seen", "") == (found.sig if found else ""):
        return HttpResponse(status=204)
    return render(request, "runs/stopped.html", {"stopped": found, "named": named})


@require_POST
@signed_in
def stop(request: PersonRequest) -> HttpResponse:
    """Set a stop. All dispatch of the organisation is asked for once more before it is stopped."""
    kind, subject = request.POST.get("kind", ""), request.POST.get("subject", "")
    typed = {"kind": kind, "subject": subject, "reason": request.POST.get("reason", "")}
    if kind == "tenant" and request.POST.get("confirm") != "yes":
        return _page(request, typed=typed, confirm=True)
    try:
        done = stop_set(actor=request.actor, kind=kind, subject=subject.replace("\0", ""), reason=typed["reason"])
    except Invalid as refusal:
        return _page(request, typed=typed, refusal=refusal)
    _say(request, done, "stopped", done.stop.set_by_name)
    return HttpResponseRedirect(reverse("guards"))


@require_POST
@signed_in
def lift(request: PersonRequest, stop_id: UUID) -> HttpResponse:
    """Lift a stop."""
    reason = request.POST.get("reason", "")
    try:
        done = stop_lift(actor=request.actor, stop_id=stop_id, reason=reason)
    except Invalid as refusal:
        return _page(request, typed={"lift": str(stop_id), "reason": reason}, refusal=refusal)
    _say(request, done, "lifted", done.stop.lifted_by_name)
    return HttpResponseRedirect(reverse("guards"))


def _page(
    request: PersonRequest,
    *,
    typed: dict[str, str] | None = None,
    refusal: Refusal | None = None,
    confirm: bool = False,
) -> HttpResponse:
    context = {
        "place": "guards",
        "listing": stops_listed(request.actor),
        "typed": typed or {},
        "problem": refusal.message if refusal else "",
        "confirm": confirm,
    }
    return render(request, "runs/guards.html", context, status=refusal.status if refusal else 200)


def _say(request: HttpRequest, done: StopSet, word: str, by: str) -> None:
    if done.repeated:
        messages.info(request, f"{done.stop.what}: {by} had {word} this before; nothing was changed.")
    elif word == "lifted":
        messages.success(request, f"{done.stop.what}: lifted. What it held back goes on now.")
    else:
        messages.success(request, f"{done.stop.what} is stopped: nothing more of it is started.")
    if not done.settled:
        messages.warning(
            request,
            "A worker was frozen in the middle of a start. The database ends it within seconds; until then it may "
            "still begin that one call.",
        )


def _id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
