"""The page of one agent's tools: which it is shown of those that its scopes allow."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from access.core.rights import is_admin
from access.web.forms import field
from access.web.requests import PersonRequest, signed_in
from approvals.selectors.agent_tools import agent_tools_shown
from approvals.services.shown_tools import shown_tools_set
from approvals.web.tools import whole
from audit.core.refusal import Conflict, Invalid


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def agent_tools(request: PersonRequest, agent_id: UUID) -> HttpResponse:
    """Which tools an agent is shown."""
    problem, status = "", 200
    if request.method == "POST":
        chosen = None if field(request, "which") == "all" else [str(name)[:64] for name in request.POST.getlist("tool")]
        try:
            changed = shown_tools_set(
                actor=request.actor, agent_id=agent_id, tools=chosen, seen=whole(field(request, "version"))
            )
        except (Conflict, Invalid) as refusal:
            problem, status = refusal.message, refusal.status
        else:
            messages.success(request, "It holds from the next call on." if changed else "It was so already.")
            return redirect("agent-tools", agent_id=agent_id)
    context = {
        "place": "agents" if is_admin(request.actor) else "tools",
        "shown": agent_tools_shown(request.actor, agent_id),
        "problem": problem,
        "admin": is_admin(request.actor),
    }
    return render(request, "approvals/agent_tools.html", context, status=status)
