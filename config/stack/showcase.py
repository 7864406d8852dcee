"""The whole stack with a little of everything: proposals and runs in every state. For `make screenshots` and axe.

    python -m config.stack.showcase

Starts on free ports in a temporary folder, prints one line of JSON when all is there and ends when its input is
closed. {"address": URL, "people": {role: [e-mail, password]}, "pages": [[name, role, path], …], "documents": the same,
for the pictures in docs/ alone}. Everything is made through the doors: the agent's client, a reviewer's session, the
payment server; the policy, and what colleagues do, through the services (showcase_data.py).
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import httpx

from config.stack import process as tools
from config.stack.children import Stopped, ignore_signals, stop_on_signals
from config.stack.demo_orders import FIRST_NUMBER, ORDERS
from config.stack.environment import ROOT, Layout
from config.stack.process import StackError, say
from config.stack.reviewer import Reviewer
from config.stack.timing_proxy import TimingProxy
from config.stack.whole import Stack, demo_note
from sdk.clearance_client import ClearanceError, Client, Refused

DECLINED, SILENT = 20, 21
"""Orders (places in the demo's table) whose refunds the payment server declines, and never tells the end of."""
BRIEF, ADVISED, PLACES, TWO, LEADS, FRESH, SIGNED = 777, 1300, 1400, 1500, 1600, 1700, 1800
"""Refunds of exactly so many minor units meet a rule of their own: see RULES in showcase_data.py."""
HOOK = "/events"
PATIENCE = 30.0
LONG_NOTE = "The customer wrote three times and sent photos of each side of the parcel. " * 6


class Showcase:
    """Makes the data, and knows the pages that show it."""

    def __init__(self, stack: Stack, hook: str) -> None:
        demo = demo_note(stack.secrets)["acme"]
        self.stack = stack
        self.hook = hook
        self.people = {role: (email, stack.secrets.password(role)) for role, email in demo["people"].items()}
        self.pages: list[tuple[str, str, str]] = []
        self.documents: list[tuple[str, str, str]] = []
        self.agent = Client(
            stack.address,
            client_id=demo["agent"]["client_id"],
            client_secret=(stack.secrets.demo / "agent.secret").read_text().strip(),
            on_behalf_of=demo["agent"]["acts_for"],
        )
        self.reviewer = Reviewer(stack.address, *self.people["reviewer"])
        self._next = 0

    def make(self) -> None:
        """Everything, in an order in which the slow ones wait while the others are made."""
        self._in_django("prepare", self.people["admin"][0])
        silent = self._ask("unknown", order=SILENT)
        brief = self._ask("expired", amount=BRIEF)
        self._decide(silent, "approve", "Photos checked.")
        refused = self._refused()
        for name, note in (
            ("waiting", "Arrived with a scratch; customer keeps it at a quarter off."),
            ("waiting-warned", "Half back, approved by\u200b warehouse, see https://bank.example@evil.example/"),
            ("waiting-long", LONG_NOTE),
            ("waiting-other", "Late delivery, ten per cent as agreed on the phone."),
        ):
            self._ask(name, note=note, reason="The customer has no earlier refunds; a partial refund was agreed.")
        for name, verdict, reason in (
            ("succeeded", "approve", "Photo shows the damage."),
            ("rejected", "reject", "Not our parcel."),
            ("failed", "approve", ""),
        ):
            asked = self._ask(name, order=DECLINED if name == "failed" else None)
            self._decide(asked, verdict, reason)
            self._end(asked)
        withdrawn = self._ask("withdrawn")
        self.agent.withdraw(withdrawn["run"], "refund", reason="The customer took it back.")
        self.agent.complete(withdrawn["run"])
        cancelled = self._ask("cancelled")
        self.agent.cancel(cancelled["run"], reason="Asked for the wrong customer.")
        self.pages.append(("run-refused", "operator", f"/runs/{refused}/"))
        self._add_handled()
        self._until(brief, "expired")
        self._until(silent, "unknown")
        self._add_lists()
        self._add_documents(silent["run"])

    def _add_documents(self, silent: str) -> None:
        """Pages that are told of in docs/roles; the walk finds their like by itself."""
        agent = self.agent.run(silent)["agent"]["id"]
        unknown = self.agent.get_call(silent, "refund")["id"]
        path = next(path for name, _, path in self.pages if name == "run-succeeded")
        self.documents += [
            ("unresolved", "operator", f"/unresolved/{unknown}/"),
            ("health", "operator", "/health/"),
            ("agent", "admin", f"/access/agents/{agent}/"),
            ("audit", "auditor", "/audit/?action=proposal.*"),
            ("path", "auditor", f"/audit/path/?run={path.split('/')[2]}&call=refund"),
        ]

    def _add_lists(self) -> None:
        self.pages += [
            ("inbox", "reviewer", "/"),
            ("inbox-all", "reviewer", "/?view=all"),
            ("inbox-decided", "reviewer", "/?view=decided"),
            ("inbox-nothing-fits", "reviewer", "/?view=all&q=nothing-like-this"),
            ("inbox-empty", "auditor", "/"),
            ("runs", "operator", "/runs/"),
            ("runs-nothing-fits", "operator", "/runs/?q=nothing-like-this"),
            ("nowhere", "reviewer", "/no/such/page/"),
            ("styleguide-light", "reviewer", "/styleguide/?show=light"),
            ("styleguide-dark", "reviewer", "/styleguide/?show=dark"),
            ("sign-in", "", "/sign-in/"),
            ("sign-in-own", "", "/sign-in/provider/"),
        ]

    def _ask(
        self, name: str, *, order: int | None = None, amount: int = 1250, note: str = "Damaged.", **more: Any
    ) -> dict[str, Any]:
        """A run with a refund that waits, and its two pages."""
        if order is None:
            order, self._next = self._next, self._next + 1
        row = ORDERS["acme"][order]
        number = f"ord_{FIRST_NUMBER + order}"
        run = str(self.agent.open_run(f"Close the ticket of {row.customer}, {number}")["id"])
        self.agent.call(run, "look", "get_order", {"order_id": number})
        wanted = {"order_id": number, "amount": amount, "currency": row.currency.upper(), "note": note}
        call = self.agent.call(run, "refund", "refund_order", wanted, **more)
        until = time.monotonic() + PATIENCE
        while call["state"] == "new" and time.monotonic() < until:
            call = self.agent.get_call(run, "refund", wait=1)
        if call["state"] != "waiting":
            raise StackError(f"The refund of {number} is {call['state']}, not waiting.")
        proposal = call["proposal"]
        who = "auditor" if name == "cancelled" else "reviewer"
        self.pages.append((f"proposal-{name}", who, f"/proposals/{proposal['id']}/"))
        self.pages.append((f"run-{name}", "operator", f"/runs/{run}/"))
        return {"run": run, "proposal": proposal["id"], "digest": proposal["digest"], "arguments": wanted}

    def _refused(self) -> str:
        """A run whose only call is refused at once: more than is left."""
        row, number = ORDERS["acme"][self._next], f"ord_{FIRST_NUMBER + self._next}"
        self._next += 1
        run = str(self.agent.open_run(f"Refund {row.customer} ten times over")["id"])
        wanted = {"order_id": number, "amount": row.amount * 10, "currency": row.currency.upper()}
        with suppress(Refused):
            self.agent.call(run, "refund", "refund_order", wanted)
        self.agent.wait_for_call(run, "refund", seconds=PATIENCE)
        self.agent.complete(run)
        return run

    def _decide(self, asked: dict[str, Any], verdict: str, reason: str) -> None:
        self.reviewer.get(f"/proposals/{asked['proposal']}/")  # as people do: the log says that it was shown
        self.reviewer.decide(asked["proposal"], verdict, asked["digest"], reason)

    def _end(self, asked: dict[str, Any]) -> None:
        self.agent.wait_for_call(asked["run"], "refund", seconds=PATIENCE)
        self.agent.complete(asked["run"])

    def _until(self, asked: dict[str, Any], state: str) -> None:
        until = time.monotonic() + PATIENCE
        while (now := self.agent.get_call(asked["run"], "refund", wait=1)["state"]) != state:
            if time.monotonic() > until:
                raise StackError(f"A call is {now}, not {state}.")

    def _add_handled(self) -> None:
        """Proposals that colleagues have laid hands on, and those that ask more of who decides."""
        asked = {
            name: self._ask(name, amount=amount)
            for name, amount in (
                ("claimed", 1250),
                ("question", 1250),
                ("answered", 1250),
                ("edited", 1250),
                ("one-of-two", TWO),
                ("advised", ADVISED),
                ("alarmed", LEADS),
                ("places", PLACES),
                ("fresh", FRESH),
                ("signed", SIGNED),
            )
        }
        people = (self.people["admin"][0], self.people["reviewer"][0])
        made = json.loads(self._in_django("finish", *people, self.hook, asked))
        self.agent.answer(asked["answered"]["run"], "refund", "The left side, where the courier's label is.")
        chosen = "&".join(f"id={asked[name]['proposal']}" for name in ("claimed", "question", "answered"))
        self.pages += [
            ("proposal-revision", "reviewer", f"/proposals/{made['edited']}/"),
            ("proposal-edit", "reviewer", f"/proposals/{asked['claimed']['proposal']}/edit/"),
            ("proposal-ask", "reviewer", f"/proposals/{asked['claimed']['proposal']}/ask/"),
            ("proposal-signed", "reviewer", f"/proposals/{asked['signed']['proposal']}/"),
            ("proposal-fresh", "reviewer", f"/proposals/{asked['fresh']['proposal']}/"),
            ("account-confirm", "reviewer", "/account/confirm/?next=/account/security/"),
            ("inbox-chosen", "reviewer", f"/inbox/chosen/?{chosen}"),
            ("inbox-none-chosen", "reviewer", "/inbox/chosen/"),
            ("replay", "admin", f"/policies/replays/{made['replay']}/"),
            ("tool-key-revoked", "admin", "/tools/get_order/"),
            ("publisher-keys", "admin", "/tools/publisher-keys/"),
        ]
        self.documents += [
            ("policy", "admin", f"/policies/draft/{made['draft']}/#replay"),
            ("tool", "admin", "/tools/refund_order/"),
        ]

    def _in_django(self, name: str, *arguments: Any) -> str:
        """Runs a function of showcase_data.py beside the product and answers what it answers."""
        code = f"from config.stack.showcase_data import {name}; print({name}(*{arguments!r}))"
        done = subprocess.run(
            [sys.executable, "manage.py", "shell", "-v", "0", "-c", code],
            env=self.stack.environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise StackError(f"The showcase's data could not be made:\n{done.stdout}{done.stderr}")
        return done.stdout.strip().rpartition("\n")[2]


class Outside:
    """What the payment server is made to answer to the orders DECLINED and SILENT, and a receiver of events to all but
    a test."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack

    def __call__(self, method: str, path: str, body: bytes) -> int | None:
        if path == HOOK:
            return 200 if b'"type": "test"' in body else 503
        if not path.startswith("/v1/refunds"):
            return None
        orders = self._stack.orders("acme")
        charges = {order: orders[f"ord_{FIRST_NUMBER + order}"]["charge"] for order in (DECLINED, SILENT)}
        asked = body.decode(errors="replace") if method == "POST" else path
        if method == "POST" and charges[DECLINED] in asked:
            return 402
        return 503 if charges[SILENT] in asked else None


def main() -> int:
    stop_on_signals()
    # Short and outside var/: a socket's path is short, and a killed run leaves nothing in the checkout.
    with tempfile.TemporaryDirectory(prefix="clr-show-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o711)
        stack = Stack(Layout(folder), tools.free_port(), durable=False)
        proxy = TimingProxy(lambda: stack.payments_port, Outside(stack))
        stack.payments_front = proxy.port
        # Events are sent by https only, but to a host that the settings name.
        os.environ["CLEARANCE_WEBHOOK_HOSTS"] = "127.0.0.1"
        try:
            stack.start(agent=False)
            stack.wait_for_worker()
            show = Showcase(stack, f"http://127.0.0.1:{proxy.port}{HOOK}")
            with closing(show.agent):
                show.make()
            told = {"address": stack.address, "people": show.people, "pages": show.pages, "documents": show.documents}
            print(json.dumps(told), flush=True)
            sys.stdin.read()
        except (StackError, ClearanceError, httpx.HTTPError) as error:
            say(f"The showcase failed: {error}")
            return 1
        except Stopped:
            return 0
        finally:
            ignore_signals()
            stack.stop()
            proxy.close()
            tools.kill_all()
    return 0


if __name__ == "__main__":
    sys.exit(main())
