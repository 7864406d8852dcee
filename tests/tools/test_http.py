"""What comes back from `send`, against a real server that misbehaves."""

import gzip
import threading
import time
import tracemalloc
from collections.abc import Callable

import pytest

from audit.core.refusal import Conflict, Refusal
from runs.tools.body import BadBody, BodyReader
from runs.tools.http import HttpAnswer, OutboundRequest, Timeouts, send
from tests.support.target import Behaviour, Target, Visit, closed_port, deaf_target

SECRET = "sk_test_5up3r-S3cret"


def ask(target: Target | str, /, **fields: object) -> HttpAnswer:
    """One POST of a small form to the target, with a credential and five seconds."""
    host = target if isinstance(target, str) else target.host
    base = f"http://{target}" if isinstance(target, str) else target.url
    seconds = fields.pop("seconds", 5.0)
    request_fields: dict[str, object] = {"method": "POST", "url": f"{base}/v1/refunds", "form": (("amount", "100"),)}
    for name in ("method", "url", "form", "json", "has_json", "query", "idempotency_key", "cap_bytes", "timeouts"):
        if name in fields:
            request_fields[name] = fields.pop(name)
    settings: dict[str, object] = {"allowed_hosts": (host,), "credential": lambda: SECRET, **fields}
    return send(
        OutboundRequest(**request_fields),  # type: ignore[arg-type]
        deadline=time.monotonic() + seconds,  # type: ignore[operator]
        **settings,  # type: ignore[arg-type]
    )


def answer_of(behaviour: Behaviour, **fields: object) -> HttpAnswer:
    with Target(behaviour) as target:
        return ask(target, **fields)


# --- what goes out -------------------------------------------------------------------------------------------------


def test_only_our_own_headers_and_the_declared_form_go_out() -> None:
    with Target(lambda visit: visit.answer_json({"id": "re_1"})) as target:
        answer = ask(
            target,
            form=(("charge", "ch_1"), ("metadata[clearance_key]", "clr_1"), ("note", "a&b=c é")),
            query=(("expand[]", "a b"),),
            idempotency_key="clr_1",
        )
        [visit] = target.settled()
    assert answer.structured
    assert answer.body == {"id": "re_1"}
    assert visit.line == "POST /v1/refunds?expand%5B%5D=a+b HTTP/1.1"
    assert visit.headers == {
        "host": target.host,
        "user-agent": "Clearance",
        "accept": "application/json",
        "accept-encoding": "identity",
        "connection": "close",
        "authorization": f"Bearer {SECRET}",
        "idempotency-key": "clr_1",
        "content-type": "application/x-www-form-urlencoded",
        "content-length": str(len(visit.body)),
    }
    assert visit.body == "charge=ch_1&metadata%5Bclearance_key%5D=clr_1&note=a%26b%3Dc+%C3%A9"


def test_a_json_body_goes_out_as_canonical_bytes_and_null_is_a_body_too() -> None:
    with Target(lambda visit: visit.answer_json({})) as target:
        ask(target, form=None, json={"b": 1, "a": "é"}, has_json=True)
        ask(target, form=None, json=None, has_json=True)
        ask(target, form=None)
        bodies = [(visit.headers.get("content-type"), visit.body) for visit in target.settled()]
    assert bodies == [("application/json", '{"a":"é","b":1}'), ("application/json", "null"), (None, "")]


def test_a_get_without_a_credential_or_key_carries_neither_header() -> None:
    with Target(lambda visit: visit.answer_json([])) as target:
        answer = ask(target, method="GET", form=None, credential=None)
        [visit] = target.settled()
    assert answer.body == []
    assert set(visit.headers) == {"host", "user-agent", "accept", "accept-encoding", "connection"}


def test_proxies_and_netrc_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with Target(lambda visit: visit.answer_json({"via": "direct"})) as target, Target(Visit.reset) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        assert ask(target).body == {"via": "direct"}
        assert proxy.visits == []


