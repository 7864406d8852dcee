"""One registry: what it does not know it refuses."""

from dataclasses import replace
from pathlib import Path

import pytest

from audit.core.refusal import Refusal
from runs.tools.adapter import HttpTool
from runs.tools.registry import tool_for
from tests.support.contracts import demo_contract


def test_an_http_contract_gets_the_http_adapter() -> None:
    tool = tool_for(
        demo_contract("get_order"),
        credential=lambda: "sk_test_0123456789",
        reference_dir=Path("/x"),
        tenant_slug="acme",
    )
    assert isinstance(tool, HttpTool)
    assert tool.contract.name == "get_order"


def test_a_kind_that_is_not_registered_is_refused() -> None:
    contract = replace(demo_contract("get_order"), adapter="carrier pigeon")  # type: ignore[arg-type]
    with pytest.raises(Refusal) as refused:
        tool_for(contract, credential=None, reference_dir=Path("/x"), tenant_slug="acme")
    assert refused.value.code == "ADAPTER_UNKNOWN"
    assert refused.value.outcome == "none"
