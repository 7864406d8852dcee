"""A cap on request bodies before anything is stored: Django would spool a body of any size to disk first (S87)."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from audit.core.jsondoor import BODY_LIMIT
from audit.core.refusal import TooLarge
from config.api.errors import error_of

type Message = MutableMapping[str, Any]
type Receive = Callable[[], Awaitable[Message]]
type Send = Callable[[Message], Awaitable[None]]
type App = Callable[[Any, Any, Any], Awaitable[None]]

LIMIT = BODY_LIMIT
"""Bytes of any request's body; pages send far less than the API takes."""


class _TooMuch(Exception):
    """The body has more bytes than the limit."""


def limited(app: App, limit: int = LIMIT) -> App:
    """The application behind the cap. Counts what arrives, whatever `Content-Length` says or leaves out.

    Over the cap the client gets 413 in E3's form at once, and nothing of the body has been kept. A body whose announced
    length is over it is not waited for.
    """

    async def guarded(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        seen, begun = 0, False

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            if message["type"] == "http.request":
                seen += len(message.get("body", b""))
                if seen > limit:
                    raise _TooMuch
            return message

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            if _announced(scope) > limit:
                raise _TooMuch
            await app(scope, counted, noted)
        except _TooMuch:
            if not begun:
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
    body = json.dumps({"error": error_of(refusal)}).encode()
    # What is left of the body stays unread, so the connection cannot be used for another request.
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
