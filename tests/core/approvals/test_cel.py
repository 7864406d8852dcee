"""CEL: errors are errors, types are checked at save, nothing explodes (S63)."""

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.core.cel import Bindings, CelError, compile_bool, compile_value, evaluate, evaluate_bool
from approvals.core.cel_cost import MAX_LENGTH
from approvals.core.cel_text import references, split_parts, tokens

NAMES = ("args", "state", "principal")


def holds(expression, **values):
    return evaluate_bool(compile_bool(expression, NAMES), Bindings(values))


def value_of(expression, **values):
    return evaluate(compile_value(expression, NAMES), Bindings(values))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("args.amount > 2000", True),
        ("args.amount <= state.left", False),
        ("args.amount == 4500.0", True),
        ("args.amount - 4500 == 0", True),
        ("args.tags.exists(t, t == 'vip') && !has(args.note)", True),
        ("args.items.all(i, i.price < 10.5)", True),
        ("args.currency in ['AUD', 'NZD']", True),
        ("args.currency.matches('^[A-Z]{3}$')", True),
        ("principal.groups.exists(g, g == 'finance')", False),
        ("timestamp(args.on) < timestamp('2027-01-01T00:00:00Z')", True),
        ("args.gift == true", False),
        ("has(state.left) ? args.amount > state.left : true", True),
        ("args['amount'] > 1 // a comment", True),
    ],
)
def test_conditions_over_json_values_hold_or_do_not(expression, expected):
    args = {
        "amount": 4500,
        "currency": "AUD",
        "tags": ["new", "vip"],
        "items": [{"price": 10}, {"price": 0.5}],
        "on": "2026-11-29T00:00:00Z",
        "gift": False,
    }
    assert holds(expression, args=args, state={"left": 4000}, principal={"groups": []}) is expected


@pytest.mark.parametrize(
    ("expression", "args"),
    [
        ("args.amount > 2000", {}),
        ("args.amount > 2000", {"amount": None}),
        ("args.amount > 2000", {"amount": [4500]}),
        ("args.amount > 2000", {"amount": "4500"}),
        ("args.a.b == 1", {"a": 3}),
        ("!(args.amount > 2000)", {}),
        ("args.amount + 9223372036854775807 > 0", {"amount": 1}),
        ("args.amount / 0 == 1", {"amount": 1}),
        ("args.amount > 2000 || args.x", {"amount": 1, "x": "true"}),
        ("args.list[7] == 1", {"list": [1]}),
    ],
)
def test_a_missing_null_or_ill_typed_value_is_an_error_and_never_true(expression, args):
    with pytest.raises(CelError):
        holds(expression, args=args)


@pytest.mark.parametrize(
    "expression", ["1", "'true'", "null", "args.amount", "args", "args.a ? 1 : 2", "[true]", "true ? args.a : false"]
)
def test_a_condition_that_is_not_proved_true_or_false_is_refused_at_save(expression):
    with pytest.raises(CelError, match="true or false"):
        compile_bool(expression, NAMES)


@pytest.mark.parametrize(
    "expression",
    ["", "  ", "args.amount >", "nope == 1", "args.amount > 'a' + 1", "1 + 'a' == 2", "args.x.lowerAscii() == 'a'",
     "request.x == 1", "args.in == 1", "'''a''' == 'a'", "args.`x` == 1", "args.x == 'a",
     "google.protobuf.Struct{} == args", "cel.bind(x, 1, x == 1)", "true == b'a'", "@", "args.x == 1; true"],
)  # fmt: skip
def test_what_does_not_compile_is_refused_with_a_reason(expression):
    with pytest.raises(CelError) as caught:
        compile_bool(expression, NAMES)
    assert caught.value.problem


def test_half_a_character_in_an_expression_or_a_value_is_an_error_and_no_crash():
    with pytest.raises(CelError):
        compile_bool("args.x == '\ud800'", NAMES)
    with pytest.raises(CelError):
        holds("args.x == 'a'", args={"x": "\ud800"})


