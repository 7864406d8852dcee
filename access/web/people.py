"""Pages of people, for admins."""

from collections.abc import Collection
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from access.core.names import ROLES
from access.core.rights import require_admin
from access.core.words import link_address
from access.selectors.directory import group_choices, people_page, person_detail
from access.selectors.providers import identity_of
from access.services.mail import invitation_send
from access.services.people import (
    MemberRow,
    group_add,
    group_remove,
    invitation_renew,
    member_add,
    member_change,
)
from access.services.provider import identity_end
from access.web.forms import field, mark_of, page_of, require_warned
from access.web.requests import PersonRequest, signed_in
from audit.core.refusal import Conflict, Invalid

ROLE_WORDS = {
    "reviewer": "decides proposals of the groups they are in",
    "operator": "watches and steers runs, settles unknown outcomes",
    "admin": "edits tools, policies, people and agents",
    "auditor": "reads, searches and exports the log; changes nothing",
}


@require_safe
@signed_in
def people(request: PersonRequest) -> HttpResponse:
    """Everybody, found by name or address."""
    q, number = str(request.GET.get("q", ""))[:200], page_of(request)
    rows, more = people_page(request.actor, q=q, page=number)
    return render(
        request, "access/people.html", {"place": "people", "rows": rows, "q": q, "page": number, "more": more}
    )


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def person_add(request: PersonRequest) -> HttpResponse:
    """Give somebody a place; who has no account yet gets a link, shown this once and sent by mail where mail is set
    up."""
    require_admin(request.actor)
    email, name = field(request, "email"), field(request, "name")
    roles, groups = request.POST.getlist("roles"), request.POST.getlist("groups")
    problem, status = "", 200
    if request.method == "POST":
        try:
            row = member_add(actor=request.actor, email=email, name=name, roles=roles, groups=groups, invite=True)
            return _invited(request, row)
        except (Invalid, Conflict) as refusal:
            problem, status = refusal.message, refusal.status
    context = {
        "place": "people",
        "email": email,
        "name": name,
        "problem": problem,
        "role_choices": _roles(roles),
        "groups": [(slug, words, slug in groups) for slug, words in group_choices(request.actor)],
    }
    return render(request, "access/person_add.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def person(request: PersonRequest, membership_id: UUID) -> HttpResponse:
    """One member, and the verbs."""
    problem, status = "", 200
    if request.method == "POST":
        try:
            answer = _change(request, membership_id)
            return answer or redirect("person", membership_id=membership_id)
        except (Invalid, Conflict) as refusal:
            problem, status = refusal.message, refusal.status
    detail = person_detail(request.actor, membership_id)
    context = {
        "place": "people",
        "detail": detail,
        "row": detail.row,
        "problem": problem,
        "role_choices": _roles(detail.row.roles),
        "warned": mark_of(detail.if_off),
        "left": [
            (slug, name, detail.if_left.get(slug, ""), mark_of([detail.if_left.get(slug, "")]))
            for slug, name in detail.row.groups
        ],
        "identity": identity_of(detail.row.user_id, request.actor.tenant_id),
        "oneself": detail.row.user_id == request.actor.id,
    }
    return render(request, "access/person.html", context, status=status)


def _change(request: PersonRequest, membership_id: UUID) -> HttpResponse | None:
    actor, verb = request.actor, field(request, "verb")
    detail = person_detail(actor, membership_id)
    row = detail.row
    if verb == "roles":
        wanted = request.POST.getlist("roles")
        if "reviewer" in row.roles and "reviewer" not in wanted:
            require_warned(request, detail.if_off)
        member_change(actor=actor, membership_id=membership_id, roles=wanted)
        messages.success(request, f"The roles of {row.name} are changed, in force from now on.")
    elif verb == "off":
        require_warned(request, detail.if_off)
        member_change(actor=actor, membership_id=membership_id, active=False)
        messages.success(request, f"{row.name} is deactivated. Their sessions here have ended.")
    elif verb == "on":
        member_change(actor=actor, membership_id=membership_id, active=True)
        messages.success(request, f"{row.name} is active again, with the roles and groups they had.")
    elif verb == "join":
        group_add(actor=actor, group=field(request, "group"), user_id=row.user_id)
        messages.success(request, f"{row.name} is in {field(request, 'group')} now.")
    elif verb == "leave":
        group = field(request, "group")
        require_warned(request, [detail.if_left.get(group, "")])
        group_remove(actor=actor, group=group, user_id=row.user_id)
        messages.success(request, f"{row.name} is no longer in {group}.")
    elif verb == "unlink":
        ended = identity_end(actor=actor, membership_id=membership_id)
        messages.success(request, f"{row.name} is {'unlinked now' if ended else 'linked to nobody'}.")
    elif verb == "invite":
        return _invited(request, invitation_renew(actor=actor, membership_id=membership_id))
    else:
        raise Invalid("This page knows no such change. Load it again.", code="VERB_UNKNOWN")
    if request.actor.id == row.user_id and verb in ("roles", "off"):
        # What the admin has just taken from themselves is gone for the next page as well.
        return redirect("inbox")
    return None


def _invited(request: PersonRequest, row: MemberRow) -> HttpResponse:
    mailed = invitation_send(actor=request.actor, row=row)
    context = {
        "place": "people",
        "row": row,
        "address": link_address(settings.BASE_URL, row.link) if row.link else "",
        "mailed": mailed,
    }
    return render(request, "access/person_invited.html", context)


def _roles(held: Collection[str]) -> list[tuple[str, str, bool]]:
    return [(role, ROLE_WORDS[role], role in held) for role in ROLES]
