"""Making a test of the policy from a call of a run: held, allowed or refused (W3)."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from access.core.rights import require_admin
from access.web.requests import PersonRequest, signed_in
from approvals.selectors.policy_cases import case_of_judged
from approvals.web.policy_tests import case_page
from runs.selectors.past_calls import past_call
from runs.selectors.runs import call_row


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def test_of_call(request: PersonRequest, run_id: UUID, call_id: str) -> HttpResponse:
    """The page of a test of this call; a call that was held has it at its proposal, which knows who was asked."""
    require_admin(request.actor)
    proposal_id = call_row(request.actor, run_id, call_id).proposal_id
    if proposal_id is not None:
        return redirect("policy-test-of", proposal_id=proposal_id)
    past = past_call(request.actor, run_id, call_id)
    case = case_of_judged(
        request.actor, run_id=run_id, call_id=call_id, tool=past.tool, number=past.contract_version, given=past.given
    )
    return case_page(request, case, back=reverse("run-calls", args=[run_id]), word="the calls of the run")
