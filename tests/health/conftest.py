"""Probes as a load balancer sends them, and an organisation for the page."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.world_fixtures import payments, world
from tests.web.conftest import acme, signed_in

__all__ = ["acme", "payments", "signed_in", "world"]


@pytest.fixture
def probe() -> Callable[..., tuple[int, Any]]:
    """probe("/readyz") asks the ASGI application, with looks of its own; the status and the JSON."""
    from config.health.looking import Looking
    from config.health.probes import probed

    async def nothing_else(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError(f"{scope['path']} reached the application")

    def ask(path: str, *, looking: Any = None, method: str = "GET") -> tuple[int, Any]:
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b""}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        scope = {"type": "http", "method": method, "path": path, "headers": []}
        asyncio.run(probed(nothing_else, looking or Looking())(scope, receive, send))
        body = sent[1]["body"]
        return sent[0]["status"], json.loads(body) if body else None

    return ask


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes connections and never says a word, as a frozen server does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken: list[socket.socket] = []
        over = threading.Event()
        server.settimeout(0.1)

        def take() -> None:
            while not over.is_set():
                try:
                    taken.append(server.accept()[0])
                except TimeoutError:
                    continue

        thread = threading.Thread(target=take)
        thread.start()
        yield server.getsockname()[1]
        over.set()
        thread.join()
        for each in taken:
            each.close()
