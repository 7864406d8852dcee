"""Findings that are told: rules that decide nothing, names that are not there, limits that cannot be judged (A8)."""

import json
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.core.admission import Names
from approvals.core.cel import Bindings, CelError, compile_bool, evaluate_bool
from approvals.core.contract import parse_contract
from approvals.core.contract_types import Finding
from approvals.core.logic import always, never
from approvals.core.policy import catalogue_findings, parse_policy
from approvals.core.policy_document import places
from approvals.core.policy_findings import placed
from approvals.core.policy_names import POLICY_NAMES
from approvals.core.yaml_door import open_yaml
from tests.core.approvals.documents import GONE, read_document, refund

FINANCE = [{"group": "finance", "count": 1}]
NOW = datetime(2026, 12, 25, tzinfo=UTC)


def told(*rules, tools=None, groups=None, now=None, **parts):
    """(path, code) of everything, without the missing default, which most of these policies have."""
    made = [{"id": f"r{n}", "tool": "refund_order", "effect": "deny", **rule} for n, rule in enumerate(rules)]
    policy = parse_policy(json.dumps({"version": 1, "rules": made, **parts}), "json")
    tools = {"refund_order": refund()} if tools is None else tools
    found = catalogue_findings(policy, tools=tools, groups=groups, now=now)
    return {(item.path, item.code) for item in found if item.code != "NO_DEFAULT"}


def defaults(*rules, tools=None):
    made = [{"id": f"r{n}", "tool": "refund_order", "effect": "deny", **rule} for n, rule in enumerate(rules)]
    policy = parse_policy(json.dumps({"version": 1, "rules": made}), "json")
    tools = {"refund_order": refund(), "get_order": parse_contract(read_document())} if tools is None else tools
    return [item.message for item in catalogue_findings(policy, tools=tools) if item.code == "NO_DEFAULT"]


@pytest.mark.parametrize(
    "rules",
    [
        [{}, {"when": "args.amount > 1"}],
        [{"tool": "*"}, {}],
        [{"when": "true"}, {}],
        [{"when": "1 < 2 || false"}, {}],
        [{"when": "args.amount > 1"}, {"when": "args.amount > 1", "effect": "allow"}],
        [{"tool": "*", "when": "args.amount > 1"}, {"when": "args.amount > 1"}],
    ],
)
def test_a_rule_behind_one_that_takes_its_calls_is_never_reached(rules):
    assert told(*rules) == {("/rules/1", "UNREACHABLE")}


@pytest.mark.parametrize(
    "rules",
    [
        [{"when": "args.amount > 1"}, {}],
        [{"tool": "get_order"}, {}],
        [{}, {"tool": "*"}],
        [{"level": "advisory"}, {}],
        [{"when": "args.amount > 1", "level": "advisory"}, {"when": "args.amount > 1"}],
        [{"when": "args.amount > 1"}, {"tool": "get_order", "when": "args.amount > 1"}],
        [{"when": "args.amount > 1"}, {"tool": "*", "when": "args.amount > 1"}],
    ],
)
def test_a_rule_that_may_be_reached_is_not_called_unreachable(rules):
    assert "UNREACHABLE" not in {code for _, code in told(*rules)}


