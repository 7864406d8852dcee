"""approvals/core/inside.py: a character of a value is found in its source, or nothing is said (A8)."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals.core.inside import place_inside
from approvals.core.yaml_door import open_yaml


def found(source: str, offset: int, path: str = "/when") -> int | None:
    document: Any
    document, lines = open_yaml(source)
    return place_inside(source, lines.starts[path], document["when"], offset)


@pytest.mark.parametrize(
    "source",
    [
        "when: args.a > HERE\n",
        "# é雪😀\nwhen: args.a > HERE\n",
        "when: args.é > '雪😀' && HERE && more\n",
        "when: 'it''s ''x'' && HERE'\n",
        'when: "a\\tb \\x41\\u00e9\\U0001F600 \\"q\\" && HERE"\n',
        "when: |\n  args.a\n    && 雪\n\n  && HERE\n  && more\n",
        "when: |-   # why\n\n    args.a\n    && HERE\n",
        "when: |2+\n    args.a\n  && HERE\n\n",
        "when: >\n  args.a\n  && é\n\n  && HERE\n    && more\n  && x\n",
        "when: >-\n  args.a\n    && HERE\n\n    && b\n  && c\n",
        "when: args.a\n  && b\n\n  && HERE\nother: 1\n",
        "when: 'args.a   \n\n\n  && HERE'\n",
        'when: "args.a \\\n   && b   \n  && HERE"\n',
        "when: |\r\n  args.a\r\n  && HERE\r\n",
        '{"when": "args.a \\u00e9 \\/ \\\\ && HERE"}',
        '{\n\t"when": "é雪 && HERE"}',
        "{when: a && HERE, other: 1}",
    ],
)
def test_a_character_is_found_where_it_is_written(source):
    document: Any = open_yaml(source)[0]
    at = found(source, document["when"].index("HERE"))
    assert at is not None
    assert source[at : at + 4] == "HERE"


@pytest.mark.parametrize(
    "source", ["when: a >\n", "when: |\n  a >\n\n\nother: 1\n", 'when: "a >"\n', "when: 'a >  '\n"]
)
def test_the_end_of_a_value_is_behind_its_last_visible_character(source):
    document: Any = open_yaml(source)[0]
    assert found(source, len(document["when"])) == source.index("a >") + 3


def test_a_pair_of_escapes_is_one_character():
    source = '{"when": "\\ud83d\\ude00 && HERE"}'
    assert place_inside(source, 9, json.loads(source)["when"], 5) == source.index("HERE")


@pytest.mark.parametrize(
    ("source", "value", "offset"),
    [
        ("when: abc", "abd", 1),  # other than the value
        ("when: abc", "abc", 4),
        ("when: abc", "abc", -1),
        ("when: '  '", "  ", 0),  # nothing to see
        ('when: "\\q"', "q", 0),
        ("when: a\u2028b c", "a b c", 4),  # line ends that readers count differently
        ("when: |2\n\tx\n", "x", 0),
        ("when: abc", "abcdef", 2),
        ("", "abc", 0),
    ],
)
def test_nothing_is_said_where_it_is_not_exactly_known(source, value, offset):
    assert place_inside(source, min(6, len(source)), value, offset) is None


_TEXTS = st.text(alphabet="ab:#-\"'\\{}&|> \n\té雪😀", min_size=1, max_size=40)


@settings(max_examples=300, deadline=None)
@given(value=_TEXTS, style=st.sampled_from(["|", ">", "'", '"', None]), width=st.integers(10, 80), data=st.data())
def test_whatever_is_said_is_right_in_every_layout(value, style, width, data):
    """Each character that shows and is not an escape is found where the source has that very character."""
    source = yaml.dump({"when": value}, default_style=style, width=width, allow_unicode=True)
    document, lines = open_yaml(source)
    value = document["when"] if isinstance(document, dict) and isinstance(document.get("when"), str) else ""
    if not value.strip():
        return
    start = lines.starts["/when"]
    offset = data.draw(st.integers(0, len(value.rstrip()) - 1))
    at = place_inside(source, start, value, offset)
    assert at is not None
    if value[offset] not in " \n\t" and source[at] != "\\":
        assert source[at] == value[offset]
