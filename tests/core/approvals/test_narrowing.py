"""approvals/core/narrowing.py: addresses are read with care, whatever somebody typed into them."""

from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.core.narrowing import FIELDS, Narrowing, read_narrowing

AGENT = str(uuid4())


def test_an_address_says_what_it_narrows_to_and_back_again():
    given_ = {
        "q": "anna", "tool": "refund_order", "agent": AGENT, "group": "finance", "within": "15", "from": "20",
        "to": "1,250.50", "currency": "aud",
    }  # fmt: skip
    narrowing, problems = read_narrowing(given_)
    assert problems == []
    assert (narrowing.low_minor, narrowing.high_minor, narrowing.currency) == (2000, 125_050, "AUD")
    assert read_narrowing(narrowing.fields()) == (narrowing, [])


def test_nothing_is_everything():
    assert read_narrowing({}) == (Narrowing(), [])
    assert not Narrowing()
    assert Narrowing(tool="x")


@pytest.mark.parametrize(
    ("currency", "text", "minor"),
    [
        ("AUD", "0.01", 1),
        ("JPY", "2500", 2500),
        ("KWD", "1.234", 1234),
        ("AUD", "900.71", 90_071),
    ],
)
def test_amounts_are_read_by_the_currencys_own_exponent(currency, text, minor):
    narrowing, problems = read_narrowing({"from": text, "currency": currency})
    assert (narrowing.low_minor, problems) == (minor, [])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"from": "20"}, "Say which currency"),
        ({"from": "1.5", "currency": "JPY"}, "has no decimal places"),
        ({"from": "1.005", "currency": "AUD"}, "has 2 decimal places"),
        ({"from": "1,5", "currency": "AUD"}, "is not an amount"),
        ({"to": "-1", "currency": "AUD"}, "is not an amount"),
        ({"to": "1e9", "currency": "AUD"}, "is not an amount"),
        ({"to": "٢٠", "currency": "AUD"}, "is not an amount"),
        ({"to": "99999999999999", "currency": "AUD"}, "more than any call"),
        ({"currency": "XXZ"}, "none of the choices for currency"),
        ({"within": "7"}, "none of the choices for expires within"),
        ({"agent": "robert"}, "none of the choices for agent"),
        ({"from": "2", "to": "1", "currency": "AUD"}, "The lower amount is above the higher one"),
    ],
)
def test_what_says_nothing_is_told_and_narrows_nothing(wrong, said):
    narrowing, problems = read_narrowing(wrong)
    assert len(problems) == 1
    assert said in problems[0]
    assert narrowing in (Narrowing(), Narrowing(currency=wrong.get("currency", "")))


@given(st.dictionaries(st.sampled_from(FIELDS), st.text()))
def test_no_address_is_a_fault(wild):
    narrowing, _ = read_narrowing(wild)
    assert read_narrowing(narrowing.fields()) == (narrowing, [])
