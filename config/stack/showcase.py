"""The whole stack with a little of everything: proposals and runs in every state. For `make screenshots` and axe.

    python -m config.stack.showcase

Starts on free ports in a temporary folder, prints one line of JSON when all is there and ends when its input is
closed. {"address": URL, "people": {role: [e-mail, password]}, "pages": [[name, role, path], …], "documents": the same,
for the pictures in docs/ alone}. Everything is made through the doors: the agent's client, a reviewer's session, the
payment server; the policy through its service.
"""

import json
import subprocess
import sys
import tempfile
import textwrap
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
BRIEF = 777
"""A refund of this many minor units may be decided for a second only."""
PATIENCE = 30.0
LONG_NOTE = "The customer wrote three times and sent photos of each side of the parcel. " * 6


class Showcase:
    """Makes the data, and knows the pages that show it."""

    def __init__(self, stack: Stack) -> None:
        demo = demo_note(stack.secrets)["acme"]
        self.stack = stack
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
        self._brief_policy()
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
        return {"run": run, "proposal": proposal["id"], "digest": proposal["digest"]}

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

    def _brief_policy(self) -> None:
        """The demo's policy with one rule before it: some refunds may be decided for a second only."""
        code = f"""
            from access.selectors.actors import actor_for_session, tenant_id_of, user_id_of
            from approvals.selectors.policies import policy_in_force
            from approvals.services.policy import policy_publish
            from approvals.services.policy_draft import policy_draft_create
            tenant = tenant_id_of("acme")
            admin = actor_for_session(user_id_of({self.people["admin"][0]!r}), tenant)
            source = open({str(ROOT / "config/demo_data/policies/acme.yaml")!r}).read()
            brief = '''rules:
              - id: refund-brief
                tool: refund_order
                when: "args.amount == {BRIEF}"
                effect: ask
                approvers: [{{group: finance, count: 1}}]
                expires_in_s: 1
            '''
            source = source.replace("rules:", __import__("textwrap").dedent(brief).replace("\\n-", "\\n  -"), 1)
            policy_publish(actor=admin, source=source, based_on=policy_in_force(tenant).number)
            tests = '\\n'.join(('tests:',
                '  - {{name: a lamp is asked, tool: refund_order, '
                'arguments: {{order_id: ord_1, amount: 5, currency: AUD}}, state: {{status: succeeded, '
                'left: 9, currency: AUD}}, expect: {{effect: ask}}}}',
                '  - {{name: reading is asked, tool: get_order, arguments: {{order_id: ord_1}}, '
                'expect: {{effect: ask}}}}', ''))
            policy_draft_create(actor=admin, name="Refunds before Christmas", source=source + tests)
            from approvals.core.contract_text import written
            from approvals.selectors.catalogue import contract_document
            from approvals.services.candidate import candidate_store
            from approvals.services.contract import contract_admit
            _, first = contract_document(tenant, "get_order")
            contract_admit(actor=admin, document=first | {{"title": "Look an order up by its number"}})
            _, refund = contract_document(tenant, "refund_order")
            looser = refund | {{"approval": "policy", "expires_in_s": 3600, "title": "Pay an order back"}}
            candidate_store(actor=admin, source=written(looser), note="Small refunds need nobody.", based_on=1)
        """
        done = subprocess.run(
            [sys.executable, "manage.py", "shell", "-v", "0", "-c", textwrap.dedent(code)],
            env=self.stack.environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise StackError(f"The policy could not be published:\n{done.stdout}{done.stderr}")


class Payments:
    """What the payment server is made to answer to the orders DECLINED and SILENT."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack

    def __call__(self, method: str, path: str, body: bytes) -> int | None:
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
        proxy = TimingProxy(lambda: stack.payments_port, Payments(stack))
        stack.payments_front = proxy.port
        try:
            stack.start(agent=False)
            stack.wait_for_worker()
            show = Showcase(stack)
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
