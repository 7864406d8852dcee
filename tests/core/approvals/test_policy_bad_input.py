"""Bad policy texts: refused in words, with line and column, within a second of processor time (A8, S8, S12)."""

import json
import time

import pytest

from approvals.core.policy import parse_policy
from approvals.core.policy_document import places
from audit.core.refusal import Invalid, Refusal, TooLarge

RULE = "  - {id: a, tool: bb, effect: allow}\n"
HEAD = "version: 1\nrules:\n"


def refused(source, fmt="yaml"):
    """(path, code, line, column) of each finding, and the sentence."""
    began = time.process_time()
    with pytest.raises(Invalid) as caught:
        parse_policy(source, fmt)
    assert time.process_time() - began < 1
    assert caught.value.code == "POLICY_INVALID"
    found = caught.value.detail["findings"]
    assert len(caught.value.message) < 800
    assert all(len(item["message"]) < 500 for item in found)
    return [(item["path"], item["code"], item.get("line", 0), item.get("column", 0)) for item in found]


def many(count, rule="{{id: r{n}, tool: bb, effect: allow}}"):
    return HEAD + "".join(f"  - {rule.format(n=n)}\n" for n in range(count))


BAD = {
    "ten thousand rules": (many(10_000), [("/rules", "POLICY_SHAPE", 3, 3)]),
    "ten thousand rules with conditions": (
        many(10_000, '{{id: r{n}, tool: bb, effect: allow, when: "args.a > {n}"}}'),
        [("", "YAML", 10_002, 35)],
    ),
    "a mebibyte of brackets": ("[" * 1_048_576, None),
    "a mebibyte of items": (HEAD[:-1] + " [" + "a," * 524_000 + "]", [("", "YAML", 2, 100_005)]),
    "a mebibyte of one text": (f'version: 1\nrules: "{"a" * 1_048_000}"', [("/rules", "POLICY_SHAPE", 2, 8)]),
    "a mebibyte of hidden characters": (HEAD + RULE + "# " + "\u202e" * 340_000, [("", "HIDDEN_CHARACTER", 4, 3)]),
    "a mebibyte of letters that are no ASCII": (HEAD + "é " * 340_000, None),
    "an anchor": (f"{HEAD}  - &x {{id: a}}\n", [("", "YAML", 3, 5)]),
    "an alias": (f"{HEAD}  - *x\n", [("", "YAML", 3, 5)]),
    "a bomb of aliases": (
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{c}: &{c} [{','.join(['*' + p] * 9)}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True)),
        [("", "YAML", 1, 4)],
    ),
    "a name that is there twice": (f"{HEAD}  - {{id: a, tool: bb, id: b}}\n", [("", "YAML", 3, 23)]),
    "an indenting tab": (f"{HEAD}\t- {{id: a}}\n", [("", "YAML", 3, 1)]),
    "a hidden character in a comment": (f"{HEAD}{RULE}# allow\u202e yned\n", [("", "HIDDEN_CHARACTER", 4, 8)]),
    "a hidden character in a value": (
        f"{HEAD}  - {{id: a, tool: bb, effect: deny, message: 'a\u200bb'}}\n",
        [("", "HIDDEN_CHARACTER", 3, 48), ("/rules/0/message", "HIDDEN_CHARACTER", 3, 46)],
    ),
    "a control character": (f"{HEAD}{RULE}# \x07\n", [("", "YAML", 4, 3)]),
    "an expression of exploding cost": (
        f'{HEAD}  - {{id: a, tool: bb, effect: deny, when: "args.l.all(a, args.l.all(b, args.l.all(c, a == b)))"}}\n',
        [("/rules/0/when", "EXPRESSION", 3, 44)],
    ),
    "a doubling expression": (
        f"{HEAD}  - {{id: a, tool: bb, effect: deny, when: \"['a'].map(a, a + a).map(b, b + b) == []\"}}\n",
        [("/rules/0/when", "EXPRESSION", 3, 44)],
    ),
    "a regular expression with large repetition": (
        f"{HEAD}  - {{id: a, tool: bb, effect: deny, when: \"args.n.matches('[ab]*a[ab]{{900}}')\"}}\n",
        [("/rules/0/when", "EXPRESSION", 3, 58)],
    ),
    "an expression of brackets": (
        f'{HEAD}  - {{id: a, tool: bb, effect: deny, when: "{"(" * 990}1 == 1{")" * 990}"}}\n',
        [("/rules/0/when", "EXPRESSION", 3, 43)],
    ),
    "a thousand bad rules": (many(1_000, "{{id: R{n}, tool: bb, effect: perhaps}}"), None),
    "a thousand conditions that do not compile": (
        many(1_000, '{{id: r{n}, tool: bb, effect: deny, when: "nope{n}"}}'), None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_a_bad_text_is_refused_in_words_with_line_and_column_within_a_second(what):
    source, expected = BAD[what]
    found = refused(source)
    if expected is not None:
        assert found == expected
    assert all(line and column for _, _, line, column in found)


def test_more_than_a_mebibyte_is_not_even_read():
    with pytest.raises(TooLarge):
        parse_policy("#" * 1_048_577, "yaml")


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ('{"version": 1,\n "rules": [,]}', ("/rules/0", "JSON_SYNTAX", 2, 12)),
        ('{"version": 1,\n "version": 2}', ("/version", "JSON_DUPLICATE_KEY", 2, 11)),
        ('{"version": 1,\n "rules": []}', ("/rules", "POLICY_SHAPE", 2, 11)),
        ('{"version": 1,\n\t"rules": []}', ("/rules", "POLICY_SHAPE", 2, 11)),
        (b'{"version": 1,\n "rules": "\xff"}', ("", "NOT_UTF8", 2, 12)),
    ],
)
def test_json_is_refused_with_line_and_column_too(source, place):
    assert refused(source, "json") == [place]


