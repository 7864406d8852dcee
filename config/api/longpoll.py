"""Waiting for news without holding anything: an async view around a DRF view (architecture.md, *Connections*).

The DRF view does its work in a thread and may leave a `Wait` on its response. Then the thread and its database
connection are given back, the coroutine waits for the hub, and at news another DRF view answers: it authenticates
again, so a token revoked meanwhile is told nothing.
"""

from collections.abc import Awaitable, Callable
from copy import copy
from typing import Any

from asgiref.sync import SyncToAsync, sync_to_async
from django.db import connections
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from rest_framework.views import APIView

from access.web.sessions import person_of_key
from runs.api.waiting import Wait
from runs.live import hub

type AsyncView = Callable[..., Awaitable[HttpResponseBase]]


def long_poll(view: type[APIView]) -> AsyncView:
    """The view as an async one. Keeps `cls` and `initkwargs`, by which drf-spectacular and tests find the DRF view."""
    answer = view.as_view()

    @csrf_exempt  # DRF's authentication enforces CSRF where a session is used
    async def waiting(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        response = await _in_thread(answer, request, **kwargs)
        wait: Wait | None = getattr(response, "wait", None)
        if wait is None or wait.seconds <= 0:
            return response
        _give_thread_back()
        news = await hub.wait(wait.keys, wait.news, wait.seconds)
        if news is None:
            return response
        return await _in_thread(_answer_now, request, wait.answer, {**kwargs, **wait.more})

    waiting.cls = view  # type: ignore[attr-defined]
    waiting.initkwargs = {}  # type: ignore[attr-defined]
    waiting.__name__ = waiting.__qualname__ = view.__name__
    return waiting


def _in_thread[T](function: Callable[..., T], *args: Any, **kwargs: Any) -> Awaitable[T]:
    """Run it in the request's own thread and give its database connection back."""

    def run() -> T:
        try:
            return function(*args, **kwargs)
        finally:
            for connection in connections.all(initialized_only=True):
                # One inside a transaction is a test's, which will want it back.
                if not connection.in_atomic_block:
                    connection.close()

    return sync_to_async(run)()


def _answer_now(
    request: HttpRequest, answer: Callable[..., HttpResponseBase], arguments: dict[str, Any]
) -> HttpResponseBase:
    """Answer as if the request came in now: who signed out or lost a role meanwhile is not the actor any more."""
    again = copy(request)
    again.method = "GET"
    if getattr(request, "actor", None) is not None:
        person = person_of_key(request.session.session_key)
        again.actor = person.actor if person else None  # type: ignore[attr-defined]
    return answer(again, **arguments)


def _give_thread_back() -> None:
    """End the thread that Django's middleware made for this request; what comes after the wait gets a new one.

    Without this every waiter would keep an idle thread: asgiref binds one to each request and keeps it to its end.
    """
    context = SyncToAsync.thread_sensitive_context.get(None)
    executor = SyncToAsync.context_to_thread_executor.pop(context, None) if context is not None else None
    if executor is not None:
        executor.shutdown(wait=False)
