"""The whole product as real processes on free ports: web server, workers, sweep, payment server, own database.

with Stack.start() as stack:
    agent = stack.agent()              # the SDK's client, signed in
    stack.sign_in(page, "reviewer")    # a Playwright page
    stack.charge_refunds("ord_1029")   # what the payment server did
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from config.stack import stripe
from config.stack.demo_orders import seed_orders
from config.stack.environment import ROOT, Layout, compose
from config.stack.process import StackError, free_port, last_lines, spawn, stop
from config.stack.secrets import Secrets, ensure_secrets
from config.stack.servers import Valkey, start_valkey
from tests.support import databases
from tests.support.sessions import signed_in
from tests.support.waiting import wait_until

Process = subprocess.Popen[bytes]


@dataclass
class Stack:
    """One running product. Processes are public so that drills can end them."""

    folder: Path
    database: str
    environment: dict[str, str]
    secrets: Secrets
    port: int
    payments_port: int
    valkey: Valkey
    processes: dict[str, Process] = field(default_factory=dict)

    @property
    def base_url(self) -> str:
        return f"http://localhost:{self.port}"

    # -- starting and ending -------------------------------------------------------------------------------------

    @classmethod
    @contextlib.contextmanager
    def start(cls, *, workers: int = 1, sweep: bool = True) -> Iterator["Stack"]:
        """Everything, ready to answer; stopped afterwards, whatever happened in between."""
        with tempfile.TemporaryDirectory(prefix="clr-stack-") as name, databases.cloned_database() as database:
            folder = Path(name)
            layout = Layout(folder)
            secrets = ensure_secrets(layout.secrets)
            payments_port, port = free_port(), free_port()
            valkey = start_valkey(layout.valkey)
            environment = compose(
                layout=layout,
                secrets=secrets,
                database=(
                    databases.with_database(os.environ["DATABASE_URL"], database),
                    databases.with_database(os.environ["DATABASE_OWNER_URL"], database),
                ),
                redis=valkey.url,
                port=port,
                payments_url=f"http://127.0.0.1:{payments_port}",
                settings="config.settings.demo",
                # The suite's own CLEARANCE_… variables belong to its in-process tests.
                caller={k: v for k, v in os.environ.items() if not k.startswith(("CLEARANCE_", "DJANGO_"))},
            )
            stack = cls(folder, database, environment, secrets, port, payments_port, valkey)
            try:
                stack._start(workers, sweep)
                yield stack
            finally:
                for process in stack.processes.values():
                    stop(process, (signal.SIGTERM, 3.0))
                valkey.stop()

    def _start(self, workers: int, sweep: bool) -> None:
        payments = stripe.payment_server(self.folder / "stripe", self.log("payments"), self.payments_port)
        payments.restart()
        self.processes["payments"] = payments.process
        self._until(lambda: stripe.answers(self.payments_port), "payments")
        seed_orders(
            f"http://127.0.0.1:{self.payments_port}", self.secrets.payments_key(), Layout(self.folder).reference
        )
        self.manage("demo")
        self.spawn_web()
        for number in range(workers):
            self.spawn_worker(f"worker{number}")
        if sweep:
            self.spawn_sweep()
        self._until(self._answers, "web")

    def log(self, name: str) -> Path:
        return self.folder / "log" / f"{name}.log"

    def spawn(self, name: str, *arguments: str) -> Process:
        """Starts `python <arguments>` of the product as process `name`."""
        process = spawn([sys.executable, *arguments], log=self.log(name), environment=self.environment, folder=ROOT)
        self.processes[name] = process
        return process

    def spawn_web(self) -> Process:
        return self.spawn(
            "web",
            "-m",
            "uvicorn",
            "config.asgi:application",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--no-access-log",
            "--log-level",
            "warning",
        )

    def spawn_worker(self, name: str = "worker0", *, wrapper: str | None = None, concurrency: int = 8) -> Process:
        """A Celery worker; `wrapper` is a module run instead of celery's (drills name steps to be killed at)."""
        module = ["-m", wrapper] if wrapper else ["-m", "celery"]
        return self.spawn(
            name,
            *module,
            "-A",
            "config.celery",
            "worker",
            "--pool",
            "threads",
            "--concurrency",
            str(concurrency),
            "--loglevel",
            "WARNING",
            "--without-gossip",
            "--without-mingle",
            "--without-heartbeat",
            "-n",
            f"{name}@test",
        )

    def spawn_sweep(self) -> Process:
        return self.spawn("sweep", "manage.py", "sweep")

    def manage(self, *arguments: str) -> str:
        """Runs `manage.py <arguments>` to its end and answers what it printed."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments], env=self.environment, cwd=ROOT, capture_output=True, text=True
        )
        if done.returncode:
            raise StackError(f"manage.py {arguments[0]} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    def end(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        """Ends one process group and waits for it."""
        stop(self.processes.pop(name), (number, 5.0))

    def _answers(self) -> bool:
        with contextlib.suppress(httpx.HTTPError):
            return httpx.get(f"{self.base_url}/sign-in/", timeout=2).status_code == 200
        return False

    def _until(self, ready: Any, name: str, seconds: float = 40.0) -> None:
        if not wait_until(ready, seconds=seconds):
            raise StackError(f"{name} did not answer; its last lines:\n{last_lines(self.log(name), 30)}")

    # -- looking and acting --------------------------------------------------------------------------------------

    def sql(self, statement: str, parameters: object = None) -> list[tuple[Any, ...]]:
        """One statement as the tables' owner."""
        return databases.owner_execute(self.database, statement, parameters)

    def demo(self) -> dict[str, Any]:
        """What `manage.py demo` wrote down: tenant, people by role, agents."""
        return json.loads((self.secrets.demo / "demo.json").read_text())

    def agent(self, **kwargs: Any) -> Any:
        """The SDK's client of the demo agent."""
        from sdk.clearance_client import Client

        demo = self.demo()["acme"]["agent"]
        return Client(
            self.base_url,
            client_id=demo["client_id"],
            client_secret=(self.secrets.demo / "agent.secret").read_text().strip(),
            **({"on_behalf_of": demo["acts_for"]} | kwargs),
        )

    def person(self, role: str, tenant: str = "acme") -> tuple[str, str]:
        """(e-mail, password) of the demo person with `role`."""
        return self.demo()[tenant]["people"][role], self.secrets.password(role)

    def browser_session(self, role: str, tenant: str = "acme") -> httpx.Client:
        """A signed-in person's HTTP client, for pages and for deciding by the API."""
        return signed_in(self.base_url, *self.person(role, tenant))

    def sign_in(self, page: Any, role: str, tenant: str = "acme") -> None:
        """Signs a Playwright page in through the form."""
        email, password = self.person(role, tenant)
        page.goto(f"{self.base_url}/sign-in/")
        page.fill("input[name=username]", email)
        page.fill("input[name=password]", password)
        page.click("main button[type=submit]")
        page.wait_for_url(lambda url: "/sign-in/" not in url)

    def order(self, name: str, tenant: str = "acme") -> dict[str, Any]:
        """The reference table's row of an order."""
        return json.loads((Layout(self.folder).reference / tenant / "orders.json").read_text())[name]

    def charge_refunds(self, order: str, tenant: str = "acme") -> list[dict[str, Any]]:
        """Every refund that the payment server holds for an order's charge, oldest first."""
        found: list[dict[str, Any]] = []
        with httpx.Client(
            base_url=f"http://127.0.0.1:{self.payments_port}", auth=(self.secrets.payments_key(), ""), trust_env=False
        ) as server:
            more = True
            while more:
                query = {"charge": self.order(order, tenant)["charge"], "limit": "100"}
                if found:
                    query["starting_after"] = found[-1]["id"]
                page = server.get("/v1/refunds", params=query).raise_for_status().json()
                found += page["data"]
                more = page["has_more"]
        return found


def eventually(check: Any, *, seconds: float = 10.0, pause: float = 0.03) -> Any:
    """The first truthy answer of `check`; fails when `seconds` are over."""
    until = time.monotonic() + seconds
    while True:
        value = check()
        if value:
            return value
        assert time.monotonic() < until, f"not within {seconds} s"
        time.sleep(pause)
