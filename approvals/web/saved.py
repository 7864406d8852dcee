"""Keeping a narrowed view of the list under a name, renaming and forgetting it."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from access.web.requests import PersonRequest, signed_in
from approvals.services.saved_view import saved_view_delete, saved_view_rename, saved_view_save
from approvals.web.narrow import Asked, asked_for_text
from approvals.web.strips import listed
from audit.core.refusal import Conflict, Forbidden, Invalid, Refusal


@require_POST
@signed_in
def view_save(request: PersonRequest) -> HttpResponse:
    """Keep the list that the form stands in."""
    asked = asked_for_text(request.POST.get("list", ""))
    name = request.POST.get("name", "")
    try:
        saved_view_save(actor=request.actor, name=name, view=asked.view, narrowing=asked.narrowing)
    except (Conflict, Forbidden, Invalid) as refusal:
        return _again(request, asked, refusal, name)
    messages.success(request, "Saved. The view stands above the list from now on, with its count.")
    return redirect(asked.address())


@require_POST
@signed_in
def view_change(request: PersonRequest, view_id: UUID) -> HttpResponse:
    """Rename or forget a view of one's own; `verb` says which. A foreign one is not found (S62)."""
    asked = asked_for_text(request.POST.get("list", ""))
    if request.POST.get("verb") == "delete":
        saved_view_delete(actor=request.actor, view_id=view_id)
        messages.success(request, "The view is forgotten; its filters stay set until you clear them.")
        return redirect(asked.address())
    name = request.POST.get("name", "")
    try:
        saved_view_rename(actor=request.actor, view_id=view_id, name=name)
    except (Conflict, Forbidden, Invalid) as refusal:
        return _again(request, asked, refusal, name)
    messages.success(request, "The view has its new name.")
    return redirect(asked.address())


def _again(request: PersonRequest, asked: Asked, refusal: Refusal, name: str) -> HttpResponse:
    """The list once more, with why and with the name that was typed."""
    listing = listed(request.actor, asked, filters=True)
    context = {"place": "inbox", "listing": listing, "refusal": refusal, "typed_name": name[:200]}
    return render(request, "approvals/inbox.html", context, status=refusal.status)
