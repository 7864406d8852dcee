"""Bodies as an ASGI server hands them over: in chunks, and with a length that is absent or lies."""

import asyncio
import json
from typing import Any

import pytest
from django.core.handlers.asgi import ASGIHandler

from audit.core.jsondoor import BODY_LIMIT

PATH = "/api/v1/token"
GOOD = json.dumps({"client_id": "agt_unknown", "client_secret": "x"}).encode()


async def asgi(headers: list[tuple[bytes, bytes]], chunks: list[bytes]) -> tuple[int, dict[str, Any]]:
    """A request as a server hands it over: chunk by chunk, with whatever headers the client claims."""
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": PATH, "raw_path": PATH.encode(), "query_string": b"", "root_path": "",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json"), *headers],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000),
    }  # fmt: skip
    incoming = [
        {"type": "http.request", "body": chunk, "more_body": number < len(chunks) - 1}
        for number, chunk in enumerate(chunks)
    ]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if incoming:
            return incoming.pop(0)
        await asyncio.sleep(30)
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await ASGIHandler()(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], json.loads(body)


@pytest.mark.parametrize("length", [None, b"0", b"5", b"99999999999", b"-1", b"nonsense", b""])
def test_a_length_that_is_absent_or_lies_changes_nothing(committed_db, length):
    """Chunked bodies have none; DRF alone would take such a body for an empty one."""
    headers = [(b"content-length", length)] if length is not None else [(b"transfer-encoding", b"chunked")]
    chunks = [GOOD[i : i + 7] for i in range(0, len(GOOD), 7)]
    status, body = asyncio.run(asgi(headers, chunks))
    assert (status, body["error"]["code"]) == (401, "CLIENT_REFUSED")


@pytest.mark.parametrize("length", [None, b"10", str(3 * BODY_LIMIT).encode()])
def test_too_many_bytes_are_refused_whatever_length_was_claimed(committed_db, length):
    headers = [(b"content-length", length)] if length is not None else []
    status, body = asyncio.run(asgi(headers, [b" " * 65_536] * 48))
    assert (status, body["error"]["code"]) == (413, "BODY_TOO_LARGE")
    assert "1,048,576" in body["error"]["message"]
