"""approvals/core/policy_edit.py: one place of a policy's text written anew, every other byte as it was (W3)."""

import difflib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals.core.policy_edit import EditError, item_add, item_change, item_move, item_remove
from approvals.core.yaml_door import open_yaml

TEXT = """\
# Refunds. Ask Ines before you change this.
version: 1   # the only one there is

rules:
  # Reading is free.
  - {id: read-orders,   tool: get_order, effect: allow}  # cheap

  - id: too-large
    tool: refund_order
    when: |
      args.amount > 100000 &&
        args.currency == "AUD"
    effect: deny          # by hand
    message: >-
      Refunds over this
      are made by hand.
  # Everything else is asked.
  - id: refund
    tool: "refund_order"
    effect: ask
    approvers: [{group: finance, count: 1}]  # see the handbook
    expires_in_s: 900
# the end
"""


def diff(before: str, after: str) -> list[str]:
    """The lines that were taken out and put in."""
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [line.rstrip() for line in lines if line[:1] in "+-"]


def rules(text: str) -> list[dict[str, Any]]:
    document: Any = json.loads(text) if text.startswith("{") else open_yaml(text)[0]
    return document["rules"]


def test_a_number_is_changed_where_it_stands():
    assert diff(TEXT, item_change(TEXT, "rules", 2, {"expires_in_s": 1800})) == [
        "-     expires_in_s: 900",
        "+     expires_in_s: 1800",
    ]


def test_a_member_of_a_rule_in_one_line_is_changed_and_added_there():
    after = item_change(TEXT, "rules", 0, {"effect": "deny", "message": "Not now: see the handbook."})
    assert diff(TEXT, after) == [
        "-   - {id: read-orders,   tool: get_order, effect: allow}  # cheap",
        '+   - {id: read-orders,   tool: get_order, effect: deny, message: "Not now: see the handbook."}  # cheap',
    ]


def test_a_comment_behind_a_value_stays_behind_it():
    after = item_change(TEXT, "rules", 2, {"approvers": [{"group": "finance", "count": 2}]})
    assert diff(TEXT, after) == [
        "-     approvers: [{group: finance, count: 1}]  # see the handbook",
        "+     approvers: [{group: finance, count: 2}]  # see the handbook",
    ]
    longer = item_change(TEXT, "rules", 1, {"effect": "ask"})
    assert "    effect: ask          # by hand\n" in longer


def test_a_comment_behind_a_value_does_not_become_text_of_a_longer_one():
    text = "version: 1\nrules:\n  - id: a\n    tool: b\n    when: args.x > 1  # why\n    effect: deny\n"
    after = item_change(text, "rules", 0, {"when": "args.x > 1 &&\nargs.y > 1"})
    assert rules(after)[0]["when"] == "args.x > 1 &&\nargs.y > 1"
    assert "    when: |-  # why\n      args.x > 1 &&\n      args.y > 1\n    effect: deny\n" in after


def test_a_text_of_several_lines_is_replaced_whole_and_nothing_beside_it():
    after = item_change(TEXT, "rules", 1, {"when": "args.amount > 5"})
    assert diff(TEXT, after) == [
        '+     when: "args.amount > 5"',
        "-     when: |",
        "-       args.amount > 100000 &&",
        '-         args.currency == "AUD"',
    ]


def test_a_new_member_stands_where_rules_usually_have_it():
    after = item_change(TEXT, "rules", 2, {"when": "args.amount > 1", "message": "Finance looks at it."})
    assert list(rules(after)[2]) == ["id", "tool", "when", "effect", "message", "approvers", "expires_in_s"]
    assert len([line for line in diff(TEXT, after) if line.startswith("-")]) == 0


def test_a_member_that_is_taken_out_takes_its_line_only():
    assert diff(TEXT, item_change(TEXT, "rules", 1, {"message": None})) == [
        "-     message: >-",
        "-       Refunds over this",
        "-       are made by hand.",
    ]


def test_a_member_that_is_not_there_is_taken_out_without_a_change():
    assert item_change(TEXT, "rules", 0, {"message": None}) == TEXT


def test_tiers_stand_below_each_other():
    tiers = [
        {"up_to": {"AUD": 25000}, "approvers": [{"group": "finance", "count": 1}], "expires_in_s": 900},
        {"approvers": [{"group": "finance", "count": 1}, {"group": "leads", "count": 1}]},
    ]
    after = item_change(TEXT, "rules", 2, {"tiers": tiers})
    assert rules(after)[2]["tiers"] == tiers
    assert diff(TEXT, after) == [
        "+     tiers:",
        "+       - {up_to: {AUD: 25000}, approvers: [{group: finance, count: 1}], expires_in_s: 900}",
        "+       - {approvers: [{group: finance, count: 1}, {group: leads, count: 1}]}",
    ]
    again = item_change(after, "rules", 2, {"tiers": tiers[1:] * 2})
    assert rules(again)[2]["tiers"] == tiers[1:] * 2
    assert again.startswith(TEXT[: TEXT.index("    approvers")])
    assert item_change(again, "rules", 2, {"tiers": None}) == TEXT


