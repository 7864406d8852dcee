"""The protocol holds in every interleaving, and each safeguard is needed."""

import pytest

from tests.model.call_model import BREAKS, FINAL, explore, history, main


def test_no_interleaving_breaks_an_invariant_or_leaves_a_call_stuck():
    parents, found, dead = explore()
    assert found == {}
    assert dead == 0
    assert len(parents) == 64224
    assert {s.call for s in parents} == {"new", "waiting", "started", "unknown"} | FINAL


@pytest.mark.parametrize("name", list(BREAKS))
def test_without_this_safeguard_something_breaks(name: str):
    parents, found, _ = explore(frozenset([name]), first_only=True)
    assert found, f"the model holds without {name}: it would not be needed"
    fault, state = next(iter(found.items()))
    assert fault
    assert history(parents, state)


def test_a_removed_safeguard_is_told_as_a_history(capsys: pytest.CaptureFixture[str]):
    assert main(["--break", "cancel-started"]) == 1
    told = capsys.readouterr().out
    assert "BROKEN: the effect happened but the call reads cancelled" in told
    assert "sends" in told
