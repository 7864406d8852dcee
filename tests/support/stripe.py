"""localstripe for tests: a real payment server nobody here wrote, on a free loopback port with its own state file.

    with LocalStripe(folder) as stripe:
        charge = stripe.create_charge(189_00, "aud")
        ...
        assert [refund["amount"] for refund in stripe.refunds(charge)] == [50_00]

Started by the launcher's own recipe (config.stack.stripe), stopped by its process id.
"""

import json
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from config.stack import process, stripe

KEY = "sk_test_5f2c9e8a71b04d36"
"""localstripe takes every bearer that begins with sk_."""


class LocalStripe:
    """One server. `url` and `host` (host:port) stay the same over `stop` and `start`, as does what it knows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.port = process.free_port()
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.host}"
        self._server = stripe.payment_server(folder, folder / "log", self.port)
        self._http = httpx.Client(base_url=self.url, auth=(KEY, ""), trust_env=False, timeout=10)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()
        self.stop()

    def start(self) -> None:
        """Start it and wait until it answers."""
        self._server.restart()
        until = time.monotonic() + 20
        while not stripe.answers(self.port):
            if self._server.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the payment server did not start:\n{process.last_lines(self.folder / 'log')}")
            time.sleep(0.03)

    def stop(self) -> None:
        """Stop it; its state stays in its file."""
        self._server.stop()

    def create_charge(self, amount: int, currency: str = "aud", *, description: str = "") -> str:
        """The id of a paid charge of `amount` minor units."""
        form = {"amount": amount, "currency": currency, "source": "pm_card_visa"}
        return str(
            self._send("POST", "/v1/charges", form | ({"description": description} if description else {}))["id"]
        )

    def charge(self, charge: str) -> dict[str, Any]:
        """What the server says about a charge."""
        return self._send("GET", f"/v1/charges/{charge}")

    def refunds(self, charge: str) -> list[dict[str, Any]]:
        """Every refund of a charge, read by a way of its own (one page of any length), not by our adapter."""
        answer = self._http.get("/v1/refunds", params={"charge": charge, "limit": 100_000})
        answer.raise_for_status()
        return list(answer.json()["data"])

    def refund(self, charge: str, amount: int, *, key: str = "", note: str = "") -> str:
        """Refund behind our back, as somebody with the payment server's own console would. Its id."""
        form: dict[str, object] = {"charge": charge, "amount": amount}
        form |= {"metadata[clearance_key]": key} if key else {}
        form |= {"metadata[note]": note} if note else {}
        return str(self._send("POST", "/v1/refunds", form)["id"])

    def write_orders(self, reference_dir: Path, tenant: str, orders: dict[str, dict[str, Any]]) -> None:
        """The table that maps a tenant's orders to charges, as the seeding command writes it."""
        table = reference_dir / tenant / "orders.json"
        table.parent.mkdir(parents=True, exist_ok=True)
        table.write_text(json.dumps(orders))

    def _send(self, method: str, path: str, form: dict[str, Any] | None = None) -> dict[str, Any]:
        answer = self._http.request(method, path, data=form)
        answer.raise_for_status()
        return dict(answer.json())
