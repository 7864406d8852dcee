"""The JSON door: data rule 13, S83, S87."""

import contextlib
import json
import math
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.core.canonical import canonical_bytes
from audit.core.jsondoor import DEPTH_LIMIT, MEMBER_LIMIT, SAFE_INTEGER, open_json, open_json_object
from audit.core.refusal import Invalid, TooLarge
from tests.vectors import load

VECTORS = load("json_door")

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
numbers = st.integers(-SAFE_INTEGER, SAFE_INTEGER) | st.floats(-1e15, 1e15, allow_nan=False).filter(
    lambda number: not number.is_integer()
)
documents = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=30,
)


def refused(raw: bytes) -> Invalid:
    with pytest.raises(Invalid) as caught:
        open_json(raw)
    return caught.value


@pytest.mark.parametrize(("document", "canonical"), VECTORS["taken"])
def test_a_good_document_becomes_its_canonical_value(document, canonical):
    assert canonical_bytes(open_json(document.encode())).decode() == canonical


@pytest.mark.parametrize(("document", "code", "path"), VECTORS["refused"])
def test_a_bad_document_is_refused_with_its_code_and_place(document, code, path):
    refusal = refused(document.encode())
    assert (refusal.code, refusal.detail["path"], refusal.status) == (code, path, 422)


def test_whole_numbers_come_out_as_integers_so_that_one_and_one_point_zero_are_the_same_value():
    value: Any = open_json(b"[1, 1.0, 10e-1, 0.5]")
    assert [type(item) for item in value] == [int, int, int, float]


@pytest.mark.parametrize("raw", [b"\xff", b'"\xed\xa0\x80"', b'"\xc0\xaf"', '"é"'.encode("latin-1")])
def test_bytes_that_are_not_utf8_are_refused(raw):
    assert refused(raw).code == "JSON_NOT_UTF8"


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
def test_depth_five_thousand_is_a_plain_refusal_and_no_crash(opening):
    refusal = refused(opening.encode() * 5000)
    assert refusal.code == "JSON_DEPTH"


def test_the_deepest_allowed_document_passes_and_one_level_more_does_not():
    assert open_json(b"[" * DEPTH_LIMIT + b"]" * DEPTH_LIMIT) is not None
    assert refused(b"[" * (DEPTH_LIMIT + 1) + b"]" * (DEPTH_LIMIT + 1)).code == "JSON_DEPTH"


def test_ten_to_the_four_hundred_is_refused_however_it_is_written():
    assert refused(b"1" + b"0" * 400).code == "JSON_NUMBER_RANGE"
    assert refused(b"1e400").code == "JSON_NUMBER_RANGE"
    assert refused(b"1" * 500_000).code == "JSON_NUMBER_RANGE"
    assert refused(b"1e" + b"0" * 100_000 + b"400").code == "JSON_NUMBER_RANGE"


@pytest.mark.parametrize("document", ["[" + ",".join(["0"] * (MEMBER_LIMIT + 1)) + "]", None])
def test_more_members_than_the_limit_are_refused(document):
    if document is None:
        document = json.dumps({f"k{n}": n for n in range(MEMBER_LIMIT + 1)})
    assert refused(document.encode()).code == "JSON_TOO_MANY_MEMBERS"


def test_exactly_as_many_members_as_the_limit_pass():
    assert open_json(json.dumps(list(range(MEMBER_LIMIT))).encode()) == list(range(MEMBER_LIMIT))


def test_a_body_over_the_limit_is_too_large_and_one_at_the_limit_is_not():
    body = b'"' + b"a" * 98 + b'"'
    assert open_json(body, limit=100) == "a" * 98
    with pytest.raises(TooLarge) as caught:
        open_json(body, limit=99)
    assert (caught.value.code, caught.value.status) == ("BODY_TOO_LARGE", 413)


@pytest.mark.parametrize(
    "document",
    [
        json.dumps({f"key{n:05}": "x" * 35 for n in range(19_000)}),
        "[" + ",".join(f"12345.{n}1" for n in range(20_000)) + "]",
        '"' + "\\u00e9" * 170_000 + '"',
        "1," * 500_000,
        "[" + "1," * 500_000,
        " " * 1_000_000 + "1",
        "0." + "1" * 1_000_000,
        '{"a":' * 200_000,
        '"' + "\\" * 1_000_000,
    ],
    ids=["members", "fractions", "escapes", "commas", "items", "space", "digits", "depth", "backslashes"],
)
def test_a_mebibyte_of_anything_is_answered_quickly(document):
    raw = document.encode()
    best = math.inf
    for _ in range(3):  # the shortest of three, so that a busy machine does not decide
        start = time.perf_counter()
        with contextlib.suppress(Invalid):
            open_json(raw)
        best = min(best, time.perf_counter() - start)
    assert best < 0.3


def test_a_refusal_names_a_place_and_repeats_no_long_name():
    refusal = refused(b'{"' + b"k" * 100_000 + b'":NaN}')
    assert len(refusal.message) < 300
    assert str(refusal.detail["path"]).startswith("/kkkk")


@pytest.mark.parametrize("raw", [b"[]", b"null", b'"{}"', b"1"])
def test_a_body_that_must_be_an_object_is_nothing_else(raw):
    with pytest.raises(Invalid) as caught:
        open_json_object(raw)
    assert caught.value.code == "JSON_NOT_OBJECT"
    assert open_json_object(b"{}") == {}


@given(documents)
def test_the_door_accepts_what_the_canonical_form_emits_and_gives_the_same_value_back(value):
    emitted = canonical_bytes(value)
    reread = open_json(emitted)
    assert reread == value
    assert canonical_bytes(reread) == emitted


@given(documents)
def test_the_door_reads_what_any_json_writer_wrote(value):
    assert canonical_bytes(open_json(json.dumps(value).encode())) == canonical_bytes(value)


@given(
    st.binary(max_size=200) | st.text(alphabet='{}[]",:0123456789.eE+-\\u truefalsnN \n', max_size=80).map(str.encode)
)
def test_any_bytes_are_a_value_or_a_refusal_and_agree_with_the_standard_reader(raw):
    try:
        value = open_json(raw)
    except Invalid:
        return
    assert json.loads(raw) == value


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**12), max_value=10**12))
def test_a_decimal_is_kept_exactly_or_refused(number):
    text = format(number, "f")
    kept = canonical_bytes(open_json(text.encode())).decode()
    assert type(number)(kept) == number
