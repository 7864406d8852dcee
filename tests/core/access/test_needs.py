"""What is said before a group loses somebody."""

import pytest

from access.core.needs import GroupNeed, loss_words, merged, need_words


def test_answers_of_several_add_up():
    answers = [{"a": GroupNeed(waiting=2, most=1)}, {"a": GroupNeed(rules=1, most=3)}, {"b": GroupNeed(rules=1)}]
    assert merged(answers) == {
        "a": GroupNeed(waiting=2, rules=1, most=3),
        "b": GroupNeed(rules=1),
    }


@pytest.mark.parametrize(
    ("need", "words"),
    [
        (GroupNeed(), ""),
        (GroupNeed(waiting=1), "1 proposal waits for it"),
        (GroupNeed(waiting=3, rules=1), "3 proposals wait for it, and 1 rule or limit of the policy asks it"),
        (GroupNeed(rules=2), "2 rules or limits of the policy ask it"),
    ],
)
def test_what_depends_on_a_group_is_counted_in_words(need, words):
    assert need_words(need) == words


def test_a_group_that_nothing_needs_may_lose_everybody():
    assert loss_words("finance", 0, GroupNeed()) == ""


def test_nobody_left_and_too_few_left_are_said_and_enough_is_not():
    need = GroupNeed(waiting=3, most=2)
    assert loss_words("finance", 0, need) == (
        "The group finance would have nobody left who may decide: 3 proposals wait for it."
    )
    assert loss_words("finance", 1, need) == (
        "The group finance would have only 1 person left who may decide, who must be 2: 3 proposals wait for it."
    )
    assert loss_words("finance", 2, need) == ""
