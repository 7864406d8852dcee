import pytest

from runs.core.kinds import CallState, RunStatus
from runs.core.standing import CALL_WORD, RUN_WORD, run_standing
from runs.core.words import RUN_TONE


def test_every_state_of_a_run_and_of_a_call_has_words_of_its_own():
    for words, states in ((RUN_WORD, RunStatus), (CALL_WORD, CallState)):
        assert set(words) == set(states)
        assert len(set(words.values())) == len(words)
        assert not [word for word in words.values() if "_" in word]


@pytest.mark.parametrize(
    ("calls", "word", "tone", "beside"),
    [
        ({"succeeded": 2}, "Completed", "good", ""),
        ({"refused": 1}, "Ended, nothing ran", "still", "1 refused"),
        ({"rejected": 1, "expired": 2}, "Ended, nothing ran", "still", "1 rejected, 2 expired"),
        ({"succeeded": 1, "refused": 1}, "Completed", "still", "1 succeeded, 1 refused"),
        ({"succeeded": 1, "in_flight": 0}, "Completed", "good", ""),
        ({}, "Completed", "still", "asked for nothing"),
    ],
)
def test_a_completed_run_is_green_only_when_everything_it_asked_for_happened(calls, word, tone, beside):
    standing = run_standing(RunStatus.COMPLETED, calls)
    assert (standing.word, standing.tone, standing.beside) == (word, tone, beside)


@pytest.mark.parametrize("status", [status for status in RunStatus if status is not RunStatus.COMPLETED])
def test_every_other_state_is_told_by_itself(status):
    standing = run_standing(status, {})
    assert (standing.word, standing.tone, standing.beside) == (RUN_WORD[status], RUN_TONE[status], "")
