"""A web server that is told to end: long-polls answer at once with what they have, WebSockets are closed by the server.

uvicorn waits for the requests that are under way (or cuts them off after its own time), and a long-poll may have a
minute to go. ASGI tells an application of the end only when they are over, so the signal is listened to.
"""

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any

from runs.live import hub

type Asgi = Callable[[Any, Any, Any], Awaitable[None]]


def ending(application: Asgi) -> Asgi:
    """The application; with its first request it listens for TERM and INT, beside the server's own handlers."""
    listening = False

    async def inside(scope: Any, receive: Any, send: Any) -> None:
        nonlocal listening
        if not listening:
            listening = True
            _listen(asyncio.get_running_loop())
        await application(scope, receive, send)

    return inside


def _listen(loop: asyncio.AbstractEventLoop) -> None:
    if threading.current_thread() is not threading.main_thread():
        return  # only the main thread may have handlers: a test's server, which is ended otherwise
    for number in (signal.SIGTERM, signal.SIGINT):
        before = signal.getsignal(number)
        if not callable(before):
            continue  # nobody else handles it, so the process ends at once anyway

        def handler(
            number: int, frame: FrameType | None, before: Callable[[int, FrameType | None], Any] = before
        ) -> None:
            loop.call_soon_threadsafe(hub.end_waits)
            before(number, frame)

        signal.signal(number, handler)
