"""The tests of a draft, and making one of a call that really was."""

import json
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from access.core.rights import is_admin, require_admin
from access.web.requests import PersonRequest, signed_in
from approvals.selectors.policies import policy_head
from approvals.selectors.policy_cases import case_of_proposal
from approvals.selectors.policy_drafts import DraftRow, draft_of, drafts_open, require_policy_reader
from approvals.selectors.policy_look import policy_look
from approvals.services.policy_draft import policy_draft_create, policy_draft_test_add, policy_draft_test_remove
from approvals.web.policies import REFUSED, number_of, texts
from audit.core.refusal import Invalid, NotFound, Refusal

_EFFECTS = ("allow", "ask", "deny")


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def tests(request: PersonRequest, draft_id: UUID) -> HttpResponse:
    """How the tests of a draft go, and taking one out."""
    require_policy_reader(request.actor)
    row = draft_of(request.actor.tenant_id, draft_id)
    refusal: Refusal | None = None
    if request.method == "POST":
        try:
            _remove(request, row)
            return redirect("policy-tests", draft_id=draft_id)
        except NotFound:
            raise
        except REFUSED as caught:
            refusal = caught
    context = {
        "place": "policies",
        "tab": "tests",
        "draft": row,
        "head": policy_head(request.actor.tenant_id),
        "look": policy_look(request.actor.tenant_id, row.source),
        "removable": row.is_open and is_admin(request.actor),
        "problem": refusal.message if refusal else "",
    }
    return render(request, "approvals/policy_tests.html", context, status=refusal.status if refusal else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def test_of(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """A test made of the call of a proposal, put into a draft of one's choice or into a new one; for admins."""
    require_admin(request.actor)
    case = case_of_proposal(request.actor, proposal_id)
    return case_page(request, case, back=reverse("proposal", args=[proposal_id]), word="the proposal")


def case_page(request: PersonRequest, case: dict[str, Any], *, back: str, word: str) -> HttpResponse:
    """The page that makes a test of a call, for whichever app knows the call; `back` leads to it, `word` says what it
    is. The caller has seen to it that this is an admin."""
    refusal: Refusal | None = None
    if request.method == "POST":
        try:
            row = _add(request, case)
            messages.success(request, f"The test stands in the draft {row.name}.")
            return redirect("policy-tests", draft_id=row.id)
        except NotFound:
            raise
        except REFUSED as caught:
            refusal = caught
    shown = {name: json.dumps(case.get(name), indent=2, ensure_ascii=False) for name in ("arguments", "state")}
    context = {
        "place": "policies",
        "back": back,
        "word": word,
        "case": case,
        "shown": shown,
        "effects": _EFFECTS,
        "name": texts(request, "name") or case["name"],
        "drafts": drafts_open(request.actor.tenant_id),
        "problem": refusal.message if refusal else "",
    }
    return render(request, "approvals/policy_test_of.html", context, status=refusal.status if refusal else 200)


def _add(request: PersonRequest, case: dict[str, Any]) -> DraftRow:
    name = " ".join(texts(request, "name").split())
    if not name or len(name) > 200:
        raise Invalid("Give the test a name of 1 to 200 characters.", code="NAME_INVALID")
    effect = texts(request, "effect")
    if effect not in _EFFECTS:
        raise Invalid("Say what must come of the call: allow, ask or deny.", code="EFFECT_INVALID")
    expect = case["expect"] if effect == case["expect"]["effect"] else {"effect": effect}
    case = case | {"name": name, "expect": expect}
    chosen = texts(request, "draft")
    open_ones = {str(row.id): row for row in drafts_open(request.actor.tenant_id)}
    if chosen and chosen not in open_ones:
        raise NotFound
    row = open_ones.get(chosen) or policy_draft_create(actor=request.actor, name="Tests of past calls")
    return policy_draft_test_add(actor=request.actor, draft_id=row.id, case=case)


def _remove(request: PersonRequest, row: DraftRow) -> None:
    index = number_of(texts(request, "remove"))
    found = policy_look(request.actor.tenant_id, row.source).tests
    if index >= len(found) or found[index].name != request.POST.get("was", ""):
        raise Invalid("Another test stands there now. Look again.", code="FORM_STALE")
    policy_draft_test_remove(
        actor=request.actor, draft_id=row.id, revision=number_of(texts(request, "revision")), index=index
    )
    messages.success(request, f"The test {found[index].name} is taken out.")
