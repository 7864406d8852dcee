"""approvals/core/contract_text.py: JSON and YAML through their doors, every finding with its place."""

import json
import time
from types import SimpleNamespace

import pytest

from approvals.core.contract_text import MAX_BYTES, read_contract, written
from audit.core.refusal import Invalid, Refusal, TooLarge
from tests.core.approvals.documents import refund_document


def text(changes=None):
    return json.dumps(refund_document(changes), indent=2)


def text_findings(source):
    """Everything against a text."""
    try:
        read_contract(source)
    except Refusal as refusal:
        return [SimpleNamespace(**({"line": 0} | finding)) for finding in refusal.detail["findings"]]
    return []


def test_a_good_text_is_its_document():
    assert read_contract(text()) == refund_document()
    assert text_findings(text()) == []


def test_every_finding_has_path_and_line():
    source = text({"/approval": "never", "/adapter/allowed_hosts": ["elsewhere.example"]})
    found = {
        (finding.path, source.splitlines()[finding.line - 1].strip().split(":")[0]) for finding in text_findings(source)
    }
    assert found == {("/approval", '"approval"'), ("/adapter/base_url", '"base_url"')}


BAD = {
    "JSON that ends early": ('{"name": "refund_order",', "JSON_SYNTAX", 1),
    "a name twice": ('{\n"name": "a",\n"name": "b"}', "JSON_DUPLICATE_KEY", 3),
    "no contract at all": ("hello", "CONTRACT_SHAPE", 1),
    "an anchor": ("name: &a refund\ntitle: *a\n", "YAML", 1),
    "a tag": ("name: !!python/object:os.system x\n", "YAML", 1),
    "several documents": ("a: 1\n---\nb: 2\n", "YAML", 2),
    "a name twice in YAML": ("name: a\nname: b\n", "YAML", 2),
    "nothing": ("", "CONTRACT_SHAPE", 0),
    "a lone surrogate": ('{"name": "\ud800"}', "JSON_NOT_UTF8", 0),
    "a tab in YAML": ("name:\n\t- a\n", "YAML", 2),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_text_is_refused_in_words_with_its_line(what):
    source, code, line = BAD[what]
    found = text_findings(source)
    assert found[0].code == code
    assert found[0].line == line
    assert found[0].message.endswith(".")


def test_a_text_beyond_the_door_is_refused_before_it_is_read():
    with pytest.raises(TooLarge, match="at most 1,048,576"):
        read_contract("{" + " " * MAX_BYTES + "}")


def test_a_bomb_is_refused_within_a_second():
    bomb = "a: &a [x, x, x]\n" + "".join(f"b{i}: &b{i} [*a, *a, *a]\n" for i in range(50))
    began = time.process_time()
    assert text_findings(bomb)[0].code == "YAML"
    assert text_findings('{"a":' * 5000)[0].code == "JSON_DEPTH"
    assert time.process_time() - began < 1


def test_a_hidden_character_is_found_where_it_stands():
    source = text({"/description": "Pay\u202eback"})
    (finding,) = text_findings(source)
    assert (finding.code, finding.path) == ("HIDDEN_CHARACTER", "/description")
    assert finding.line == 4


def test_only_a_missing_sandbox_has_its_own_code():
    with pytest.raises(Invalid) as caught:
        read_contract(text({"/sandbox_profile": "python"}))
    assert caught.value.code == "SANDBOX_UNAVAILABLE"


def test_a_document_is_written_in_the_order_of_the_schema_and_says_the_same():
    shuffled = dict(sorted(refund_document().items(), reverse=True))
    lines = written(shuffled).splitlines()
    top = [line.strip().split('"')[1] for line in lines if line.startswith('  "')]
    assert top[:6] == ["name", "title", "description", "side_effect", "scopes", "approval"]
    assert read_contract(written(shuffled)) == refund_document()
