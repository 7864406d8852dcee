"""Who acts in this request, and what a refusal looks like when it reaches a person.

Both run in sync and in async stacks: a sync-only middleware would hold a thread for each long-poll.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC
from inspect import iscoroutinefunction, markcoroutinefunction
from typing import cast

from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from django.utils.cache import patch_cache_control

from access.core.address import address_of
from access.services.sessions import session_seen
from access.web.requests import PageRequest
from access.web.sessions import person_of
from access.web.step_demand import answer_owing
from audit.core.refusal import Refusal
from config.errors import refusal_response

type Answer = HttpResponseBase | Awaitable[HttpResponseBase]

log = logging.getLogger(__name__)


class ActorMiddleware:
    """Sets `request.actor` (a person of this browser session with the rights of this moment, or None), the zone that
    times are told in, the theme, and the caller's network address.

    Agents' tokens are the API's business (config/api): they never become `request.actor`, so no page can be opened and
    nothing decided with one. Answers that say nothing about caching may not be kept by any cache, the browser's
    included: what was shown belongs to the rights of that moment.
    """

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Answer]) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Answer:
        if self.is_async:
            return self._async(cast(PageRequest, request))
        self._find(cast(PageRequest, request))
        try:
            return _private(cast(HttpResponseBase, self.get_response(request)))
        finally:
            timezone.deactivate()

    async def _async(self, request: PageRequest) -> HttpResponseBase:
        if settings.SESSION_COOKIE_NAME in request.COOKIES:
            await sync_to_async(self._find)(request)
        else:
            _nobody(request)
        try:
            return _private(await cast(Awaitable[HttpResponseBase], self.get_response(request)))
        finally:
            timezone.deactivate()

    def process_view(
        self, request: HttpRequest, view: object, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> HttpResponse | None:
        """Whoever owes their organisation a second step is led to where one is set up, whatever they asked for."""
        page = cast(PageRequest, request)
        if page.actor is None or not page.actor.owes_step:
            return None
        try:
            return answer_owing(page, page.resolver_match.view_name if page.resolver_match else "")
        except Refusal as refusal:
            return refusal_response(request, refusal)

    def _find(self, request: PageRequest) -> None:
        _nobody(request)
        # Without the cookie there is no session: an agent's request costs no look-up here.
        if settings.SESSION_COOKIE_NAME in request.COOKIES:
            person = person_of(request.session)
            if person is not None:
                request.actor, request.zone, request.theme = person.actor, person.zone, person.theme
                session_seen(actor=person.actor, session_key=request.session.session_key or "")
        timezone.activate(request.zone)


class RefusalMiddleware:
    """Turns a Refusal that a view raised into a page, or into a fragment where htmx asked (E3's sentence, no trace)."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Answer]) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Answer:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, Refusal):
            return refusal_response(request, exception)
        return None


def _nobody(request: PageRequest) -> None:
    request.actor, request.zone, request.theme = None, UTC, "system"
    request.counted = {}
    request.address = address_of(
        request.META.get("REMOTE_ADDR", ""), request.META.get("HTTP_X_FORWARDED_FOR", ""), settings.TRUSTED_PROXIES
    )


def _private(response: HttpResponseBase) -> HttpResponseBase:
    if not response.has_header("Cache-Control"):
        patch_cache_control(response, no_store=True, private=True)
    return response
