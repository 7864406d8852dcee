"""Pages of delegations: one's own under the account, everybody's for admins."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from access.selectors.delegations import (
    delegates_for,
    delegations_all,
    delegations_mine,
    givers_possible,
    groups_held,
)
from access.services.delegation import delegation_give, delegation_revoke
from access.web.forms import field
from access.web.requests import PersonRequest, signed_in
from audit.core.refusal import Conflict, Invalid, NotFound


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def mine(request: PersonRequest) -> HttpResponse:
    """What one has given and holds; giving one's place away for a time."""
    problem, status, answer = _posted(request, "account-delegations")
    if answer is not None:
        return answer
    context = {
        "place": "account",
        "part": "delegations",
        "rows": delegations_mine(request.actor),
        "people": delegates_for(request.actor, request.actor.id),
        "groups": groups_held(request.actor, request.actor.id),
        "typed": _typed(request),
        "problem": problem,
    }
    return render(request, "account/delegations.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def everybodys(request: PersonRequest) -> HttpResponse:
    """The organisation's delegations, for admins."""
    rows = delegations_all(request.actor)
    problem, status, answer = _posted(request, "delegations")
    if answer is not None:
        return answer
    givers, groups = givers_possible(request.actor)
    context = {
        "place": "delegations",
        "rows": rows,
        "givers": givers,
        "people": delegates_for(request.actor, ""),
        "groups": groups,
        "typed": _typed(request),
        "problem": problem,
    }
    return render(request, "access/delegations.html", context, status=status)


def _posted(request: PersonRequest, back: str) -> tuple[str, int, HttpResponse | None]:
    """(problem, status, where to go): a form that was refused is shown again with what was typed."""
    if request.method != "POST":
        return "", 200, None
    try:
        messages.success(request, _change(request))
    except (Invalid, Conflict) as refusal:
        return refusal.message, refusal.status, None
    return "", 200, redirect(back)


def _change(request: PersonRequest) -> str:
    verb = field(request, "verb")
    if verb == "revoke":
        delegation_revoke(actor=request.actor, delegation_id=_id(field(request, "delegation")))
        return "The delegation has ended."
    if verb != "give":
        raise Invalid("This page knows no such change. Load it again.", code="VERB_UNKNOWN")
    delegation_give(
        actor=request.actor,
        from_user_id=field(request, "from"),
        to_user_id=str(_id(field(request, "to"))),
        starts_at=_moment(request, "starts_at"),
        ends_at=_moment(request, "ends_at"),
        groups=request.POST.getlist("groups")[:50],
        reason=field(request, "reason"),
    )
    return "The delegation is given. It ends by itself."


def _moment(request: PersonRequest, name: str) -> datetime | None:
    """A time that was typed, in the reader's zone; None where nothing was."""
    text = field(request, name, 40)
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise Invalid(
            "A time is written like 2026-12-03T09:00. Choose it again.", code="DELEGATION_TIME", missing=[name]
        ) from None
    return found if found.tzinfo is not None else found.replace(tzinfo=request.zone)


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise NotFound from None


def _typed(request: PersonRequest) -> dict[str, Any]:
    names = ("from", "to", "starts_at", "ends_at", "reason")
    return {name: field(request, name) for name in names} | {"groups": request.POST.getlist("groups")}
