"""The payment server of the demo and its orders: real localstripe, private, and never seeded twice."""

import json
import signal
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from config.stack import stripe
from config.stack.children import Child
from config.stack.demo_orders import ORDERS, seed_orders
from config.stack.process import StackError
from tests.stack.support import clean_environment, mode
from tests.support.waiting import wait_until

pytestmark = pytest.mark.stack
KEY = "sk_test_0123456789"


@dataclass
class Payments:
    folder: Path
    port: int
    child: Child

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.child.restart()
        assert wait_until(lambda: stripe.answers(self.port), seconds=30)

    def get(self, path: str, **query: str) -> dict:
        return httpx.get(self.url + path, params=query, auth=(KEY, ""), trust_env=False).raise_for_status().json()

    def seed(self) -> dict[str, dict]:
        seed_orders(self.url, KEY, self.folder / "reference")
        return json.loads((self.folder / "reference" / "acme" / "orders.json").read_text())


@pytest.fixture
def payments(folder: Path) -> Iterator[Payments]:
    port = stripe.kept_port(folder / "stripe")
    child = stripe.payment_server(folder / "stripe", folder / "log" / "payments.log", port, clean_environment())
    server = Payments(folder, port, child)
    server.start()
    yield server
    server.child.stop()


def test_every_order_of_both_tenants_has_a_paid_charge_of_its_own(payments: Payments) -> None:
    payments.seed()
    charges = {charge["id"]: charge for charge in payments.get("/v1/charges", limit="1000")["data"]}
    assert len(charges) == sum(len(orders) for orders in ORDERS.values())
    for tenant, orders in ORDERS.items():
        table = json.loads((payments.folder / "reference" / tenant / "orders.json").read_text())
        assert len(table) == len(orders)
        for row, order in zip(table.values(), orders, strict=True):
            charge = charges.pop(row["charge"])
            assert (charge["amount"], charge["currency"], charge["paid"]) == (order.amount, order.currency, True)
            assert row["customer"] == order.customer
    assert charges == {}


def test_a_second_seeding_changes_nothing(payments: Payments) -> None:
    assert payments.seed() == payments.seed()
    assert payments.get("/v1/charges", limit="1000")["total_count"] == sum(len(orders) for orders in ORDERS.values())


def test_an_interrupted_seeding_goes_on_where_it_was(payments: Payments) -> None:
    table = payments.seed()
    (payments.folder / "reference" / "acme" / "orders.json").unlink()
    assert {name: row["charge"] for name, row in payments.seed().items()} == {
        name: row["charge"] for name, row in table.items()
    }


def test_charges_and_refunds_survive_a_kill(payments: Payments) -> None:
    charge = payments.seed()["ord_1029"]["charge"]
    form = {"charge": charge, "amount": "700", "metadata[clearance_key]": "clr_1"}
    httpx.post(payments.url + "/v1/refunds", data=form, auth=(KEY, ""), trust_env=False).raise_for_status()
    payments.child.process.send_signal(signal.SIGKILL)
    payments.child.process.wait(10)

    payments.start()

    (refund,) = payments.get("/v1/refunds", charge=charge)["data"]
    assert (refund["amount"], refund["metadata"]) == (700, {"clearance_key": "clr_1"})


def test_a_lost_state_file_gives_new_charges_under_the_same_orders(payments: Payments) -> None:
    before = payments.seed()
    payments.child.stop()
    (payments.folder / "stripe" / "state").unlink()
    payments.start()
    after = payments.seed()
    assert after.keys() == before.keys()
    assert after["ord_1029"]["charge"] != before["ord_1029"]["charge"]
    assert after["ord_1029"]["placed"] == before["ord_1029"]["placed"]


def test_it_listens_on_loopback_only_and_its_state_is_private(payments: Payments) -> None:
    payments.seed()
    assert mode(payments.folder / "stripe" / "state") == "0o600"
    own = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}
    for address in own:
        if not address.startswith("127."):
            with pytest.raises(OSError, match="refused"):
                socket.create_connection((address, payments.port), timeout=2)


def test_without_a_key_it_answers_nothing(payments: Payments) -> None:
    assert httpx.get(payments.url + "/v1/charges", trust_env=False).status_code == 401
    with pytest.raises(StackError, match=r"did not list its charges \(HTTP 401\)"):
        seed_orders(payments.url, "wrong", payments.folder / "reference")


def test_the_port_is_kept_and_given_up_only_when_somebody_else_has_it(folder: Path) -> None:
    port = stripe.kept_port(folder)
    assert stripe.kept_port(folder) == port
    with socket.create_server(("127.0.0.1", port)):
        other = stripe.kept_port(folder)
        assert other != port
    assert stripe.kept_port(folder) == other
