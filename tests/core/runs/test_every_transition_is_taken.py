"""The recorded histories together take every line of the tables, by each of its events, to each of its ends."""

from runs.core.reducer import CALL_TABLE, RUN_TABLE
from tests.core.runs.history import FILES, load, transitions


def test_no_line_of_the_tables_is_untold_and_nothing_is_told_beside_them():
    every = {(row, *transition) for row in (*CALL_TABLE, *RUN_TABLE) for transition in row.transitions()}
    taken = {transition for path in FILES for transition in transitions(load(path))}
    assert sorted(" | ".join(words) for _, *words in every - taken) == []
    assert sorted(" | ".join(words) for _, *words in taken - every) == []
