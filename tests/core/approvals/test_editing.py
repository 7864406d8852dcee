"""S15: fields made from the contract's schema, and back into JSON of the same types."""

from typing import Any

import pytest

from approvals.core.contract import Contract
from approvals.core.editing import LONGEST, Field, edited, fields_of
from tests.core.approvals.documents import refund

PROPERTIES: dict[str, Any] = {
    "order_id": {"type": "string", "title": "Order"},
    "amount": {"type": "integer", "minimum": 1},
    "currency": {"type": "string", "default": "AUD"},
    "note": {"type": "string", "maxLength": 2000},
    "speed": {"enum": ["slow", 3, None, True]},
    "count": {"type": "integer", "minimum": 0, "maximum": 9},
    "share": {"type": ["number", "null"]},
    "notify": {"type": "boolean"},
    "lines": {"type": "array", "items": {"type": "string"}},
}
ARGUMENTS: dict[str, Any] = {
    "order_id": "ord_1",
    "amount": 4500,
    "currency": "AUD",
    "note": "arrived broken",
    "speed": 3,
    "share": 0.5,
    "notify": False,
    "lines": ["a", "b"],
}


def contract(**properties: Any) -> Contract:
    schema = {
        "type": "object",
        "additionalProperties": False,
        "required": ["order_id", "amount"],
        "properties": PROPERTIES | properties,
    }
    return refund({"/input_schema": schema, "/redaction": [], "/presentation/labels": {}})


def field(name: str, arguments: dict[str, Any] | None = None, **changes: Any) -> Field:
    fields = fields_of(contract(), ARGUMENTS if arguments is None else arguments, **changes)
    return next(one for one in fields if one.name == name)


def change(arguments: dict[str, Any] | None = None, /, **typed: str) -> dict[str, Any]:
    """The arguments after these fields were filled in; `p_x` is the presence of x."""
    form = {f"p.{name[2:]}" if name.startswith("p_") else f"v.{name}": text for name, text in typed.items()}
    done = edited(contract(), ARGUMENTS if arguments is None else arguments, form)
    assert not done.problems
    return done.arguments


def problem(name: str, text: str) -> str:
    done = edited(contract(), ARGUMENTS, {f"v.{name}": text})
    assert done.arguments == ARGUMENTS
    return done.problems[name]


def test_every_argument_has_a_field_in_the_order_of_the_bytes():
    assert [one.name for one in fields_of(contract(), ARGUMENTS)] == sorted(PROPERTIES)


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("amount", "money", "4500"),
        ("note", "text", "arrived broken"),
        ("speed", "choice", "1"),
        ("count", "whole", ""),
        ("share", "number", "0.5"),
        ("notify", "yesno", "false"),
    ],
)
def test_a_fields_kind_follows_the_schema(name, kind, text):
    found = field(name)
    assert (found.kind, found.text) == (kind, text)


def test_an_untouched_form_changes_nothing():
    typed = {one.value_name: one.text for one in fields_of(contract(), ARGUMENTS)}
    assert edited(contract(), ARGUMENTS, typed).arguments == ARGUMENTS


def test_money_is_minor_units_and_is_echoed_in_its_currency():
    found = field("amount")
    assert found.echo == "45.00 AUD (raw 4500)"
    assert "100 are 1 AUD" in found.hint
    assert field("amount", ARGUMENTS | {"currency": "JPY"}).echo == "4,500 JPY"
    assert field("amount", ARGUMENTS | {"currency": "KWD"}).echo == "4.500 KWD (raw 4500)"


def test_an_amount_stays_a_whole_number():
    assert change(amount=" 6000 ")["amount"] == 6000
    for text in ("60.00", "6e3", "sixty", "", "6,000", "６０"):
        assert problem("amount", text) == "Write a whole number, with digits only."


def test_an_amount_beyond_what_json_keeps_is_refused():
    assert "cannot be read as a number" in problem("amount", "9007199254740993")


