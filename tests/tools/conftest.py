"""A real payment server for the module, and the demo's tools on it."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from audit.core.jsondoor import Json
from runs.tools.adapter import HttpTool
from tests.support.contracts import demo_contract
from tests.support.stripe import KEY as STRIPE_KEY
from tests.support.stripe import LocalStripe

KEY = "clr_0123456789abcdef0123456789abcdef01234567"
"""A key of ours as it goes downstream."""

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
            credential=lambda: STRIPE_KEY,
            reference_dir=self.folder,
            tenant_slug="acme",
        )


@pytest.fixture
def shop(stripe: LocalStripe, tmp_path: Path) -> Shop:
    return Shop(stripe, tmp_path)


def soon(seconds: float = 10.0) -> float:
    """A deadline for a test."""
    return time.monotonic() + seconds


def arguments(order: str, amount: int = 50_00, currency: str = "AUD", **more: Json) -> dict[str, Json]:
    """Effective arguments of a refund."""
    return {"order_id": order, "amount": amount, "currency": currency, "notify": True, **more}