def test_a_rule_is_added_behind_the_last_and_before_another():
    rule = {"effect": "deny", "id": "stop", "tool": "*"}
    assert diff(TEXT, item_add(TEXT, "rules", rule)) == ["+   - id: stop", '+     tool: "*"', "+     effect: deny"]
    before = item_add(TEXT, "rules", rule, 2)
    assert [item["id"] for item in rules(before)] == ["read-orders", "too-large", "stop", "refund"]
    # The comment of the rule behind stays with that rule.
    assert "    effect: deny\n  # Everything else is asked.\n  - id: refund\n" in before


def test_a_list_that_is_not_there_yet_is_made_behind_the_others():
    limit = {"id": "day", "tool": "refund_order", "per": "customer", "window": "24h", "calls": 3, "over": "deny"}
    after = item_add(TEXT, "limits", limit)
    assert open_yaml(after)[0]["limits"] == [limit]
    assert after.startswith(TEXT[: -len("# the end\n")])
    assert item_remove(after, "limits", 0) == TEXT


def test_a_rule_is_removed_with_the_comment_above_it():
    assert diff(TEXT, item_remove(TEXT, "rules", 2)) == [
        "-   # Everything else is asked.",
        "-   - id: refund",
        '-     tool: "refund_order"',
        "-     effect: ask",
        "-     approvers: [{group: finance, count: 1}]  # see the handbook",
        "-     expires_in_s: 900",
    ]


def test_rules_change_places_with_their_comments():
    after = item_move(TEXT, "rules", 2, 1)
    assert [item["id"] for item in rules(after)] == ["read-orders", "refund", "too-large"]
    assert "\n\n  # Everything else is asked.\n  - id: refund\n" in after
    assert item_move(after, "rules", 1, 2) == TEXT
    assert sorted(item_move(TEXT, "rules", 0, 1).splitlines()) == sorted(TEXT.splitlines())


def test_the_last_rule_stays():
    with pytest.raises(EditError, match="at least one rule"):
        item_remove("version: 1\nrules:\n  - {id: a, tool: b, effect: deny}\n", "rules", 0)


@pytest.mark.parametrize(
    "text",
    [
        "version: 1\nrules: [{id: a, tool: b, effect: deny}, {id: c, tool: d, effect: deny}]\n",
        "version: 1\nrules:\n- id: a\n  tool: b\n  effect: deny\n- id: c\n  tool: d\n  effect: deny",
        "# x\n{version: 1, rules: [{id: a, tool: b, effect: deny}, {id: c, tool: d, effect: deny}]}\n",
        '"version": 1\n"rules":\n  -   "id": a\n      "tool": b\n      "effect": deny\n'
        "  -   {id: c, tool: d, effect: deny}\n",
        "version: 1\nrules:\n  - id: a\n    tool: b\n    effect: deny\n\n    # end\n\n"
        "  - effect: deny\n    id: c\n    tool: d\n...\n",
    ],
)
def test_other_ways_to_write_a_list_are_written_into_too(text):
    changed = item_change(text, "rules", 0, {"when": "args.x == 1", "effect": "allow"})
    assert rules(changed)[0] == {"id": "a", "tool": "b", "effect": "allow", "when": "args.x == 1"}
    assert rules(item_change(changed, "rules", 0, {"when": None, "effect": "deny"})) == rules(text)
    added = item_add(text, "rules", {"id": "n", "tool": "m", "effect": "allow"})
    assert [rule["id"] for rule in rules(added)] == ["a", "c", "n"]
    assert [rule["id"] for rule in rules(item_add(text, "rules", rules(added)[2], 0))] == ["n", "a", "c"]
    assert rules(item_remove(added, "rules", 2)) == rules(text)
    assert [rule["id"] for rule in rules(item_move(text, "rules", 0, 1))] == ["c", "a"]


def test_json_stays_json_with_its_indent():
    text = json.dumps({"version": 1, "rules": [{"id": "a", "tool": "b", "effect": "deny"}]}, indent=4) + "\n"
    after = item_change(text, "rules", 0, {"message": "Nó."})
    assert after == json.dumps(
        {"version": 1, "rules": [{"id": "a", "tool": "b", "effect": "deny", "message": "Nó."}]}, indent=4,
        ensure_ascii=False,
    ) + "\n"  # fmt: skip
    one_line = item_add('{"version": 1, "rules": [{"id": "a"}]}', "rules", {"id": "b"})
    assert one_line == '{"version": 1, "rules": [{"id": "a"}, {"id": "b"}]}'


