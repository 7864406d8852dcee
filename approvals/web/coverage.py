"""What the policy in force says of every tool and agent, before anybody calls anything."""

from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from access.core.rights import is_admin
from access.selectors.names import agent_names
from access.web.requests import PersonRequest, signed_in
from approvals.selectors.coverage import OUTCOMES, Wanted, coverage_page
from approvals.web.policies import number_of


@require_safe
@signed_in
def coverage(request: PersonRequest) -> HttpResponse:
    """A page of tools, narrowed by the query: q, agent, outcome, effects, unasked."""
    query = request.GET
    wanted = Wanted(
        q=query.get("q", "").strip()[:64],
        agent=_uuid(query.get("agent", "")),
        outcome=query.get("outcome", "") if query.get("outcome", "") in OUTCOMES else "",
        effects_only=query.get("effects") == "1",
        unasked_only=query.get("unasked") == "1",
    )
    page = max(number_of(query.get("page", "")) or 1, 1)
    found = coverage_page(request.actor, wanted, page=page)
    kept = {name: value for name, value in query.items() if name != "page" and value}
    context = {
        "place": "policies",
        "tab": "coverage",
        "wanted": wanted,
        "found": found,
        "agents": [(id_, name) for id_, name, active in agent_names(request.actor.tenant_id) if active],
        "links": is_admin(request.actor),
        "chosen": str(wanted.agent or ""),
        "outcomes": OUTCOMES,
        "onward": urlencode({**kept, "page": page + 1}) if found.more else "",
        "back": urlencode({**kept, "page": page - 1}) if page > 1 else "",
    }
    return render(request, "approvals/policy_coverage.html", context)


def _uuid(text: str) -> UUID | None:
    if not text:
        return None
    try:
        return UUID(text)
    except ValueError:
        return UUID(int=0)  # nobody's: like an unknown one
