"""Approving where an open session is not enough: confirming first, asking a passkey, taking signed decisions out."""

import json
from collections.abc import Mapping
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from access.web.confirm import answer_json
from access.web.requests import PersonRequest, signed_in
from access.web.sessions import keep_text
from approvals.selectors.proposals import proposal_detail
from approvals.selectors.signed import decision_document, signed_decisions
from approvals.services.signing import Answer, signing_begin
from audit.core.refusal import Conflict

_ANSWER_LIMIT = 32_768


def answer_in(sent: Mapping[str, str]) -> Answer | None:
    """A passkey's answer in the form of a decision; None where there is none."""
    response = str(sent.get("assertion", ""))[:_ANSWER_LIMIT]
    return Answer(str(sent.get("nonce", ""))[:64], response) if response else None


@sensitive_post_parameters("reason")
@require_POST
@signed_in
def confirm_first(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """Keep what was typed, and go to where one confirms that it is oneself; from there it leads back."""
    proposal_detail(request.actor, proposal_id)
    address = reverse("proposal", args=[proposal_id])
    keep_text(request.session, address, request.POST.get("reason", ""))
    there = f"{reverse('account-confirm')}?{urlencode({'next': address})}"
    if request.htmx:
        return HttpResponse(headers={"HX-Redirect": there})
    return HttpResponseRedirect(there)


@require_POST
@signed_in
def sign(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """What the browser asks a passkey about this approval, as JSON, with the number that is good once."""

    def asked() -> dict[str, object]:
        text = request.POST.get("round", "")
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise Conflict("The page did not say what it showed. Load it again.", code="STALE")
        digest = request.POST.get("digest", "")
        return signing_begin(actor=request.actor, proposal_id=proposal_id, digest=digest, round=int(text))

    return answer_json(asked)


@require_safe
@signed_in
def signatures(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """The signed decisions of a proposal, each to be taken out; for auditors and admins."""
    rows = signed_decisions(request.actor, proposal_id)
    context = {"place": "inbox", "rows": rows, "detail": proposal_detail(request.actor, proposal_id)}
    return render(request, "approvals/signatures.html", context)


@require_safe
@signed_in
def signature(request: PersonRequest, proposal_id: UUID, decision_id: UUID) -> HttpResponse:
    """One signed decision as a file that verifies without this server."""
    document = decision_document(request.actor, proposal_id, decision_id)
    text = json.dumps(document, indent=2, ensure_ascii=True)
    name = f"decision-{str(decision_id)[:8]}.json"
    return HttpResponse(
        text,
        content_type="application/json",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
