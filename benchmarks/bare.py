"""The least that Django does for an answer: a URL, a view, no middleware, bytes that are there already. A yardstick."""

from django.http import HttpRequest, HttpResponse
from django.urls import path

CONTENT: dict[str, bytes] = {}
"""The bytes to answer with, under ""."""


def answer(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - views are called with it
    """Those bytes."""
    return HttpResponse(CONTENT[""])


urlpatterns = [path("", answer)]
