"""Smaller style sheets and scripts where nothing was compressed beforehand (`make up` serves them from the sources)."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class CompressedStatic(GZipMiddleware):
    """Compresses static files only.

    Pages are not: one that holds a secret beside words from its address would tell its length to somebody who chooses
    those words (BREACH), and they are small enough without.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> Any:
        """The response, compressed if the browser takes that."""
        if not request.path_info.startswith(settings.STATIC_URL):
            return response
        return super().process_response(request, response)
