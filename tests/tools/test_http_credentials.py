"""The credential goes out once and comes back nowhere (E5)."""

import pytest

from audit.core.refusal import Refusal
from tests.support.target import Behaviour, Target, Visit
from tests.tools.asking import SECRET, answer_of, ask


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
