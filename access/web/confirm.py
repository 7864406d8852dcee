"""Confirming that it is they, and the second step at the sign-in: a password, a code, a passkey."""

from collections.abc import Callable
from typing import Any, cast

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from access.core.confirm import session_name
from access.selectors.assertion import party
from access.selectors.confirmation import fresh_end, means_of
from access.selectors.providers import identity_of, provider_here
from access.services.confirm import confirm_code, confirm_options, confirm_passkey, confirm_password
from access.services.signin import second_step_options, second_step_take
from access.web.forms import field
from access.web.requests import PageRequest, PersonRequest, signed_in
from access.web.second import give_up, go_on, safe_next, waiting
from audit.core.refusal import Conflict, Invalid, Refusal, TooMany, Unauthenticated

_RESPONSE_LIMIT = 32_768


@sensitive_post_parameters("password", "code")
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def confirm(request: PersonRequest) -> HttpResponse:
    """Show that it is you, and go back to where you came from. A password, a code or a passkey, whichever is there."""
    sent = request.POST if request.method == "POST" else request.GET
    context = {"next": safe_next(request, str(sent.get("next", ""))[:500], "account-security"), "problem": ""}
    status = 200
    if request.method == "POST":
        try:
            if field(request, "response", _RESPONSE_LIMIT):
                response = field(request, "response", _RESPONSE_LIMIT)
                confirm_passkey(actor=request.actor, response=response, address=request.address)
            elif field(request, "code"):
                confirm_code(actor=request.actor, code=field(request, "code"), address=request.address)
            else:
                confirm_password(
                    actor=request.actor, password=field(request, "password", 2000), address=request.address
                )
            return HttpResponseRedirect(context["next"])
        except (Invalid, Conflict, TooMany) as refusal:
            context["problem"], status = refusal.message, refusal.status
    shown = context | {
        "place": "account", "means": means_of(request.actor.id), "party": party(), "until": fresh_end(request.actor),
        "identity": identity_of(request.actor.id, request.actor.tenant_id), "provider": provider_here(request.actor),
    }  # fmt: skip
    return render(request, "account/confirm.html", shown, status=status)


@require_POST
@signed_in
def options(request: PersonRequest) -> HttpResponse:
    """What the browser asks a passkey, as JSON."""
    return answer_json(lambda: confirm_options(actor=request.actor))


@sensitive_post_parameters("code")
@require_http_methods(["GET", "HEAD", "POST"])
def second_step(request: HttpRequest) -> HttpResponse:
    """The code or the passkey after the password."""
    page = cast(PageRequest, request)
    found = waiting(page)
    if found is None:
        return redirect("sign-in")
    who, sent = found
    problem, status = "", 200
    if page.method == "POST":
        try:
            done = second_step_take(
                waiting=who,
                session_id=session_name(page.session.session_key or ""),
                code=field(page, "code"),
                response=field(page, "response", _RESPONSE_LIMIT),
                address=page.address,
            )
            return go_on(page, done, sent)
        except Unauthenticated:
            give_up(page)
            return redirect("sign-in")
        except Refusal as refusal:
            if refusal.status >= 500:
                raise
            problem, status = refusal.message, refusal.status
    context = {"problem": problem, "means": means_of(who.user_id), "party": party(), "by_provider": who.link_id}
    return render(page, "account/second_step.html", context, status=status)


@require_POST
def second_step_ask(request: HttpRequest) -> HttpResponse:
    """What the browser asks a passkey of whoever waits at the second step, as JSON."""
    page = cast(PageRequest, request)
    found = waiting(page)
    if found is None:
        return JsonResponse({"message": "Sign in first."}, status=401)
    name = session_name(page.session.session_key or "")
    return answer_json(lambda: second_step_options(waiting=found[0], session_id=name))


def answer_json(make: Callable[[], dict[str, Any]]) -> HttpResponse:
    """The options, or the refusal in words for the page's script to show."""
    try:
        return JsonResponse(make())
    except Refusal as refusal:
        if refusal.status >= 500:
            raise
        return JsonResponse({"code": refusal.code, "message": refusal.message}, status=refusal.status)
