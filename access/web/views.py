"""Sign in, sign out, change the tenant. Deciding needs the session made here, never a token."""

from typing import cast

from django.conf import settings
from django.contrib.auth import authenticate, login, logout
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from access.selectors.actors import actor_for_session, memberships_of
from access.web.requests import PageRequest, PersonRequest, signed_in
from access.web.sessions import TENANT_KEY, ZONE_KEY, keep_text
from audit.core.refusal import NotFound

# One sentence for an unknown address, a wrong password and a closed account: it tells a guesser nothing.
WRONG = "This e-mail address and password do not open an account. Check both and try again."
NO_TENANT = "Your account belongs to no organisation any more. Ask an admin of yours to add you again."


@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """The form, and what it opens. A text typed before the session ended travels along and is kept (`kept`)."""
    page = cast(PageRequest, request)
    sent = page.POST if page.method == "POST" else page.GET
    context = {
        "next": _safe_next(page, sent.get("next", "")),
        "kept": page.POST.get("kept", ""),
        "username": page.POST.get("username", ""),
    }
    if page.method != "POST":
        if page.actor is not None:
            return HttpResponseRedirect(context["next"])
        return render(page, "access/sign_in.html", context)
    password = page.POST.get("password", "")
    # PostgreSQL takes no NUL; nobody's address or password holds one.
    readable = "\0" not in context["username"] + password
    user = authenticate(page, username=context["username"].strip(), password=password) if readable else None
    problem = WRONG if user is None else ""
    actor = actor_for_session(user.pk, None) if user is not None else None
    if user is not None and actor is None:
        problem = NO_TENANT
    if user is None or actor is None:
        return render(page, "access/sign_in.html", context | {"problem": problem}, status=422)
    login(page, user)
    page.session[TENANT_KEY] = actor.tenant_id
    page.session[ZONE_KEY] = page.POST.get("zone", "")[:64]
    keep_text(page.session, context["next"], context["kept"])
    return HttpResponseRedirect(context["next"])


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session: its row goes, so its open pages lose their WebSockets at the next look."""
    logout(request)
    return HttpResponseRedirect(resolve_url(settings.LOGOUT_REDIRECT_URL))


@require_POST
@signed_in
def switch_tenant(request: PersonRequest) -> HttpResponse:
    """Work in another organisation that this person belongs to. Any other id is unknown (S62)."""
    wanted = request.POST.get("tenant", "")
    if wanted not in {str(row.tenant_id) for row in memberships_of(request.actor.id)}:
        raise NotFound("You belong to no organisation with this id.")
    request.session[TENANT_KEY] = wanted
    return HttpResponseRedirect(resolve_url(settings.LOGIN_REDIRECT_URL))


def _safe_next(request: HttpRequest, address: str) -> str:
    """`address` when it is a page of ours, else the inbox: a link must not carry anybody elsewhere after signing in."""
    ours = url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure())
    return address if ours and address.startswith("/") else resolve_url(settings.LOGIN_REDIRECT_URL)
