"""approvals/core/exposure.py: whom a customer's counters belong to. Names that read alike are one customer."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.core.exposure import customer_key
from audit.core.canonical import sha256_hex
from audit.core.visible import has_hidden, visible

HIDDEN = (
    "\u200b\u200c\u200d\u2060\u2063\ufeff\u00ad\u034f\u061c\u115f\u180e\u202e\u2066\u3164\uffa0\ufe0f"
    "\U000e0061\U000e0100\x00\x7f\x0b\x1c\x1f\x85"
)

names = st.text(min_size=1, max_size=30)
hidden = st.lists(st.tuples(st.integers(0, 40), st.sampled_from(HIDDEN)), min_size=1, max_size=6)


def with_hidden(name: str, places: list[tuple[int, str]]) -> str:
    for at, char in places:
        name = name[:at] + char + name[at:]
    return name


@pytest.mark.parametrize("char", HIDDEN)
def test_each_character_that_shows_nothing_makes_nobody_another_customer(char):
    assert (
        customer_key(f"cus{char}_1")
        == customer_key(f"{char}cus_1")
        == customer_key(f"cus_1{char}")
        == customer_key("cus_1")
    )


@given(names, hidden)
def test_hidden_characters_anywhere_in_a_name_never_begin_new_counters(name, places):
    assert customer_key(with_hidden(name, places)) == customer_key(name)


def is_space(char: str) -> bool:
    return char in " \t\n\r" or unicodedata.category(char) in ("Zs", "Zl", "Zp")


@given(names.filter(lambda name: not any(has_hidden(char) for char in name if not is_space(char))))
def test_what_hides_nothing_has_the_subject_that_it_had_before_hidden_characters_were_left_out(name):
    plain = re.sub(r"\s+", " ", unicodedata.normalize("NFKC", name)).strip().casefold()
    assert customer_key(name) == (sha256_hex(plain.encode()) if plain else None)


@given(st.from_regex(r"[a-z0-9_]{1,12}", fullmatch=True), st.from_regex(r"[a-z0-9_]{1,12}", fullmatch=True))
def test_names_that_read_differently_stay_apart(one, other):
    assert (customer_key(one) == customer_key(other)) == (one == other)


@pytest.mark.parametrize("name", ["", "  ", "\u200b", " \ufeff\u2060 ", "\u3164"])
def test_a_name_that_shows_nothing_is_nobody(name):
    assert customer_key(name) is None


def test_a_letter_of_another_alphabet_names_somebody_else():
    """It does at the target; that it imitates is told to whoever decides."""
    imitated = "\u0430nna"
    assert visible(imitated)[0].kind == "lookalike"
    assert customer_key(imitated) != customer_key("anna")
