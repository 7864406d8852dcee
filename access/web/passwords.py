"""Pages for who has no password, or none they remember: ask for a link, use one."""

from typing import cast

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from access.selectors.account import password_rules
from access.services.passwords import LINK_GONE, link_look, password_reset_ask, password_set
from access.web.forms import field
from access.web.requests import PageRequest
from audit.core.refusal import Invalid, NotFound, TooMany


@require_http_methods(["GET", "HEAD", "POST"])
def forgotten(request: HttpRequest) -> HttpResponse:
    """Ask for a link by mail. The answer is one and the same for every address."""
    page = cast(PageRequest, request)
    context = {"email": field(page, "email", 300), "sent": False, "problem": "", "mail": settings.MAIL.kind != "off"}
    if page.method == "POST":
        try:
            password_reset_ask(email=str(context["email"]), address=page.address)
            context["sent"] = True
        except TooMany as refusal:
            answer = render(page, "account/forgotten.html", context | {"problem": refusal.message}, status=429)
            answer.headers["Retry-After"] = str(refusal.retry_after)
            return answer
    return render(page, "account/forgotten.html", context)


@sensitive_post_parameters("link", "new", "again")
@require_http_methods(["GET", "HEAD", "POST"])
def new_password(request: HttpRequest) -> HttpResponse:
    """Set a password by a single-use link. Opening the page uses nothing (S11); the POST does."""
    page = cast(PageRequest, request)
    token = str((page.POST if page.method == "POST" else page.GET).get("link", ""))[:200].replace("\0", "")
    problem = ""
    if page.method == "POST":
        new = field(page, "new", 2000)
        try:
            if new != field(page, "again", 2000):
                raise Invalid("The two passwords are not the same. Type them again.", code="PASSWORD_TWICE")
            password_set(token=token, new=new, address=page.address)
            messages.success(page, "Your password is set. Sign in with it.")
            return redirect("sign-in")
        except Invalid as refusal:
            problem = refusal.message
        except NotFound:
            pass  # told below, like a link that was no good from the start
    link = link_look(token=token)
    if link is None:
        return render(page, "account/link_gone.html", {"message": LINK_GONE}, status=404)
    context = {"link": link, "token": token, "problem": problem, "rules": password_rules()}
    return render(page, "account/new_password.html", context, status=422 if problem else 200)
