"""Policy documents: read strictly, refused with findings and lines (A8, S8)."""

import json
import time

import jsonschema_rs
import pytest

from approvals.core.policy import POLICY_SCHEMA, Approver, catalogue_findings, load_policy, parse_policy
from approvals.core.yaml_door import YamlError, open_yaml
from audit.core.refusal import Invalid, TooLarge
from tests.core.approvals.documents import refund

SOURCE = """\
# Refunds of the shop
version: 1
rules:
  - {id: read-orders, tool: get_order, effect: allow}
  - id: refund-large
    tool: refund_order
    when: "args.amount > 100000"
    effect: deny
    message: "Refunds over A$1,000 are made by hand."
  - id: refund
    tool: refund_order
    effect: ask
    approvers:
      - {group: finance, count: 1}
    expires_in_s: 600
"""


def findings(source, fmt="yaml"):
    with pytest.raises(Invalid) as caught:
        parse_policy(source, fmt)
    assert caught.value.code == "POLICY_INVALID"
    return {(found["path"], found["code"], found.get("line", 0)) for found in caught.value.detail["findings"]}


def rule(**fields):
    return {"id": "r", "tool": "t_1", "effect": "allow", **fields}


def in_json(*rules):
    return json.dumps({"version": 1, "rules": list(rules)})


def test_a_policy_reads_the_same_from_yaml_from_json_and_from_its_stored_form():
    policy = parse_policy(SOURCE, "yaml", number=3)
    assert [(item.id, item.tool, item.effect) for item in policy.rules] == [
        ("read-orders", "get_order", "allow"),
        ("refund-large", "refund_order", "deny"),
        ("refund", "refund_order", "ask"),
    ]
    assert policy.rules[2].approvers == (Approver("finance", 1),)
    assert (policy.rules[2].expires_in_s, policy.rules[0].expires_in_s) == (600, None)
    assert parse_policy(json.dumps(policy.document).encode(), "json", number=3) == policy
    assert load_policy(policy.document, number=3) == policy
    assert load_policy(policy.document, number=4).number == 4


def test_the_published_schema_is_itself_a_schema():
    jsonschema_rs.meta.validate(POLICY_SCHEMA)


@pytest.mark.parametrize(
    ("source", "line", "word"),
    [
        ("version: 1\nrules: &all\n  - {id: a}\n", 2, "&all"),
        ("version: 1\nrules: *all\n", 2, "all"),
        ("version: !!int 1\n", 1, "tag"),
        ("version: 1\nrules: !python/object:os.system {a: b}\n", 2, "tag"),
        ("version: 1\nversion: 1\n", 2, "twice"),
        ("version: 1\nrules:\n  - {id: a, id: b}\n", 3, "twice"),
        ("version: 1\n---\nversion: 1\n", 2, "several"),
        ("version: 1\nrules: [a, b\n", 3, "not YAML"),
        ("version: 1\n\trules: []\n", 2, "not YAML"),
        ("? [a]\n: 1\n", 1, "name"),
        ("1: 2\n", 1, "name"),
        ('a: "\\0"\n', 1, "NUL"),
        ("a: \x00\n", 0, "not YAML"),
        ("- " * 3_000 + "x", 0, ""),
        ("[" * 5_000, 0, ""),
        ("%TAG !e! tag:x,2000:\n---\na: 1\n", 1, "TAG"),
    ],
)
def test_yaml_that_is_more_than_json_is_refused_with_its_line(source, line, word):
    with pytest.raises(YamlError) as caught:
        open_yaml(source)
    assert word in caught.value.message
    if line:
        assert caught.value.line == line
    assert ("", "YAML", caught.value.line) in findings(source)


