"""Canonical JSON against the RFC's own samples (data rule 14)."""

import hashlib
import struct

import pytest

from audit.core.canonical import canonical_bytes, sha256_hex, short_digest
from audit.core.refusal import Invalid
from tests.vectors import load

NUMBERS = load("rfc8785_numbers")


def double(bits: str) -> float:
    return struct.unpack(">d", bytes.fromhex(bits))[0]


@pytest.mark.parametrize(("bits", "text"), NUMBERS["finite"])
def test_the_number_samples_of_the_rfc_are_written_as_the_rfc_says(bits, text):
    assert canonical_bytes(double(bits)) == text.encode()


@pytest.mark.parametrize("bits", NUMBERS["refused"])
def test_numbers_that_are_none_have_no_canonical_form(bits):
    with pytest.raises(Invalid) as caught:
        canonical_bytes([double(bits)])
    assert caught.value.code == "NOT_CANONICAL"


def test_the_sorting_sample_of_the_rfc_sorts_by_utf16_units():
    names = {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\u0080": 6, "\u00f6": 7}
    assert canonical_bytes(names).decode() == (
        '{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\U0001f600":5,"\ufb33":3}'
    )


def test_the_text_sample_of_the_rfc_is_escaped_as_the_rfc_says():
    value = {"string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/", "literals": [None, True, False]}
    assert canonical_bytes(value).hex(" ") == (
        "7b 22 6c 69 74 65 72 61 6c 73 22 3a 5b 6e 75 6c 6c 2c 74 72 75 65 2c 66 61 6c 73 65 5d 2c "
        "22 73 74 72 69 6e 67 22 3a 22 e2 82 ac 24 5c 75 30 30 30 66 5c 6e 41 27 42 5c 22 5c 5c 5c 5c 5c 22 2f 22 7d"
    )


def test_absent_null_and_empty_are_three_different_texts():
    assert len({canonical_bytes({}), canonical_bytes({"arguments": None}), canonical_bytes({"arguments": {}})}) == 3


def test_composed_and_decomposed_letters_stay_different():
    assert canonical_bytes("\u00e9") != canonical_bytes("e\u0301")


@pytest.mark.parametrize("value", [2**53, -(2**53), "\ud800", {"\ud800": 1}, {1: 2}, {1, 2}, b"x", object()])
def test_a_value_outside_json_is_refused_by_name(value):
    with pytest.raises(Invalid) as caught:
        canonical_bytes(value)
    assert caught.value.code == "NOT_CANONICAL"


def test_a_value_nested_beyond_all_measure_is_refused_and_does_not_crash():
    value: list = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(Invalid) as caught:
        canonical_bytes(value)
    assert caught.value.code == "NOT_CANONICAL"


def test_the_digest_is_sha256_of_the_bytes_and_its_short_form_is_eight_digits_in_two_groups():
    digest = sha256_hex(canonical_bytes({"a": 1}))
    assert digest == hashlib.sha256(b'{"a":1}').hexdigest()
    assert short_digest("a1f39c07" + "0" * 56) == "a1f3 9c07"
