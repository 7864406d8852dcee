"""The whole stack in one object: every server and program of Clearance, started in the order they need each other."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import redis

from config.stack import port as ports
from config.stack import process as tools
from config.stack import stripe
from config.stack.children import Child, Supervisor, describe, end_leftovers
from config.stack.demo_orders import seed_orders
from config.stack.environment import KEPT, ROOT, Layout, compose, outside_servers, write_environment
from config.stack.process import Say, StackError
from config.stack.secrets import Secrets, ensure_secrets
from config.stack.servers import start_postgres, start_valkey

WEB, WORKER, SWEEP = "the web server", "the worker", "the sweep"
PAYMENTS, AGENT = "the payment server", "the demo agent"
DATABASE, BROKER = "PostgreSQL", "Valkey"


class Stack:
    """`start()`, then `supervisor.watch()`, and `stop()` in every case. One per folder: a lock says so."""

    def __init__(self, layout: Layout, port: int, *, durable: bool = True, say: Say = tools.say) -> None:
        self.layout = layout
        self.port = port
        self.durable = durable
        self.say = say
        self.supervisor = Supervisor(layout.run / "children.json", say)
        self.secrets: Secrets
        self.environment: dict[str, str] = {}
        self.payments_port = 0
        # The port that the product is told instead, where something stands in front of the payment server.
        self.payments_front: int | None = None

    @property
    def address(self) -> str:
        return f"http://localhost:{self.port}"

    @property
    def payments_url(self) -> str:
        """Where the product finds the payment server."""
        return f"http://127.0.0.1:{self.payments_front or self.payments_port}"

    def orders(self, tenant: str) -> dict[str, Any]:
        """The tenant's table of orders, as seeded."""
        return dict(json.loads((self.layout.reference / tenant / "orders.json").read_text()))

    def start(self, *, agent: bool = True) -> None:
        """Starts everything and waits until the page answers. Raises StackError with a plain sentence."""
        layout = self.layout
        outside_database, outside_redis = outside_servers(os.environ)
        self.lock = tools.hold(
            layout.run / "lock",
            f"Clearance already runs from {layout.home} (process {{pid}}). Use that one, or stop it with Ctrl-C in its "
            "terminal (or: kill {pid}) and try again.",
        )
        end_leftovers(self.supervisor.note, self.say)
        self.doors = ports.listen(self.port)
        self.secrets = ensure_secrets(layout.secrets)
        self.payments_port = stripe.kept_port(layout.stripe)
        payments = stripe.payment_server(layout.stripe, layout.logs / "payments.log", self.payments_port)
        self.supervisor.add(PAYMENTS, payments)
        if outside_database is None:
            postgres = start_postgres(layout.postgres, durable=self.durable, say=self.say)
            self.supervisor.add(DATABASE, postgres, running=True)
            outside_database = (postgres.app_url, postgres.owner_url)
        if outside_redis is None:
            valkey = start_valkey(layout.valkey)
            self.supervisor.add(BROKER, valkey, running=True)
            outside_redis = valkey.url
        self.environment = compose(
            layout=layout,
            secrets=self.secrets,
            database=outside_database,
            redis=outside_redis,
            port=self.port,
            payments_url=self.payments_url,
        )
        # Mails hold links that set passwords: for nobody else on this machine.
        layout.mail.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_environment(layout, self.environment)
        self.run_to_end("prepare_database", "manage.py", "prepare_database")
        # It boots while the demo is made; nobody knows the address yet.
        self._start_web()
        self.supervisor.wait_for(PAYMENTS, lambda: stripe.answers(self.payments_port))
        seed_orders(self.payments_url, self.secrets.payments_key(), layout.reference)
        self.run_to_end("demo", "manage.py", "demo")
        # A person waits for the page, nobody for the others yet: they boot when the page is there.
        self.supervisor.wait_for(WEB, self._page_answers, seconds=60)
        celery = "-A config.celery worker --pool threads --concurrency 8 --loglevel WARNING"
        quiet = "--without-gossip --without-mingle --without-heartbeat"
        self._add(WORKER, "worker", "-m", "celery", *celery.split(), *quiet.split())
        self._add(SWEEP, "sweep", "manage.py", "sweep")
        if agent:
            self._add(AGENT, "agent", "-m", "config.stack.demo_agent", environment=self._agent_environment())

    def _start_web(self) -> None:
        descriptors = [door.fileno() for door in self.doors]
        self._add(WEB, "web", "-m", "config.stack.web", *map(str, descriptors), descriptors=descriptors)

    def wait_for_worker(self) -> None:
        """Waits until the worker takes messages: one of the broker's clients blocks on a queue."""
        broker = redis.Redis.from_url(self.environment["REDIS_URL"])
        try:
            self.supervisor.wait_for(WORKER, lambda: any(client["cmd"] == "brpop" for client in broker.client_list()))
        finally:
            broker.close()

    def _agent_environment(self) -> dict[str, str]:
        """What an outside agent would be told, and nothing else: no database, no key, no person's password."""
        told = demo_note(self.secrets)["acme"]["agent"]
        kept = {name: value for name, value in self.environment.items() if name in KEPT}
        return kept | {
            "CLEARANCE_BASE_URL": f"http://127.0.0.1:{self.port}",
            "CLEARANCE_AGENT_ID": told["client_id"],
            "CLEARANCE_AGENT_SECRET_FILE": str(self.secrets.demo / "agent.secret"),
            "CLEARANCE_AGENT_ACTS_FOR": told["acts_for"],
            "CLEARANCE_AGENT_STATE": str(self.layout.run / "agent.json"),
        }

    def _add(
        self,
        name: str,
        log: str,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        descriptors: Sequence[int] = (),
    ) -> None:
        child = Child(
            command=[sys.executable, *arguments],
            log=self._log(log),
            environment=self.environment if environment is None else environment,
            folder=ROOT,
            descriptors=descriptors,
        )
        self.supervisor.add(name, child)

    def _log(self, name: str) -> Path:
        return self.layout.logs / f"{name}.log"

    def run_to_end(self, name: str, *arguments: str, seconds: float = 300.0) -> None:
        """Runs a command of ours and waits for its end. Raises StackError with its last lines when it fails."""
        log = self._log(name)
        tools.rotate(log)
        command = [sys.executable, *arguments]
        process = tools.spawn(command, log=log, environment=self.environment, folder=ROOT)
        try:
            exit_code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise StackError(
                f"`{' '.join(arguments)}` did not end within {seconds:.0f} s; its last lines ({log}):\n"
                f"{tools.last_lines(log)}"
            ) from None
        finally:
            tools.stop(process, (signal.SIGTERM, 5.0))
        if exit_code != 0:
            raise StackError(
                f"`{' '.join(arguments)}` failed ({describe(exit_code)}); its last lines ({log}):\n"
                f"{tools.last_lines(log)}"
            )

    def _page_answers(self) -> bool:
        """Whether a page comes back. The socket itself always answers: the launcher holds it."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=5) as answer:
                return int(answer.status) < 500
        except urllib.error.HTTPError as error:
            return error.code < 500
        except OSError:
            return False

    def stop(self) -> None:
        """Stops every child and waits. Safe at any point of the start, and twice."""
        self.supervisor.stop_all()
        for door in getattr(self, "doors", []):
            door.close()
        if hasattr(self, "lock"):
            self.lock.close()


def demo_note(secrets: Secrets) -> dict[str, Any]:
    """What `manage.py demo` wrote down, by tenant: {"agent": {"client_id", "acts_for"}, "people": {role: e-mail}}."""
    return dict(json.loads((secrets.demo / "demo.json").read_text()))
