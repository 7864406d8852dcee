"""What `send` makes of a target that answers late, wrongly, too much or not at all."""

import gzip
import time
import tracemalloc
from collections.abc import Callable

import pytest

from runs.tools.body import BadBody, BodyReader
from runs.tools.http import Timeouts
from tests.support.target import Behaviour, Target, Visit
from tests.tools.asking import answer_of, ask

# --- unknown: something may have left ------------------------------------------------------------------------------


def test_a_reset_after_the_request_was_read_is_unknown() -> None:
    answer = answer_of(Visit.reset)
    assert (answer.kind, answer.code, answer.status) == ("lost", "CONNECTION_LOST", 0)


def test_a_close_without_an_answer_is_unknown() -> None:
    answer = answer_of(lambda visit: visit.connection.close())
    assert (answer.kind, answer.code) == ("lost", "CONNECTION_LOST")


def test_an_answer_cut_in_the_middle_is_unknown_whatever_its_status_said() -> None:
    for status in ("200 OK", "400 Bad Request"):
        answer = answer_of(
            lambda visit, status=status: visit.connection.sendall(
                f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n".encode()
                + b'{"id":'
            )
        )
        assert (answer.kind, answer.code) == ("lost", "CONNECTION_LOST")
        assert not answer.structured


def test_a_silent_target_ends_at_the_deadline_and_is_unknown() -> None:
    started = time.monotonic()
    answer = answer_of(lambda visit: time.sleep(1.2), seconds=0.4)
    assert (answer.kind, answer.code) == ("lost", "ANSWER_TIMEOUT")
    assert 0.35 < answer.duration_ms / 1000 < 0.9
    assert time.monotonic() - started < 3


def drip(pieces: Callable[[], bytes], pause: float) -> Behaviour:
    def behaviour(visit: Visit) -> None:
        for _ in range(200):
            visit.connection.sendall(pieces())
            time.sleep(pause)

    return behaviour


@pytest.mark.parametrize("part", ["status line", "headers", "interim answers", "body", "chunks"])
def test_a_target_that_drips_is_ended_by_the_total_deadline(part: str) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    first = {
        "status line": b"",
        "headers": head,
        "interim answers": b"",
        "body": head + b"Content-Length: 5000\r\n\r\n",
        "chunks": head + b"Transfer-Encoding: chunked\r\n\r\n",
    }[part]
    more = {
        "status line": b"H",
        "headers": b"X-More: 1\r\n",
        "interim answers": b"HTTP/1.1 103 Early Hints\r\n\r\n",
        "body": b" ",
        "chunks": b"1\r\n \r\n",
    }[part]
    pieces = iter([first])
    answer = answer_of(drip(lambda: next(pieces, more), 0.05), seconds=0.5, timeouts=Timeouts(read=0.2))
    assert answer.kind == "lost"
    assert answer.code in ("ANSWER_TIMEOUT", "BAD_ANSWER" if part == "status line" else "ANSWER_TIMEOUT")
    assert answer.duration_ms < 1_000


def test_a_silence_longer_than_the_read_timeout_ends_before_the_total_deadline() -> None:
    answer = answer_of(lambda visit: time.sleep(1), seconds=5, timeouts=Timeouts(read=0.2))
    assert (answer.kind, answer.code) == ("lost", "ANSWER_TIMEOUT")
    assert answer.duration_ms < 900


def test_a_target_that_does_not_read_a_large_request_is_unknown_and_ends_in_time() -> None:
    with Target(lambda visit: time.sleep(1.5), read_first=False) as target:
        answer = ask(target, form=(("note", "x" * 20_000_000),), timeouts=Timeouts(write=0.4))
    assert (answer.kind, answer.code) == ("lost", "CONNECTION_LOST")
    assert answer.duration_ms < 2_000


def test_a_target_that_reads_slowly_cannot_stretch_the_write_past_the_total_deadline() -> None:
    def sip(visit: Visit) -> None:
        for _ in range(100):
            visit.connection.recv(65_536)
            time.sleep(0.02)

    with Target(sip, read_first=False) as target:
        answer = ask(target, form=(("note", "x" * 20_000_000),), seconds=0.5, timeouts=Timeouts(write=10))
    assert (answer.kind, answer.code) == ("lost", "CONNECTION_LOST")
    assert answer.duration_ms < 1_500