NEVER = [
    "false",
    "1 > 2",
    "args.amount > 5 && args.amount < 5",
    "args.amount >= 5 && args.amount < 5",
    "args.amount > 5 && args.amount <= 4.5",
    "args.amount == 5 && args.amount == 6",
    "args.amount == 5 && args.amount > 5",
    "args.amount == 5 && args.amount != 5",
    "5 < args.amount && 4 > args.amount",
    "args.currency == 'AUD' && args.currency == 'EUR'",
    "args['currency'] == \"AUD\" && args.currency != 'AUD'",
    "args.notify == true && args.notify == false",
    "args.note == '5' && args.note == 5",
    "(args.amount > 5 && args.currency == 'AUD') && (args.amount < -5 && state.left > 1)",
    "false || (args.amount < 1 && args.amount > 2)",
    "args.amount > 1 && (args.currency == 'AUD' && 1 == 2)",
]
PERHAPS = [
    "true",
    "args.amount > 5 && args.amount < 6",
    "args.amount >= 5 && args.amount <= 5",
    "args.amount > 5 && state.amount < 5",
    "args.amount > 5 || args.amount < 5",
    "args.currency != 'AUD' && args.currency != 'EUR'",
    "args.amount + 1 > 5 && args.amount < 5",
    "!(args.amount == 5) && args.amount == 5 || args.amount == 6",
    "-args.amount > 5 && args.amount < 5",
    "args.amount > 5 ? args.amount < 5 : true",
    "args.note.size() > 5 && args.note.size() < 6",
    "size(args.note) > 5 && args.note == 'abcdef'",
    "args.currency in ['AUD'] && args.currency != 'EUR'",
    "args.notify == true && args.notify != false",
    "false || args.amount > 1",
    "args.amount == 5 && args.amount == 5.0",
    "args.amount < 0x10 && args.amount > 15",
    "args.items.exists(x, x == 1 && x == 2) || args.amount > 1",
]


@pytest.mark.parametrize("when", NEVER)
def test_a_condition_that_excludes_itself_can_never_match_and_says_why(when):
    because = never(when)
    assert because, when
    assert because.endswith((" is false", " exclude each other"))


@pytest.mark.parametrize("when", PERHAPS)
def test_a_condition_that_may_match_is_never_called_impossible(when):
    assert never(when) == "", when


def test_what_can_never_match_stands_at_its_condition():
    assert told({"when": "args.amount > 5 && args.amount < 5"}) == {("/rules/0/when", "NEVER_MATCHES")}


COMPARED = st.sampled_from(["args.a", "args.b"])
CONSTANT = st.sampled_from(["1", "2", "1.5", "-1", "'x'", "'y'", "true", "false", "'1'"])
SIGN = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
PART = st.tuples(COMPARED, SIGN, CONSTANT, st.booleans()).map(
    lambda part: f"{part[2]} {part[1]} {part[0]}" if part[3] else f"{part[0]} {part[1]} {part[2]}"
)
CONDITION = st.recursive(
    PART | st.sampled_from(["true", "false"]),
    lambda inner: st.tuples(inner, st.sampled_from(["&&", "||"]), inner).map(lambda x: f"({x[0]} {x[1]} {x[2]})"),
    max_leaves=6,
)
VALUE = st.sampled_from([1, 2, 1.5, -1, 0, 3, "x", "y", "1", True, False])


@given(CONDITION, VALUE, VALUE)
def test_no_condition_that_some_values_make_true_is_called_impossible(when, a, b):
    try:
        holds = evaluate_bool(compile_bool(when, ("args",)), Bindings({"args": {"a": a, "b": b}}))
    except CelError:
        return
    if holds:
        assert never(when) == ""
    else:
        assert not always(when)


def test_a_tool_with_effects_and_no_last_rule_is_told_and_one_that_reads_is_not():
    assert [text.split(":")[0] for text in defaults({"when": "args.amount > 1"})] == [
        "There is no last rule without a condition for refund_order, which has effects"
    ]
    assert defaults({"tool": "get_order"})[0].startswith("There is no rule for refund_order")
    assert defaults({}) == defaults({"tool": "*"}) == defaults({"when": "true"}) == []
    assert len(defaults({"level": "advisory"})) == 1


def test_an_argument_that_may_be_absent_is_asked_for_first():
    assert told({"when": "args.note == 'x'"}) == {("/rules/0/when", "OPTIONAL_UNGUARDED")}
    assert told({"when": "has(args.currency) && args.note == 'x'"}) == {("/rules/0/when", "OPTIONAL_UNGUARDED")}
    for guarded in ("has(args.note) && args.note == 'x'", "!has(args.note) || args.note == 'x'",
                    "'note' in args && args.note == 'x'", "args.amount > 1", "args.notify == true"):  # fmt: skip
        assert told({"when": guarded}) == set(), guarded