JSON = """\
{"version": 1,
\t"rules": [
\t\t{"id":"read-orders",  "tool":"get_order", "effect":"allow"},
\t\t{
\t\t\t"id": "refund", "tool": "refund_order",
\t\t\t"message": "Caf\\u00e9 \\ud83d\\ude00 \\/",
\t\t\t"effect": "ask",
\t\t\t"tiers": [
\t\t\t\t{"up_to": {"AUD": 25000}, "approvers": [{"group": "finance", "count": 1}]},
\t\t\t\t{"approvers": [{"group": "leads", "count": 1}]}
\t\t\t]
\t\t}
\t]
}
"""


def test_of_a_json_text_only_the_changed_place_is_written():
    """Tabs, escapes, and what stands in lines or beside each other are as they were."""
    changed = item_change(JSON, "rules", 0, {"effect": "deny", "message": "Nó."})
    assert diff(JSON, changed) == [
        '- \t\t{"id":"read-orders",  "tool":"get_order", "effect":"allow"},',
        '+ \t\t{"id":"read-orders",  "tool":"get_order", "effect":"deny", "message":"Nó."},',
    ]
    tiers = [{**rules(JSON)[1]["tiers"][0], "up_to": {"AUD": 30000}}, rules(JSON)[1]["tiers"][1]]
    assert item_change(JSON, "rules", 1, {"tiers": tiers}) == JSON.replace("25000", "30000")
    termed = item_change(JSON, "rules", 1, {"rejections": 2, "escalate_to": ["leads"]})
    added = ',\n\t\t\t"rejections": 2,\n\t\t\t"escalate_to": [\n\t\t\t\t"leads"\n\t\t\t]'
    assert termed == JSON.replace("\n\t\t\t]", "\n\t\t\t]" + added)
    assert item_change(termed, "rules", 1, {"rejections": None, "escalate_to": None}) == JSON


def test_items_of_a_json_text_are_added_moved_and_taken_out_where_they_stand():
    freeze = {"id": "xmas", "from": "2026-12-24T18:00:00+11:00", "to": "2026-12-27T08:00:00+11:00", "tools": ["*"]}
    added = item_add(JSON, "freeze", freeze)
    assert json.loads(added)["freeze"] == [freeze]
    assert item_remove(added, "freeze", 0) == JSON
    more = item_add(JSON, "rules", {"id": "new", "tool": "*", "effect": "deny"}, 0)
    assert [rule["id"] for rule in rules(more)] == ["new", "read-orders", "refund"]
    assert item_remove(more, "rules", 0) == JSON
    last = item_add(JSON, "rules", {"id": "new", "tool": "*", "effect": "deny"})
    assert last.startswith(JSON[: JSON.rindex("\n\t]")])
    assert item_remove(last, "rules", 2) == JSON
    moved = item_move(JSON, "rules", 0, 1)
    assert [rule["id"] for rule in rules(moved)] == ["refund", "read-orders"]
    assert item_move(moved, "rules", 1, 0) == JSON


def test_a_json_text_without_spaces_stays_without():
    text = '{"version":1,"rules":[{"id":"a","tool":"b","effect":"deny"}]}'
    after = item_add(text, "limits", {"id": "l", "tool": "b", "window": "24h", "calls": 1, "over": "deny"})
    assert after == text[:-1] + ',"limits":[{"id":"l","tool":"b","window":"24h","calls":1,"over":"deny"}]}'
    assert item_remove(after, "limits", 0) == text


TERMS = """\
version: 1
rules:
  - id: refund
    tool: refund_order
    effect: ask
    reasons:
      - The order does not fit.   # the usual one
      - Refund it from the till.
    tiers:
      # Small ones.
      - up_to: {AUD: 25000}   # cents
        approvers: [{group: finance, count: 1}]
      # Everything else.
      - {approvers: [{group: finance, count: 1}, {group: leads, count: 1}], rejections: 2}   # two say no
freeze:
  - {id: xmas, from: "2026-12-24T18:00:00+11:00", to: "2026-12-27T08:00:00+11:00", tools: ["*"]}  # ask Ines
"""


