"""How long a confirmation holds, and what codes look like when they are made and when they are typed."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from access.core.confirm import FRESH, code_hash, fresh_until, recovery_code, session_name, typed_code

T = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("age", "holds"),
    [(0, True), (299.999, True), (300, False), (3600, False)],
)
def test_a_confirmation_holds_for_less_than_five_minutes(age, holds):
    now = T + timedelta(seconds=age)
    assert fresh_until(T, now) == (T + FRESH if holds else None)


def test_without_a_confirmation_nothing_holds():
    assert fresh_until(None, T) is None


def test_a_session_is_named_by_something_that_opens_nothing():
    assert re.fullmatch(r"[0-9a-f]{16}", session_name("key"))
    assert session_name("key") != session_name("kez")
    assert session_name("") == ""


def test_a_recovery_code_has_no_letter_that_is_read_as_another():
    code = recovery_code(bytes(range(0, 256, 16)))
    assert re.fullmatch(r"[2-9a-hjkmnp-z]{4}(-[2-9a-hjkmnp-z]{4}){3}", code)
    assert recovery_code(b"\0" * 16) != recovery_code(b"\1" + b"\0" * 15)


@pytest.mark.parametrize("typed", ["ABCD-efgh", " abcd efgh ", "abcdefgh", "ab.cd/ef_gh"])
def test_what_people_put_between_the_letters_of_a_code_does_not_matter(typed):
    assert typed_code(typed) == "abcdefgh"
    assert code_hash(typed) == code_hash("abcd-efgh")


@pytest.mark.parametrize("typed", ["", "١٢٣٤٥٦", "\0\ud800", "-" * 10_000])
def test_what_is_no_code_is_read_as_none(typed):
    assert typed_code(typed) == ""