@pytest.mark.parametrize(
    ("source", "place", "word"),
    [
        ("version: 1\nrules:\n  - {id: &x a}\n", (3, 10), "&x"),
        ("version: 1\nrules:\n  - {id: a, id: b}\n", (3, 13), "twice"),
        ("version: 1\nrules:\n\t- {id: a}\n", (3, 1), "spaces"),
        ("a: \u00e9\nb: \x07\n", (2, 4), "does not allow"),
        ("a: [" + "x, " * 60_000 + "x]\n", (1, 150_002), "50,000"),
    ],
)
def test_what_is_refused_is_shown_to_the_column(source, place, word):
    with pytest.raises(YamlError) as caught:
        open_yaml(source)
    assert (caught.value.line, caught.value.column) == place
    assert word in caught.value.message


def test_plain_words_of_yaml_mean_what_they_say_and_nothing_else():
    value, lines = open_yaml(
        "a: no\nb: on\nc: 1:30\nd: 010\ne: 1e3\nf: true\ng: 7\nh: ~\ni: '7'\nj: 2026-01-01\nk: <<\nl: [x]\n"
    )
    assert value == {
        "a": "no", "b": "on", "c": "1:30", "d": "010", "e": "1e3", "f": True, "g": 7, "h": None, "i": "7",
        "j": "2026-01-01", "k": "<<", "l": ["x"],
    }  # fmt: skip
    assert (lines["/a"], lines["/l"], lines["/l/0"]) == (1, 12, 12)


def test_the_classic_bomb_of_aliases_is_refused_at_once():
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{c}: &{c} [{','.join(['*' + p] * 9)}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True)
    )
    start = time.perf_counter()
    assert findings(bomb) == {("", "YAML", 1)}
    assert time.perf_counter() - start < 1


def test_a_source_over_a_mebibyte_and_bytes_that_are_no_text_are_refused():
    with pytest.raises(TooLarge):
        parse_policy("#" * 1_048_577, "yaml")
    assert findings(b"version: 1\nrules: \xff") == {("", "NOT_UTF8", 2)}
    assert ("", "YAML", 0) in findings("a: \ud800") or ("", "NOT_UTF8", 1) in findings("a: \ud800")


@pytest.mark.parametrize("source", ["{", '{"version":1,"version":1}', '{"version":1,"rules":[NaN]}', "[" * 5000])
def test_json_is_read_through_the_json_door(source):
    assert {code for _, code, _ in findings(source, "json")} <= {
        "JSON_SYNTAX",
        "JSON_DUPLICATE_KEY",
        "JSON_NOT_FINITE",
        "JSON_DEPTH",
    }


@pytest.mark.parametrize(
    "document",
    [
        "1", "[]", "{}", "null", '{"version":2,"rules":[]}', '{"version":1,"rules":[]}', '{"version":"1","rules":[]}',
        in_json(rule(effect="maybe")), in_json(rule(extra=1)), in_json({"id": "r"}), in_json(rule(id="Bad Id")),
        in_json(rule(tool="Bad-Tool")), in_json(rule(when="")), in_json(rule(expires_in_s=0)),
        in_json(rule(effect="ask", approvers=[])), in_json(rule(effect="ask", approvers=[{"group": "g", "count": 0}])),
        in_json(rule(effect="ask", approvers=[{"group": "", "count": 1}])),
        in_json(rule(effect="ask", approvers=[{"group": "g"}])),
        in_json(*[rule(id=f"r{n}") for n in range(1_001)]),
    ],
)  # fmt: skip
def test_a_document_of_the_wrong_shape_is_refused(document):
    assert {code for _, code, _ in findings(document, "json")} == {"POLICY_SHAPE"}


def test_findings_name_the_line_of_their_place():
    broken = SOURCE.replace("count: 1", "count: 0").replace("effect: deny", "effect: perhaps")
    assert {("/rules/2/approvers/0/count", "POLICY_SHAPE", 14), ("/rules/1/effect", "POLICY_SHAPE", 8)} <= findings(
        broken
    )


def test_an_ask_without_approvers_is_a_finding():
    assert ("/rules/0", "NO_APPROVERS", 1) in findings(in_json(rule(effect="ask")), "json")


