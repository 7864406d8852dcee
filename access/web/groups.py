"""Pages of groups, for admins."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from access.selectors.directory import group_detail, groups_of
from access.services.people import group_add, group_create, group_remove
from access.web.forms import field, mark_of, require_warned
from access.web.requests import PersonRequest, signed_in
from audit.core.refusal import Conflict, Invalid


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def groups(request: PersonRequest) -> HttpResponse:
    """Every group with what depends on it; a new one."""
    problem, status = "", 200
    slug, name = field(request, "slug"), field(request, "name")
    if request.method == "POST":
        try:
            row = group_create(actor=request.actor, slug=slug, name=name)
            messages.success(request, f"The group {row.name} is made. Put people into it.")
            return redirect("group", slug=row.slug)
        except (Invalid, Conflict) as refusal:
            problem, status = refusal.message, refusal.status
    context = {"place": "groups", "rows": groups_of(request.actor), "slug": slug, "name": name, "problem": problem}
    return render(request, "access/groups.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def group(request: PersonRequest, slug: str) -> HttpResponse:
    """One group: who is in it, who may join."""
    problem, status = "", 200
    if request.method == "POST":
        try:
            _change(request, slug)
            return redirect("group", slug=slug)
        except (Invalid, Conflict) as refusal:
            problem, status = refusal.message, refusal.status
    detail = group_detail(request.actor, slug)
    people = [
        (row, detail.if_left[row.membership_id], mark_of([detail.if_left[row.membership_id]])) for row in detail.people
    ]
    context = {"place": "groups", "detail": detail, "group": detail.summary, "people": people, "problem": problem}
    return render(request, "access/group.html", context, status=status)


def _change(request: PersonRequest, slug: str) -> None:
    detail = group_detail(request.actor, slug)
    verb, user_id = field(request, "verb"), field(request, "user")
    if verb == "add":
        group_add(actor=request.actor, group=slug, user_id=user_id)
        messages.success(request, f"Added to {detail.summary.name}.")
        return
    if verb != "remove":
        raise Invalid("This page knows no such change. Load it again.", code="VERB_UNKNOWN")
    member = next((row for row in detail.people if row.user_id == user_id), None)
    require_warned(request, [detail.if_left[member.membership_id]] if member else [])
    group_remove(actor=request.actor, group=slug, user_id=user_id)
    messages.success(request, f"{member.name if member else 'They'} left {detail.summary.name}.")
