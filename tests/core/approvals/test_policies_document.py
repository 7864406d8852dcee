"""docs/policies.md: its examples are policies whose own tests pass, and it leaves no name of the language out."""

import re

import pytest

from approvals.core.contract import parse_contract
from approvals.core.policy import POLICY_SCHEMA, catalogue_findings, parse_policy
from approvals.core.policy_names import EXPOSURE_NAMES, POLICY_NAMES, PRINCIPAL_NAMES, RUN_NAMES
from approvals.core.policy_trial import run_cases
from tests.core.approvals.documents import read_document, refund
from tests.support.databases import ROOT

TEXT = (ROOT / "docs/policies.md").read_text()
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
TOOLS = {"refund_order": refund(), "get_order": parse_contract(read_document())}
GROUPS = {"finance": 2, "leads": 2}


@pytest.mark.parametrize("source", EXAMPLES, ids=[f"example {at}" for at in range(1, len(EXAMPLES) + 1)])
def test_an_example_is_a_policy_whose_own_tests_pass_and_that_nothing_stands_against(source):
    policy = parse_policy(source, "yaml")
    results = run_cases(policy, TOOLS)
    assert len(results) >= 2
    assert [(result.name, result.expected, result.got) for result in results if not result.passed] == []
    assert catalogue_findings(policy, tools=TOOLS, groups=GROUPS, told=GROUPS) == []


def test_every_name_that_a_condition_may_use_is_told():
    for name in POLICY_NAMES:
        assert f"| `{name}` |" in TEXT, name
    for root, names in (("principal", PRINCIPAL_NAMES), ("run", RUN_NAMES), ("exposure", EXPOSURE_NAMES)):
        for name in sorted(names):
            assert f"`{root}.{name}`" in TEXT, f"{root}.{name}"


def test_every_name_stands_in_the_published_schema_too():
    told = POLICY_SCHEMA["properties"]["rules"]["items"]["properties"]["when"]["description"]
    for name in (*POLICY_NAMES, *RUN_NAMES, *EXPOSURE_NAMES):
        assert name in told, name


def test_every_finding_that_is_told_is_listed():
    codes = set(re.findall(r'"([A-Z]+_[A-Z_]+|UNREACHABLE)"', (ROOT / "approvals/core/policy_advice.py").read_text()))
    assert len(codes) >= 10
    assert [code for code in sorted(codes) if f"`{code}`" not in TEXT] == []
