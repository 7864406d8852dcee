"""The pass-through of `make smoke` changes nothing of what it passes on."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from config.stack import stripe
from config.stack.timing_proxy import TimingProxy
from tests.stack.support import clean_environment
from tests.support.waiting import wait_until

pytestmark = pytest.mark.stack
AUTH = ("sk_test_0123456789", "")


@pytest.fixture
def proxy(folder: Path) -> Iterator[tuple[TimingProxy, int]]:
    port = stripe.kept_port(folder)
    child = stripe.payment_server(folder, folder / "payments.log", port, clean_environment())
    child.restart()
    assert wait_until(lambda: stripe.answers(port), seconds=30)
    made = TimingProxy(lambda: port)
    yield made, port
    made.close()
    child.stop()


def test_a_request_passes_unchanged_and_its_arrival_is_noted(proxy: tuple[TimingProxy, int]) -> None:
    made, port = proxy
    form = {"amount": "4200", "currency": "aud", "source": "pm_card_visa"}
    with httpx.Client(auth=AUTH, trust_env=False) as client:
        sent = client.post(f"http://127.0.0.1:{made.port}/v1/charges", data=form)
        direct = client.get(f"http://127.0.0.1:{port}/v1/charges/{sent.json()['id']}")
        through = client.get(f"http://127.0.0.1:{made.port}/v1/charges/{sent.json()['id']}")
    assert sent.status_code == 200
    assert through.json() == direct.json()
    assert len(made.arrivals("POST", "/v1/charges")) == 1
    assert made.arrivals("POST", "/v1/refunds") == []


def test_a_refusal_of_the_target_passes_as_well(proxy: tuple[TimingProxy, int]) -> None:
    made, _ = proxy
    assert httpx.get(f"http://127.0.0.1:{made.port}/v1/charges?limit=1", trust_env=False).status_code == 401
    assert len(made.arrivals("GET", "/v1/charges")) == 1
