"""A real payment server for the module, and the demo's tools on it."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runs.tools.adapter import HttpTool
from tests.support.contracts import demo_contract
from tests.support.stripe import KEY, LocalStripe

type Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def stripe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStripe]:
    with LocalStripe(tmp_path_factory.mktemp("stripe")) as server:
        yield server


@dataclass
class Shop:
    """Acme's orders at the payment server: `order(amount, currency)` makes one, `tool(name)` the adapter on it."""

    stripe: LocalStripe
    folder: Path
    orders: dict[str, dict[str, Any]] = field(default_factory=dict)

    def order(self, amount: int, currency: str = "aud") -> str:
        """A paid order's number."""
        number = f"ord_{2000 + len(self.orders)}"
        charge = self.stripe.create_charge(amount, currency)
        self.orders[number] = {
            "charge": charge,
            "customer": "Mara Lindqvist",
            "items": ["Lamp"],
            "placed": "2026-11-01",
        }
        self.stripe.write_orders(self.folder, "acme", self.orders)
        return number

    def charge(self, order: str) -> str:
        return str(self.orders[order]["charge"])

    def tool(self, name: str = "refund_order", *, host: str = "", change: Change | None = None) -> HttpTool:
        return HttpTool(
            demo_contract(name, host or self.stripe.host, change),
            credential=lambda: KEY,
            reference_dir=self.folder,
            tenant_slug="acme",
        )


@pytest.fixture
def shop(stripe: LocalStripe, tmp_path: Path) -> Shop:
    return Shop(stripe, tmp_path)


def soon(seconds: float = 10.0) -> float:
    """A deadline for a test."""
    return time.monotonic() + seconds
