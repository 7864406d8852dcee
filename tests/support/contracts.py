"""The demo's tool contracts, pointed at a server of a test's own."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from approvals.core.contract import parse_contract
from approvals.core.contract_types import Contract

FOLDER = Path(__file__).parents[2] / "config" / "demo_data"
PLACEHOLDER = "127.0.0.1:12111"


def demo_document(name: str, host: str = PLACEHOLDER) -> dict[str, Any]:
    """The document of `get_order` or `refund_order` with the payment server at `host` (host:port)."""
    text = (FOLDER / "contracts" / f"{name}.json").read_text()
    return dict(json.loads(text.replace(PLACEHOLDER, host)))


def demo_contract(
    name: str, host: str = PLACEHOLDER, change: Callable[[dict[str, Any]], object] | None = None
) -> Contract:
    """The parsed contract; `change` may edit a copy of its document first."""
    document = copy.deepcopy(demo_document(name, host))
    if change is not None:
        change(document)
    return parse_contract(document)
