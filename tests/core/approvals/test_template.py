"""Placeholders: a dotted look-up and nothing else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.core.template import Placeholder, placeholders, render, render_path, render_text
from audit.core.refusal import Invalid

NAMES: dict[str, Any] = {
    "args": {"amount": 4500, "half": 0.5, "note": "a b&c=d", "list": [{"x": 1}], "gift": False, "nothing": None},
    "order": {"charge": "ch_1"},
    "key": "clr_1",
}


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("${args.amount}", 4500),
        ("${args.list}", [{"x": 1}]),
        ("${args.list.0.x}", 1),
        ("${args.nothing}", None),
        ("${args}", NAMES["args"]),
        ("${key}", "clr_1"),
        ("n=${args.amount}", "n=4500"),
        ("${args.half} ${args.gift} ${key}", "0.5 false clr_1"),
        ("plain", "plain"),
        ("$${key} costs $5", "${key} costs $5"),
        ("$${key}", "${key}"),
        (7, 7),
        (None, None),
        ({"a": ["${args.amount}", {"b": "x${key}"}]}, {"a": [4500, {"b": "xclr_1"}]}),
        ({"a": "${args.absent?}", "b": ["${args.absent?}", 1], "c": "<${args.absent?}>"}, {"b": [1], "c": "<>"}),
    ],
)
def test_placeholders_are_filled_and_a_whole_one_keeps_its_type(template, value):
    filled = render(template, NAMES)
    assert filled == value
    assert type(filled) is type(value)


@pytest.mark.parametrize(
    "template", ["${args.absent}", "x${args.absent}", "${nope}", "${args.amount.x}", "${args.list.9}", "${args.list.x}"]
)
def test_a_name_that_is_not_there_is_refused_by_name(template):
    with pytest.raises(Invalid) as caught:
        render({"a": [template]}, NAMES)
    assert caught.value.code == "TEMPLATE_NAME_MISSING"
    assert caught.value.missing == [template.removeprefix("x").strip("${}")]


def test_an_optional_placeholder_that_is_the_whole_template_is_refused_when_absent():
    with pytest.raises(Invalid):
        render("${args.absent?}", NAMES)


@pytest.mark.parametrize("template", ["a${args.list}", "a${args.nothing}", "a${args}"])
def test_what_is_no_scalar_cannot_stand_inside_a_text(template):
    with pytest.raises(Invalid) as caught:
        render(template, NAMES)
    assert caught.value.code == "TEMPLATE_VALUE"


def test_a_value_is_never_read_as_a_template_again():
    names = {"args": {"a": "${key}", "b": "$${key}"}, "key": "secret"}
    assert render(["${args.a}", "x${args.a}", "${args.b}"], names) == ["${key}", "x${key}", "$${key}"]


@pytest.mark.parametrize(
    "name", ["args.__class__", "args.amount.real", "args.note.upper", "args.list.append", "key.__len__", "args.keys"]
)
def test_no_attribute_of_a_value_can_be_reached(name):
    with pytest.raises(Invalid):
        render(f"${{{name}}}", NAMES)


@pytest.mark.parametrize(
    "template", ["${", "${a", "${}", "${a b}", "${1a}", "${a..b}", "${a.}", "${f()}", "${a[0]}", "x ${${a}}"]
)
def test_a_malformed_placeholder_is_an_error_at_admission(template):
    with pytest.raises(ValueError):
        placeholders({"x": [template]})


def test_placeholders_are_listed_for_admission():
    assert placeholders({"p": "/a/${order.charge}/${args.n?}", "q": ["${key}", "$${no}"]}) == [
        Placeholder(("order", "charge"), False),
        Placeholder(("args", "n"), True),
        Placeholder(("key",), False),
    ]


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("ch_1", "/v1/charges/ch_1"),
        ("../refunds?a=b#c", "/v1/charges/..%2Frefunds%3Fa%3Db%23c"),
        ("a b%2e", "/v1/charges/a%20b%252e"),
        ("é\u202e", "/v1/charges/%C3%A9%E2%80%AE"),
        (7, "/v1/charges/7"),
    ],
)
def test_a_value_in_a_path_stays_inside_its_segment(value, path):
    assert render_path("/v1/charges/${id}", {"id": value}) == path


@pytest.mark.parametrize("value", ["", ".", "..", None, []])
def test_a_value_that_would_name_another_address_is_refused(value):
    with pytest.raises(Invalid) as caught:
        render_path("/v1/charges/${id}", {"id": value})
    assert caught.value.code == "TEMPLATE_VALUE"


def test_a_text_template_is_text_whatever_fills_it():
    assert render_text("${args.amount}", NAMES) == "4500"
    assert render_text("order:${order.charge}", NAMES) == "order:ch_1"


@given(st.text(), st.text())
def test_any_value_comes_out_as_it_went_in(before, value):
    plain = before.replace("$", "")
    assert render(plain + "${args.v}", {"args": {"v": value}}) == plain + value