def test_a_good_policy_of_a_thousand_rules_is_read_within_a_second():
    began = time.process_time()
    source = many(1_000, '{{id: r{n}, tool: bb, effect: deny, when: "args.a > {n} && args.b != {n}"}}')
    assert len(parse_policy(source, "yaml").rules) == 1_000
    assert time.process_time() - began < 1


def freeze(**changes):
    return {
        "id": "f",
        "from": "2026-12-24T18:00:00+11:00",
        "to": "2026-12-27T08:00:00+11:00",
        "tools": ["*"],
        **changes,
    }


def limit(**changes):
    return {"id": "l", "tool": "bb", "window": "24h", "amount": {"AUD": 5}, "over": "deny", **changes}


GROUP = [{"group": "g", "count": 1}]
PARTS = [
    ("freeze", freeze(**{"from": "2026-12-24T18:00:00.000"}), "/freeze/0/from", "TIME_INVALID"),
    ("freeze", freeze(to="tomorrow, at eight o'clock"), "/freeze/0/to", "TIME_INVALID"),
    ("freeze", freeze(to="2026-12-24T18:00:00+11:00"), "/freeze/0/to", "TIME_ORDER"),
    ("freeze", freeze(tools=[]), "/freeze/0/tools", "POLICY_SHAPE"),
    ("freeze", freeze(message="a\u202eb"), "/freeze/0/message", "HIDDEN_CHARACTER"),
    ("limits", limit(over="allow"), "/limits/0/over", "POLICY_SHAPE"),
    ("limits", limit(tool="*"), "/limits/0/tool", "POLICY_SHAPE"),
    ("limits", limit(window="7d"), "/limits/0/window", "POLICY_SHAPE"),
    ("limits", limit(amount={"AUD": -1}), "/limits/0/amount/AUD", "POLICY_SHAPE"),
    ("limits", limit(amount={"AUD": 1.5}), "/limits/0/amount/AUD", "POLICY_SHAPE"),
    ("limits", limit(amount={}), "/limits/0/amount", "POLICY_SHAPE"),
    ("limits", limit(amount={"XQX": 1}), "/limits/0/amount/XQX", "CURRENCY_UNKNOWN"),
    ("limits", limit(over="ask"), "/limits/0", "NO_APPROVERS"),
    ("limits", limit(approvers=GROUP), "/limits/0/approvers", "APPROVERS_UNUSED"),
    ("limits", limit(over="ask", approvers=GROUP * 2), "/limits/0/approvers/1/group", "DUPLICATE_GROUP"),
    ("limits", {"id": "l", "tool": "bb", "window": "24h", "over": "deny"}, "/limits/0", "LIMIT_EMPTY"),
    ("limits", limit(window="call", calls=1), "/limits/0/calls", "CALLS_UNUSED"),
    ("rules", {"id": "a", "tool": "bb", "effect": "allow", "level": "advisory"}, "/rules/0/level", "LEVEL_UNUSED"),
    ("rules", {"id": "a", "tool": "bb", "effect": "deny", "level": "perhaps"}, "/rules/0/level", "POLICY_SHAPE"),
    ("rules", {"id": "a", "tool": "bb", "effect": "deny", "level": "overridable"}, "/rules/0", "NO_APPROVERS"),
    ("rules", {"id": "a", "tool": "bb", "effect": "deny", "level": "advisory", "approvers": GROUP},
     "/rules/0/approvers", "APPROVERS_UNUSED"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("part", "item", "path", "code"), PARTS, ids=[f"{at}-{part[3]}" for at, part in enumerate(PARTS)]
)
def test_freezes_limits_and_levels_that_cannot_be_used_are_refused_at_their_place(part, item, path, code):
    document = {"version": 1, "rules": [{"id": "a", "tool": "bb", "effect": "deny"}]} | {part: [item]}
    found = refused(json.dumps(document), "json")
    assert (path, code) in [(finding[0], finding[1]) for finding in found]
    # Nothing else stands against it.
    assert len(found) == 1


def test_two_freezes_or_limits_of_one_name_are_refused_and_a_rule_may_share_it():
    rules = [{"id": "f", "tool": "bb", "effect": "deny"}]
    document = {"version": 1, "rules": rules, "freeze": [freeze(), freeze()], "limits": [limit(id="f"), limit(id="f")]}
    assert [found[:2] for found in refused(json.dumps(document), "json")] == [
        ("/freeze/1/id", "DUPLICATE_ID"), ("/limits/1/id", "DUPLICATE_ID"),
    ]  # fmt: skip
    assert parse_policy(json.dumps(document | {"freeze": [freeze()], "limits": [limit(id="f")]}), "json")


def test_more_groups_than_a_list_of_what_waits_can_hold_are_refused():
    def groups(prefix, count):
        return [{"group": f"{prefix}{n}", "count": 1} for n in range(count)]

    rules = [{"id": "a", "tool": "bb", "effect": "ask", "approvers": groups("r", 10)}]
    limits = [limit(id=f"l{n}", over="ask", approvers=groups(f"l{n}-", 5)) for n in range(3)]
    document = {"version": 1, "rules": rules, "limits": limits}
    assert [found[:2] for found in refused(json.dumps(document), "json")] == [
        ("/limits/2/approvers", "TOO_MANY_GROUPS")
    ]
    assert parse_policy(json.dumps(document | {"limits": limits[:2]}), "json")


def test_the_character_of_a_condition_that_does_not_compile_is_named():
    with pytest.raises(Refusal) as caught:
        parse_policy(f'{HEAD}  - {{id: a, tool: bb, effect: deny, when: "args.a > 1 && nope > 2"}}\n', "yaml")
    assert "at character 15" in caught.value.message


NOPE = "args.b == '雪😀' && nope > 2"


@pytest.mark.parametrize(
    ("fmt", "rule", "word"),
    [
        ("yaml", f"{{id: a, tool: bb, effect: deny, when: {NOPE}}}", "nope"),
        ("yaml", f'{{id: a, tool: bb, effect: deny, when: "{NOPE}"}}', "nope"),
        ("yaml", "{id: a, tool: bb, effect: deny, when: 'args.b == ''it'' && nope'}", "nope"),
        ("yaml", '{id: a, tool: bb, effect: deny, when: "args.b == \\"\\u96ea\\" && nope"}', "nope"),
        ("yaml", "id: a\n    tool: bb\n    effect: deny\n    when: |\n      '雪' == 'é' &&\n\n        nope\n", "nope"),
        ("yaml", "id: a\n    tool: bb\n    effect: deny\n    when: >-\n      '雪' == 'é' &&\n      nope > 2\n", "nope"),
        ("yaml", "id: a\n    tool: bb\n    effect: deny\n    when: |\n      args.a ==\n      'b' @\n", "@"),
        ("json", '{"id": "a", "tool": "bb",\n\t"effect": "deny", "when": "args.b == \\"雪\\" && nope"}', "nope"),
        (
            "json",
            '{"id": "a", "tool": "bb", "effect": "deny", "when": "args.b == \'\\ud83d\\ude00\' &&\\n nope"}',
            "nope",
        ),
    ],
)
def test_what_is_wrong_inside_a_condition_is_found_to_the_column_of_the_document(fmt, rule, word):
    source = f"{HEAD}  - {rule}\n" if fmt == "yaml" else f'{{"version": 1, "rules": [\n{rule}]}}'
    ((path, code, line, column),) = refused(source, fmt)
    assert (path, code) == ("/rules/0/when", "EXPRESSION")
    assert source.split("\n")[line - 1][column - 1 :].startswith(word)


def test_what_is_wrong_with_a_whole_condition_is_found_at_its_start():
    ((_, _, line, column),) = refused(f"{HEAD}  - {{id: a, tool: bb, effect: deny, when: args.gift}}\n", "yaml")
    assert HEAD.count("\n") + 1 == line
    assert column == len("  - {id: a, tool: bb, effect: deny, when: ") + 1


def test_places_are_known_for_json_whatever_it_is_laid_out_with():
    assert places('{"version": 1,\n "rules": [{"id": "a"}]}', "json").columns["/rules/0/id"] == 19
    assert places("[1,\n\t2]", "json") == {"": 1, "/0": 1, "/1": 2}
    pair = places('{"\\ud83d\\ude00": "\\ud83d\\ude00",\n\t"a/b": 1}', "json")
    assert (pair, pair.columns["/a~1b"]) == ({"": 1, "/😀": 1, "/a~1b": 2}, 9)
    assert places("{", "json") == {}
