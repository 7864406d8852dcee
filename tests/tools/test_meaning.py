"""The table *What an answer means*, row by row."""

import re
from pathlib import Path

import pytest

from runs.core.retry import Certainty, ErrorClass, classify
from runs.tools.http import HttpAnswer
from runs.tools.meaning import SUCCEEDED, Meaning, meaning_of, not_confirmed

NOT_SENT_CODES = [
    "HOST_NOT_ALLOWED",
    "ADDRESS_NOT_ALLOWED",
    "DNS_FAILED",
    "CONNECT_FAILED",
    "CONNECT_TIMEOUT",
    "TLS_FAILED",
    "BAD_REQUEST",
    "CREDENTIAL_UNAVAILABLE",
    "CREDENTIAL_UNUSABLE",
    "DEADLINE_PASSED",
    "LAST_CHECK_FAILED",
    "NOT_SENT",
    "ADAPTER_FAULT",
    "FENCE_LOST",
]
LOST_CODES = ("ANSWER_TIMEOUT", "CONNECTION_LOST", "BAD_ANSWER", "ADAPTER_FAULT")
PROVES = {
    "failed_before_effect": Certainty.BEFORE_EFFECT,
    "refused": Certainty.REFUSAL,
    "unknown": Certainty.UNKNOWN,
}


def answered(status: int, *, structured: bool = True, code: str = "") -> HttpAnswer:
    return HttpAnswer("answered", status=status, structured=structured, code=code)


def every_answer() -> list[HttpAnswer]:
    answers = [HttpAnswer("not_sent", code=code) for code in NOT_SENT_CODES]
    answers += [HttpAnswer("lost", code=code, status=status) for code in LOST_CODES for status in (0, 200, 400)]
    for status in range(200, 1000):
        answers.append(answered(status, structured=not 300 <= status < 400))
        answers += [answered(status, structured=False, code=code) for code in ("BAD_ANSWER", "ANSWER_TOO_LARGE")]
    return answers


def test_no_answer_claims_more_than_its_error_class_proves() -> None:
    for answer in every_answer():
        meaning = meaning_of(answer)
        if meaning is SUCCEEDED:
            assert answer.structured
            assert 200 <= answer.status < 300
            continue
        assert classify(meaning.error_class) is PROVES[meaning.status], (answer, meaning)
        assert meaning.error_class in set(ErrorClass)
        assert re.fullmatch(r"[A-Z][A-Z_]+", meaning.code or "REDIRECT_REFUSED"), answer


@pytest.mark.parametrize("code", NOT_SENT_CODES)
def test_what_was_not_sent_failed_before_any_effect(code: str) -> None:
    meaning = meaning_of(HttpAnswer("not_sent", code=code, message="why"))
    assert (meaning.status, meaning.code, meaning.message) == ("failed_before_effect", code, "why")


@pytest.mark.parametrize("code", LOST_CODES)
def test_what_was_sent_and_not_answered_is_unknown_even_when_a_status_was_seen(code: str) -> None:
    for status in (0, 200, 400, 404):
        assert meaning_of(HttpAnswer("lost", code=code, status=status)).status == "unknown"


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 410, 412, 413, 415, 422, 423, 424, 451])
def test_a_structured_answer_in_the_400s_is_a_refusal(status: int) -> None:
    assert meaning_of(answered(status)).status == "refused"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 425, 429])
def test_a_400_that_is_no_json_may_come_from_anything_on_the_way_and_is_unknown(status: int) -> None:
    assert meaning_of(answered(status, structured=False, code="BAD_ANSWER")).status == "unknown"


@pytest.mark.parametrize(("status", "error_class"), [(408, "timeout"), (409, "bad_answer"), (499, "timeout")])
def test_three_answers_in_the_400s_leave_the_effect_open(status: int, error_class: str) -> None:
    meaning = meaning_of(answered(status))
    assert (meaning.status, meaning.error_class) == ("unknown", error_class)


@pytest.mark.parametrize(("status", "error_class"), [(425, "not_sent"), (429, "rate_limited")])
def test_two_answers_in_the_400s_say_it_was_turned_away_before_any_effect(status: int, error_class: str) -> None:
    meaning = meaning_of(answered(status))
    assert (meaning.status, meaning.error_class) == ("failed_before_effect", error_class)


@pytest.mark.parametrize("status", [500, 501, 502, 503, 504, 599])
def test_a_500_is_unknown_with_or_without_json(status: int) -> None:
    for structured in (True, False):
        meaning = meaning_of(answered(status, structured=structured, code="" if structured else "BAD_ANSWER"))
        assert (meaning.status, meaning.error_class) == ("unknown", "server_error")


@pytest.mark.parametrize("status", [301, 302, 303, 304, 307, 308])
def test_a_redirect_is_unknown(status: int) -> None:
    meaning = meaning_of(answered(status, structured=False, code="REDIRECT_REFUSED"))
    assert (meaning.status, meaning.code) == ("unknown", "REDIRECT_REFUSED")


@pytest.mark.parametrize("code", ["BAD_ANSWER", "ANSWER_TOO_LARGE"])
def test_a_200_without_a_usable_body_is_unknown(code: str) -> None:
    assert meaning_of(answered(200, structured=False, code=code)).status == "unknown"


def test_a_200_that_does_not_establish_the_effect_is_unknown() -> None:
    for code in ("NOT_CONFIRMED", "SUCCESS_UNDECIDED", "REFERENCE_MISSING", "RESULT_INVALID"):
        meaning: Meaning = not_confirmed(code, "why")
        assert meaning.status == "unknown"
        assert classify(meaning.error_class) is Certainty.UNKNOWN


def test_the_table_in_the_documents_names_every_code_and_the_status_it_leads_to() -> None:
    text = (Path(__file__).parents[2] / "docs" / "boundaries.md").read_text()
    section = text.partition("## What an answer means")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|") and "`" in line]
    for code in NOT_SENT_CODES:
        if code in ("FENCE_LOST", "ADAPTER_FAULT"):
            continue
        assert any(f"`{code}`" in row and "`failed_before_effect`" in row for row in rows), code
    for code in (*LOST_CODES, "REDIRECT_REFUSED", "TARGET_ERROR", "TARGET_CONFLICT", "TARGET_TIMEOUT", "NOT_CONFIRMED"):
        assert any(f"`{code}`" in row and "`unknown`" in row for row in rows), code
    assert any("`TARGET_REFUSED`" in row and "`refused`" in row for row in rows)
    assert any("`RATE_LIMITED`" in row and "`failed_before_effect`" in row for row in rows)
