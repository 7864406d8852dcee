"""`make smoke`: the whole stack on free ports in a temporary folder, driven from the agent to the receipt.

    python -m config.stack.smoke [NUMBER]        NUMBER of warm refunds for the medians, 20 when absent

One refund goes from an agent over HTTP through a reviewer's decision to the receipt on the page; the payment server is
asked that exactly one refund exists; then more of them give medians. Exits 1 on any mismatch, in a plain sentence.
"""

import re
import statistics
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

from config.stack import process as tools
from config.stack.children import Stopped, ignore_signals, stop_on_signals
from config.stack.demo_orders import FIRST_NUMBER, ORDERS
from config.stack.environment import Layout
from config.stack.process import StackError, say
from config.stack.reviewer import Reviewer
from config.stack.timing_proxy import TimingProxy
from config.stack.whole import Stack, demo_note
from sdk.clearance_client import ClearanceError, Client

AIM_MS = 100.0
STEPS = (
    "accepted → visible to the reviewer",
    "decision → request at the payment server",
    "decision → receipt on the page",
)
PATIENCE = 20.0
# A list rests a moment after each push, the one that answers its opening included. A reviewer's is open for longer.
SETTLED = 0.6
# A push that tells the inbox of a proposal it does not show yet.
FRESH = re.compile(r'data-fresh="[1-9]')


@dataclass(frozen=True, slots=True)
class Refund:
    """One refund that was driven through, with the milliseconds of the three steps."""

    order: str
    amount: int
    reference: str
    times: tuple[float, float, float]


class Drive:
    """An agent, a reviewer and the payment server's own word."""

    def __init__(self, stack: Stack, proxy: TimingProxy) -> None:
        demo = demo_note(stack.secrets)["acme"]
        self.stack = stack
        self.proxy = proxy
        self.agent = Client(
            stack.address,
            client_id=demo["agent"]["client_id"],
            client_secret=(stack.secrets.demo / "agent.secret").read_text().strip(),
            on_behalf_of=demo["agent"]["acts_for"],
        )
        self.reviewer = Reviewer(stack.address, demo["people"]["reviewer"], stack.secrets.password("reviewer"))

    def refund(self, order: str, amount: int) -> Refund:
        """Asks, approves, waits for the receipt. Raises StackError when anything differs from what was asked."""
        run = str(self.agent.open_run(f"Smoke: {order}")["id"])
        facts = self._read(run, order)
        arguments = {"order_id": order, "amount": amount, "currency": facts["currency"], "note": "smoke"}
        with self.reviewer.open_inbox() as inbox:
            time.sleep(SETTLED)
            call = self.agent.call(run, "refund", "refund_order", arguments)
            visible_at = inbox.wait_for(lambda push: FRESH.search(push) is not None, PATIENCE)
        if call["state"] == "new":
            call = self._until_waiting(run)
        proposal = call["proposal"]
        if str(proposal["id"]) not in self.reviewer.get("/"):
            raise StackError(f"The inbox was told of news and does not show the proposal {proposal['id']}.")
        accepted_at = datetime.fromisoformat(call["accepted_at"]).timestamp()
        with self.reviewer.open_run(run) as page:
            before = len(self.proxy.arrivals("POST", "/v1/refunds"))
            decided = time.time()
            self.reviewer.decide(proposal["id"], "approve", proposal["digest"])
            shown = page.wait_for(lambda push: "re_" in push, PATIENCE)
        arrivals = self.proxy.arrivals("POST", "/v1/refunds")[before:]
        if len(arrivals) != 1:
            raise StackError(f"{len(arrivals)} requests for one refund reached the payment server.")
        final = self.agent.wait_for_call(run, "refund", seconds=PATIENCE)
        reference = self._check(order, amount, run, final)
        self.agent.complete(run)
        times = (visible_at - accepted_at, arrivals[0] - decided, shown - decided)
        return Refund(order, amount, reference, (times[0] * 1000, times[1] * 1000, times[2] * 1000))

    def _read(self, run: str, order: str) -> dict[str, Any]:
        call = self.agent.call(run, "read", "get_order", {"order_id": order})
        if call["state"] != "succeeded":
            call = self.agent.wait_for_call(run, "read", seconds=PATIENCE)
        if call["state"] != "succeeded":
            raise StackError(f"Reading {order} ended as {call['state']}.")
        return dict(call["result"])

    def _until_waiting(self, run: str) -> dict[str, Any]:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            call = self.agent.get_call(run, "refund", wait=1)
            if call["state"] != "new":
                return call
        raise StackError(f"No verdict about the call within {PATIENCE:g} s.")

    def _check(self, order: str, amount: int, run: str, final: dict[str, Any]) -> str:
        """The agent's answer, the run's page and the payment server must tell the same one refund."""
        if final["state"] != "succeeded":
            raise StackError(f"The call ended as {final['state']}, not succeeded.")
        reference = str(final["result"]["refund_id"])
        if reference not in self.reviewer.get(f"/runs/{run}/"):
            raise StackError(f"The run's page does not show the receipt {reference}.")
        refunds = self.refunds(order)
        if [(refund["id"], refund["amount"]) for refund in refunds] != [(reference, amount)]:
            raise StackError(f"The payment server holds {refunds} for {order}, not the one refund {reference}.")
        return reference

    def refunds(self, order: str) -> list[dict[str, Any]]:
        """Every refund of the order's charge, by the payment server itself and not through the proxy."""
        charge = self.stack.orders("acme")[order]["charge"]
        answer = httpx.get(
            f"http://127.0.0.1:{self.stack.payments_port}/v1/refunds",
            params={"charge": charge, "limit": "1000"},
            auth=(self.stack.secrets.payments_key(), ""),
            trust_env=False,
        )
        return list(answer.raise_for_status().json()["data"])