def test_a_deny_with_approvers_and_a_group_named_twice_are_findings():
    people = [{"group": "g", "count": 1}, {"group": "g", "count": 2}]
    assert ("/rules/0/approvers", "APPROVERS_UNUSED", 1) in findings(
        in_json(rule(effect="deny", approvers=people[:1])), "json"
    )
    assert ("/rules/0/approvers/1/group", "DUPLICATE_GROUP", 1) in findings(
        in_json(rule(effect="ask", approvers=people)), "json"
    )


def test_two_rules_of_one_name_are_a_finding():
    assert ("/rules/1/id", "DUPLICATE_ID", 1) in findings(in_json(rule(), rule()), "json")


@pytest.mark.parametrize(
    "when",
    [
        "args.amount",
        "args.amount >",
        "result.x == 1",
        "nope",
        "1 + 1",
        "'yes'",
        "args.l.map(x, x) == []",
        "args.x.matches('(')" + " &&",
    ],
)
def test_a_condition_that_cannot_be_judged_is_found_at_save(when):
    assert ("/rules/0/when", "EXPRESSION", 1) in findings(in_json(rule(when=when)), "json")


@pytest.mark.parametrize("field", ["when", "message"])
def test_hidden_characters_in_what_people_read_are_findings(field):
    text = "args.note == 'a\u202eb'"
    assert (f"/rules/0/{field}", "HIDDEN_CHARACTER", 1) in findings(in_json(rule(**{field: text})), "json")


def test_all_findings_are_told_at_once():
    source = in_json(rule(effect="ask"), rule(when="nope"), rule(effect="deny", approvers=[{"group": "g", "count": 1}]))
    assert {code for _, code, _ in findings(source, "json")} == {
        "NO_APPROVERS",
        "DUPLICATE_ID",
        "EXPRESSION",
        "APPROVERS_UNUSED",
    }


def test_a_stored_document_edited_by_hand_decides_nothing():
    document = parse_policy(SOURCE, "yaml").document
    document["rules"][2]["approvers"] = []
    with pytest.raises(Invalid):
        load_policy(document, number=1)


def test_a_thousand_rules_are_read_within_a_second():
    source = "version: 1\nrules:\n" + "".join(
        f'  - {{id: r{n}, tool: t_{n}, effect: allow, when: "args.amount > {n}"}}\n' for n in range(1_000)
    )
    start = time.perf_counter()
    assert len(parse_policy(source, "yaml").rules) == 1_000
    assert time.perf_counter() - start < 2


def test_what_a_policy_names_is_compared_with_the_tenants_catalogue_and_groups():
    policy = parse_policy(
        in_json(
            rule(id="a", tool="refund_order", when="args.ammount > 1 && state.lefft > 1"),
            rule(id="b", tool="absent_tool"),
            rule(id="c", tool="*", when="args.anything == 1"),
            rule(
                id="d",
                tool="refund_order",
                effect="ask",
                approvers=[{"group": "empty", "count": 1}, {"group": "two", "count": 2}],
            ),
            rule(
                id="e",
                tool="refund_order",
                effect="ask",
                approvers=[{"group": "unknown", "count": 1}, {"group": "two", "count": 3}],
            ),
        ),
        "json",
    )
    found = catalogue_findings(policy, tools={"refund_order": refund()}, groups={"empty": 0, "two": 2})
    assert {(item.path, item.code) for item in found} == {
        ("/rules/0/when", "NAME_UNKNOWN"),
        ("/rules/1/tool", "TOOL_UNKNOWN"),
        ("/rules/3/approvers/0/group", "GROUP_TOO_SMALL"),
        ("/rules/4/approvers/0/group", "GROUP_TOO_SMALL"),
        ("/rules/4/approvers/1/group", "GROUP_TOO_SMALL"),
        ("/rules/4", "UNREACHABLE"),
    }
    assert sum(item.path == "/rules/0/when" for item in found) == 2
    assert not [item for item in catalogue_findings(policy, tools={"refund_order": refund()}) if "GROUP" in item.code]
