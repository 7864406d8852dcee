"""Tables written as text: what is misspelt fails when they are read, not when a run meets them."""

import pytest

from runs.core import guards
from runs.core.table import read

STATES = {"a": ("a",), "b": ("b",), "both": ("a", "b")}
HEAD = "from | event | guards | to | commands\n"


def rows(line: str):
    return read(HEAD + line, states=STATES, guards=vars(guards))


def test_a_line_is_read_into_its_parts():
    (row,) = rows("both | run_created run_admitted | managed? quiet | b | ask_model tell_agent")
    assert (row.source, row.to) == (("a", "b"), ("b",))
    assert (row.choosers, row.guards) == ((guards.managed,), (guards.quiet,))
    assert row.commands == ("ask_model", "tell_agent")
    assert list(row.transitions()) == [
        ("a", "run_created", "b"),
        ("a", "run_admitted", "b"),
        ("b", "run_created", "b"),
        ("b", "run_admitted", "b"),
    ]


def test_a_line_that_moves_nothing_leads_from_each_state_to_itself():
    (row,) = rows("both | run_created | | = |")
    assert list(row.transitions()) == [("a", "run_created", "a"), ("b", "run_created", "b")]


@pytest.mark.parametrize(
    "line",
    [
        "c | run_created | | = |",
        "a | run_begun | | = |",
        "a | run_created | nobody_knows | = |",
        "a | run_created | nobody_knows? | = |",
        "a | run_created | | c |",
        "a | run_created | | = | dance",
        "a | run_created | | =",
    ],
)
def test_a_word_that_nobody_knows_fails_the_reading(line: str):
    with pytest.raises((KeyError, ValueError)):
        rows(line)
