"""Pages of candidates: importing and editing a contract's text, looking at what it would change, admitting it."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from access.core.rights import is_admin, require_admin
from access.selectors.programs import credentials_of
from access.web.forms import field
from access.web.requests import PersonRequest, signed_in
from approvals.core.contract_signing import MAX_BYTES as SIGNATURE_BYTES
from approvals.core.contract_text import MAX_BYTES
from approvals.selectors.candidates import candidate_shown
from approvals.selectors.tool_texts import require_tool, text_to_edit
from approvals.services.candidate import (
    candidate_admit,
    candidate_drop,
    candidate_sign,
    candidate_store,
    candidate_unsign,
)
from approvals.web.publisher_keys import signature_in
from approvals.web.tools import compare_address, refused_words, seen_by, whole
from audit.core.actor import Actor
from audit.core.refusal import Conflict, Invalid, Refusal, TooLarge


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def tool_import(request: PersonRequest) -> HttpResponse:
    """A contract from a text or a file, kept as a candidate."""
    require_admin(request.actor)
    if request.method == "POST":
        return _store(request, "")
    return edit_page(request, tool_name="", typed=dict.fromkeys(("source", "note", "based_on", "replaces"), ""))


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def tool_edit(request: PersonRequest, tool_name: str) -> HttpResponse:
    """The text of a version or a candidate, to be kept as another candidate."""
    require_admin(request.actor)
    require_tool(request.actor, tool_name)
    if request.method == "POST":
        return _store(request, tool_name)
    source, based_on, replaces = text_to_edit(request.actor, tool_name, str(request.GET.get("of", ""))[:64])
    typed = {"source": source, "note": "", "based_on": str(based_on or ""), "replaces": str(replaces or "")}
    return edit_page(request, tool_name=tool_name, typed=typed)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def candidate(request: PersonRequest, tool_name: str, candidate_id: UUID) -> HttpResponse:
    """One candidate: what it says, what it would change; admit it or drop it."""
    problem, status = "", 200
    if request.method == "POST":
        try:
            return _settle(request, tool_name, candidate_id)
        except (Conflict, Invalid, TooLarge) as refusal:
            problem, status = refusal.message, refusal.status
    shown = candidate_shown(request.actor, tool_name, candidate_id)
    admin = is_admin(request.actor)
    context = {
        "place": "tools",
        "shown": shown,
        "compare": compare_address(tool_name, shown.in_force, shown.id) if shown.in_force else "",
        "problem": problem,
        "reason": field(request, "reason", 2000) if problem else "",
        "admin": admin,
        "no_credential": _lacks_credential(request.actor, shown.credential) if admin else False,
    }
    return render(request, "approvals/candidate.html", context, status=status)


def typed_in(request: PersonRequest) -> tuple[dict[str, str], Refusal | None]:
    """What the form of a text holds; a file that came with it takes the text's place, unless it is no text."""
    source, refusal = str(request.POST.get("source", "")), None
    given = request.FILES.get("file")
    if given is not None:
        try:
            source = given.read(MAX_BYTES + 4).decode("utf-8-sig")
        except UnicodeDecodeError:
            refusal = Invalid("The file is not UTF-8 text. Save it as UTF-8 and choose it again.", code="NOT_UTF8")
    typed = {
        "source": source.replace("\r\n", "\n"),
        "note": field(request, "note", 2000),
        "signature": str(request.POST.get("signature", ""))[: SIGNATURE_BYTES * 2],
        "based_on": field(request, "based_on", 12),
        "replaces": field(request, "replaces", 40),
    }
    return typed, refusal


def edit_page(
    request: PersonRequest,
    *,
    tool_name: str,
    typed: dict[str, str],
    refusal: Refusal | None = None,
    more: dict[str, Any] | None = None,
) -> HttpResponse:
    """The form with what was typed; nothing of it is lost by a refusal."""
    findings = refusal.detail.get("findings", []) if refusal else []
    context = {
        "place": "tools",
        "tool_name": tool_name,
        **typed,
        "problem": refusal.message if refusal and not findings else "",
        "findings": findings,
        **(more or {}),
    }
    return render(request, "approvals/tool_edit.html", context, status=refusal.status if refusal else 200)


def _lacks_credential(actor: Actor, name: str) -> bool:
    return bool(name) and name not in {row.name for row in credentials_of(actor)}


def _store(request: PersonRequest, tool_name: str) -> HttpResponse:
    typed, no_text = typed_in(request)
    if no_text is not None:
        return edit_page(request, tool_name=tool_name, typed=typed, refusal=no_text)
    try:
        row = candidate_store(
            actor=request.actor,
            source=typed["source"],
            note=typed["note"],
            based_on=whole(typed["based_on"]) or None,
            replaces=UUID(typed["replaces"]) if typed["replaces"] else None,
            tool=tool_name,
            signature=signature_in(request),
        )
    except ValueError:
        refusal: Refusal = Invalid("This page names no candidate that can be replaced. Load it again.")
        return edit_page(request, tool_name=tool_name, typed=typed, refusal=refusal)
    except (Conflict, Invalid, TooLarge) as error:
        return edit_page(request, tool_name=tool_name, typed=typed, refusal=error)
    said = (
        "Stored as a candidate. Nothing uses it until it is admitted."
        if row.created
        else "This very contract waits already."
    )
    messages.success(request, said)
    return redirect("tool-candidate", tool_name=row.tool, candidate_id=row.id)


def _settle(request: PersonRequest, tool_name: str, candidate_id: UUID) -> HttpResponse:
    verb, reason = field(request, "verb"), field(request, "reason", 2000)
    candidate_shown(request.actor, tool_name, candidate_id)  # of this tool, or an unknown one
    if verb == "admit":
        row = candidate_admit(actor=request.actor, candidate_id=candidate_id, seen=seen_by(request), reason=reason)
        messages.success(request, f"Version {row.number} of {row.tool} is in force.{refused_words(row.refused)}")
    elif verb == "drop":
        candidate_drop(actor=request.actor, candidate_id=candidate_id, reason=reason)
        messages.success(request, "The candidate is dropped; it was never used.")
        return redirect("tools")
    elif verb == "sign":
        signed = candidate_sign(actor=request.actor, candidate_id=candidate_id, signature=signature_in(request))
        messages.success(request, signed.words)
        return redirect("tool-candidate", tool_name=tool_name, candidate_id=candidate_id)
    elif verb == "unsign":
        candidate_unsign(actor=request.actor, candidate_id=candidate_id, reason=reason)
        messages.success(request, "The signature is taken away; the log keeps which it was.")
        return redirect("tool-candidate", tool_name=tool_name, candidate_id=candidate_id)
    else:
        raise Invalid("This page knows no such change. Load it again.", code="VERB_UNKNOWN")
    return redirect("tool", tool_name=tool_name)