def test_a_refusal_at_save_says_where():
    with pytest.raises(CelError) as caught:
        compile_bool("args.amount > 1 &&\n  nope == 1", NAMES)
    assert (caught.value.line, caught.value.column) == (2, 3)


def test_a_variable_that_is_not_there_is_an_empty_object():
    assert holds("!has(state.left)", args={}, state=None)
    assert holds("!has(state.left)", args={})
    with pytest.raises(CelError, match="left"):
        holds("state.left > 1", args={}, state=None)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("state.refunded + args.amount", 7),
        ("state.refunded - args.amount", -3),
        ("args.half + args.half", 1),
        ("args.half", 0.5),
        ("args.name + '!'", "é!"),
        ("args.flag", True),
        ("args.nothing", None),
        ("size(args.name)", 1),
    ],
)
def test_values_come_out_as_canonical_json(expression, expected):
    args = {"amount": 5, "half": 0.5, "name": "é", "flag": True, "nothing": None}
    value = value_of(expression, args=args, state={"refunded": 2})
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    "expression",
    ["args.big * 2", "args.list", "args", "1.0 / 0.0", "0.0 / 0.0", "timestamp('2020-01-01T00:00:00Z')", "b'a'",
     "type(args.big)", "args.absent"],
)  # fmt: skip
def test_a_value_that_json_cannot_keep_is_an_error(expression):
    with pytest.raises(CelError):
        value_of(expression, args={"big": 2**53 - 1, "list": [1]})


EXPLODING = [
    ("args.l.exists(a, args.l.exists(b, args.l.exists(c, args.l.exists(d, false))))", {"l": list(range(100))}),
    ("args.l.all(a, args.l.all(b, true))", {"l": list(range(5_000))}),
    ("args.l.map(i, args.x + args.x).size() > 0", {"l": list(range(9_000)), "x": "x" * 500_000}),
    ("[args.x]" + ".map(b, b + b)" * 30 + ".size() > 0", {"x": "x"}),
    ("args.l.exists(i, args.x + args.x == 'q')", {"l": list(range(9_000)), "x": "x" * 500_000}),
    ("args.l.all(i, !(i in args.l))", {"l": list(range(19_000))}),
    ("args.x.matches('[ab]*a[ab]{900}q')", {"x": "ab" * 500_000}),
    ("args.x.matches('[ab]*a([ab]{10}){90}q')", {"x": "ab" * 500_000}),
    ("args.x.matches('[ab]*a[ab]{100}q')", {"x": "ab" * 500_000}),
    ("args.x.matches(args.x)", {"x": "(a" * 100_000}),
    ("args.x.contains(args.y)", {"x": "a" * 500_000, "y": "a" * 250_000 + "b"}),
    ("args.l.exists(i, args.x.contains(args.y))", {"l": [0] * 50, "x": "a" * 50_000, "y": "a" * 25_000 + "b"}),
    ("+".join(["args.x"] * 30) + " == 'q'", {"x": "x" * 1_000_000}),
    ("(" * 900 + "true" + ")" * 900, {}),
    ("!" * 1_900 + "true", {}),
    ("args" + ".b" * 900 + " == 1", {}),
    ("[" * 500 + "]" * 500 + " == []", {}),
    ("true" + " && true" * 240, {}),
    ("x" * (MAX_LENGTH + 1), {}),
]


@pytest.mark.parametrize(("expression", "args"), EXPLODING)
def test_an_expression_of_exploding_cost_ends_within_a_second(expression, args):
    start = time.perf_counter()
    try:
        outcome = holds(expression, args=args)
    except CelError:
        outcome = None
    assert time.perf_counter() - start < 1
    assert outcome in (None, True, False)


@pytest.mark.parametrize(
    "expression",
    [EXPLODING[0][0], EXPLODING[2][0], EXPLODING[3][0], EXPLODING[6][0], EXPLODING[9][0], EXPLODING[-1][0]],
)
def test_what_can_only_explode_is_refused_when_it_is_saved(expression):
    with pytest.raises(CelError):
        compile_bool(expression, NAMES)


