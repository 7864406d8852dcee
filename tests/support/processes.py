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

from config.stack.process import free_port, last_lines, spawn, stop
from config.stack.servers import Valkey
from runs.live import hints
from tests.support import databases
from tests.support.broker import own_broker
from tests.support.stages import Stage, state_of
from tests.support.stripe import LocalStripe
from tests.support.target import Target, Visit

ROOT = databases.ROOT
STAGED = "tests.crashes.staged"


def within(seconds: float) -> float:
    """A bound for a machine that is as busy as this one is now: a requirement of two seconds is meant for processes
    that get the processor when they ask for it."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def in_transactions() -> int:
    """How many other connections of the application stand in a transaction. Asked as the application itself: another
    role is not shown what its connections do."""
    with connections["default"].cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = current_user "
            "AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'"
        )
        return int(cursor.fetchone()[0])


@dataclass
class Processes:
    """Processes by name; whatever is left is ended by `processes()`."""

    folder: Path
    valkey: Valkey
    environment: dict[str, str]
    running: dict[str, Any] = field(default_factory=dict)
    _ready_before: dict[str, int] = field(default_factory=dict)
    port: int = 0
    """The web server's, once there is one."""

    def worker(
        self, name: str = "worker", *, threads: int = 4, staged: bool = False, wait: bool = True, **more: str
    ) -> psutil.Process:
        """A Celery worker that is ready for messages, unless told not to wait for that (`ready`); `staged`: with named
        steps to stop at (`stage(name)`); `more`: its environment."""
        arguments = ["celery", "-A", "config.celery", "worker", "--pool", "threads", "-c", str(threads)]
        arguments += ["--loglevel", "INFO", "--without-gossip", "--without-mingle", "--without-heartbeat"]
        self._ready_before[name] = self._said(name, " ready.")
        self._start(name, "-m", *([STAGED] if staged else []), *arguments, "-n", f"{name}@test", **more)
        if wait:
            self.ready(name)
        return psutil.Process(self.running[name].pid)

    def ready(self, name: str) -> None:
        """Wait for a worker that was started to be ready for messages."""
        before = self._ready_before[name]
        self.until(lambda: self._said(name, " ready.") > before, f"{name} did not start", name=name)

    def sweep(self, name: str = "sweep", *, staged: bool = False, wait: bool = True, **more: str) -> psutil.Process:
        """A sweep that has begun to look."""
        before = self._said(name, "The sweep looks")
        self._start(name, *(["-m", STAGED] if staged else ["manage.py"]), "sweep", **more)
        if wait:
            self.until(lambda: self._said(name, "The sweep looks") > before, f"{name} did not start", name=name)
        return psutil.Process(self.running[name].pid)

    def web(self, name: str = "web", *, staged: bool = False, wait: bool = True, **more: str) -> psutil.Process:
        """The web server, answering; at the same port when it is started again."""
        self.port = self.port or free_port()
        arguments = ["uvicorn", "config.asgi:application", "--host", "127.0.0.1", "--port", str(self.port)]
        arguments += ["--no-access-log", "--log-level", "warning"]
        self._start(name, "-m", *([STAGED] if staged else []), *arguments, **more)
        if wait:
            self.until(self.answers, f"{name} did not start", name=name)
        return psutil.Process(self.running[name].pid)

    @property
    def base_url(self) -> str:
        """Where the web server answers."""
        return f"http://localhost:{self.port}"

    def stage(self, name: str) -> Stage:
        """Where the staged process of this name gets its orders."""
        return Stage(self.folder / "stages" / name)

    def arrived(self, name: str, step: str, *, seconds: float = 40.0) -> dict[str, Any]:
        """Wait until the process has come to the step and stands still there, by its own word and by the kernel's."""
        told = self.until(lambda: self.stage(name).reached(step), f"{name} comes to {step}", seconds=seconds, name=name)
        pid = self.running[name].pid
        assert told["pid"] == pid
        self.until(lambda: state_of(pid) == "T", f"{name} stands still at {step}")
        return told

    def stand_still(self, stage: Stage, step: str, run_id: object, *, seconds: float = 60.0) -> dict[str, Any]:
        """Wait until any process of `stage` has come to the step with this run and stands still; what it said."""
        said = time.monotonic()

        def arrived() -> dict[str, Any] | None:
            nonlocal said
            if time.monotonic() - said > 1:
                # A worker that was stopped while it waited for a message takes that message along.
                hints.wake(run_id)
                said = time.monotonic()
            return stage.reached(step)

        told = self.until(arrived, f"somebody comes to {step}", seconds=seconds)
        self.until(lambda: state_of(told["pid"]) == "T", f"it stands still at {step}")
        return told

    def answers(self) -> bool:
        """Whether the web server does."""
        with contextlib.suppress(httpx.HTTPError):
            # Plain HTTP: to read the authorities' certificates for each question costs more than the question.
            return httpx.get(f"{self.base_url}/sign-in/", timeout=2, verify=False, trust_env=False).status_code == 200
        return False

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

    def _start(self, name: str, *arguments: str, **more: str) -> None:
        environment = self.environment | {"STAGED_FOLDER": str(self.stage(name).folder)} | more
        self.running[name] = spawn(
            [sys.executable, *arguments], log=self.log(name), environment=environment, folder=ROOT
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
        if not visit.raw:
            return  # whoever connected was killed before it wrote
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