@pytest.mark.parametrize(
    "when",
    [
        "run.titel == 'x'",
        "principal.scope == 'x'",
        "exposure.customer_7d.calls > 1",
        "exposure.tool_24h.amont > 1",
        "args.ammount > 1",
        "state.lefft > 1",
    ],
)
def test_a_name_that_is_not_there_is_told(when):
    assert told({"when": when}) == {("/rules/0/when", "NAME_UNKNOWN")}


def test_a_name_that_is_the_same_for_every_tool_is_told_in_a_rule_for_all_of_them():
    assert told({"tool": "*", "when": "run.titel == 'x' || args.anything == 1"}) == {("/rules/0/when", "NAME_UNKNOWN")}


def test_every_name_that_the_document_lists_is_known():
    names = (
        "run.id", "run.title", "run.agent_version", "run.reason", "principal.name", "principal.scopes",
        "principal.user.name", "exposure.customer_24h.calls", "exposure.agent_30d.amount", "exposure.tool_24h.amount",
    )  # fmt: skip
    assert told({"when": " || ".join(f"{name} == 'x'" for name in names) + " || now.getHours() > 3"}) == set()


def test_exposure_of_what_a_tool_does_not_have_is_told():
    tool = {"refund_order": refund({"/customer": GONE, "/money": GONE, "/presentation/sentence": "Refund {order_id}"})}
    assert told({"when": "exposure.customer_24h.calls > 1"}, tools=tool) == {("/rules/0/when", "NO_CUSTOMER")}
    assert told({"when": "exposure.tool_24h.amount > 1"}, tools=tool) == {("/rules/0/when", "NO_MONEY")}


def limit(**changes):
    return {"id": "l", "tool": "refund_order", "per": "tool", "window": "24h", "over": "deny", "calls": 3, **changes}


def test_limits_that_cannot_be_judged_or_stop_nothing_are_told():
    tools = {
        "refund_order": refund({"/customer": GONE, "/money": GONE, "/presentation/sentence": "Refund {order_id}"}),
        "get_order": parse_contract(read_document()),
    }
    assert told({}, tools=tools, limits=[limit(amount={"AUD": 1})]) == {("/limits/0/amount", "LIMIT_WITHOUT_MONEY")}
    assert told({}, tools=tools, limits=[limit(per="customer")]) == {("/limits/0/per", "NO_CUSTOMER")}
    assert told({}, tools=tools, limits=[limit(tool="get_order")]) == {("/limits/0/tool", "LIMIT_ON_READING")}
    assert told({}, tools=tools, limits=[limit(tool="no_tool")]) == {("/limits/0/tool", "TOOL_UNKNOWN")}
    assert told({}, limits=[limit(per="customer", amount={"AUD": 1})]) == set()


def test_a_limits_groups_have_to_be_able_to_decide():
    asks = limit(over="ask", approvers=[{"group": "two", "count": 3}, {"group": "none", "count": 1}])
    assert told({}, limits=[asks], groups={"two": 2}) == {
        ("/limits/0/approvers/0/group", "GROUP_TOO_SMALL"),
        ("/limits/0/approvers/1/group", "GROUP_TOO_SMALL"),
    }
    assert told({}, limits=[asks], groups={"two": 3, "none": 1}) == set()


def shared(rule, people, *limits):
    given = {"id": "r", "tool": "refund_order", "effect": "ask", **rule}
    policy = parse_policy(json.dumps({"version": 1, "rules": [given], "limits": list(limits)}), "json")
    held = {person: frozenset(groups.split()) for person, groups in people.items()}
    return [(one.path, one.code) for one in catalogue_findings(policy, tools={"refund_order": refund()}, people=held)
            if one.code != "NO_DEFAULT"]  # fmt: skip


BOTH = {"approvers": [{"group": "a", "count": 1}, {"group": "b", "count": 1}]}


