"""Sign in, sign out, change the tenant. Deciding needs the session made here, never a token."""

from typing import cast

from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from access.selectors.actors import actor_for_session, memberships_of
from access.selectors.providers import password_is_enough
from access.services.sessions import session_close, session_moved
from access.services.signin import person_sign_in
from access.web.requests import PageRequest, PersonRequest, signed_in
from access.web.second import go_on, safe_next
from access.web.sessions import PROVIDER_KEY, STEPPED_KEY, TENANT_KEY
from audit.core.refusal import Forbidden, NotFound, Refusal


@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """The form, and what it opens. A text typed before the session ended travels along and is kept (`kept`)."""
    page = cast(PageRequest, request)
    sent = page.POST if page.method == "POST" else page.GET
    context = {
        "next": safe_next(page, sent.get("next", ""), settings.LOGIN_REDIRECT_URL),
        "kept": page.POST.get("kept", ""),
        "username": page.POST.get("username", ""),
    }
    if page.method != "POST":
        if page.actor is not None:
            return HttpResponseRedirect(context["next"])
        return render(page, "access/sign_in.html", context)
    try:
        found = person_sign_in(email=context["username"], password=page.POST.get("password", ""), address=page.address)
    except Refusal as refusal:
        if refusal.status >= 500:
            raise
        # The form stays, so its answer is that of a form: 422; only too many attempts say so to programs as well.
        status = refusal.status if refusal.retry_after is not None else 422
        answer = render(page, "access/sign_in.html", context | {"problem": refusal.message}, status=status)
        if refusal.retry_after is not None:
            answer.headers["Retry-After"] = str(refusal.retry_after)
        return answer
    opened = {"next": context["next"], "kept": context["kept"], "zone": page.POST.get("zone", "")[:64]}
    return go_on(page, found, opened)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session: its row goes, so its open pages lose their WebSockets at the next look."""
    page = cast(PageRequest, request)
    if page.actor is not None:
        session_close(actor=page.actor, session_key=page.session.session_key or "")
    logout(page)
    return HttpResponseRedirect(resolve_url(settings.LOGOUT_REDIRECT_URL))


@require_POST
@signed_in
def switch_tenant(request: PersonRequest) -> HttpResponse:
    """Work in another organisation that this person belongs to. Any other id is unknown (S62)."""
    wanted = request.POST.get("tenant", "")
    if wanted not in {str(row.tenant_id) for row in memberships_of(request.actor.id)}:
        raise NotFound("You belong to no organisation with this id.")
    moved = actor_for_session(request.actor.id, wanted, request.session.session_key or "")
    if moved is None:
        raise NotFound("You belong to no organisation with this id.")
    if request.session.get(PROVIDER_KEY):
        raise Forbidden(
            "You came in through the sign-in of one organisation, which opens no other. Sign out, and sign in with "
            "your password to work in another one.",
            code="PROVIDER_SESSION",
        )
    if not password_is_enough(moved, stepped=request.session.get(STEPPED_KEY) is True):
        raise Forbidden(
            "That organisation asks its people to sign in through its own provider. Sign out, and use its sign-in.",
            code="PROVIDER_REQUIRED",
        )
    session_moved(actor=moved, session_key=request.session.session_key or "", tenant_id=wanted)
    request.session[TENANT_KEY] = wanted
    return HttpResponseRedirect(resolve_url(settings.LOGIN_REDIRECT_URL))
