"""Coming in through the organisation's own sign-in, linking an account to it, confirming by it: pages and the way back.

Browsers go to a provider by a link or by a redirect of a page that was only asked for, never by a form: forms lead to
this server alone (the policy's form-action), so nothing that somebody types can be sent elsewhere.
"""

from collections.abc import Callable
from typing import cast

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from access.core.oidc import host_of
from access.selectors.providers import offers
from access.services.provider import identity_unlink
from access.services.provider_round import provider_back, provider_begin, provider_begin_first, provider_begin_own
from access.web.forms import field
from access.web.requests import PageRequest, PersonRequest, signed_in
from access.web.second import browser_mark, give_up, go_on, links_first, safe_next
from access.web.sessions import keep_text
from audit.core.refusal import Invalid, Refusal

_SENT = ("state", "code", "iss", "error")
_LONGEST = 5_000


@require_http_methods(["GET", "HEAD", "POST"])
def find(request: HttpRequest) -> HttpResponse:
    """Which organisation: by its short name or by the domain of an e-mail address. Whoever posts comes from the sign-in
    page; what they typed before their session ended is kept for when they are back."""
    page = cast(PageRequest, request)
    sent = page.POST if page.method == "POST" else page.GET
    next_path = safe_next(page, sent.get("next", "")[:_LONGEST], settings.LOGIN_REDIRECT_URL)
    keep_text(page.session, next_path.partition("?")[0], page.POST.get("kept", ""))
    typed = str(sent.get("organisation", "") or page.POST.get("username", ""))[:254]
    context = {"next": next_path, "typed": typed, "offers": offers(typed), "after": urlencode({"next": next_path})}
    return render(page, "access/provider_find.html", context)


@require_GET
def go(request: HttpRequest, slug: str) -> HttpResponse:
    """Off to an organisation's provider, to come in."""
    page = cast(PageRequest, request)
    next_path = safe_next(page, page.GET.get("next", "")[:_LONGEST], settings.LOGIN_REDIRECT_URL)
    if page.actor is not None:
        return HttpResponseRedirect(next_path)
    return _told(
        page,
        next_path,
        lambda: HttpResponseRedirect(
            provider_begin(slug=slug, browser=browser_mark(page, make=True), next_path=next_path, address=page.address)
        ),
    )


@require_GET
def first(request: HttpRequest) -> HttpResponse:
    """For whoever's password was right and whose organisation wants its own sign-in: link the account, and come in."""
    page = cast(PageRequest, request)
    found = links_first(page)
    if found is None:
        return redirect("sign-in")
    who, sent, tenant_id = found

    def show() -> HttpResponse:
        address = provider_begin_first(
            waiting=who, tenant_id=tenant_id, browser=browser_mark(page, make=True), next_path=sent["next"],
            address=page.address,
        )  # fmt: skip
        return render(page, "access/provider_go.html", {"way": address, "host": host_of(address), "purpose": "first"})

    return _told(page, sent["next"], show)


@require_POST
@signed_in
def own(request: PersonRequest) -> HttpResponse:
    """One's own link: made, ended, or confirmed by. The way to the provider is a link on the page that answers."""
    verb = field(request, "verb")
    next_path = safe_next(request, field(request, "next", _LONGEST), "account-security")
    if verb == "unlink":
        ended = identity_unlink(actor=request.actor)
        messages.success(request, "Your account is unlinked." if ended else "Your account was not linked.")
        return redirect("account-security")
    if verb not in ("link", "confirm"):
        raise Invalid("The page did not say what to do. Load it again.", code="VERB_UNKNOWN")

    def show() -> HttpResponse:
        address = provider_begin_own(
            actor=request.actor, purpose=verb, browser=browser_mark(request, make=True), next_path=next_path,
            address=request.address,
        )  # fmt: skip
        return render(request, "access/provider_go.html", {"way": address, "host": host_of(address), "purpose": verb})

    return _told(request, next_path, show)


@require_safe
def back(request: HttpRequest, slug: str) -> HttpResponse:
    """Where a provider sends browsers back to. Only ever a new page: the address with the code is left at once."""
    page = cast(PageRequest, request)
    if page.method == "HEAD":
        return HttpResponse()  # whoever only looks uses nothing up
    first_link = links_first(page)

    def judge() -> HttpResponse:
        found = provider_back(
            slug=slug,
            sent={name: page.GET.get(name, "")[:_LONGEST] for name in _SENT},
            browser=browser_mark(page),
            actor=page.actor,
            waiting=first_link[0] if first_link else None,
            address=page.address,
        )
        next_path = safe_next(page, found.next, settings.LOGIN_REDIRECT_URL)
        if found.signed_in is not None:
            kept = first_link[1] if first_link and found.purpose == "link" else {}
            return go_on(page, found.signed_in, {**kept, "next": next_path})
        done = "Your account is linked." if found.purpose == "link" else "You confirmed that it is you."
        messages.success(page, done)
        return HttpResponseRedirect(next_path)

    return _told(page, settings.LOGIN_REDIRECT_URL, judge)


def _told(page: PageRequest, next_path: str, show: Callable[[], HttpResponse]) -> HttpResponse:
    """The answer, or a page that says what is wrong and leads on."""
    try:
        return show()
    except Refusal as refusal:
        if refusal.code == "SECOND_STEP_OVER":
            give_up(page)
        # A provider that is down is no fault of this server's, and 401 would ask for another kind of credentials.
        status = {401: 403, 503: 502}.get(refusal.status, refusal.status)
        context = {"problem": refusal.message, "next": safe_next(page, next_path, settings.LOGIN_REDIRECT_URL)}
        answer = render(page, "access/provider_problem.html", context, status=status)
        if refusal.retry_after is not None and refusal.status == 429:
            answer.headers["Retry-After"] = str(refusal.retry_after)
        return answer
