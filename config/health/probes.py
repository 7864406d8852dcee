"""/livez and /readyz, answered before Django: no session, no middleware, no connection of the application's.

*livez* says that this process answers and touches nothing. *readyz* says whether requests may be sent here: 503 only
without database, tables or keys. A dead broker or a silent sweep makes it slower, so that is 200 and *impaired*.
"""

import json
from typing import Any

from config.health.looking import Looking, looking

LIVE = {"status": "ok"}


def probed(app: Any, look: Looking = looking) -> Any:
    """The ASGI application `app` with the two addresses in front of it."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        path = scope.get("path", "")
        if path not in ("/livez", "/readyz"):
            await app(scope, receive, send)
        elif scope["method"] not in ("GET", "HEAD"):
            await _answer(scope, send, 405, {"status": "GET or HEAD only"})
        elif path == "/livez":
            await _answer(scope, send, 200, LIVE)
        else:
            seen = await look.now_async()
            await _answer(scope, send, 200 if seen.ready else 503, seen.as_dict())

    return application


async def _answer(scope: Any, send: Any, status: int, body: dict[str, Any]) -> None:
    text = json.dumps(body, separators=(",", ":")).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(text)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else text})
