"""The whole product as real processes on free ports: web server, workers, sweep, payment server, own database.

with Stack.start() as stack:
    agent = stack.agent()              # the SDK's client, signed in
    stack.sign_in(page, "reviewer")    # a Playwright page
    stack.charge_refunds("ord_1029")   # what the payment server did
"""

import contextlib
import json
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
from config.stack.environment import ROOT, Layout
from config.stack.process import free_port, spawn, stop
from config.stack.secrets import Secrets
from config.stack.servers import Valkey, start_valkey
from tests.support import databases, grounds
from tests.support.sessions import signed_in

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
        with (
            tempfile.TemporaryDirectory(prefix="clr-stack-") as name,
            grounds.lent_ground() as ground,
            databases.cloned_database(ground.database) as database,
        ):
            folder = Path(name)
            ground.copy_to(folder)
            port, valkey = free_port(), start_valkey(Layout(folder).valkey)
            environment = grounds.installation(
                folder, database=database, redis=valkey.url, port=port, payments_port=ground.port
            )
            stack = cls(folder, database, environment, Secrets(Layout(folder).secrets), port, ground.port, valkey)
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
        self.spawn_web()
        for number in range(workers):
            self.spawn_worker(f"worker{number}")
        if sweep:
            self.spawn_sweep()
        grounds.until(lambda: stripe.answers(self.payments_port), self.log("payments"))
        grounds.until(self._answers, self.log("web"))

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
        return grounds.manage(self.environment, *arguments)

    def end(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        """Ends one process group and waits for it."""
        stop(self.processes.pop(name), (number, 5.0))

    def _answers(self) -> bool:
        with contextlib.suppress(httpx.HTTPError):
            # Plain HTTP: to read the authorities' certificates for each question costs more than the question.
            return httpx.get(f"{self.base_url}/sign-in/", timeout=2, verify=False, trust_env=False).status_code == 200
        return False

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
