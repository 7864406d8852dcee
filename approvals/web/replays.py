"""Trying a draft on past calls: asking for it, watching it, its result."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from access.core.rights import is_admin
from access.web.requests import PersonRequest, signed_in
from approvals.selectors.policy_drafts import DraftRow, draft_of, require_policy_reader
from approvals.selectors.replays import ReplayRow, replay_get, replay_latest
from approvals.services.replay import replay_ask, replay_cancel
from approvals.web.policies import REFUSED, number_of
from audit.core.refusal import NotFound

DAYS = (7, 30, 90, 365)


@require_POST
@signed_in
def ask(request: PersonRequest, draft_id: UUID) -> HttpResponse:
    """Try the saved text of a draft; back to its page, where the progress stands."""
    require_policy_reader(request.actor)
    row = draft_of(request.actor.tenant_id, draft_id)
    try:
        days = number_of(request.POST.get("days", ""))
        replay_ask(actor=request.actor, source=row.source, days=days, draft_id=draft_id)
    except NotFound:
        raise
    except REFUSED as refusal:
        messages.error(request, refusal.message)
    return HttpResponseRedirect(f"{reverse('policy-draft', args=[draft_id])}#replay")


@require_POST
@signed_in
def cancel(request: PersonRequest, replay_id: UUID) -> HttpResponse:
    """End one that waits or runs."""
    row = replay_cancel(actor=request.actor, replay_id=replay_id)
    return redirect("policy-replay", replay_id=row.id)


@require_safe
@signed_in
def replay(request: PersonRequest, replay_id: UUID) -> HttpResponse:
    """One replay on a page of its own."""
    return render(request, "approvals/policy_replay_page.html", _context(request, replay_id))


@require_safe
@signed_in
def panel(request: PersonRequest, replay_id: UUID) -> HttpResponse:
    """The same as a part of a page, for htmx while it runs."""
    return render(request, "approvals/policy_replay.html", _context(request, replay_id))


def replay_context(request: PersonRequest, draft: DraftRow | None, row: ReplayRow | None) -> dict[str, Any]:
    """What the panel shows."""
    return {"replay": row, "draft": draft, "replay_days": DAYS, "may_replay": is_admin(request.actor)}


def draft_replay(request: PersonRequest, draft: DraftRow) -> dict[str, Any]:
    """The panel on the page of a draft: its newest replay, or the form for one."""
    context = replay_context(request, draft, replay_latest(request.actor, draft.id))
    return {"replay_panel": draft.is_open or context["replay"] is not None, **context}


def _context(request: PersonRequest, replay_id: UUID) -> dict[str, Any]:
    row = replay_get(request.actor, replay_id)
    if row is None:
        raise NotFound
    draft = draft_of(request.actor.tenant_id, row.draft_id) if row.draft_id else None
    return {"place": "policies", **replay_context(request, draft, row)}
