"""audit/core/page_mark.py: a mark gives its row back, and nothing else is one."""

import base64
import contextlib
from datetime import UTC, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.core.page_mark import page_mark, page_mark_read
from audit.core.refusal import Invalid

ID = "6a2f41a3-c54c-4ad7-8d09-6f5d5a7ff2d1"


@given(st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-9, minutes=-30))])), st.uuids())
def test_a_mark_gives_back_its_row_and_needs_no_escaping_in_an_address(at, last_id):
    mark = page_mark(at, last_id)
    assert page_mark_read(mark) == (at, last_id)
    assert all(char.isascii() and (char.isalnum() or char in "-_") for char in mark)


def coded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "mark",
    [
        "", "x", "ü", "\0", "====", "a" * 1_000,
        coded(f"2026-01-01T00:00:00 {ID}"),
        coded("2026-01-01T00:00:00+00:00"),
        coded("2026-01-01T00:00:00+00:00 7"),
        coded(f"2026-13-01T00:00:00+00:00 {ID}"),
        coded(f"{ID} 2026-01-01T00:00:00+00:00"),
    ],
)  # fmt: skip
def test_what_is_no_mark_of_ours_is_refused(mark):
    with pytest.raises(Invalid) as caught:
        page_mark_read(mark)
    assert caught.value.code == "CURSOR_INVALID"


@given(st.text(max_size=80))
def test_any_other_text_is_read_or_refused_and_breaks_nothing(mark):
    with contextlib.suppress(Invalid):
        page_mark_read(mark)
