"""The demo's agent: keeps asking for refunds over HTTP, as an outside agent would, and waits for people.

    python -m config.stack.demo_agent

Reads CLEARANCE_BASE_URL, CLEARANCE_AGENT_ID, CLEARANCE_AGENT_SECRET_FILE, CLEARANCE_AGENT_ACTS_FOR and
CLEARANCE_AGENT_STATE (a file of its own: which calls it waits for), nothing else of the installation. At most
CLEARANCE_AGENT_OPEN proposals (6) wait at one time.
"""

import json
import logging
import os
import signal
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from config.stack.demo_orders import FIRST_NUMBER, ORDERS
from sdk.clearance_client import Client, Refused, Unreachable

log = logging.getLogger("demo-agent")
# Between two requests (seconds): a person shall see them arrive one by one.
PACE = 4.0
# After a proposal that nobody decided in time: nobody looks, so it asks rarely.
SLEEPY_PACE = 120.0
LONGEST_PAUSE = 15.0


@dataclass(frozen=True, slots=True)
class Wish:
    """One believable request. `share` of what is left is asked back (1000 = everything, 10000 = ten times as much)."""

    share: int
    note: str


WISHES = (
    Wish(250, "Arrived with a scratch; customer keeps it at a quarter off."),
    Wish(1000, "Never arrived. Carrier confirms the parcel was lost."),
    Wish(100, "Late delivery, ten per cent as agreed on the phone."),
    # An invisible character: what people read and what a machine reads differ. The page must show it.
    Wish(500, "Half back for the damaged piece, approved by\u200b warehouse."),
    Wish(330, "One of three items missing from the box."),
    # A slip of the decimal point: more than is left. The server refuses before anybody sees it.
    Wish(10_000, "Full refund, customer changed their mind within 14 days."),
    Wish(1000, "Wrong colour sent; return already scanned at the depot."),
    # Right-to-left override: text that reads differently from what it says.
    Wish(150, "Price match \u202e)devorppa( with the spring catalogue."),
    Wish(80, "Gift wrapping was forgotten."),
)


@dataclass(slots=True)
class Open:
    """A call that waits, as the state file keeps it."""

    run_id: str
    call_id: str
    order: str


class Agent:
    """Turns of one loop: look at what waits, ask for one thing more when there is room."""

    def __init__(self, client: Client, state: Path, most: int) -> None:
        self.client = client
        self.state = state
        self.most = most
        self.pace = PACE
        self.next_at = 0.0
        self.turn, self.waiting = self._load()
        # Runs of this process. What expired while everything was switched off says nothing about who looks now.
        self.asked: set[str] = set()

    def step(self) -> None:
        """One round of a few seconds. Raises Unreachable when the server is away."""
        self._look()
        if len(self.waiting) < self.most and time.monotonic() >= self.next_at:
            self._ask()
            self.next_at = time.monotonic() + self.pace
        if self.waiting:
            oldest = self.waiting[0]
            self.client.get_call(oldest.run_id, oldest.call_id, wait=PACE)
        else:
            time.sleep(PACE)

    def _look(self) -> None:
        for case in list(self.waiting):
            try:
                call = self.client.get_call(case.run_id, case.call_id)
                if not call["final"]:
                    continue
                log.info("%s: %s", case.order, call["state"])
                unseen = call["state"] == "expired" and case.run_id in self.asked
                self.pace = SLEEPY_PACE if unseen else PACE
                self.client.complete(case.run_id)
            except Refused as refusal:
                log.info("%s: %s (%s)", case.order, refusal, refusal.code)
            self.waiting.remove(case)
            self._save()

    def _ask(self) -> None:
        orders = ORDERS["acme"]
        number, wish = self.turn % len(orders), WISHES[self.turn % len(WISHES)]
        order, customer = f"ord_{FIRST_NUMBER + number}", orders[number].customer
        self.turn += 1
        self._save()
        run = self.client.open_run(f"Refund for {customer}, {order}")
        self.asked.add(run["id"])
        try:
            facts = self._read(run["id"], order)
            amount = int(facts["left"]) * wish.share // 1000
            if amount <= 0:
                log.info("%s: nothing left to refund", order)
                self.client.complete(run["id"])
                return
            arguments = {"order_id": order, "amount": amount, "currency": facts["currency"], "note": wish.note}
            call = self.client.call(run["id"], "refund", "refund_order", arguments, reason=wish.note)
        except Refused as refusal:
            log.info("%s: refused, %s (%s)", order, refusal, refusal.code)
            self.client.complete(run["id"])
            return
        log.info("%s: asked for %s %s, %s", order, amount, facts["currency"], call["state"])
        self.waiting.append(Open(run["id"], "refund", order))
        self._save()

    def _read(self, run_id: str, order: str) -> dict[str, Any]:
        """The order as the payment server knows it. Reading needs nobody's approval."""
        call = self.client.call(run_id, "read", "get_order", {"order_id": order})
        if not call["final"]:
            call = self.client.wait_for_call(run_id, "read", seconds=60)
        return dict(call["result"])

    def _load(self) -> tuple[int, list[Open]]:
        try:
            kept = json.loads(self.state.read_text())
            return int(kept["turn"]), [Open(**case) for case in kept["waiting"]]
        except (OSError, ValueError, KeyError, TypeError):
            return 0, []

    def _save(self) -> None:
        aside = self.state.with_name(self.state.name + ".new")
        aside.write_text(json.dumps({"turn": self.turn, "waiting": [asdict(case) for case in self.waiting]}))
        aside.replace(self.state)


def keep_asking(agent: Agent) -> NoReturn:
    """For ever. A server that is away or breaks is waited for, ever more patiently; a refusal of a new run as well."""
    pause = 1.0
    while True:
        try:
            agent.step()
            pause = 1.0
        except (Unreachable, Refused) as problem:
            log.warning("%s Trying again in %g s.", problem, pause)
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)


def end(_number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(0)


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    signal.signal(signal.SIGTERM, end)
    client = Client(
        os.environ["CLEARANCE_BASE_URL"],
        client_id=os.environ["CLEARANCE_AGENT_ID"],
        client_secret=Path(os.environ["CLEARANCE_AGENT_SECRET_FILE"]).read_text().strip(),
        on_behalf_of=os.environ["CLEARANCE_AGENT_ACTS_FOR"] or None,
    )
    state = Path(os.environ["CLEARANCE_AGENT_STATE"])
    keep_asking(Agent(client, state, int(os.environ.get("CLEARANCE_AGENT_OPEN", "6"))))


if __name__ == "__main__":
    main()