def test_a_number_that_would_be_rounded_is_refused():
    assert change(share="0.25")["share"] == 0.25
    assert "cannot be read as a number" in problem("share", "0.10000000000000000001")
    assert problem("share", "true") == "Write a number."


@pytest.mark.parametrize(("key", "value"), [("0", "slow"), ("1", 3), ("2", None), ("3", True)])
def test_a_choice_keeps_the_type_of_its_value(key, value):
    assert change(speed=key)["speed"] is value or change(speed=key)["speed"] == value
    assert type(change(speed=key)["speed"]) is type(value)


@pytest.mark.parametrize("text", ["4", "-1", "slow", "", "²"])
def test_a_value_that_was_not_offered_is_no_choice(text):
    assert problem("speed", text) == "Choose one of the values."


def test_yes_and_no_are_true_and_false():
    assert change(notify="true")["notify"] is True
    assert problem("notify", "yes") == "Choose yes or no."


def test_null_and_left_out_are_said_apart():
    assert field("share").presences == ("value", "null", "absent")
    assert change(p_share="null")["share"] is None
    assert "share" not in change(p_share="absent", share="0.5")
    assert field("share", ARGUMENTS | {"share": None}).presence == "null"
    assert field("count").presence == "absent"


def test_a_required_argument_cannot_be_left_out_nor_one_with_a_default():
    assert field("amount").presences == ("value",)
    assert field("currency").presences == ("value",)
    assert change(p_amount="absent")["amount"] == 4500
    assert change(p_currency="absent")["currency"] == "AUD"


def test_an_argument_that_was_not_there_is_added_by_its_field():
    assert change(p_count="value", count="3")["count"] == 3


def test_lists_and_objects_are_edited_as_json():
    assert field("lines").kind == "json"
    assert change(lines='["a", "c"]')["lines"] == ["a", "c"]
    assert "cannot be read as JSON" in problem("lines", '["a"')


def test_a_text_keeps_its_line_ends_where_it_was_not_touched():
    before = ARGUMENTS | {"note": "one\ntwo"}
    assert change(before, note="one\r\ntwo")["note"] == "one\ntwo"
    assert change(before, note="one\r\ntwo\r\nthree")["note"] == "one\ntwo\nthree"


def test_a_text_that_hides_something_is_shown_and_kept_as_json_escapes():
    before = ARGUMENTS | {"note": "pay\u202eeman\r\n"}
    found = field("note", before)
    assert found.kind == "json"
    assert found.text == '"pay\\u202eeman\\r\\n"'
    assert change(before, note=found.text)["note"] == before["note"]
    assert change(before, note='"pay name"')["note"] == "pay name"


def test_what_names_the_record_cannot_be_changed():
    assert "another request" in field("order_id").locked
    assert change(order_id="ord_2")["order_id"] == "ord_1"


def test_what_a_derived_fact_is_made_from_cannot_be_changed_either():
    made = refund({"/adapter/read_state/derived": {"left": "state.amount - args.amount"}})
    locked = {one.name for one in fields_of(made, {"order_id": "ord_1", "amount": 1, "currency": "AUD"}) if one.locked}
    assert locked == {"order_id", "amount"}


def test_an_expression_over_all_arguments_fixes_all_of_them():
    made = refund({"/adapter/read_state/derived": {"left": "size(args) > 1 ? state.amount : 0"}})
    assert all(one.locked for one in fields_of(made, {"order_id": "ord_1", "amount": 1}))


def test_a_field_that_the_form_does_not_bring_stays():
    assert change() == ARGUMENTS


def test_what_was_typed_stays_in_the_field_with_its_problem():
    found = field("amount", typed={"v.amount": "sixty"}, problems={"amount": "Write a whole number."})
    assert (found.text, found.problem) == ("sixty", "Write a whole number.")


def test_a_field_of_a_megabyte_is_refused_in_words():
    assert f"at most {LONGEST:,}" in problem("note", "x" * (LONGEST + 1))
