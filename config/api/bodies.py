"""A cap on request bodies before anything is stored: Django would spool a body of any size to disk first (S87)."""

import json
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from audit.core.jsondoor import BODY_LIMIT
from audit.core.refusal import TooLarge
from config.api.errors import error_of
from config.errors import form_too_large, refusal_response

type Message = MutableMapping[str, Any]
type Receive = Callable[[], Awaitable[Message]]
type Send = Callable[[Message], Awaitable[None]]
type App = Callable[[Any, Any, Any], Awaitable[None]]

LIMIT = BODY_LIMIT
"""Bytes of a body that the API takes. Forms may have what Django reads of them: a text of 1 MiB grows on its way."""
THROWN_AWAY = 32 * 1024 * 1024
"""Of a form that is too large so much is still read, and kept nowhere: a browser that is cut off in the middle of
sending shows its own page of a broken connection and never our sentence."""


class _TooMuch(Exception):
    """The body has more bytes than the limit."""


def limited(app: App, limit: int = LIMIT) -> App:
    """The application behind the cap. Counts what arrives, whatever `Content-Length` says or leaves out.

    Over the cap the client gets 413 in E3's form at once, and nothing of the body has been kept. A body whose announced
    length is over it is not waited for. A page gets a sentence, and what `settings.DATA_UPLOAD_MAX_MEMORY_SIZE` says.
    """

    async def guarded(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        seen, begun = 0, False
        page = not scope.get("path", "/api/").startswith("/api/")
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE if page else limit

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            if message["type"] == "http.request":
                seen += len(message.get("body", b""))
                if seen > most:
                    raise _TooMuch
            return message

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            if _announced(scope) > most:
                raise _TooMuch
            await app(scope, counted, noted)
        except _TooMuch:
            if begun:
                return
            if page:
                await _throw_away(receive)
                await _refuse_page(scope, send)
            else:
                await _refuse(send, limit)

    return guarded


def _announced(scope: Message) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value[:20])
    return 0


async def _refuse(send: Send, limit: int) -> None:
    refusal = TooLarge(
        f"The body has more than {limit:,} bytes, and this door takes no more. Send less, or refer to an artifact.",
        detail={"limit": limit},
    )
    await _answer(send, refusal.status, json.dumps({"error": error_of(refusal)}).encode(), b"application/json")


async def _throw_away(receive: Receive) -> None:
    read = 0
    while read < THROWN_AWAY:
        message = await receive()
        read += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body", False):
            return


async def _refuse_page(scope: Message, send: Send) -> None:
    request = HttpRequest()
    request.path = scope["path"]
    request.method = scope.get("method", "POST")
    request.htmx = any(name == b"hx-request" for name, _ in scope["headers"])  # type: ignore[attr-defined]
    found = refusal_response(request, form_too_large())
    extra = [(name.lower().encode(), value.encode()) for name, value in found.headers.items() if name.startswith("HX-")]
    await _answer(send, found.status_code, found.content, b"text/html; charset=utf-8", extra)


async def _answer(send: Send, status: int, body: bytes, kind: bytes, extra: Sequence[tuple[bytes, bytes]] = ()) -> None:
    # What is left of the body stays unread, so the connection cannot be used for another request.
    headers = [
        *extra,
        (b"content-type", kind),
        (b"content-security-policy", b"default-src 'self'; frame-ancestors 'none'"),
        (b"x-content-type-options", b"nosniff"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