@pytest.mark.parametrize(
    "fields",
    [
        {"idempotency_key": "clr_1\r\nX-Evil: 1"},
        {"method": "POST\r\nX-Evil: 1"},
        {"url": "http://127.0.0.1:1/a b"},
        {"url": "ftp://127.0.0.1/"},
        {"url": "http://user:pass@127.0.0.1:1/"},
        {"url": "http://127.0.0.1:1/?already=there"},
        {"url": "http://127.0.0.1:99999/"},
        {"url": "//127.0.0.1:1/"},
        {"url": "http://ex\u00e4mple:1/"},
    ],
)
def test_a_request_that_cannot_be_written_plainly_is_not_sent(fields: dict[str, object]) -> None:
    with Target(lambda visit: visit.answer_json({})) as target:
        if "url" in fields:
            fields = {"url": str(fields["url"]).replace("127.0.0.1:1/", f"{target.host}/")}
        answer = ask(target, **fields)
        assert (answer.kind, answer.code) == ("not_sent", "BAD_REQUEST")
        assert b"".join(bytes(visit.raw) for visit in target.settled()) == b""


# --- before any effect ---------------------------------------------------------------------------------------------


def test_a_refused_connection_is_before_any_effect() -> None:
    answer = ask(f"127.0.0.1:{closed_port()}")
    assert (answer.kind, answer.code) == ("not_sent", "CONNECT_FAILED")
    assert "connection refused" in answer.message


def test_a_target_that_does_not_accept_is_before_any_effect_and_ends_in_time() -> None:
    with deaf_target() as host:
        started = time.monotonic()
        answer = ask(host, timeouts=Timeouts(connect=0.3))
    assert (answer.kind, answer.code) == ("not_sent", "CONNECT_TIMEOUT")
    assert time.monotonic() - started < 1.5


def test_a_deadline_that_has_passed_is_before_any_effect_and_nothing_is_connected() -> None:
    with Target(lambda visit: visit.answer_json({})) as target:
        answer = ask(target, seconds=-1.0)
        assert (answer.kind, answer.code) == ("not_sent", "DEADLINE_PASSED")
        assert target.visits == []


class Checked(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (Conflict("Another worker holds this call.", code="FENCE_LOST"), "FENCE_LOST", "Another worker"),
        (Checked("text of the inside"), "LAST_CHECK_FAILED", "Checked"),
    ],
)
def test_when_the_last_check_raises_the_target_has_accepted_and_sees_no_byte(
    error: Exception, code: str, words: str
) -> None:
    connected: list[bool] = []

    def check() -> None:
        # The connection stands before the check: a slow connect cannot come between the check and the write.
        deadline = time.monotonic() + 2
        while not target.visits and time.monotonic() < deadline:
            time.sleep(0.005)
        connected.append(bool(target.visits))
        raise error

    with Target(lambda visit: visit.answer_json({})) as target:
        answer = ask(target, before_send=check)
        [visit] = target.settled()
    assert connected == [True]
    assert (answer.kind, answer.code) == ("not_sent", code)
    assert words in answer.message
    assert "text of the inside" not in answer.message
    assert bytes(visit.raw) == b""


def test_the_last_check_runs_once_and_the_write_follows_it() -> None:
    seen: list[int] = []
    with Target(lambda visit: visit.answer_json({})) as target:
        answer = ask(target, before_send=lambda: seen.append(sum(len(visit.raw) for visit in target.visits)))
    assert answer.structured
    assert seen == [0]


def test_a_last_check_that_takes_longer_than_the_deadline_prevents_the_write() -> None:
    with Target(lambda visit: visit.answer_json({})) as target:
        answer = ask(target, seconds=0.2, before_send=lambda: time.sleep(0.3))
        [visit] = target.settled()
    assert (answer.kind, answer.code) == ("not_sent", "DEADLINE_PASSED")
    assert bytes(visit.raw) == b""


def test_an_interrupt_in_the_last_check_passes_through_and_no_frame_shows_the_credential() -> None:
    def check() -> None:
        raise KeyboardInterrupt

    with Target(lambda visit: visit.answer_json({})) as target:
        with pytest.raises(KeyboardInterrupt) as caught:
            ask(target, before_send=check)
        [visit] = target.settled()
    assert bytes(visit.raw) == b""
    trace = caught.tb
    shown = ""
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.endswith(("http.py", "connection.py", "body.py")):
            shown += repr(trace.tb_frame.f_locals)
        trace = trace.tb_next
    assert "OutboundRequest" in shown
    assert SECRET not in shown


