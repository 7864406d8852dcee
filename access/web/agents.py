"""Pages of agents, their sessions, and backend credentials: for admins, and agents also for their owners."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from access.core.rights import is_admin, require_admin
from access.selectors.directory import member_choices
from access.selectors.programs import agent_detail, agents_of, credentials_of, tokens_page
from access.services.agents import (
    agent_activate,
    agent_create,
    agent_deactivate,
    agent_owner_set,
    agent_principal_add,
    agent_principal_remove,
    agent_scopes_set,
    agent_secret_rotate,
)
from access.services.credentials import credential_store
from access.services.token import token_revoke
from access.web.forms import field, page_of
from access.web.requests import PersonRequest, signed_in
from audit.core.refusal import Conflict, Invalid, NotFound, Unavailable


@require_safe
@signed_in
def agents(request: PersonRequest) -> HttpResponse:
    """Every agent; to who is no admin, those they own."""
    context = {"place": "agents", "rows": agents_of(request.actor), "admin": is_admin(request.actor)}
    return render(request, "access/agents.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def agent_add(request: PersonRequest) -> HttpResponse:
    """Register an agent; its secret is shown this once."""
    require_admin(request.actor)
    name, version = field(request, "name"), field(request, "version") or "1"
    scopes, owner = field(request, "scopes", 5000), field(request, "owner") or request.actor.id
    acts_for = request.POST.getlist("acts_for")
    problem, status = "", 200
    if request.method == "POST":
        try:
            row, secret = agent_create(
                actor=request.actor, name=name, version=version, scopes=_scopes(scopes), owner_user_id=owner,
                principals=acts_for,
            )  # fmt: skip
            return _secret(request, row.id, secret, new=True)
        except (Invalid, Conflict, NotFound) as refusal:
            problem, status = refusal.message, refusal.status
    context = {
        "place": "agents",
        "problem": problem,
        "name": name,
        "version": version,
        "scopes": scopes,
        "owner": owner,
        "acts_for": acts_for,
        "members": member_choices(request.actor),
    }
    return render(request, "access/agent_add.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def agent(request: PersonRequest, agent_id: UUID) -> HttpResponse:
    """One agent, and the verbs."""
    problem, status, scopes = "", 200, None
    if request.method == "POST":
        try:
            answer = _change(request, agent_id)
            return answer or redirect("agent", agent_id=agent_id)
        except (Invalid, Conflict) as refusal:
            problem, status = refusal.message, refusal.status
            scopes = field(request, "scopes", 5000) or None
    row = agent_detail(request.actor, agent_id)
    admin = is_admin(request.actor)
    taken = {user_id for user_id, _, _ in row.acts_for}
    members = member_choices(request.actor) if admin else []
    context = {
        "place": "agents",
        "row": row,
        "admin": admin,
        "problem": problem,
        "scopes": scopes if scopes is not None else "\n".join(row.scopes),
        "members": members,
        "others": [member for member in members if member[0] not in taken],
        "sessions": tokens_page(request.actor, agent_id=agent_id)[0][:10],
    }
    return render(request, "access/agent.html", context, status=status)


@require_safe
@signed_in
def tokens(request: PersonRequest) -> HttpResponse:
    """Sessions of agents: those that open something, or all."""
    number, ended = page_of(request), bool(request.GET.get("ended"))
    rows, more = tokens_page(request.actor, ended=ended, page=number)
    context = {"place": "tokens", "rows": rows, "ended": ended, "page": number, "more": more}
    return render(request, "access/tokens.html", context)


@require_POST
@signed_in
def token_end(request: PersonRequest, session_id: UUID) -> HttpResponse:
    """Revoke one session, with a reason."""
    ended = token_revoke(actor=request.actor, session_id=session_id, because=field(request, "because", 200))
    messages.success(
        request,
        "Revoked: no call with a token of this session is accepted from now on."
        if ended
        else "This session had been revoked already.",
    )
    return redirect("tokens")


@sensitive_post_parameters("secret")
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def credentials(request: PersonRequest) -> HttpResponse:
    """Backend credentials: which there are, since when; storing one. None is ever shown."""
    problem, status = "", 200
    name = field(request, "name")
    if request.method == "POST":
        try:
            new = credential_store(actor=request.actor, name=name, secret=field(request, "secret", 20_000))
            messages.success(request, f"{name} is {'stored' if new else 'replaced'}. It is used from the next call on.")
            return redirect("credentials")
        except (Invalid, Unavailable) as refusal:
            problem, status = refusal.message, refusal.status
    context = {"place": "credentials", "rows": credentials_of(request.actor), "problem": problem, "name": name}
    return render(request, "access/credentials.html", context, status=status)


def _change(request: PersonRequest, agent_id: UUID) -> HttpResponse | None:
    actor, verb, user_id = request.actor, field(request, "verb"), field(request, "user")
    row = agent_detail(actor, agent_id)
    if verb == "scopes":
        agent_scopes_set(actor=actor, agent_id=agent_id, scopes=_scopes(field(request, "scopes", 5000)))
        messages.success(request, "The scopes are changed; tokens lose what was taken at their next call.")
    elif verb == "principal-add":
        agent_principal_add(actor=actor, agent_id=agent_id, user_id=user_id)
        messages.success(request, f"{row.name} may act for them from now on.")
    elif verb == "principal-remove":
        agent_principal_remove(actor=actor, agent_id=agent_id, user_id=user_id)
        messages.success(request, f"{row.name} may no longer act for them, from its next call on.")
    elif verb == "owner":
        agent_owner_set(actor=actor, agent_id=agent_id, user_id=user_id)
        messages.success(request, "The agent has another owner.")
    elif verb == "rotate":
        secret = agent_secret_rotate(actor=actor, agent_id=agent_id, end_sessions=not field(request, "keep_sessions"))
        return _secret(request, str(agent_id), secret, new=False)
    elif verb == "off":
        agent_deactivate(actor=actor, agent_id=agent_id, because=field(request, "because", 200))
        messages.success(request, f"{row.name} is deactivated: no token of it is accepted from now on.")
    elif verb == "on":
        agent_activate(actor=actor, agent_id=agent_id)
        messages.success(request, f"{row.name} may work again. It shows its secret for a new session.")
    else:
        raise Invalid("This page knows no such change. Load it again.", code="VERB_UNKNOWN")
    return None


def _secret(request: PersonRequest, agent_id: str, secret: str, *, new: bool) -> HttpResponse:
    row = agent_detail(request.actor, UUID(agent_id))
    return render(request, "access/agent_secret.html", {"place": "agents", "row": row, "secret": secret, "new": new})


def _scopes(text: str) -> list[str]:
    """Scopes as people type them: between spaces, commas or line ends."""
    return text.replace(",", " ").split()
