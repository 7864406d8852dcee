"""runs/selectors/folded_on.py: a page's state is the one that the whole history gives, whatever was kept before."""

from dataclasses import replace

import pytest

from runs.core.kinds import EventKind as K
from runs.models import Run
from runs.selectors import folded_on as kept
from runs.selectors.folded_on import folded_on
from runs.selectors.history import RunDamaged, folded
from tests.support.histories import add, new_run, propose

pytestmark = pytest.mark.django_db


@pytest.fixture
def run():
    """A run that is long enough to be kept."""
    run_id = new_run()
    propose(run_id)
    add(run_id, *[(K.USER_STEERED, {"text": "on"})] * 120)
    kept.forget()
    return run_id


def head(run_id):
    return Run.objects.get(pk=run_id)


def test_what_was_kept_goes_on_to_the_state_of_the_whole_history(run, django_assert_num_queries):
    assert folded_on(head(run)) == folded(head(run))
    for text in ("one", "two"):
        add(run, (K.USER_STEERED, {"text": text}))
        now = head(run)
        with django_assert_num_queries(1):
            state = folded_on(now)
        assert state == folded(now)


def test_a_head_before_what_was_kept_is_folded_anew(run):
    folded_on(head(run))
    before = head(run)
    before.seq -= 10
    assert folded_on(before) == folded(before)


def test_a_history_that_was_taken_back_and_went_on_differently_is_folded_anew(run):
    """What a restored backup leaves: the sequence is there again, with another event."""
    before = folded_on(head(run))
    entry = kept._kept[run]
    lost = replace(before, pause_asked_at="2026-11-29T03:02:00+00:00")
    kept._kept[run] = replace(entry, state=lost, last=("pause_asked", *entry.last[1:]))
    assert folded_on(head(run)) == before
    add(run, (K.USER_STEERED, {"text": "on"}))
    assert not folded_on(head(run)).paused


def test_a_kept_state_does_not_hide_that_the_head_is_damaged(run):
    folded_on(head(run))
    damaged = head(run)
    damaged.seq += 5
    with pytest.raises(RunDamaged):
        folded_on(damaged)


def test_only_so_many_are_kept(run, monkeypatch):
    monkeypatch.setattr(kept, "KEPT", 2)
    runs = []
    for _ in range(3):
        run_id = new_run()
        add(run_id, *[(K.USER_STEERED, {"text": "on"})] * 100)
        folded_on(head(run_id))
        runs.append(run_id)
    assert list(kept._kept) == runs[1:]
