"""Effective arguments: what is validated, filled, shown, hashed and executed is one value (S2, S3, S14, rule 13)."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.core.contract import ABSENT, effective_arguments
from approvals.core.digest import call_bytes, digest, parse_call_bytes
from audit.core.canonical import canonical_bytes
from audit.core.jsondoor import open_json
from audit.core.refusal import Invalid, TooLarge
from tests.core.approvals.documents import refund

GOOD: dict[str, Any] = {"order_id": "ord_1029", "amount": 4500}
NOTE = "/input_schema/properties/note"


def errors(contract, arguments):
    with pytest.raises(Invalid) as caught:
        effective_arguments(contract, arguments)
    assert caught.value.code == "ARGUMENTS_INVALID"
    return {error["path"]: error["message"] for error in caught.value.detail["errors"]}


def test_defaults_are_filled_at_every_plain_depth_and_given_values_stay():
    assert effective_arguments(refund(), GOOD) == {**GOOD, "currency": "AUD", "notify": {"customer": True}}
    given_all = {**GOOD, "currency": "NZD", "notify": {"customer": False}}
    assert effective_arguments(refund(), given_all) == given_all


def test_what_the_agent_gave_is_not_changed_by_filling_defaults():
    sent = {**GOOD, "notify": {}}
    before = copy.deepcopy(sent)
    effective_arguments(refund(), sent)
    assert sent == before


def test_two_calls_do_not_share_a_default_through_which_one_could_change_the_other():
    first = effective_arguments(refund(), GOOD)
    first["notify"]["customer"] = "changed"
    assert effective_arguments(refund(), GOOD)["notify"] == {"customer": True}


def test_defaults_reach_the_objects_of_a_list():
    item = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"sku": {"type": "string"}, "qty": {"type": "integer", "default": 1}},
    }
    contract = refund({NOTE: {"type": "array", "items": item}})
    filled = effective_arguments(contract, {**GOOD, "note": [{"sku": "a"}, {"sku": "b", "qty": 7}]})
    assert filled["note"] == [{"sku": "a", "qty": 1}, {"sku": "b", "qty": 7}]


def test_a_default_of_null_is_a_value_and_an_absent_field_without_default_stays_absent():
    contract = refund({NOTE: {"type": ["string", "null"], "default": None}})
    assert effective_arguments(contract, GOOD)["note"] is None
    assert "note" not in effective_arguments(refund(), GOOD)


def test_a_default_that_breaks_a_rule_between_fields_is_found_by_the_second_validation():
    contract = refund({"/input_schema/properties/note/default": "x", "/input_schema/not": {"required": ["note"]}})
    assert "" in errors(contract, GOOD)


def test_absent_null_and_empty_arguments_are_three_different_things():
    with pytest.raises(Invalid) as absent:
        effective_arguments(refund(), ABSENT)
    assert (absent.value.code, absent.value.missing) == ("ARGUMENTS_MISSING", ["arguments"])
    assert errors(refund(), None) == {"": "The arguments must be an object."}
    assert set(errors(refund(), {})) == {"/order_id", "/amount"}


@pytest.mark.parametrize("arguments", [[], "x", 1, True])
def test_arguments_that_are_no_object_are_refused(arguments):
    assert errors(refund(), arguments) == {"": "The arguments must be an object."}


def test_every_fault_is_named_with_its_place_in_a_plain_sentence():
    found = errors(
        refund(),
        {
            "order_id": "x",
            "amount": "45.00",
            "currency": "aud",
            "notify": {"copy_to": "nobody", "zz": 1},
            "a/b": 1,
            "reason": "",
        },
    )
    assert found == {
        "/order_id": "/order_id must match the pattern ^ord_[0-9]{1,12}$.",
        "/amount": "/amount must be a whole number.",
        "/currency": "/currency must match the pattern ^[A-Z]{3}$.",
        "/notify/copy_to": "/notify/copy_to must be written as email.",
        "/notify/zz": "/notify/zz is not a field of this tool.",
        "/a~1b": "/a~1b is not a field of this tool.",
        "/reason": "/reason is not a field of this tool.",
    }


def test_missing_fields_are_listed_as_missing():
    with pytest.raises(Invalid) as caught:
        effective_arguments(refund(), {})
    assert caught.value.missing == ["/amount", "/order_id"]


@pytest.mark.parametrize(
    ("schema", "value", "words"),
    [
        ({"type": "integer", "minimum": 5}, 4, "at least 5"),
        ({"type": "integer", "maximum": 5}, 6, "at most 5"),
        ({"type": "integer", "exclusiveMinimum": 5}, 5, "more than 5"),
        ({"type": "integer", "exclusiveMaximum": 5}, 5, "less than 5"),
        ({"type": "integer", "multipleOf": 5}, 4, "multiple of 5"),
        ({"type": "string", "minLength": 2}, "a", "at least 2 characters"),
        ({"type": "string", "maxLength": 2}, "abc", "at most 2 characters"),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 1}, [], "at least 1 items"),
        ({"type": "array", "items": {"type": "integer"}, "maxItems": 1}, [1, 2], "at most 1 items"),
        ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, [1, 1], "same item twice"),
        ({"enum": ["a", None, 3]}, "b", 'one of "a", null, 3'),
        ({"const": {"a": 1}}, "b", 'must be {"a":1}'),
        ({"type": ["string", "null"]}, 3, "null or a text"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 3, "none of the forms"),
        ({"type": "integer", "oneOf": [{"minimum": 1}, {"minimum": 2}]}, 3, "more than one of the forms"),
        ({"type": "string", "not": {"const": "x"}}, "x", "not"),
        ({"type": "object", "additionalProperties": False, "minProperties": 1}, {}, "at least 1 fields"),
        ({"type": "string", "format": "date"}, "2026-02-30", "written as date"),
    ],
)  # fmt: skip
def test_each_rule_of_a_schema_has_words(schema, value, words):
    assert words in errors(refund({NOTE: schema}), {**GOOD, "note": value})["/note"]


def test_a_refusal_repeats_no_value_that_was_sent():
    secret = "sk_live_" + "x" * 5_000
    with pytest.raises(Invalid) as caught:
        effective_arguments(refund(), {"order_id": secret, "amount": secret, "note": 3})
    assert "sk_live" not in str(caught.value.as_dict())


def test_a_flood_of_faults_is_cut_and_says_so():
    with pytest.raises(Invalid) as caught:
        effective_arguments(refund(), {f"field_{n}": n for n in range(19_000)})
    assert len(caught.value.detail["errors"]) <= 50
    assert "at least" in caught.value.message


def test_one_point_zero_is_the_integer_one_after_the_door_and_a_fraction_of_a_cent_is_refused():
    sent = open_json(b'{"order_id":"ord_1","amount":45.0e2}')
    assert canonical_bytes(effective_arguments(refund(), sent)["amount"]) == b"4500"
    assert errors(refund(), open_json(b'{"order_id":"ord_1","amount":45.5}')) == {
        "/amount": "/amount must be a whole number."
    }


def test_defaults_cannot_blow_a_small_call_up():
    item = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"t": {"type": "string", "default": "x" * 10_000}},
    }
    contract = refund({NOTE: {"type": "array", "items": item}})
    with pytest.raises(TooLarge) as caught:
        effective_arguments(contract, {**GOOD, "note": [{} for _ in range(10_000)]})
    assert caught.value.code == "ARGUMENTS_TOO_LARGE"


def test_the_bytes_that_are_hashed_hold_the_defaults_that_were_filled():
    effective = effective_arguments(refund(), GOOD)
    data = call_bytes(tool="refund_order", contract_version=1, target="t", acting_user="", arguments=effective)
    assert parse_call_bytes(data).arguments == effective
    bare = call_bytes(tool="refund_order", contract_version=1, target="t", acting_user="", arguments=GOOD)
    assert digest(data) != digest(bare)


@given(
    st.fixed_dictionaries(
        {"order_id": st.from_regex(r"\Aord_[0-9]{1,12}\Z"), "amount": st.integers(1, 10_000_000)},
        optional={
            "currency": st.from_regex(r"\A[A-Z]{3}\Z"),
            "note": st.text(st.characters(exclude_categories=["Cs"]), max_size=50),
            "notify": st.fixed_dictionaries({}, optional={"customer": st.booleans()}),
        },
    )
)
def test_filling_twice_changes_nothing_and_loses_nothing(arguments):
    once = effective_arguments(refund(), arguments)
    assert effective_arguments(refund(), once) == once
    assert all(
        canonical_bytes(once[name]) == canonical_bytes(value) for name, value in arguments.items() if name != "notify"
    )