def test_inside_a_rule_only_the_changed_place_is_written_and_the_comments_there_stay():
    before = rules(TERMS)[0]
    small, large = before["tiers"]
    two = [small | {"up_to": {"AUD": 30000}}, large | {"rejections": 3, "authentication": "signed"}]
    assert diff(TERMS, item_change(TERMS, "rules", 0, {"tiers": two})) == [
        "-       - up_to: {AUD: 25000}   # cents",
        "+       - up_to: {AUD: 30000}   # cents",
        "-       - {approvers: [{group: finance, count: 1}, {group: leads, count: 1}], rejections: 2}   # two say no",
        "+       - {approvers: [{group: finance, count: 1}, {group: leads, count: 1}], rejections: 3, "
        "authentication: signed}   # two say no",
    ]
    more = item_change(TERMS, "rules", 0, {"reasons": [before["reasons"][0], "No.", before["reasons"][1]]})
    assert diff(TERMS, more) == ["+       - No."] or diff(TERMS, more) == ['+       - "No."']
    three = item_change(TERMS, "rules", 0, {"tiers": [small, {"up_to": {"AUD": 90000}, "approvers": []}, large]})
    assert [line[:2] for line in diff(TERMS, three)] == ["+ "] * len(diff(TERMS, three))
    one = item_change(TERMS, "rules", 0, {"tiers": [large]})
    assert not any(line.startswith("+") for line in diff(TERMS, one))
    assert "# Everything else." in one
    assert "# Small ones." not in one


def test_an_inner_place_in_a_layout_that_is_not_known_costs_only_its_own_member():
    text = "version: 1\nrules:\n  - id: a   # kept\n    tool: b\n    effect: ask\n    tiers:\n      -\n"
    text += "        approvers:\n          - - x\n"
    after = item_change(text, "rules", 0, {"tiers": [{"approvers": [["x", "y"]]}]})
    assert rules(after)[0]["tiers"] == [{"approvers": [["x", "y"]]}]
    assert "# kept" in after


@pytest.mark.parametrize("text", ["rules: [", "- a", "a: &x 1", "a: *x", "a: 1\na: 2", "{", ""])
def test_a_text_that_is_no_document_is_not_written_into(text):
    with pytest.raises(EditError, match="Mend the text first"):
        item_change(text, "rules", 0, {"when": "true"})


def test_what_cannot_be_written_is_refused_and_not_guessed():
    with pytest.raises(EditError, match="Change it in the text"):
        item_change("version: 1\nrules: 7\n", "rules", 0, {"when": "true"})
    with pytest.raises(EditError, match="Change it in the text"):
        item_change(TEXT, "rules", 9, {"when": "true"})


@pytest.mark.parametrize(
    ("line", "change"),
    [
        ("when:", {"when": "true"}),  # no place for a value: `when:"true"` would be a name
        ("? when\n    : args.x == 1", {"when": "args.x == 1 &&\nargs.y == 1"}),
        ("? when\n    : args.x == 1", {"when": None}),
    ],
)
def test_a_layout_that_would_come_out_as_something_else_is_left_alone(line, change):
    text = f"version: 1\nrules:\n  - id: a\n    tool: b\n    {line}\n    effect: deny\n"
    with pytest.raises(EditError, match="Change it in the text"):
        item_change(text, "rules", 0, change)


# Texts that a form may send: with line ends, quotes, signs and letters of other scripts.
_TEXTS = st.text(alphabet="ab:#-\"'\\{}[],&*!|>%@` \n\té雪=~", min_size=1, max_size=30)


@settings(max_examples=150, deadline=None)
@given(value=_TEXTS, index=st.integers(0, 2), name=st.sampled_from(["when", "message", "id", "tool"]))
def test_whatever_is_typed_is_said_by_the_text_and_nothing_else_changes(value, index, name):
    after = item_change(TEXT, "rules", index, {name: value})
    expected = rules(TEXT)
    expected[index][name] = value
    assert rules(after) == expected
    kept = [line for line in TEXT.splitlines() if "#" in line]
    assert all(any(line.partition("#")[2] in other for other in after.splitlines()) for line in kept)


@settings(max_examples=100, deadline=None)
@given(reasons=st.lists(_TEXTS, min_size=1, max_size=4), spaces=st.sampled_from([None, 1, "\t"]), ascii=st.booleans())
def test_whatever_is_typed_is_said_by_yaml_and_json_alike(reasons, spaces, ascii):
    document: Any = open_yaml(TERMS)[0]
    document["rules"][0]["reasons"] = reasons
    changes = {"reasons": reasons}
    assert open_yaml(item_change(TERMS, "rules", 0, changes))[0] == document
    before = json.dumps(open_yaml(TERMS)[0], indent=spaces, ensure_ascii=ascii)
    assert json.loads(item_change(before, "rules", 0, changes)) == document
