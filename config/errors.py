"""What a person reads when something was refused or went wrong: a plain sentence, what it means, what to do now.

Never a stack trace, never silence. Under /api/ the same refusals are E3's JSON.
"""

import logging
import sys
from http import HTTPStatus
from typing import cast

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect, JsonResponse
from django.template.loader import render_to_string

from access.web.requests import PageRequest, sign_in_address
from audit.core.refusal import Forbidden, Invalid, NotFound, Refusal, TooLarge, Unauthenticated, Unavailable
from config.api.errors import database_silent, error_of, headers_of

log = logging.getLogger(__name__)

# The refusal's own words speak of ids, as the API's callers know them; a reader knows addresses.
NOT_HERE = (
    "Nothing is at this address for you. It may be mistyped, gone, or belong to another organisation: check the address"
    " and which organisation you are signed in to."
)
TITLES = {
    400: "This request could not be read",
    403: "You may not do this",
    404: "There is nothing here",
    409: "This has changed",
    413: "Too much at once",
    422: "Something is missing or wrong",
    429: "Too many attempts",
    503: "A part we need does not answer",
}


def refusal_response(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    """A refusal as JSON under /api/, as a fragment for htmx (into the page's #problem), else as a page."""
    if request.path.startswith("/api/"):
        return JsonResponse({"error": error_of(refusal)}, status=refusal.status, headers=headers_of(refusal))
    page = cast(PageRequest, request)
    if isinstance(refusal, Unauthenticated) and getattr(page, "actor", None) is None and page.method in ("GET", "HEAD"):
        return HttpResponseRedirect(sign_in_address(page.get_full_path()))
    headers = {"Retry-After": str(refusal.retry_after)} if refusal.retry_after is not None else {}
    context = {
        "title": TITLES.get(refusal.status, "This was refused"),
        "refusal": refusal,
        "sentence": NOT_HERE if refusal.message == NotFound.default_message else refusal.message,
    }
    if getattr(page, "htmx", False):
        html = render_to_string("errors/refusal.html#sentence", context)
        headers |= {"HX-Retarget": "#problem", "HX-Reswap": "innerHTML"}
    else:
        html = render_to_string("errors/refusal.html", context)
    return HttpResponse(html, status=refusal.status, headers=headers)


def form_too_large() -> TooLarge:
    """What a form is told that sends more than pages take, whichever door notices it."""
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return TooLarge(
        f"What you sent is larger than {limit // (1024 * 1024)} MiB ({limit:,} bytes), which is the most that a form "
        "takes. Nothing was changed. Go back, shorten it and send it again.",
        detail={"limit": limit},
    )


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """400: a malformed request that no view saw (a host that is not ours, too many fields). 413: too large a form."""
    if isinstance(exception, RequestDataTooBig):
        return refusal_response(request, TooLarge() if request.path.startswith("/api/") else form_too_large())
    return refusal_response(
        request, Invalid("Your browser sent something that cannot be read. Go back and try again.", status=400)
    )


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponseBase:  # noqa: ARG001 (Django passes it by name)
    """403 raised by a part that knows no Refusal."""
    return refusal_response(request, Forbidden())


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:  # noqa: ARG001 (Django passes it by name)
    """404: an address that leads nowhere reads exactly like a foreign or unknown id (S62)."""
    return refusal_response(request, NotFound())


def server_error(request: HttpRequest) -> HttpResponseBase:
    """500: needs no database, no session and no context, because one of them may be what broke.

    A database that does not answer is no fault of the request, wherever it was noticed first: 503, try again.
    """
    if isinstance(sys.exc_info()[1], (OperationalError, InterfaceError)):
        if request.path.startswith("/api/"):
            return refusal_response(request, database_silent())
        sentence = "The database does not answer. Try again in a moment, and look first how far this got."
        return refusal_response(request, Unavailable(sentence, outcome="unknown"))
    if request.headers.get("HX-Request"):
        headers = {"HX-Retarget": "#problem", "HX-Reswap": "innerHTML"}
        return HttpResponse(render_to_string("errors/500.html#sentence"), status=500, headers=headers)
    if request.path.startswith("/api/"):
        fault = Refusal(
            "Something broke on our side. Read the call again to see how far it got before you send anything twice.",
            code="INTERNAL",
            status=500,
            outcome="unknown",
        )
        return JsonResponse({"error": error_of(fault)}, status=500, headers=headers_of(fault))
    return HttpResponse(render_to_string("errors/500.html"), status=500)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The form was older than the session (signed in anew in another tab) or cookies are off. Nothing was changed.

    What was typed is shown again to be copied: it is not put back into a form that a foreign page might have sent.
    """
    log.info("CSRF: %s %s: %s", request.method, request.path, reason)
    if request.path.startswith("/api/"):
        return refusal_response(
            request, Forbidden("Send the CSRF token of this session with the request.", code="CSRF_FAILED")
        )
    typed = [
        (name, text)
        for name, text in request.POST.items()
        if name in ("reason", "kept", "source") and isinstance(text, str) and text.strip()
    ]
    page = cast(PageRequest, request)
    name = "errors/csrf.html#sentence" if getattr(page, "htmx", False) else "errors/csrf.html"
    html = render_to_string(name, {"typed": typed, "back": _page_of(request)})
    headers = {"HX-Retarget": "#problem", "HX-Reswap": "innerHTML"} if getattr(page, "htmx", False) else {}
    return HttpResponse(html, status=HTTPStatus.FORBIDDEN, headers=headers)


def _page_of(request: HttpRequest) -> str:
    """The page that a posted address belongs to: /proposals/<id>/decide/ → /proposals/<id>/."""
    for verb in ("decide/", "cancel/", "ask/"):
        if request.path.endswith("/" + verb):
            return request.path.removesuffix(verb)
    return "/"