@pytest.mark.parametrize(
    ("rule", "people", "place"),
    [
        (BOTH, {"ada": "a b"}, "/rules/0/approvers"),
        (BOTH, {"ada": "a b", "ben": "a"}, ""),
        (BOTH, {"ada": "a b", "ben": "c"}, "/rules/0/approvers"),
        ({"tiers": [{"approvers": [{"group": "a", "count": 1}], "up_to": {"AUD": 1}}, BOTH]}, {"ada": "a b"},
         "/rules/0/tiers/1/approvers"),
        ({"approvers": [{"group": "a", "count": 2}, {"group": "b", "count": 1}]}, {"ada": "a b", "ben": "a b"},
         "/rules/0/approvers"),
    ],
)  # fmt: skip
def test_groups_that_need_one_person_twice_are_told_where_they_are_asked(rule, people, place):
    """S8: each group holds enough people, and nobody counts for two."""
    assert shared(rule, people) == ([(place, "GROUPS_SHARED")] if place else [])


def test_a_limit_that_asks_together_with_a_rule_needs_different_people_too():
    alone = {"approvers": [{"group": "a", "count": 1}]}
    asks = limit(over="ask", approvers=[{"group": "b", "count": 1}])
    assert shared(alone, {"ada": "a b"}, asks) == [("/limits/0/approvers", "GROUPS_SHARED")]
    assert shared(alone, {"ada": "a b", "ben": "b"}, asks) == []
    assert shared(alone, {"ada": "a b"}, limit(over="ask", approvers=[{"group": "a", "count": 1}])) == []
    assert shared(alone, {"ada": "a b", "ben": "a"}, limit(over="ask", **BOTH)) == []


def test_a_group_that_is_too_small_by_itself_is_told_once():
    both = [{"group": "a", "count": 1}, {"group": "none", "count": 1}]
    given = {"id": "r", "tool": "refund_order", "effect": "ask", "approvers": both}
    policy = parse_policy(json.dumps({"version": 1, "rules": [given]}), "json")
    people = {"ada": frozenset({"a"})}
    found = catalogue_findings(policy, tools={"refund_order": refund()}, groups={"a": 1}, people=people)
    assert [(one.path, one.code) for one in found] == [("/rules/0/approvers/1/group", "GROUP_TOO_SMALL")]


def test_a_freeze_that_is_over_and_one_of_an_unknown_tool_are_told():
    freeze = {"id": "f", "from": "2026-12-20T00:00:00Z", "to": "2026-12-25T00:00:00Z", "tools": ["no_tool", "*"]}
    assert told({}, freeze=[freeze], now=NOW) == {
        ("/freeze/0/to", "FREEZE_PAST"),
        ("/freeze/0/tools/0", "TOOL_UNKNOWN"),
    }
    later = {**freeze, "to": "2026-12-25T00:00:01Z", "tools": ["*"]}
    assert told({}, freeze=[later], now=NOW) == told({}, freeze=[later]) == set()


@pytest.mark.parametrize(
    ("path", "line", "column"), [("/rules/0/when", 4, 11), ("/rules/0/approvers/3/group", 3, 5), ("/nowhere", 1, 1)]
)
def test_a_finding_is_placed_at_its_line_and_column_or_at_what_is_around_it(path, line, column):
    lines = open_yaml("version: 1\nrules:\n  - id: a\n    when: 'true'\n")[1]
    found = placed(Finding(path, "CODE", "Words."), lines)
    assert (found.path, found.line, found.column) == (path, line, column)
    assert found.as_dict() == {"path": path, "code": "CODE", "message": "Words.", "line": line, "column": column}


def test_every_finding_of_a_thousand_rules_is_told_at_once():
    many = [{"when": f"args.amount > {n}"} for n in range(998)] + [{}, {}]
    assert told(*many) == {("/rules/999", "UNREACHABLE")}


# -- where a note points -----------------------------------------------------------------------------------------------


