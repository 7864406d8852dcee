"""approvals/core/reasons.py."""

import pytest

from approvals.core.reasons import LONGEST, reason_of
from audit.core.refusal import Invalid


def test_spaces_around_a_reason_are_dropped_and_nothing_else_is_changed():
    assert reason_of("  too \u202e much\n", required=True) == "too \u202e much"


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b", "\u202e \u2800\u3164", "\u00a0\u00a0"])
def test_a_reason_that_shows_nothing_is_none(text):
    with pytest.raises(Invalid) as caught:
        reason_of(text, required=True)
    assert caught.value.code == "REASON_REQUIRED"
    assert reason_of(text, required=False) == text.strip()


@pytest.mark.parametrize(
    ("text", "code"),
    [("a\0b", "REASON_INVALID"), ("a\ud800", "REASON_INVALID"), ("x" * (LONGEST + 1), "REASON_TOO_LONG")],
)
def test_a_reason_that_cannot_be_kept_is_refused_also_where_none_is_needed(text, code):
    with pytest.raises(Invalid) as caught:
        reason_of(text, required=False)
    assert caught.value.code == code
