"""Terms: stored and read back, merged to the stricter, and what of them voids votes (A3, A5, A9)."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.core.policy import Approver, Verdict, same_or_looser, verdict_from
from approvals.core.rounds import both_hold
from approvals.core.terms import AUTHENTICATIONS, CLOCKS, Terms, both_terms, policy_terms, terms_from, terms_hold

TERMS = st.builds(
    Terms,
    rejections=st.integers(1, 20),
    authentication=st.sampled_from(AUTHENTICATIONS),
    reasons=st.lists(st.text(min_size=1, max_size=5), max_size=3).map(tuple),
    question_clock=st.sampled_from(CLOCKS),
    remind_at_percent=st.integers(1, 99),
    escalate_to=st.lists(st.sampled_from(["leads", "board"]), unique=True).map(tuple),
    editable=st.booleans(),
    reason_to_approve=st.booleans(),
)


def asks(terms: Terms) -> Verdict:
    return Verdict("ask", "held", "Held.", "refund", 1, (), (Approver("finance", 1),), 900, terms=terms)


@given(TERMS)
def test_terms_come_back_as_they_were_stored(terms):
    stored = json.loads(json.dumps(terms.as_dict()))
    assert terms_from(stored) == terms
    assert verdict_from(json.loads(json.dumps(asks(terms).as_dict()))).terms == terms


def test_a_verdict_of_before_there_were_terms_has_the_defaults():
    stored = asks(Terms(rejections=3)).as_dict()
    del stored["terms"]
    assert verdict_from(stored).terms == Terms()


@pytest.mark.parametrize(
    "damaged",
    [
        {"rejections": 0},
        {"rejections": True},
        {"rejections": "1"},
        {"authentication": "none"},
        {"question_clock": "late"},
        {"editable": 1},
        {"reasons": [1]},
        {"escalate_to": None},
        {"unknown": 1},
        [],
        "text",
    ],
)
def test_damaged_terms_are_refused_and_not_read_as_looser_ones(damaged: Any):
    with pytest.raises((TypeError, ValueError)):
        terms_from(damaged)


@given(TERMS, TERMS)
def test_of_two_terms_the_merged_ones_satisfy_both(asked, today):
    merged = both_terms(asked, today)
    assert terms_hold(merged, asked)
    assert terms_hold(merged, today)
    assert not (merged.editable and not (asked.editable and today.editable))
    assert set(merged.escalate_to) == {*asked.escalate_to, *today.escalate_to}
    assert both_hold(asks(asked), asks(today)).terms == merged


@pytest.mark.parametrize(
    ("asked", "today"),
    [
        (Terms(), Terms(authentication="fresh")),
        (Terms(authentication="fresh"), Terms(authentication="signed")),
        (Terms(), Terms(reason_to_approve=True)),
        (Terms(rejections=2), Terms(rejections=1)),
    ],
)
def test_stricter_terms_void_votes_and_looser_ones_do_not(asked, today):
    assert not same_or_looser(asks(asked), asks(today))
    assert same_or_looser(asks(today), asks(asked))


def test_how_people_are_told_voids_no_vote():
    loud = Terms(reasons=("No.",), remind_at_percent=10, escalate_to=("leads",), editable=False, question_clock="stops")
    for asked, today in itertools.permutations([Terms(), loud]):
        assert same_or_looser(asks(asked), asks(today))


def test_a_tier_overrides_its_rules_terms_and_keeps_the_others():
    rule = policy_terms({"rejections": 2, "escalate_to": ["leads"], "id": "x"})
    assert policy_terms({"escalate_to": []}, under=rule) == Terms(rejections=2)
    assert policy_terms({"reason_to_approve": True}) == Terms(), "a document does not say that"
