"""Which proposals may be decided at once, and up to which sum (screens.md, Inbox)."""

from decimal import Decimal

import pytest

from approvals.core.bulk import MOST, Chosen, limits_of, not_together, sums_of, too_much

LIMITS = {"AUD": Decimal("50.00"), "JPY": Decimal(1000), "*": Decimal(10)}


def aud(*amounts: int) -> list[Chosen]:
    return [Chosen("refund_order", amount, "AUD") for amount in amounts]


def test_sums_are_by_currency_and_leave_out_what_has_no_amount():
    chosen = [*aud(100, 250), Chosen("refund_order", 70, "JPY"), Chosen("refund_order", None, "")]
    assert sums_of(chosen) == {"AUD": 350, "JPY": 70}


def test_calls_of_one_tool_are_decided_together():
    assert not_together(aud(1, 2)) is None
    refusal = not_together([*aud(1), Chosen("cancel_order", None, "")])
    assert refusal is not None
    assert (refusal.code, "cancel_order and refund_order" in refusal.message) == ("TOOLS_DIFFER", True)


def test_an_amount_below_zero_makes_no_room_for_others():
    assert too_much(aud(4000, 4000, -4000), LIMITS) is not None
    assert too_much(aud(5000, -4000), LIMITS) is None


@pytest.mark.parametrize(("count", "code"), [(0, "NOTHING_CHOSEN"), (MOST + 1, "TOO_MANY_CHOSEN")])
def test_none_and_very_many_are_not_decided_together(count, code):
    refusal = not_together(aud(*[1] * count))
    assert refusal is not None
    assert refusal.code == code
    assert not_together(aud(*[1] * MOST)) is None


def test_a_sum_up_to_the_limit_is_approved_at_once_and_one_above_it_is_not():
    assert too_much(aud(3000, 2000), LIMITS) is None
    refusal = too_much(aud(3000, 2001), LIMITS)
    assert refusal is not None
    assert refusal.code == "SUM_TOO_LARGE"
    assert "A$50.01" in refusal.message
    assert "A$50.00" in refusal.message


def test_each_currency_has_its_own_limit_in_its_own_minor_units():
    assert too_much([Chosen("t", 1000, "JPY")], LIMITS) is None
    assert too_much([Chosen("t", 1001, "JPY")], LIMITS) is not None
    assert too_much([Chosen("t", 10_000, "KWD")], LIMITS) is None  # three digits: 10.000
    assert too_much([Chosen("t", 10_001, "KWD")], LIMITS) is not None


def test_a_currency_that_nobody_limits_is_approved_one_by_one():
    refusal = too_much([Chosen("t", 1, "EUR")], {"AUD": Decimal(5)})
    assert refusal is not None
    assert refusal.code == "SUM_NOT_LIMITED"
    assert too_much([Chosen("t", 1, "QQQ")], LIMITS) is not None


def test_calls_without_amounts_have_no_sum_to_be_above_a_limit():
    assert too_much([Chosen("t", None, "")], {}) is None


def test_limits_are_read_from_a_line():
    assert limits_of(" aud=5000.50, JPY = 100 ,*=0") == {
        "AUD": Decimal("5000.50"),
        "JPY": Decimal(100),
        "*": Decimal(0),
    }
    assert limits_of("") == {}


@pytest.mark.parametrize("text", ["AUD", "AUD=", "AUD=x", "XXXX=1", "AUD=-1", "AUD=NaN", "AUD=1e40", "=5"])
def test_a_line_that_is_none_is_refused_in_words(text):
    with pytest.raises(ValueError, match="is no "):
        limits_of(text)
