"""Pages of the policy: what is in force, its drafts and its history; one version; two of them beside each other."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from access.core.rights import is_admin
from access.web.requests import PersonRequest, signed_in
from approvals.core.policy_compare import around, compare_lines, compare_parts
from approvals.core.policy_words import policy_said
from approvals.selectors.policies import policy_head, policy_version, policy_versions
from approvals.selectors.policy_drafts import DraftRow, draft_of, drafts_open, require_policy_reader
from approvals.selectors.policy_look import policy_look
from approvals.services.policy_draft import policy_draft_create, policy_roll_back, policy_second_admin_set
from audit.core.actor import Actor
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound, Refusal, TooLarge

REFUSED = (Conflict, Forbidden, Invalid, TooLarge)
"""What a page says beside the form that was sent; everything else is a page of its own."""
_SHOWN = 50


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def policies(request: PersonRequest) -> HttpResponse:
    """The version in force with its rules in words, drafts, history, and whether a second admin publishes."""
    require_policy_reader(request.actor)
    refusal: Refusal | None = None
    if request.method == "POST":
        try:
            needed = request.POST.get("needed") == "yes"
            holds = policy_second_admin_set(actor=request.actor, needed=needed)
            messages.success(request, _second_words(needed, holds))
            return redirect("policies")
        except REFUSED as caught:
            refusal = caught
    return _list(request, refusal=refusal)


@require_POST
@signed_in
def draft_create(request: PersonRequest) -> HttpResponse:
    """A new draft: of the version in force, or of the one that the form names."""
    number = number_of(request.POST.get("number", ""))
    old = policy_version(request.actor.tenant_id, number) if number else None
    try:
        row = policy_draft_create(
            actor=request.actor, name=request.POST.get("name", "")[:200], source=old.source if old else None
        )
    except REFUSED as refusal:
        return _list(request, refusal=refusal, name=request.POST.get("name", "")[:200])
    return redirect("policy-draft", draft_id=row.id)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def version(request: PersonRequest, number: int) -> HttpResponse:
    """One version, and the way back to it: a new version with its text, and why."""
    require_policy_reader(request.actor)
    row = policy_version(request.actor.tenant_id, number)
    if row is None:
        raise NotFound
    refusal: Refusal | None = None
    if request.method == "POST":
        try:
            done = policy_roll_back(
                actor=request.actor,
                number=number,
                based_on=number_of(request.POST.get("based_on", "")),
                reason=request.POST.get("reason", ""),
            )
            if isinstance(done, DraftRow):
                messages.success(request, "A second admin is needed: the draft waits for one to publish it.")
                return redirect("policy-draft", draft_id=done.id)
            messages.success(request, f"Version {done.number} is in force, with the text of version {number}.")
            return redirect("policies")
        except REFUSED as caught:
            refusal = caught
    head = policy_head(request.actor.tenant_id)
    context = {
        "place": "policies",
        "row": row,
        "head": head,
        "look": policy_look(request.actor.tenant_id, row.source),
        "said": parts_said(request.actor, row.source),
        "lines": row.source.splitlines(),
        "editable": is_admin(request.actor),
        "refusal": refusal,
        "problem": refusal.message if refusal else "",
        "reason": request.POST.get("reason", ""),
    }
    return render(request, "approvals/policy_version.html", context, status=refusal.status if refusal else 200)


@require_safe
@signed_in
def compare(request: PersonRequest) -> HttpResponse:
    """Two texts beside each other: `left` and `right` are numbers of versions or ids of drafts."""
    require_policy_reader(request.actor)
    tenant = request.actor.tenant_id
    head = policy_head(tenant)
    asked = {
        "left": request.GET.get("left", "")[:40] or str(max(1, head.active_number - 1)),
        "right": request.GET.get("right", "")[:40] or str(head.active_number),
    }
    left, right = text_of(request.actor, asked["left"]), text_of(request.actor, asked["right"])
    rows = compare_lines(left, right)
    whole = request.GET.get("whole") == "yes"
    looks = policy_look(tenant, left), policy_look(tenant, right)
    parts = compare_parts(looks[0].policy, looks[1].policy) if looks[0].policy and looks[1].policy else None
    context = {
        "place": "policies",
        "asked": asked,
        "names": {side: _name_of(request.actor, asked[side]) for side in asked},
        "choices": _choices(request.actor),
        "rows": rows if whole else around(rows),
        "whole": whole,
        "differs": any(row.change != "same" for row in rows),
        "parts": parts,
        "changed": [part for part in parts or () if part.change != "same" or part.moved],
    }
    return render(request, "approvals/policy_compare.html", context)


def parts_said(actor: Actor, source: str) -> list[Any]:
    """The parts of a text in words; none where it is no policy."""
    policy = policy_look(actor.tenant_id, source).policy
    return policy_said(policy) if policy else []


def number_of(text: str) -> int:
    """A version's number as it was sent; 0 for what is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def text_of(actor: Actor, asked: str) -> str:
    """The text of a version by its number, or of a draft by its id. Raises NotFound, for a foreign one too."""
    if asked == "0":
        return ""
    if number_of(asked):
        row = policy_version(actor.tenant_id, number_of(asked))
        if row is None:
            raise NotFound
        return row.source
    return draft_of(actor.tenant_id, _id(asked)).source


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise NotFound from None


def _name_of(actor: Actor, asked: str) -> str:
    if asked == "0" or number_of(asked):
        return f"version {asked}" if asked != "0" else "nothing"
    return f"draft {draft_of(actor.tenant_id, _id(asked)).name}"


def _choices(actor: Actor) -> list[tuple[str, str]]:
    drafts = [(str(row.id), f"draft {row.name}") for row in drafts_open(actor.tenant_id)]
    versions = [(str(row.number), f"version {row.number}") for row in policy_versions(actor.tenant_id, limit=200)]
    return drafts + versions


def _second_words(needed: bool, holds: bool) -> str:
    if needed:
        return "From now on another admin publishes than the one who asked for it."
    if holds:
        return "Your wish is noted. It ends when another admin wants it too."
    return "From now on one admin publishes alone."


def _list(request: PersonRequest, *, refusal: Refusal | None = None, name: str = "") -> HttpResponse:
    require_policy_reader(request.actor)
    tenant = request.actor.tenant_id
    head = policy_head(tenant)
    before = number_of(request.GET.get("before", ""))
    rows = policy_versions(tenant, before=before, limit=_SHOWN + 1)
    active = policy_version(tenant, head.active_number) if head.active_number else None
    context = {
        "place": "policies",
        "head": head,
        "active": active,
        "said": parts_said(request.actor, active.source) if active else [],
        "tests": len(look.tests) if active and (look := policy_look(tenant, active.source)) else 0,
        "drafts": drafts_open(tenant),
        "versions": rows[:_SHOWN],
        "older": rows[_SHOWN - 1].number if len(rows) > _SHOWN else 0,
        "editable": is_admin(request.actor),
        "name": name,
        "problem": refusal.message if refusal else "",
    }
    return render(request, "approvals/policies.html", context, status=refusal.status if refusal else 200)


def draft_address(draft_id: UUID) -> str:
    """The page of a draft."""
    return reverse("policy-draft", args=[draft_id])


def texts(request: HttpRequest, name: str) -> str:
    """A text that was sent, without the character that nothing can keep."""
    return str(request.POST.get(name, "")).replace("\0", "")
