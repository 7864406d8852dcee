"""The demo's refund against a target that misbehaves: what the outcome and the look-up say."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runs.tools import guard_timer
from runs.tools.adapter import HttpTool
from runs.tools.lookup import MAX_PAGES
from runs.tools.outcome import LookedUp, Observation, Outcome
from tests.support.contracts import demo_contract
from tests.support.target import Behaviour, Target, Visit
from tests.tools.conftest import soon

# A forked child here touches nothing that another thread of this process could hold.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")

SECRET = "sk_test_5up3r-S3cret"
KEY = "clr_0123456789abcdef"
ARGUMENTS = {"order_id": "ord_1", "amount": 100, "currency": "AUD", "notify": True}
SEEN = Observation({"refunded": 0}, {"order": {"charge": "ch_1"}})
DONE = {"id": "re_1", "amount": 100, "currency": "aud", "status": "succeeded"}


def tool_at(target: Target, change: Callable[[dict[str, Any]], object] | None = None) -> HttpTool:
    return HttpTool(
        demo_contract("refund_order", target.host, change),
        credential=lambda: SECRET,
        reference_dir=Path("/nowhere"),
        tenant_slug="acme",
    )


def executed(
    behaviour: Behaviour, change: Callable[[dict[str, Any]], object] | None = None, seconds: float = 5
) -> Outcome:
    with Target(behaviour) as target:
        return tool_at(target, change).execute(ARGUMENTS, observation=SEEN, key=KEY, deadline=soon(seconds))


def looked_up(behaviour: Behaviour, seconds: float = 5) -> LookedUp:
    with Target(behaviour) as target:
        return tool_at(target).look_up(ARGUMENTS, key=KEY, deadline=soon(seconds), observation=SEEN)


# --- execute -------------------------------------------------------------------------------------------------------


def test_a_whole_answer_that_says_succeeded_is_a_success_with_its_receipt() -> None:
    outcome = executed(lambda visit: visit.answer_json(DONE, status="201 Created"))
    assert (outcome.status, outcome.reference, outcome.http_status) == ("succeeded", "re_1", 201)


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        (Visit.reset, "CONNECTION_LOST"),
        (lambda visit: visit.connection.close(), "CONNECTION_LOST"),
        (lambda visit: visit.connection.sendall(b"garbage\r\n\r\n"), "BAD_ANSWER"),
        (lambda visit: visit.connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n"), "BAD_ANSWER"),
        (lambda visit: visit.answer(b"<html>Refunded!</html>", content_type="text/html"), "BAD_ANSWER"),
        (lambda visit: visit.answer(json.dumps(DONE).encode(), content_type="text/plain"), "BAD_ANSWER"),
        (lambda visit: visit.answer(b'{"status":"succeeded","status":"failed"}'), "BAD_ANSWER"),
        (lambda visit: visit.answer(b" " * 1_048_577), "ANSWER_TOO_LARGE"),
        (lambda visit: visit.answer_json(DONE, status="302 Found", headers=("Location: /x",)), "REDIRECT_REFUSED"),
        (lambda visit: visit.answer_json(DONE, status="303 See Other", headers=("Location: /x",)), "REDIRECT_REFUSED"),
        (lambda visit: visit.answer_json(DONE, status="500 Oops"), "TARGET_ERROR"),
        (
            lambda visit: visit.answer(b"<html>Bad gateway</html>", content_type="text/html", status="502 Bad"),
            "TARGET_ERROR",
        ),
        (lambda visit: visit.answer_json({"error": "in progress"}, status="409 Conflict"), "TARGET_CONFLICT"),
        (lambda visit: visit.answer_json({}, status="408 Request Timeout"), "TARGET_TIMEOUT"),
        (lambda visit: visit.answer(b"Forbidden", content_type="text/html", status="403 Forbidden"), "BAD_ANSWER"),
        (lambda visit: visit.answer(b"", status="404 Not Found"), "BAD_ANSWER"),
        (lambda visit: visit.answer_json(DONE | {"status": "pending"}), "NOT_CONFIRMED"),
        (lambda visit: visit.answer_json(DONE | {"status": "failed"}), "NOT_CONFIRMED"),
        (lambda visit: visit.answer_json(DONE | {"amount": 10_000}), "NOT_CONFIRMED"),
        (lambda visit: visit.answer_json(DONE | {"amount": "100"}), "NOT_CONFIRMED"),
        (lambda visit: visit.answer_json({"id": "re_1"}), "SUCCESS_UNDECIDED"),
        (lambda visit: visit.answer_json([DONE]), "SUCCESS_UNDECIDED"),
        (lambda visit: visit.answer_json(None), "SUCCESS_UNDECIDED"),
        (lambda visit: visit.answer_json({k: v for k, v in DONE.items() if k != "id"}), "REFERENCE_MISSING"),
        (lambda visit: visit.answer_json(DONE | {"id": ""}), "REFERENCE_MISSING"),
        (lambda visit: visit.answer_json(DONE | {"id": True}), "REFERENCE_MISSING"),
        (lambda visit: visit.answer_json(DONE | {"currency": 5}), "RESULT_INVALID"),
    ],
)
def test_whatever_is_no_whole_and_confirmed_answer_leaves_the_refund_unknown(behaviour: Behaviour, code: str) -> None:
    outcome = executed(behaviour)
    assert (outcome.status, outcome.code) == ("unknown", code)
    assert outcome.message.endswith(".")
    assert outcome.error_class


def test_a_slow_drip_is_ended_by_the_contracts_timeout_and_is_unknown() -> None:
    def drip(visit: Visit) -> None:
        visit.connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n")
        for _ in range(100):
            visit.connection.sendall(b" ")
            time.sleep(0.05)

    outcome = executed(drip, lambda document: document.update(timeout_ms=400), seconds=30)
    assert (outcome.status, outcome.code, outcome.error_class) == ("unknown", "ANSWER_TIMEOUT", "timeout")
    assert 350 < outcome.duration_ms < 900


def test_the_callers_deadline_counts_where_it_is_shorter_than_the_contracts_timeout() -> None:
    outcome = executed(lambda visit: time.sleep(1), seconds=0.3)
    assert (outcome.status, outcome.code) == ("unknown", "ANSWER_TIMEOUT")
    assert outcome.duration_ms < 800


def test_too_many_requests_is_before_any_effect_and_says_when_to_come_back() -> None:
    outcome = executed(lambda visit: visit.answer_json({}, status="429 Slow down", headers=("Retry-After: 3",)))
    assert (outcome.status, outcome.code, outcome.retry_after) == ("failed_before_effect", "RATE_LIMITED", 3)


def test_a_target_that_echoes_the_credential_gets_it_into_no_outcome(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    for status, extra in (("200 OK", DONE), ("400 Bad Request", {}), ("200 OK", {"status": "pending"})):
        outcome = executed(
            lambda visit, s=status, e=extra: visit.answer_json(
                {**e, "currency": visit.headers["authorization"], "error": visit.headers["authorization"]}, status=s
            )
        )
        assert outcome.result is not None
        assert "[credential removed]" in json.dumps(outcome.result.as_dict())
        assert SECRET not in repr(outcome)
    assert SECRET not in caplog.text


def test_a_sender_frozen_after_its_last_check_is_ended_before_the_target_sees_a_byte(tmp_path: Path) -> None:
    checked = tmp_path / "checked"
    with Target(lambda visit: visit.answer_json(DONE)) as target:
        tool = tool_at(target)

        def freeze() -> None:
            # The process stops itself in the gap between the last check and the write, where no code of ours runs.
            checked.touch()
            os.kill(os.getpid(), signal.SIGSTOP)

        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            try:
                with guard_timer.guarded(time.monotonic() + 0.3):
                    # The HTTP deadline is deliberately the later one: only the kernel stands between this and a write.
                    tool.execute(ARGUMENTS, observation=SEEN, key=KEY, deadline=soon(60), before_send=freeze)
            finally:
                os._exit(0)
        os.waitpid(pid, os.WUNTRACED)
        assert checked.exists()
        time.sleep(0.5)
        os.kill(pid, signal.SIGCONT)
        _, status = os.waitpid(pid, 0)
        assert os.WIFSIGNALED(status)
        assert os.WTERMSIG(status) == signal.SIGALRM
        assert [bytes(visit.raw) for visit in target.settled()] == [b""]


# --- look-up -------------------------------------------------------------------------------------------------------


def page(items: list[object], *, more: object = False) -> dict[str, object]:
    return {"data": items, "has_more": more}


def refund(number: int, key: object = "clr_other") -> dict[str, object]:
    return {**DONE, "id": f"re_{number}", "metadata": {"clearance_key": key}}


def pages(*answers: object) -> Behaviour:
    """The n-th request gets the n-th answer: JSON, or a behaviour of its own."""
    left = list(answers)

    def behaviour(visit: Visit) -> None:
        answer = left.pop(0)
        if callable(answer):
            answer(visit)
        else:
            visit.answer_json(answer)

    return behaviour


def test_the_cursor_of_each_page_is_the_last_items_id_and_the_query_stays() -> None:
    with Target(pages(page([refund(1), refund(2)], more=True), page([refund(3)], more=True), page([]))) as target:
        found = tool_at(target).look_up(ARGUMENTS, key=KEY, deadline=soon(), observation=SEEN)
        lines = [visit.line for visit in target.settled()]
    assert lines == [
        "GET /v1/refunds?charge=ch_1&limit=100 HTTP/1.1",
        "GET /v1/refunds?charge=ch_1&limit=100&starting_after=re_2 HTTP/1.1",
        "GET /v1/refunds?charge=ch_1&limit=100&starting_after=re_3 HTTP/1.1",
    ]
    assert (found.status, found.pages) == ("nothing", 3)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Visit.reset, "CONNECTION_LOST"),
        (lambda visit: visit.answer(b"<html/>", content_type="text/html"), "BAD_ANSWER"),
        (lambda visit: visit.answer(b'{"data":[' + b" " * 1_048_576 + b'],"has_more":false}'), "ANSWER_TOO_LARGE"),
        (lambda visit: visit.answer_json({"error": 1}, status="404 Not Found"), "TARGET_REFUSED"),
        (lambda visit: visit.answer_json({"error": 1}, status="503 Down"), "TARGET_ERROR"),
        (lambda visit: visit.answer_json({}, status="302 Found"), "REDIRECT_REFUSED"),
        ({"data": []}, "BAD_ANSWER"),
        ({"has_more": False}, "BAD_ANSWER"),
        ({"data": {}, "has_more": False}, "BAD_ANSWER"),
        ({"data": [], "has_more": "false"}, "BAD_ANSWER"),
        ({"data": [], "has_more": None}, "BAD_ANSWER"),
        ([], "BAD_ANSWER"),
        ({"data": [], "has_more": True}, "CURSOR_STUCK"),
        ({"data": [{"metadata": {}}], "has_more": True}, "CURSOR_STUCK"),
    ],
)
def test_a_page_that_is_no_page_makes_the_look_up_inconclusive_first_or_later(answer: object, code: str) -> None:
    for before in ([], [page([refund(1)], more=True)]):
        found = looked_up(pages(*before, answer))
        assert (found.status, found.complete, found.code, found.count) == ("inconclusive", False, code, 0)
        assert found.pages == len(before) + (1 if code == "CURSOR_STUCK" else 0)
        assert found.message


def test_an_effect_found_before_a_page_failed_is_still_found_and_the_count_is_a_lower_bound() -> None:
    found = looked_up(pages(page([refund(1, KEY)], more=True), Visit.reset))
    assert (found.status, found.reference, found.count, found.complete) == ("found", "re_1", 1, False)
    assert found.code == "CONNECTION_LOST"
    twice = looked_up(pages(page([refund(1, KEY), refund(2, KEY)], more=True), Visit.reset))
    assert (twice.status, twice.count, twice.complete) == ("duplicate", 2, False)


def test_a_cursor_that_stands_still_ends_the_look_up_instead_of_going_round_for_ever() -> None:
    found = looked_up(lambda visit: visit.answer_json(page([refund(1)], more=True)))
    assert (found.status, found.code, found.pages) == ("inconclusive", "CURSOR_STUCK", 2)


def test_more_pages_than_the_limit_are_inconclusive() -> None:
    numbers = iter(range(10_000))
    found = looked_up(lambda visit: visit.answer_json(page([refund(next(numbers))], more=True)), seconds=60)
    assert (found.status, found.code, found.pages) == ("inconclusive", "TOO_MANY_PAGES", MAX_PAGES)


def test_the_deadline_bounds_all_pages_together() -> None:
    numbers = iter(range(10_000))

    def slow(visit: Visit) -> None:
        time.sleep(0.1)
        visit.answer_json(page([refund(next(numbers))], more=True))

    started = time.monotonic()
    found = looked_up(slow, seconds=0.6)
    assert found.status == "inconclusive"
    assert found.code in ("ANSWER_TIMEOUT", "DEADLINE_PASSED")
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("key", [True, 1, None, [KEY], KEY.upper(), KEY + " ", KEY[:-1], f"x{KEY}"])
def test_only_exactly_our_key_matches(key: object) -> None:
    assert looked_up(pages(page([refund(1, key), "no object", None, {"metadata": None}]))).status == "nothing"


def test_an_effect_whose_description_does_not_fit_the_schema_is_found_without_a_result() -> None:
    found = looked_up(pages(page([refund(1, KEY) | {"status": 7}])))
    assert (found.status, found.reference, found.result, found.code) == ("found", "re_1", None, "RESULT_INVALID")


def test_a_tool_without_a_look_up_says_so() -> None:
    def reversible(document: dict[str, Any]) -> None:
        document["side_effect"] = "reversible"
        document["adapter"]["look_up"] = None

    with Target(Visit.reset) as target:
        found = tool_at(target, reversible).look_up(ARGUMENTS, key=KEY, deadline=soon(), observation=SEEN)
        assert target.settled() == []
    assert (found.status, found.code) == ("inconclusive", "NO_LOOK_UP")