def test_data_too_large_for_an_expression_is_an_error_that_says_so():
    program = compile_bool("args.l.exists(i, args.x + 'a' == 'q')", NAMES)
    assert evaluate_bool(program, Bindings({"args": {"l": [1, 2, 3], "x": "b"}})) is False
    with pytest.raises(CelError, match="too large"):
        evaluate_bool(program, Bindings({"args": {"l": [0] * 9_000, "x": "x" * 500_000}}))


def test_ordinary_documents_stay_far_below_the_bounds():
    letter = {"body": "word " * 40_000, "to": [{"email": f"p{n}@example.test"} for n in range(100)]}
    assert holds("args.to.all(p, p.email.endsWith('@example.test')) && !args.body.contains('<script')", args=letter)
    order = {"lines": [{"sku": f"s{n}", "qty": n} for n in range(200)]}
    assert holds("args.lines.exists(l, l.sku.matches('^s[0-9]+$') && l.qty > 198)", args=order)


def test_one_program_serves_many_threads():
    program = compile_bool("args.n > 5 && args.l.all(i, i < args.n)", NAMES)

    def work(n):
        return {evaluate_bool(program, Bindings({"args": {"n": n, "l": [1, 2, 3]}})) for _ in range(500)}

    with ThreadPoolExecutor(12) as pool:
        assert list(pool.map(work, range(12))) == [{n > 5} for n in range(12)]


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        ("a && b", ("all", ["a", "b"])),
        ("(a && (b || c))", ("all", ["a", "(b || c)"])),
        ("a || b && c", ("any", ["a", "b && c"])),
        ("(a) && (b)", ("all", ["(a)", "(b)"])),
        ("a == '&&' || b", ("any", ["a == '&&'", "b"])),
        ("f(a && b)", ("one", ["f(a && b)"])),
        ("a ? b : c && d", ("one", ["a ? b : c && d"])),
        ("((a))", ("one", ["a"])),
        (r"a == 'it\'s && so' && b", ("all", [r"a == 'it\'s && so'", "b"])),
        (r"a == r'\' && b", ("all", [r"a == r'\'", "b"])),
    ],
)
def test_an_expression_is_split_where_and_and_or_join_it(expression, parts):
    assert split_parts(expression) == parts


def test_the_values_that_an_expression_names_are_found_and_methods_are_not():
    found = references(
        tokens("args.a.b['c d'][0] > state.x.size() && i.args == args.items.all(i, i.q < 1)"), frozenset(NAMES)
    )
    assert [item.path for item in found] == [("args", "a", "b", "c d", "0"), ("state", "x"), ("args", "items")]


@given(st.text(max_size=60) | st.text(alphabet="args.xyl()[]{}&|!<>=+'\"?:, 01", max_size=40))
def test_any_text_compiles_or_is_refused_and_never_crashes(expression):
    with contextlib.suppress(CelError):
        assert holds(expression, args={"x": 1, "l": [1]}) in (True, False)


def test_a_time_is_a_timestamp_and_a_time_that_is_not_known_is_an_error():
    names = ("args", "now")
    program = compile_bool("now.getHours('Australia/Sydney') == 18 && args.amount > 1", names)
    christmas = datetime(2026, 12, 24, 7, 30, tzinfo=UTC)
    assert evaluate_bool(program, Bindings({"args": {"amount": 2}, "now": christmas}))
    with pytest.raises(CelError) as caught:
        evaluate_bool(program, Bindings({"args": {"amount": 2}, "now": None}))
    assert caught.value.problem == "now is not known here"
    with pytest.raises(CelError):
        compile_bool("now > 3", names)


def test_values_are_converted_once_and_serve_conditions_over_other_variables_too():
    bindings = Bindings({"args": {"a": 1}, "state": {"b": 2}})
    both, one = ("args", "state"), ("args",)
    for _ in range(2):
        assert evaluate_bool(compile_bool("args.a == 1 && state.b == 2", both), bindings)
        assert evaluate_bool(compile_bool("args.a == 1", one), bindings)
    assert bindings.activation(both) is bindings.activation(both)
    assert bindings.activation(both) is not bindings.activation(one)