def drive(stack: Stack, proxy: TimingProxy, number: int) -> None:
    """One refund with its times, then `number` more with their medians; prints a line for each."""
    work = Drive(stack, proxy)
    orders = [f"ord_{FIRST_NUMBER + index}" for index in range(len(ORDERS["acme"]))]
    with closing(work.agent):
        first = work.refund(orders[0], 1250)
        print(f"one refund, {first.reference}, exactly once: {line(first.times)}", flush=True)
        warm = [work.refund(order, 100 + index) for index, order in enumerate(orders[1 : number + 1])]
    if warm:
        medians = [statistics.median(refund.times[step] for refund in warm) for step in range(3)]
        late = [step for step, median in zip(STEPS, medians, strict=True) if median > AIM_MS]
        aim = f"all under the aim of {AIM_MS:g} ms" if not late else f"over the aim of {AIM_MS:g} ms: {', '.join(late)}"
        print(f"medians of {len(warm)} warm refunds: {line(medians)} ({aim})", flush=True)


def line(times: list[float] | tuple[float, ...]) -> str:
    return " · ".join(f"{step} {ms:.0f} ms" for step, ms in zip(STEPS, times, strict=True))


def main(arguments: list[str]) -> int:
    number = int(arguments[0]) if arguments else 20
    started = time.monotonic()
    stop_on_signals()
    # Short and outside var/: a socket's path is short, and a killed run leaves nothing in the checkout.
    with tempfile.TemporaryDirectory(prefix="clr-smoke-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o711)
        stack = Stack(Layout(folder), tools.free_port())
        proxy = TimingProxy(lambda: stack.payments_port)
        stack.payments_front = proxy.port
        try:
            stack.start(agent=False)
            print(f"the stack answers after {time.monotonic() - started:.1f} s", flush=True)
            stack.wait_for_worker()
            drive(stack, proxy, number)
        except (StackError, ClearanceError, httpx.HTTPError) as error:
            say(f"make smoke failed: {error}")
            return 1
        except Stopped as reason:
            say(f"Stopping ({reason}).")
            return 130
        finally:
            ignore_signals()
            stack.stop()
            proxy.close()
            tools.kill_all()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
