"""docs/lifecycle.md says what the tables say."""

from enum import StrEnum
from pathlib import Path

import pytest

from runs.core import meanings
from runs.core.kinds import CallState, CommandKind, EffectState, EventKind, RunPhase, RunStatus
from runs.core.lifecycle import document
from runs.core.reducer import CALL_TABLE, RUN_TABLE

DOCUMENT = Path(__file__).parents[3] / "docs" / "lifecycle.md"


def test_the_committed_document_is_the_generated_one():
    assert DOCUMENT.read_text() == document(), "write it again: python -m runs.core.lifecycle > docs/lifecycle.md"


@pytest.mark.parametrize("kind", list(EventKind))
def test_every_kind_of_event_stands_in_the_runs_table(kind: EventKind):
    assert any(kind in row.events for row in RUN_TABLE)
    assert f"`{kind}`" in document()


def test_every_guard_says_in_words_what_it_asks_for():
    for row in (*CALL_TABLE, *RUN_TABLE):
        for guard in row.choosers + row.guards:
            assert guard.__doc__


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (RunStatus, meanings.RUN_MEANING),
        (CallState, meanings.CALL_MEANING),
        (EffectState, meanings.EFFECT_MEANING),
        (RunPhase, meanings.PHASE_MEANING),
        (CommandKind, meanings.COMMAND_MEANING),
    ],
)
def test_every_word_that_people_see_has_a_stated_meaning(words: type[StrEnum], told: dict[str, str]):
    """R3: visible as such, each with its meaning."""
    assert set(told) == set(words)
    assert all(meaning in document() for meaning in told.values())
