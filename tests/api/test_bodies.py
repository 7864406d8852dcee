"""The cap on bodies in front of Django: by bytes, not by what a client says of them."""

import asyncio
import json
from typing import Any

import pytest
from django.conf import settings

from config.api.bodies import THROWN_AWAY, limited

LIMIT = 100


async def request(chunks: list[bytes], *, length: bytes | None = None, more: bool = False) -> tuple[list[Any], int]:
    """(what was sent, how many bytes the application behind the cap got)."""
    got = 0
    incoming = [
        {"type": "http.request", "body": chunk, "more_body": more or number < len(chunks) - 1}
        for number, chunk in enumerate(chunks)
    ]
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal got
        while True:
            message = await receive()
            got += len(message["body"])
            if not message["more_body"]:
                break
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})

    async def receive() -> Any:
        return incoming.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-length", length)] if length is not None else []
    await limited(app, LIMIT)({"type": "http", "headers": headers}, receive, send)
    return sent, got


@pytest.mark.parametrize("size", [0, 1, LIMIT])
def test_a_body_up_to_the_limit_passes_whole(size):
    sent, got = asyncio.run(request([b"x" * size, b""]))
    assert (sent[0]["status"], got) == (200, size)


def test_one_byte_more_is_refused_in_words():
    sent, _ = asyncio.run(request([b"x" * LIMIT, b"x"]))
    assert sent[0]["status"] == 413
    error = json.loads(sent[1]["body"])["error"]
    assert error["code"] == "BODY_TOO_LARGE"
    assert "100 bytes" in error["message"]
    assert (b"connection", b"close") in sent[0]["headers"]


def form(size: int, *, more: bool = False, **headers: str) -> tuple[list[Any], int]:
    """What a page's form of so many bytes gets, and how many of them were read."""
    sent: list[Any] = []
    left = [size]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["more_body"]:
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})

    async def receive() -> Any:
        chunk = min(left[0], 1_000_000)
        left[0] -= chunk
        return {"type": "http.request", "body": b"x" * chunk, "more_body": more or left[0] > 0}

    async def send(message: Any) -> None:
        sent.append(message)

    given = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": "/policies/compare/", "headers": given}
    asyncio.run(limited(app)(scope, receive, send))
    return sent, size - left[0]


def test_a_form_that_is_too_large_is_told_the_limit_in_a_sentence_and_is_read_to_its_end():
    assert form(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)[0][0]["status"] == 200
    sent, read = form(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
    page = sent[1]["body"].decode()
    assert (sent[0]["status"], read) == (413, settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
    assert "larger than 2 MiB (2,097,152 bytes)" in page
    assert "<h1>Too much at once</h1>" in page
    assert (b"content-type", b"text/html; charset=utf-8") in sent[0]["headers"]


def test_a_part_of_a_page_gets_the_sentence_alone():
    sent, _ = form(3_000_000, **{"hx-request": "true"})
    assert "larger than 2 MiB" in sent[1]["body"].decode()
    assert b"<h1>" not in sent[1]["body"]
    assert (b"hx-retarget", b"#problem") in sent[0]["headers"]


def test_a_form_without_an_end_is_not_read_for_ever():
    sent, read = form(10**12, more=True)
    assert sent[0]["status"] == 413
    assert read <= THROWN_AWAY + 4_000_000


@pytest.mark.parametrize("part", [False, True])
def test_the_same_is_said_where_django_notices_it_first(client, part):
    headers = {"HX-Request": "true"} if part else {}
    response = client.post("/sign-in/", {"username": "x" * 3_000_000}, headers=headers)
    page = client.post(
        "/sign-in/", "username=" + "x" * 3_000_000, content_type="application/x-www-form-urlencoded", headers=headers
    )
    for answer in (response, page):
        assert answer.status_code == 413
        assert "larger than 2 MiB (2,097,152 bytes)" in answer.content.decode()
        assert ("<h1>" in answer.content.decode()) is not part


def test_an_endless_body_is_cut_off_at_the_limit():
    sent, got = asyncio.run(request([b"x" * 30] * 1000, more=True))
    assert sent[0]["status"] == 413
    assert got <= LIMIT


@pytest.mark.parametrize("length", [b"101", b"9" * 400])
def test_a_body_that_is_announced_too_large_is_not_waited_for(length):
    sent, got = asyncio.run(request([], length=length))
    assert (sent[0]["status"], got) == (413, 0)


@pytest.mark.parametrize("length", [b"5", b"0", b"-1", b"nonsense"])
def test_a_length_that_is_too_small_or_no_length_opens_no_gap(length):
    sent, _ = asyncio.run(request([b"x" * (LIMIT + 1)], length=length))
    assert sent[0]["status"] == 413


def test_an_answer_that_has_begun_is_not_begun_twice():
    sent: list[Any] = []

    async def early(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await receive()

    async def receive() -> Any:
        return {"type": "http.request", "body": b"x" * 200, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(limited(early, LIMIT)({"type": "http", "headers": []}, receive, send))
    assert [message["type"] for message in sent] == ["http.response.start"]


def test_other_connections_are_left_alone():
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(await receive())

    async def receive() -> Any:
        return {"type": "websocket.receive", "text": "x" * 1000}

    async def send(message: Any) -> None:
        raise AssertionError(message)

    asyncio.run(limited(app, LIMIT)({"type": "websocket"}, receive, send))
    assert len(seen) == 1
