"""A call as text for people: whole, canonical, with nothing hidden (S3, S12, S13, S14, S83)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.core.contract import effective_arguments
from approvals.core.digest import call_bytes, parse_call_bytes
from approvals.core.money import exponent
from approvals.core.present import (
    argument_rows,
    compare_rows,
    hides_anything,
    link_hosts,
    money_exact,
    money_text,
    primary_money,
    sentence,
    sentence_text,
)
from tests.core.approvals.documents import refund

STATE: dict[str, Any] = {
    "amount": 12_000,
    "refunded": 1_000,
    "left": 11_000,
    "currency": "aud",
    "customer": "Anna Berg",
}
GIVEN: dict[str, Any] = {"order_id": "ord_1029", "amount": 4_500}
EFFECTIVE: dict[str, Any] = effective_arguments(refund(), GIVEN)


def shown(pieces):
    return "".join(piece.text for piece in pieces)


@pytest.mark.parametrize(
    ("minor", "currency", "short", "exact"),
    [
        (4_500, "AUD", "A$45.00", "45.00 AUD (raw 4500)"),
        (2_500, "EUR", "€25.00", "25.00 EUR (raw 2500)"),
        (2_500, "JPY", "¥2,500", "2,500 JPY"),
        (2_500, "KWD", "KWD 2.500", "2.500 KWD (raw 2500)"),
        (2_500, "IQD", "IQD 2.500", "2.500 IQD (raw 2500)"),
        (5, "LAK", "LAK 0.05", "0.05 LAK (raw 5)"),
        (1, "usd", "$0.01", "0.01 USD (raw 1)"),
        (0, "USD", "$0.00", "0.00 USD (raw 0)"),
        (-4_500, "AUD", "-A$45.00", "-45.00 AUD (raw -4500)"),
        (100_000_000, "USD", "$1,000,000.00", "1,000,000.00 USD (raw 100000000)"),
        (9_007_199_254_740_991, "USD", "$90,071,992,547,409.91", "90,071,992,547,409.91 USD (raw 9007199254740991)"),
        (4_500, "XYZ", "4500 XYZ (minor units)", "4500 XYZ (minor units)"),
        (4_500, "", "4500 (minor units, currency not known)", "4500 (minor units, currency not known)"),
    ],
)
def test_money_reads_with_the_minor_unit_of_its_currency(minor, currency, short, exact):
    assert money_text(minor, currency) == short
    assert money_exact(minor, currency) == exact


@pytest.mark.parametrize("amount", [45.0, True, "4500", None])
def test_an_amount_that_is_no_integer_is_an_error_and_not_a_guess(amount):
    with pytest.raises(TypeError):
        money_text(amount, "AUD")
    with pytest.raises(TypeError):
        money_exact(amount, "AUD")


def test_an_amount_beyond_exact_numbers_is_an_error():
    with pytest.raises(ValueError, match="exactly"):
        money_text(2**53, "AUD")


@pytest.mark.parametrize("locale", ["de", "fr", "ja", "en-AU", "no-such-place"])
def test_other_languages_write_money_without_hidden_characters(locale):
    text = money_text(123_456_700, "EUR", locale)
    assert "\u00a0" not in text
    assert "\u202f" not in text
    assert "00" in text


@given(st.integers(-(2**53) + 1, 2**53 - 1), st.sampled_from(["AUD", "JPY", "KWD", "CLF"]))
def test_no_digit_of_an_amount_is_lost_in_writing(minor, currency):
    number = money_exact(minor, currency).split(" ")[0].replace(",", "")
    assert int(number.replace(".", "")) == minor
    assert len(number.partition(".")[2]) == exponent(currency)


def test_the_sentence_is_the_servers_with_values_from_call_and_target():
    assert sentence_text(refund(), EFFECTIVE, STATE) == "Refund A$45.00 of A$120.00 to Anna Berg for order ord_1029"
    kinds = [piece.kind for piece in sentence(refund(), EFFECTIVE, STATE)]
    assert kinds == ["fixed", "plain", "fixed", "plain", "fixed", "plain", "fixed", "plain"]


@pytest.mark.parametrize("state", [None, {}, {**STATE, "customer": None}])
def test_a_name_that_is_not_resolved_says_so(state):
    pieces = sentence(refund(), EFFECTIVE, state)
    assert "unresolved: customer" in [piece.text for piece in pieces if piece.kind == "unresolved"]
    assert "[unresolved: customer]" in sentence_text(refund(), EFFECTIVE, state)


def test_a_value_cannot_pass_for_the_words_of_the_sentence():
    state = {**STATE, "customer": "Bo for order ord_2\n\u202eand nothing else"}
    pieces = sentence(refund(), EFFECTIVE, state)
    assert [piece.text for piece in pieces if piece.kind == "fixed"] == ["Refund ", " of ", " to ", " for order "]
    assert [piece.text for piece in pieces if piece.kind == "escape"] == ["U+000A", "U+202E"]
    assert "[U+000A][U+202E]" in sentence_text(refund(), EFFECTIVE, state)


def test_money_of_the_state_follows_the_contracts_own_word_before_the_name():
    contract = refund({"/presentation/money": {"state.amount": "'JPY'"}})
    assert "of ¥12,000 to" in sentence_text(contract, EFFECTIVE, STATE)
    assert "A$120.00" in sentence_text(refund(), EFFECTIVE, {**STATE, "currency": None})


def test_every_effective_argument_has_a_row_and_defaults_are_marked():
    rows = {row.path: row for row in argument_rows(refund(), GIVEN, EFFECTIVE)}
    assert {path: row.default for path, row in rows.items()} == {
        "/amount": False,
        "/currency": True,
        "/notify/customer": True,
        "/order_id": False,
    }
    amount = rows["/amount"]
    assert (amount.label, shown(amount.shown), amount.raw, amount.type) == (
        "Amount",
        "45.00 AUD (raw 4500)",
        "4500",
        "whole number",
    )
    assert [rows[path].label for path in ("/order_id", "/notify/customer", "/currency")] == [
        "Order",
        "Tell the customer",
        "currency",
    ]


def test_what_is_shown_is_read_from_the_bytes_that_are_hashed():
    data = call_bytes(tool="refund_order", contract_version=1, target="t", acting_user="", arguments=EFFECTIVE)
    rows = argument_rows(refund(), GIVEN, parse_call_bytes(data).arguments)
    for row in rows:
        assert row.raw.encode() in data


def test_lists_and_objects_are_shown_down_to_every_value_and_empty_ones_too():
    properties = {
        "qty": {"type": "integer", "title": "Quantity"},
        "price": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
    }
    item = {"type": "object", "additionalProperties": False, "properties": properties}
    money = [{"amount": place, "currency": "/currency"} for place in ("/amount", "/note/*/price")]
    contract = refund(
        {
            "/input_schema/properties/note": {"type": "array", "items": item},
            "/money": money,
            "/presentation/labels": {"/note/*/price": "Price"},
        }
    )
    given_all = {**GIVEN, "note": [{"qty": 1, "price": 250, "tags": []}, {"qty": 2, "price": 5, "tags": ["a"]}]}
    rows = argument_rows(contract, given_all, effective_arguments(contract, given_all))
    notes = [(row.path, row.label, shown(row.shown)) for row in rows if row.path.startswith("/note")]
    assert notes == [
        ("/note/0/price", "Price 1", "2.50 AUD (raw 250)"),
        ("/note/0/qty", "Quantity 1", "1"),
        ("/note/0/tags", "note tags 1", "[]"),
        ("/note/1/price", "Price 2", "0.05 AUD (raw 5)"),
        ("/note/1/qty", "Quantity 2", "2"),
        ("/note/1/tags/0", "note tags 2 1", "a"),
    ]


def test_hidden_characters_in_values_and_names_are_escapes_with_a_warning():
    contract = refund({"/input_schema/patternProperties": {"^x": {"type": "string"}}})
    given_all = {**GIVEN, "note": "pay\u202e\u00a0me", "x\u200by": "z"}
    rows = {row.path: row for row in argument_rows(contract, given_all, effective_arguments(contract, given_all))}
    note = rows["/note"]
    assert [piece.text for piece in note.shown] == ["pay", "U+202E", "U+00A0", "me"]
    assert "RIGHT-TO-LEFT OVERRIDE" in note.warning
    assert note.raw == '"pay\u202e\u00a0me"'
    assert rows["/x\u200by"].label == "x[U+200B]y"
    assert "name of this field" in rows["/x\u200by"].warning
    assert hides_anything(contract, given_all, STATE)
    assert not hides_anything(refund(), EFFECTIVE, STATE)
    assert hides_anything(refund(), EFFECTIVE, {**STATE, "customer": "Ann\u200ba"})


def test_a_long_body_is_shown_to_its_last_character():
    contract = refund({"/input_schema/properties/note": {"type": "string"}})
    body = "line\n" * 40_000 + "and send everything to evil.test"
    row = next(row for row in argument_rows(contract, GIVEN, {**EFFECTIVE, "note": body}) if row.path == "/note")
    assert shown(row.shown) == body
    assert json.loads(row.raw) == body


def test_numbers_are_shown_by_their_canonical_text():
    contract = refund({"/input_schema/properties/note": {"type": "number"}})
    for value, text in [(9_007_199_254_740_991, "9007199254740991"), (0.1, "0.1"), (1e-7, "1e-7")]:
        row = next(row for row in argument_rows(contract, GIVEN, {**EFFECTIVE, "note": value}) if row.path == "/note")
        assert shown(row.shown) == row.raw == text


@pytest.mark.parametrize(("currency", "word"), [("ZZZ", "no currency"), ("QQQ", "no currency")])
def test_a_currency_that_iso_does_not_know_is_a_warning(currency, word):
    row = argument_rows(refund(), GIVEN, {**EFFECTIVE, "currency": currency})[0]
    assert word in row.warning
    assert shown(row.shown) == f"4500 {currency} (minor units)"


def test_decimal_text_keeps_its_type_and_gets_its_currency():
    contract = refund({"/input_schema/properties/amount": {"type": "string", "pattern": "^[0-9]+\\.[0-9]{2}$"},
                       "/checks": [], "/presentation/compare": [], "/adapter/postcondition": None})  # fmt: skip
    row = argument_rows(contract, GIVEN, {**EFFECTIVE, "amount": "45.00"})[0]
    assert (shown(row.shown), row.raw, row.type) == ("45.00 AUD", '"45.00"', "text")


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("no link", ()),
        ("see https://shop.test/a.", ("shop.test",)),
        ("https://bank.test@evil.test/login", ("evil.test",)),
        ("https://bank.test:pw@evil.test:8443?x", ("evil.test",)),
        ("http://evil.test\\@bank.test/", ("evil.test",)),
        ("https:\\\\evil.test\\x", ("evil.test",)),
        ("https://bank.test#@evil.test", ("bank.test",)),
        ("http://пример.рф/a http://shop.test http://SHOP.test", ("xn--e1afmkfd.xn--p1ai", "shop.test")),
        ("javascript://evil.test/%0aalert(1)", ("evil.test",)),
    ],
)
def test_the_real_host_of_a_link_is_told(text, hosts):
    assert link_hosts(text) == hosts


def test_before_and_after_come_from_the_target_through_the_contracts_expressions():
    rows = compare_rows(refund(), EFFECTIVE, STATE)
    assert [(row.label, shown(row.now), shown(row.after), row.changed, row.problem) for row in rows] == [
        ("Refunded", "A$10.00", "A$55.00", True, ""),
        ("Left to refund", "A$110.00", "A$65.00", True, ""),
    ]


@pytest.mark.parametrize("state", [None, {}, {**STATE, "refunded": "1000", "left": None}, {"refunded": 1, "left": 1}])
def test_a_before_that_is_not_known_says_so_and_is_no_zero(state):
    for row in compare_rows(refund(), EFFECTIVE, state):
        assert row.problem.startswith("unresolved")
        assert (row.now, row.after, row.changed) == ((), (), False)


def test_an_unchanged_value_is_told_as_unchanged():
    contract = refund(
        {"/presentation/compare": [{"label": "Customer", "now": "state.customer", "after": "state.customer"}]}
    )
    row = compare_rows(contract, EFFECTIVE, STATE)[0]
    assert (shown(row.now), row.changed) == ("Anna Berg", False)


def test_the_first_amount_is_there_for_lists_and_sums():
    assert primary_money(refund(), EFFECTIVE) == (4_500, "AUD")
    assert primary_money(refund(), {**EFFECTIVE, "currency": "nzd"}) == (4_500, "NZD")
    assert primary_money(refund(), {"order_id": "x"}) == (None, "")
