"""Real workers and sweeps on a test's own database and broker, and a target that can harm them at a named moment."""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
from django.db import connections

from config.stack.process import last_lines, spawn, stop
from config.stack.servers import Valkey
from runs.live import hints
from tests.support import databases
from tests.support.broker import own_broker
from tests.support.stripe import LocalStripe
from tests.support.target import Target, Visit

ROOT = databases.ROOT


def within(seconds: float) -> float:
    """A bound for a machine that is as busy as this one is now: a requirement of two seconds is meant for processes
    that get the processor when they ask for it."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


@dataclass
class Processes:
    """Processes by name; whatever is left is ended by `processes()`."""

    folder: Path
    valkey: Valkey
    environment: dict[str, str]
    running: dict[str, Any] = field(default_factory=dict)

    def worker(self, name: str = "worker", *, threads: int = 4) -> psutil.Process:
        """A Celery worker that is ready for messages."""
        arguments = ["-m", "celery", "-A", "config.celery", "worker", "--pool", "threads", "-c", str(threads)]
        arguments += ["--loglevel", "INFO", "--without-gossip", "--without-mingle", "--without-heartbeat"]
        before = self._said(name, " ready.")
        self._start(name, *arguments, "-n", f"{name}@test")
        self.until(lambda: self._said(name, " ready.") > before, f"{name} did not start", name=name)
        return psutil.Process(self.running[name].pid)

    def sweep(self, name: str = "sweep") -> psutil.Process:
        """A sweep that has begun to look."""
        before = self._said(name, "The sweep looks")
        self._start(name, "manage.py", "sweep")
        self.until(lambda: self._said(name, "The sweep looks") > before, f"{name} did not start", name=name)
        return psutil.Process(self.running[name].pid)

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def _said(self, name: str, words: str) -> int:
        """How often: a process that is started again goes on in the same log."""
        return self.log(name).read_text().count(words) if self.log(name).exists() else 0

    def end(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        """End one and wait for it."""
        stop(self.running.pop(name), (number, 10.0), (signal.SIGKILL, 5.0))

    def until(self, check: Callable[[], Any], what: str, *, seconds: float = 30.0, name: str = "") -> Any:
        """The first truthy answer of `check`; fails with the end of a log."""
        end = time.monotonic() + seconds
        while True:
            found = check()
            if found:
                return found
            if time.monotonic() > end or (name and self.running[name].poll() is not None):
                logs = [f"--- {each}\n{last_lines(self.log(each), 25)}" for each in self.running]
                raise AssertionError(f"{what} within {seconds} s\n" + "\n".join(logs))
            time.sleep(0.02)

    def _start(self, name: str, *arguments: str) -> None:
        self.running[name] = spawn(
            [sys.executable, *arguments], log=self.log(name), environment=self.environment, folder=ROOT
        )


@contextlib.contextmanager
def processes(folder: Path) -> Iterator[Processes]:
    """A broker of the test's own, to which this process' hints go too, and nothing running yet."""
    with own_broker(folder / "valkey") as (valkey, app):
        name = connections["default"].settings_dict["NAME"]
        environment = os.environ | {
            "DATABASE_URL": databases.with_database(os.environ["DATABASE_URL"], name),
            "DATABASE_OWNER_URL": databases.with_database(os.environ["DATABASE_OWNER_URL"], name),
            "REDIS_URL": valkey.url,
            "PYTHONUNBUFFERED": "1",
        }
        environment.pop("CELERY_BROKER_URL", None)
        own = hints._hints
        before = own._app
        own._app, own._producer, own._failed_at = app, None, None
        made = Processes(folder, valkey, environment)
        try:
            yield made
        finally:
            for each in list(made.running):
                made.end(each)
            own._app, own._producer = before, None


class Between:
    """A target in front of the payment server. `on_read` and `on_refund` are told of each request and its answer: the
    effect has happened then and the worker has not heard of it."""

    def __init__(self, stripe: LocalStripe) -> None:
        self.stripe = stripe
        self.on_read: Callable[[Visit], object] = lambda visit: None
        self.on_refund: Callable[[Visit], object] = lambda visit: None
        self.before_refund: Callable[[Visit], object] = lambda visit: None
        self.refunds = 0
        self.reads = 0
        self._lock = threading.Lock()
        self.target = Target(self._pass_on)

    def __enter__(self) -> "Between":
        self.target.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.target.__exit__(*exception)

    @property
    def host(self) -> str:
        return self.target.host

    def _pass_on(self, visit: Visit) -> None:
        method, path, _ = visit.line.split(" ", 2)
        effect = method == "POST"
        with self._lock:
            self.refunds += effect
            self.reads += not effect
        if effect:
            self.before_refund(visit)
        kept = {name: visit.headers[name] for name in ("authorization", "content-type") if name in visit.headers}
        answer = httpx.request(
            method, self.stripe.url + path, headers=kept, content=visit.body.encode(), trust_env=False, timeout=20
        )
        (self.on_refund if effect else self.on_read)(visit)
        visit.answer(answer.content, status=f"{answer.status_code} {answer.reason_phrase}")
