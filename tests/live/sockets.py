"""A browser's WebSockets against the real application, in this process."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from asgiref.testing import ApplicationCommunicator
from django.test import Client


def signed_in(person: Any) -> Client:
    """A client that came in through the sign-in form."""
    client = Client()
    answer = client.post("/sign-in/", {"username": person.email, "password": person.password})
    assert answer.status_code == 302, answer.content
    return client


class Socket:
    """One open WebSocket."""

    def __init__(self, inner: ApplicationCommunicator) -> None:
        self.inner = inner

    async def hello(self, **has: Any) -> None:
        await self.text(json.dumps(has))

    async def text(self, data: str) -> None:
        await self.inner.send_input({"type": "websocket.receive", "text": data})

    async def bytes(self, data: bytes) -> None:
        await self.inner.send_input({"type": "websocket.receive", "bytes": data})

    async def news(self, seconds: float = 8.0) -> str:
        """The next message that is no beat."""
        while True:
            message = await self.inner.receive_output(seconds)
            assert message["type"] == "websocket.send", message
            if not message["text"].startswith("<template data-beat"):
                return message["text"]

    async def said(self, word: str, seconds: float = 8.0) -> bool:
        """Whether the next message has that word."""
        return word in (await self.inner.receive_output(seconds))["text"]

    async def closed(self, seconds: float = 8.0) -> int:
        """The code that the server closes with; what it says before is let pass."""
        while True:
            message = await self.inner.receive_output(seconds)
            if message["type"] == "websocket.close":
                return message["code"]

    async def silent(self, seconds: float = 0.6) -> bool:
        return await self.inner.receive_nothing(seconds)


@asynccontextmanager
async def opened(
    path: str,
    client: Client | None,
    *,
    origin: str | None = "http://localhost",
    host: str = "localhost",
    scheme: str = "ws",
    headers: Sequence[tuple[bytes, bytes]] = (),
):
    """The socket, or None when the handshake is refused. `headers`: what a proxy adds."""
    from config.asgi import application

    headers = [(b"host", host.encode()), *headers]
    if origin is not None:
        headers.append((b"origin", origin.encode()))
    if client is not None:
        cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
        headers.append((b"cookie", cookies.encode()))
    scope = {"type": "websocket", "path": path, "query_string": b"", "headers": headers, "subprotocols": []}
    scope["scheme"] = scheme
    inner = ApplicationCommunicator(application, scope)
    await inner.send_input({"type": "websocket.connect"})
    answer = await inner.receive_output(5)
    try:
        yield Socket(inner) if answer["type"] == "websocket.accept" else None
    finally:
        await inner.send_input({"type": "websocket.disconnect", "code": 1001})
        await inner.wait(5)


def live(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Runs an async test function; a loop of its own each, so that no hub outlives its test."""
    import functools
    import inspect

    @functools.wraps(test)
    def run(**fixtures: Any) -> None:
        asyncio.run(test(**fixtures))

    run.__signature__ = inspect.signature(test)  # type: ignore[attr-defined]
    return run


async def apart(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`function` in a thread with a connection of its own, as another process would."""
    from django.db import connections

    def call() -> Any:
        try:
            return function(*args, **kwargs)
        finally:
            connections.close_all()

    return await asyncio.to_thread(call)


def sequence(html: str) -> list[int]:
    """The sequence numbers of the events in a push, in order."""
    return sorted(int(number) for number in re.findall(r'id="event-(\d+)"', html))
