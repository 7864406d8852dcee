"""approvals/core/kept_back.py: conditions over what a contract keeps back stand without their values."""

import pytest

from approvals.core.explained import Explained, Look
from approvals.core.kept_back import looks_kept_back
from approvals.core.matched import Match
from approvals.core.policy import Verdict

PATHS = ("/note", "/lines/*/text")


def shown(name, value):
    match = Match("the condition", f"the condition {value}", ((name, value),))
    look = Look("check", "quiet", "fails", "Does not hold.", matched=(match,))
    verdict = Verdict(effect="deny", code="NOTED", message="", rule_id="", policy_number=1)
    (kept,) = looks_kept_back(Explained(verdict, (look,)), PATHS).looks
    return kept.matched[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("args.note", "private"),
        ("state.note", "private"),
        ("state", {"note": "private"}),
        ("args.lines.0.text", "private"),
        ("args.lines", [{"text": "private"}]),
        ("state.api_key", "private"),
        ("state.words", "Bearer abc123def456"),
    ],
)
def test_a_value_that_is_kept_back_is_not_in_a_condition(name, value):
    match = shown(name, value)
    assert match.text == "the condition (values kept back)"
    assert match.values == ()
    assert match.expression == "the condition"


@pytest.mark.parametrize(("name", "value"), [("state.left", 9), ("args.lines.0.amount", 5), ("principal.note", "x")])
def test_everything_else_stands_as_it_was(name, value):
    match = shown(name, value)
    assert match.values == ((name, value),)
    assert match.text == f"the condition {value}"
