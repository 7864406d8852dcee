"""The request as our pages see it, and the guard in front of every page that needs somebody."""

from collections.abc import Callable
from datetime import tzinfo
from functools import wraps
from typing import Concatenate, cast
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django_htmx.middleware import HtmxDetails

from audit.core.actor import Actor


class PageRequest(HttpRequest):
    """What config's middleware adds to Django's request."""

    actor: Actor | None
    zone: tzinfo
    theme: str
    address: str
    htmx: HtmxDetails
    # What the page itself counted, by the name under which the navigation shows it: it is not counted twice.
    counted: dict[str, int]


class PersonRequest(PageRequest):
    """A request behind `signed_in`: there is a person."""

    actor: Actor


type View[**P] = Callable[Concatenate[PersonRequest, P], HttpResponse]


def signed_in[**P](view: View[P]) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """Let only a signed-in person through; others are asked to sign in and come back to this page.

    For pages that are read. A form whose text must not be lost handles `actor is None` itself.
    """

    @wraps(view)
    def guarded(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        page = cast(PageRequest, request)
        if page.actor is not None:
            return view(cast(PersonRequest, page), *args, **kwargs)
        address = sign_in_address(page.get_full_path() if page.method in ("GET", "HEAD") else "")
        if page.htmx:
            # A fragment of a sign-in page inside a list would help nobody: the whole page goes there.
            return HttpResponse(status=401, headers={"HX-Redirect": address})
        return HttpResponseRedirect(address)

    return guarded


def sign_in_address(next_path: str) -> str:
    """The sign-in page that leads to `next_path` afterwards."""
    return reverse("sign-in") + ("?" + urlencode({"next": next_path}) if next_path else "")
