"""What `send` lets out, and what is provably before any effect."""

import threading
import time
from types import TracebackType

import pytest

from audit.core.refusal import Conflict
from runs.tools.http import Timeouts
from tests.support.target import Target, Visit, closed_port, deaf_target
from tests.tools.asking import SECRET, ask

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
    trace: TracebackType | None = caught.tb
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
