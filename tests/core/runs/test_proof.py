"""When a look-up's silence proves something (runs/core/proof.py)."""

from datetime import UTC, datetime, timedelta

import pytest

from runs.core.proof import Asked, proof_of

T = datetime(2026, 11, 29, 14, 17, 5, tzinfo=UTC)
MS = timedelta(milliseconds=1)


def proof(now, *, nothing=None, last=None, can_be_asked=True, asking=False):
    found = proof_of(
        now=now,
        conclusive_at=T,
        can_be_asked=can_be_asked,
        asking=asking,
        nothing=None if nothing is None else Asked(at=nothing, nothing=True),
        last=last or (None if nothing is None else Asked(at=nothing, nothing=True)),
    )
    return found.standing, found.because


@pytest.mark.parametrize(
    ("asked", "standing"), [(T - MS, ("open", "answer")), (T, ("nothing", "")), (T + MS, ("nothing", ""))]
)
def test_only_a_question_sent_at_that_moment_or_later_proves_that_nothing_happened(asked, standing):
    assert proof(T + timedelta(hours=1), nothing=asked) == standing


@pytest.mark.parametrize(("now", "standing"), [(T - MS, ("open", "time")), (T, ("blind", "")), (T + MS, ("blind", ""))])
def test_a_target_that_cannot_be_asked_leaves_it_to_people_from_that_moment_on(now, standing):
    assert proof(now, can_be_asked=False) == standing


@pytest.mark.parametrize(("now", "standing"), [(T - MS, ("open", "time")), (T, ("blind", ""))])
def test_so_does_a_look_up_that_ended_without_an_answer_and_is_not_repeated(now, standing):
    assert proof(now, last=Asked(at=T - timedelta(hours=1), nothing=False)) == standing


def test_while_it_is_asked_again_nothing_is_proven():
    failed = Asked(at=T + MS, nothing=False)
    assert proof(T + timedelta(hours=1), last=failed, asking=True) == ("open", "answer")
    assert proof(T - MS, asking=True) == ("open", "time")
    assert proof(T + MS) == ("open", "answer")


def test_a_later_answer_that_says_nothing_takes_no_proof_away():
    failed = Asked(at=T + timedelta(minutes=5), nothing=False)
    assert proof(T + timedelta(hours=1), nothing=T + MS, last=failed) == ("nothing", "")
