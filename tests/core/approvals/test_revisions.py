"""S15: what an edit changed, place by place, and the ids that only we give."""

import pytest

from approvals.core.digest import idempotency_key
from approvals.core.revisions import MISSING, Change, changes_between, is_revision_id, revision_call_id


def test_a_changed_amount_is_one_change_with_both_values():
    assert changes_between({"amount": 100, "note": "x"}, {"amount": 60, "note": "x"}) == [Change("/amount", 100, 60)]


def test_what_came_and_what_went_have_no_other_side():
    came, went = changes_between({"a": 1}, {"b": 2})
    assert (came.path, came.before, came.after) == ("/a", 1, MISSING)
    assert went.as_dict() == {"path": "/b", "to": 2}
    assert came.as_dict() == {"path": "/a", "from": 1}


def test_null_is_a_value_and_not_a_missing_one():
    assert changes_between({"a": None}, {}) == [Change("/a", None, MISSING)]
    assert Change("/a", None, MISSING).as_dict() == {"path": "/a", "from": None}


@pytest.mark.parametrize(("before", "after"), [(1, True), (0, False), (1, "1"), ([], {}), ({}, None)])
def test_values_of_other_types_are_other_values(before, after):
    assert [change.path for change in changes_between({"a": before}, {"a": after})] == ["/a"]


def test_one_and_one_point_zero_are_the_same_number():
    assert changes_between({"a": 1}, {"a": 1.0}) == []


def test_lists_and_objects_are_compared_place_by_place():
    before = {"items": [{"sku": "a", "n": 1}, {"sku": "b", "n": 1}]}
    after = {"items": [{"sku": "a", "n": 2}]}
    assert [change.as_dict() for change in changes_between(before, after)] == [
        {"path": "/items/0/n", "from": 1, "to": 2},
        {"path": "/items/1/n", "from": 1},
        {"path": "/items/1/sku", "from": "b"},
    ]


def test_an_object_that_becomes_a_text_is_told_whole():
    assert [change.as_dict() for change in changes_between({"to": {"name": "A"}}, {"to": "A"})] == [
        {"path": "/to", "to": "A"},
        {"path": "/to/name", "from": "A"},
    ]


def test_a_revisions_id_is_told_from_any_that_an_agent_may_give():
    assert revision_call_id("refund", 2) == "refund~r2"
    assert is_revision_id("refund~r2")
    assert is_revision_id("a~r17")
    assert not any(is_revision_id(text) for text in ("refund", "refund~r", "refund~r2x", "~r2\n", "refund-r2"))


def test_the_first_revision_is_the_agents_own_call():
    with pytest.raises(ValueError, match="own call"):
        revision_call_id("refund", 1)


def test_a_revision_has_a_key_of_its_own_that_a_retry_keeps():
    first = idempotency_key("run", "refund", "refund_order")
    second = idempotency_key("run", "refund", "refund_order", 2)
    assert first != second != idempotency_key("run", "refund", "refund_order", 3)
    assert second == idempotency_key("run", "refund", "refund_order", 2)