@pytest.mark.parametrize(
    "raw",
    [
        b"garbage that is no HTTP\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 200_000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
    ],
)
def test_what_is_no_http_answer_is_unknown(raw: bytes) -> None:
    answer = answer_of(lambda visit: visit.connection.sendall(raw))
    assert answer.kind == "lost"
    assert answer.code in ("BAD_ANSWER", "CONNECTION_LOST")
    assert answer.body is None


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        (lambda visit: visit.connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n"), "BAD_ANSWER"),
        (lambda visit: visit.answer(b""), "BAD_ANSWER"),
        (lambda visit: visit.answer(b"<html>ok</html>", content_type="text/html"), "BAD_ANSWER"),
        (lambda visit: visit.answer(b'{"id":1}', content_type=""), "BAD_ANSWER"),
        (lambda visit: visit.answer(b'{"id":1}', content_type="text/plain"), "BAD_ANSWER"),
        (lambda visit: visit.answer(b'{"id":1}', content_type="application/json; charset=latin-1"), "BAD_ANSWER"),
        (lambda visit: visit.answer(b'{"id":1', content_type="application/json"), "BAD_ANSWER"),
        (lambda visit: visit.answer(b'{"id":1,"id":2}'), "BAD_ANSWER"),
        (lambda visit: visit.answer(b'{"amount":9007199254740993}'), "BAD_ANSWER"),
        (lambda visit: visit.answer(b'{"amount":NaN}'), "BAD_ANSWER"),
        (lambda visit: visit.answer(b"\xff\xfe"), "BAD_ANSWER"),
        (lambda visit: visit.answer(b"[" * 5000 + b"]" * 5000), "BAD_ANSWER"),
    ],
)
def test_an_answer_that_is_not_json_the_door_accepts_is_not_structured(behaviour: Behaviour, code: str) -> None:
    answer = answer_of(behaviour)
    assert answer.kind == "answered"
    assert answer.code == code
    assert not answer.structured
    assert answer.body is None
    assert answer.message


def test_a_json_subtype_with_a_charset_is_understood_and_whole_floats_become_integers() -> None:
    answer = answer_of(
        lambda visit: visit.answer(
            b'{"rate":1.0,"part":0.25}', content_type='application/problem+json; Charset="UTF-8"', status="400 Bad"
        )
    )
    assert (answer.structured, answer.status) == (True, 400)
    assert repr(answer.body) == "{'rate': 1, 'part': 0.25}"


@pytest.mark.parametrize(
    "status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent", "304 Same"]
)
def test_a_redirect_is_not_followed_and_the_answer_says_so(status: str) -> None:
    with Target(lambda visit: visit.answer_json({"stolen": True})) as other:
        answer = answer_of(
            lambda visit: visit.answer_json({}, status=status, headers=(f"Location: {other.url}/take",)),
        )
        assert other.visits == []
    assert (answer.kind, answer.code, answer.structured) == ("answered", "REDIRECT_REFUSED", False)


def test_retry_after_is_read_in_seconds_and_a_date_or_nonsense_is_ignored() -> None:
    def said(value: str) -> int | None:
        return answer_of(
            lambda visit: visit.answer_json({}, status="429 Slow", headers=(f"Retry-After: {value}",))
        ).retry_after

    assert said("7") == 7
    assert said("99999999") == 86_400
    assert said("Fri, 31 Dec 1999 23:59:59 GMT") is None
    assert said("-3") is None


# --- size ----------------------------------------------------------------------------------------------------------


def test_an_answer_over_the_cap_is_cut_while_streaming_and_marked() -> None:
    sent: list[int] = []

    def flood(visit: Visit) -> None:
        visit.connection.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        piece = b"10000\r\n" + b" " * 65_536 + b"\r\n"
        for _ in range(800):  # 50 MB, if anybody read it
            visit.connection.sendall(piece)
            sent.append(65_536)

    answer = answer_of(flood, cap_bytes=200_000)
    assert (answer.kind, answer.code, answer.cut, answer.body) == ("answered", "ANSWER_TOO_LARGE", True, None)
    assert answer.received_bytes < 400_000
    assert sum(sent) < 40_000_000


def test_an_answer_of_exactly_the_cap_is_whole_and_one_byte_more_is_not() -> None:
    body = b'"' + b"x" * 98 + b'"'
    assert answer_of(lambda visit: visit.answer(body), cap_bytes=100).structured
    assert answer_of(lambda visit: visit.answer(body), cap_bytes=99).cut


def test_a_compressed_bomb_is_unpacked_only_to_the_cap() -> None:
    bomb = gzip.compress(b" " * 300_000_000, compresslevel=9)
    started = time.monotonic()
    answer = answer_of(lambda visit: visit.answer(bomb, headers=("Content-Encoding: gzip",)), cap_bytes=100_000)
    assert (answer.code, answer.cut) == ("ANSWER_TOO_LARGE", True)
    assert time.monotonic() - started < 3


def test_a_compressed_bomb_takes_no_more_memory_than_the_cap() -> None:
    bomb = gzip.compress(b" " * 50_000_000, compresslevel=9)
    tracemalloc.start()
    try:
        reader = BodyReader("gzip", 100_000)
        with pytest.raises(BadBody) as refused:
            reader.feed(bomb)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert refused.value.cut
    assert peak < 1_000_000


def test_compression_nobody_asked_for_is_understood_when_it_is_gzip_and_whole() -> None:
    whole = gzip.compress(b'{"id":"re_1"}')
    packed = answer_of(lambda visit: visit.answer(whole, headers=("Content-Encoding: gzip",)))
    assert packed.body == {"id": "re_1"}
    for body, encoding in (
        (whole[:-4], "gzip"),
        (whole + b"more", "gzip"),
        (b'{"id":"re_1"}', "gzip"),
        (b'{"id":"re_1"}', "br"),
        (whole, "gzip, gzip"),
    ):
        answer = answer_of(lambda visit, b=body, e=encoding: visit.answer(b, headers=(f"Content-Encoding: {e}",)))
        assert (answer.kind, answer.code) == ("answered", "BAD_ANSWER")