def test_a_connection_reset_before_the_first_byte_was_written_is_before_any_effect() -> None:
    checking = threading.Event()

    def reset_during_the_check(visit: Visit) -> None:
        checking.wait(5)
        visit.reset()

    def check() -> None:
        checking.set()
        time.sleep(0.2)

    with Target(reset_during_the_check, read_first=False) as target:
        answer = ask(target, before_send=check)
    assert (answer.kind, answer.code) == ("not_sent", "NOT_SENT")


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


# --- credentials ---------------------------------------------------------------------------------------------------


def test_a_credential_that_the_target_echoes_is_scrubbed_from_the_answer_and_in_no_log_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(0)

    def echo(visit: Visit) -> None:
        sent = visit.headers["authorization"]
        visit.answer_json(
            {"you_sent": sent, "deep": [{sent: [f"?key={SECRET}&b=1"]}], "escaped": "\\u0073" + SECRET[1:]},
            headers=(f"X-Echo: {sent}", f"Set-Cookie: {sent}"),
        )

    with Target(echo) as target:
        answer = ask(target)
        [visit] = target.settled()
    assert visit.headers["authorization"] == f"Bearer {SECRET}"
    assert answer.body == {
        "you_sent": "Bearer [credential removed]",
        "deep": [{"Bearer [credential removed]": ["?key=[credential removed]&b=1"]}],
        "escaped": "\\u0073" + SECRET[1:],
    }
    assert SECRET not in repr(answer)
    assert SECRET not in caplog.text


def test_a_credential_written_with_json_escapes_or_percent_encoded_is_scrubbed_too() -> None:
    secret = "sk_test_a/b+c="
    body = b'{"escaped":"\\u0073k_test_a\\/b+c=","address":"https://x/?k=sk_test_a%2Fb%2Bc%3D"}'
    answer = answer_of(lambda visit: visit.answer(body), credential=lambda: secret)
    assert answer.body == {"escaped": "[credential removed]", "address": "https://x/?k=[credential removed]"}


@pytest.mark.parametrize(
    "behaviour",
    [
        lambda visit: visit.connection.sendall(b"nonsense " + SECRET.encode() + b"\r\n\r\n"),
        lambda visit: visit.connection.sendall(b"HTTP/1.1 200 OK\r\n bad header " + SECRET.encode() + b"\r\n\r\n"),
        lambda visit: visit.answer(SECRET.encode(), content_type="text/plain"),
        lambda visit: visit.answer(b'{"' + SECRET.encode() + b'":1,"' + SECRET.encode() + b'":2}'),
        lambda visit: visit.answer(b"{}", content_type=SECRET),
        lambda visit: visit.answer(b"{}", headers=(f"Content-Encoding: {SECRET}",)),
        lambda visit: visit.answer_json({}, status="302 " + SECRET, headers=(f"Location: http://x/{SECRET}",)),
        lambda visit: visit.answer_json({}, status="200 " + SECRET),
    ],
)
def test_no_way_of_echoing_gets_the_credential_into_a_message(
    behaviour: Behaviour, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    answer = answer_of(behaviour)
    assert SECRET not in repr(answer)
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    "credential", ["", "short", "has space in it", "sk_test_1\r\nX-Evil: 1", "sk_test_é_long_enough"]
)
def test_a_credential_that_is_no_bearer_token_is_not_sent_and_not_repeated(credential: str) -> None:
    with Target(lambda visit: visit.answer_json({})) as target:
        answer = ask(target, credential=lambda: credential)
        [visit] = target.settled()
    assert (answer.kind, answer.code) == ("not_sent", "CREDENTIAL_UNUSABLE")
    assert bytes(visit.raw) == b""
    assert not credential or credential not in repr(answer)


def test_a_credential_store_that_fails_is_before_any_effect_and_its_words_stay_out() -> None:
    def broken() -> str:
        raise RuntimeError(f"could not decrypt {SECRET}")

    def refusing() -> str:
        raise Refusal(f"no {SECRET}", code="CREDENTIAL_UNKNOWN")

    with Target(lambda visit: visit.answer_json({})) as target:
        first, second = ask(target, credential=broken), ask(target, credential=refusing)
        assert b"".join(bytes(visit.raw) for visit in target.settled()) == b""
    assert (first.kind, first.code) == (second.kind, second.code) == ("not_sent", "CREDENTIAL_UNAVAILABLE")
    assert "RuntimeError" in first.message
    assert "CREDENTIAL_UNKNOWN" in second.message
    assert SECRET not in first.message + second.message