def places_told(source, fmt="yaml"):
    """(code, line, the source from the column that the note names to the line's end) of what is told of conditions."""
    policy = parse_policy(source, fmt)
    lines = places(source, fmt)
    found = [placed(one, lines) for one in catalogue_findings(policy, tools={"refund_order": BARE})]
    text = source.split("\n")
    return [(one.code, one.line, text[one.line - 1][one.column - 1 :]) for one in found if one.path.endswith("/when")]


BARE = refund({"/customer": GONE, "/money": GONE, "/presentation/sentence": "Refund {order_id}"})
HEAD = "version: 1\nrules:\n- id: a\n  tool: refund_order\n  effect: deny\n"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("args.ammount", "NAME_UNKNOWN"),
        ("state.lefft", "NAME_UNKNOWN"),
        ("run.titel", "NAME_UNKNOWN"),
        ("exposure.tool_24h.amont", "NAME_UNKNOWN"),
        ("exposure.customer_7d.calls", "NAME_UNKNOWN"),
        ("exposure.customer_24h.calls", "NO_CUSTOMER"),
        ("exposure.tool_24h.amount", "NO_MONEY"),
        ("args.note", "OPTIONAL_UNGUARDED"),
    ],
)
def test_a_note_about_a_name_points_at_the_name(name, code):
    when = f"args.amount > 1 && {name} > 2"
    for written, line in (
        (f"  when: {when}\n", 6),
        (f"  when: '{when}'\n", 6),
        (f"  when: |\n    args.amount > 1\n      && {name} > 2\n", 8),
        (f"  when: >-\n    args.amount > 1 &&\n    {name} > 2\n", 8),
    ):
        assert places_told(HEAD + written) == [(code, line, f"{name} > 2" + "'" * written.endswith("'\n"))], written


def test_a_note_points_at_its_name_in_a_document_of_one_line_behind_escapes():
    rule = {"id": "a", "tool": "refund_order", "effect": "deny", "when": 'args.reason == "é\\n" && args.ammount > 1'}
    source = json.dumps({"version": 1, "rules": [rule]})
    [reason, amount] = sorted(places_told(source, "json"), key=lambda one: len(one[2]), reverse=True)
    assert reason[2].startswith("args.reason ==")
    assert amount == ("NAME_UNKNOWN", 1, 'args.ammount > 1"}]}')


def test_each_of_several_names_has_its_own_place():
    source = HEAD + "  when: args.a > 1 || args.b > 1 || args.a > 2\n"
    assert [text for *_, text in places_told(source)] == [
        "args.a > 1 || args.b > 1 || args.a > 2", "args.b > 1 || args.a > 2", "args.a > 2"
    ]  # fmt: skip


def test_a_name_whose_place_is_not_exactly_known_is_told_at_the_start_of_its_condition():
    source = HEAD + "  when: args.amount > 1 && args.ammount > 1\n"
    note = Finding("/rules/0/when", "NAME_UNKNOWN", "", inside=("args.amount > 2 && args.ammount > 1", 19))
    found = placed(note, places(source, "yaml"))
    assert (found.line, found.column) == (6, 9), "the text that was judged does not stand there"
    nowhere = placed(replace(note, path="/rules/0/where"), places(source, "yaml"))
    assert (nowhere.line, nowhere.column) == (3, 3), "the rule"


def test_a_note_keeps_its_place_out_of_what_is_recorded():
    [found] = Names(refund()).condition("args.amount > 1 && args.ammount > 1", "/when", POLICY_NAMES)
    assert found.as_dict() == {"path": "/when", "code": "NAME_UNKNOWN", "message": "There is no argument args.ammount."}


def test_the_places_of_very_many_names_are_found_in_time():
    rules = "".join(
        f"- id: r{n}\n  tool: refund_order\n  effect: deny\n  when: '{' || '.join(['args.a > 1'] * 140)}'\n"
        for n in range(30)
    )
    start = time.process_time()
    found = places_told("version: 1\nrules:\n" + rules)
    assert len(found) == 4_200
    assert len({text for *_, text in found}) == 140
    assert time.process_time() - start < 10
