"""Pages of tools: every tool, one tool, its versions, two of them beside each other; going back and retiring."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from access.core.rights import is_admin
from access.web.forms import field
from access.web.requests import PersonRequest, signed_in
from approvals.selectors.contract_signatures import signed_only
from approvals.selectors.tool_texts import tool_compared
from approvals.selectors.tools import tool_shown, tools_listed
from approvals.services.contract import Seen, contract_retire, contract_return
from audit.core.refusal import Conflict, Invalid


@require_safe
@signed_in
def tools(request: PersonRequest) -> HttpResponse:
    """Every tool of the organisation."""
    rows = tools_listed(request.actor)
    context = {
        "place": "tools",
        "rows": rows,
        "admin": is_admin(request.actor),
        "alarms": [row for row in rows if row.number and row.signed.tone == "bad"],
        "signed_only": signed_only(request.actor.tenant_id),
    }
    return render(request, "approvals/tools.html", context)


@require_safe
@signed_in
def tool(request: PersonRequest, tool_name: str) -> HttpResponse:
    """One tool, told by the version in force."""
    return tool_page(request, tool_name)


@require_safe
@signed_in
def tool_version(request: PersonRequest, tool_name: str, version: int) -> HttpResponse:
    """One tool, told by another version."""
    return tool_page(request, tool_name, version)


@require_safe
@signed_in
def tool_compare(request: PersonRequest, tool_name: str) -> HttpResponse:
    """Two versions beside each other, in words and as text."""
    old, new = (str(request.GET.get(name, ""))[:64] for name in ("old", "new"))
    shown = tool_compared(request.actor, tool_name, old, new)
    return render(request, "approvals/tool_compare.html", {"place": "tools", "shown": shown})


@require_POST
@signed_in
def tool_return(request: PersonRequest, tool_name: str) -> HttpResponse:
    """Put an older version in force again."""
    number = whole(field(request, "number"))
    try:
        row = contract_return(
            actor=request.actor,
            tool=tool_name,
            number=number,
            seen=seen_by(request),
            reason=field(request, "reason", 2000),
        )
    except (Conflict, Invalid) as refusal:
        return tool_page(request, tool_name, number, problem=refusal.message, status=refusal.status)
    messages.success(request, f"Version {row.number} of {tool_name} is in force again.{refused_words(row.refused)}")
    return redirect("tool", tool_name=tool_name)


@require_POST
@signed_in
def tool_retire(request: PersonRequest, tool_name: str) -> HttpResponse:
    """Take the tool out of the catalogue."""
    done = contract_retire(actor=request.actor, tool=tool_name, reason=field(request, "reason", 2000))
    said = "is retired: no new call of it is taken, nothing that waits is sent." if done else "was retired before."
    messages.success(request, f"{tool_name} {said}")
    return redirect("tool", tool_name=tool_name)


def seen_by(request: PersonRequest) -> Seen:
    """What the form's page said of the version in force and of what waits on it."""
    return Seen(in_force=whole(field(request, "in_force")), waiting=whole(field(request, "waiting")))


def whole(text: str) -> int:
    """A number from a form; 0 for anything that is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def refused_words(count: int) -> str:
    """What became of the proposals that waited on the version before."""
    if not count:
        return ""
    return f" {count:,} waiting {'proposal is' if count == 1 else 'proposals are'} refused at dispatch."


def compare_address(tool_name: str, old: object, new: object) -> str:
    """The page that lays two versions beside each other."""
    return f"{reverse('tool-compare', args=[tool_name])}?{urlencode({'old': old, 'new': new})}"


def tool_page(
    request: PersonRequest, tool_name: str, number: int | None = None, *, problem: str = "", status: int = 200
) -> HttpResponse:
    """One tool, told by the version in force or by version `number`."""
    shown = tool_shown(request.actor, tool_name, number)
    if number is not None and status == 200 and shown.version is not None and shown.version.active:
        return HttpResponseRedirect(reverse("tool", args=[tool_name]))
    compare = {
        row.number: compare_address(tool_name, shown.in_force, row.number)
        for row in shown.versions
        if shown.in_force and not row.active
    }
    context: dict[str, Any] = {
        "place": "tools",
        "shown": shown,
        "rows": [(row, compare.get(row.number, "")) for row in shown.versions],
        "problem": problem,
        "reason": field(request, "reason", 2000) if problem else "",
    }
    return render(request, "approvals/tool.html", context, status=status)
