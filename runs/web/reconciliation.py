"""Pages of unknown outcomes: the list, one call with its choices, and the clicks (screens.md, Needs reconciliation)."""

from typing import cast
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from access.web.requests import PersonRequest, signed_in
from audit.core.jsondoor import Json, open_json_object
from audit.core.refusal import Invalid, NotFound, Refusal
from runs.selectors.unresolved_pages import list_shown, one_shown
from runs.services.reconciliation import Choice, reconciliation_ask, reconciliation_decide

FIELDS = ("choice", "reason", "reference", "tool", "arguments", "call_id")


@require_safe
@signed_in
def unresolved(request: PersonRequest) -> HttpResponse:
    """The list, oldest first."""
    cursor = request.GET.get("after", "").replace("\0", "")[:200]
    try:
        shown = list_shown(request.actor, after=cursor)
    except Invalid as refusal:
        shown = list_shown(request.actor, problem=refusal.message)
    return render(request, "runs/unresolved.html", {"place": "unresolved", "shown": shown})


@require_safe
@signed_in
def unresolved_one(request: PersonRequest, unresolved_id: UUID) -> HttpResponse:
    """One call. Reads rows only; the target is asked by whoever presses the button, through a worker."""
    return _page(request, unresolved_id)


@require_POST
@signed_in
def ask(request: PersonRequest, unresolved_id: UUID) -> HttpResponse:
    """Record the wish that the target is asked now."""
    try:
        done = reconciliation_ask(actor=request.actor, unresolved_id=unresolved_id)
    except NotFound:
        raise
    except Refusal as refusal:
        return _page(request, unresolved_id, refusal=refusal)
    messages.info(request, done.message)
    return HttpResponseRedirect(reverse("unresolved-one", args=[unresolved_id]))


@sensitive_post_parameters("reason", "arguments")
@require_POST
@signed_in
def decide(request: PersonRequest, unresolved_id: UUID) -> HttpResponse:
    """What the operator says. A refusal keeps what was typed in its fields."""
    typed = {name: request.POST.get(name, "") for name in FIELDS}
    try:
        done = reconciliation_decide(
            actor=request.actor,
            unresolved_id=unresolved_id,
            choice=cast(Choice, typed["choice"]),  # the service refuses other words
            attempt=_number(request.POST.get("attempt", "")),
            reason=typed["reason"],
            reference=typed["reference"],
            tool=typed["tool"].replace("\0", ""),
            arguments=_arguments(typed) if typed["choice"] == "compensate" else None,
            call_id=typed["call_id"].replace("\0", ""),
        )
    except NotFound:
        raise
    except Refusal as refusal:
        return _page(request, unresolved_id, typed=typed, refusal=refusal)
    messages.info(request, done.message)
    return HttpResponseRedirect(reverse("unresolved-one", args=[unresolved_id]))


def _page(
    request: PersonRequest,
    unresolved_id: UUID,
    *,
    typed: dict[str, str] | None = None,
    refusal: Refusal | None = None,
) -> HttpResponse:
    shown = one_shown(request.actor, unresolved_id)
    context = {"place": "unresolved", "shown": shown, "typed": typed or {}, "refusal": refusal}
    return render(request, "runs/unresolved_one.html", context, status=refusal.status if refusal else 200)


def _arguments(typed: dict[str, str]) -> Json:
    try:
        return open_json_object(typed["arguments"].encode("utf-8", "surrogatepass"))
    except Invalid as refusal:
        raise Invalid(
            f"The arguments are no JSON object: {refusal.message}", code=refusal.code, detail=refusal.detail
        ) from None


def _number(text: str) -> int:
    """The attempt that the page showed. Without it a stale page could decide about a request it never showed."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
