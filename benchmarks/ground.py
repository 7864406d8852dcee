"""What the benchmarks share: servers of their own, a signed-in person, timing, and the figures of `make bench`."""

import json
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from config.stack import process as tools
from config.stack.children import ignore_signals, stop_on_signals
from config.stack.environment import Layout, compose
from config.stack.secrets import ensure_secrets
from config.stack.servers import start_postgres, start_valkey

FIGURES = "CLEARANCE_BENCH_FIGURES"
"""Names the file that figures are written to, one JSON object a line; absent, they are only printed."""
TURNS = int(os.environ.get("CLEARANCE_BENCH_TURNS", "9"))
"""How often each page is opened; the median counts. Once is enough to see that a benchmark runs."""


PASSWORD = "correct-horse-battery-staple"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table. `bound` None: there is no requirement, the number stands for itself."""

    bench: str
    name: str
    value: float
    unit: str
    bound: float | None = None
    note: str = ""

    @property
    def over(self) -> bool:
        """Whether it breaks its bound."""
        return self.bound is not None and self.value > self.bound


@dataclass(frozen=True, slots=True)
class Timed:
    """Milliseconds of wall time (median and the 95th of a hundred), of this process's own work, of waiting for the
    database's statements and of the database's own work (without its helpers), the number of statements, and kilobytes
    of the answer. Own and the database's own are what a busy machine cannot make longer."""

    median: float
    p95: float
    own: float
    database: float
    queries: int
    kilobytes: float = 0.0
    worked: float = 0.0

    def shared(self, among: int) -> "Timed":
        """What each of so many equal parts took."""
        parts = (self.median / among, self.p95 / among, self.own / among, self.database / among)
        return Timed(*parts, self.queries // among, self.kilobytes / among)

    def words(self) -> str:
        """The figures beside the median."""
        size = f", {self.kilobytes:.0f} kB" if self.kilobytes else ""
        return (
            f"p95 {self.p95:.0f}, CPU {self.own:.0f} and the database's {self.worked:.0f}; {self.queries} queries{size}"
        )


def tell(figure: Figure) -> bool:
    """Prints the figure and keeps it for the table; whether it holds its bound."""
    bound = "" if figure.bound is None else f" (bound {figure.bound:g})"
    note = f"  {figure.note}" if figure.note else ""
    mark = "OVER " if figure.over else ""
    print(f"{mark}{figure.name}: {figure.value:.4g} {figure.unit}{bound}{note}", flush=True)
    if os.environ.get(FIGURES):
        with Path(os.environ[FIGURES]).open("a") as file:
            file.write(json.dumps(asdict(figure)) + "\n")
    return not figure.over


def timed(work: Callable[[], Any], turns: int = TURNS) -> Timed:
    """`work` done once for the caches and then `turns` times. It returns an answer, or anything else."""
    from django.db import connection

    def once() -> tuple[float, float, float, int, int]:
        sent: list[float] = []

        def remember(execute: Callable[..., Any], statement: str, *rest: Any) -> Any:
            began = time.perf_counter()
            try:
                return execute(statement, *rest)
            finally:
                sent.append(time.perf_counter() - began)

        with connection.execute_wrapper(remember):
            began, own = time.perf_counter(), time.process_time()
            answer = work()
            took, used = time.perf_counter() - began, time.process_time() - own
        content = getattr(answer, "content", b"")
        assert getattr(answer, "status_code", 200) == 200, answer.status_code
        size = len(content) if isinstance(content, bytes) else 0
        return took * 1000, used * 1000, sum(sent) * 1000, len(sent), size

    once()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        backend = psutil.Process(cursor.fetchone()[0])
    before = sum(backend.cpu_times()[:2])
    rows = [once() for _ in range(turns)]
    worked = (sum(backend.cpu_times()[:2]) - before) / turns * 1000 if backend.is_running() else 0.0
    walls = sorted(row[0] for row in rows)
    return Timed(
        median=statistics.median(walls),
        p95=walls[min(len(walls) - 1, int(len(walls) * 0.95))],
        own=statistics.median(row[1] for row in rows),
        database=statistics.median(row[2] for row in rows),
        queries=max(row[3] for row in rows),
        kilobytes=rows[-1][4] / 1000,
        worked=worked,
    )


def machine() -> str:
    """Cores, load, memory that this process took: what wall times depend on."""
    loads = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"{os.cpu_count()} cores, load {loads}; this process took up to {used:.0f} MB"


@contextmanager
def servers(port: int = 8000) -> Iterator[tuple[Any, Path]]:
    """PostgreSQL and Valkey of the benchmark's own in a temporary folder, Django set up on them, the tables made.
    Yields the database server and the folder."""
    stop_on_signals()
    started: list[Any] = []
    try:
        with tempfile.TemporaryDirectory(prefix="clr-bench-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            folder.chmod(0o711)
            try:
                postgres = start_postgres(folder / "postgres", durable=False)
                started.append(postgres)
                valkey = start_valkey(folder / "valkey")
                started.append(valkey)
                os.environ.update(
                    compose(
                        layout=Layout(folder), secrets=ensure_secrets(folder / "secrets"),
                        database=(postgres.app_url, postgres.owner_url), redis=valkey.url, port=port,
                        payments_url="http://127.0.0.1:1", settings="config.settings.test", caller={},
                    )
                )  # fmt: skip
                import django

                django.setup()
                from django.core.management import call_command

                call_command("prepare_database", verbosity=0)
                yield postgres, folder
            finally:
                ignore_signals()
                for server in reversed(started):
                    server.stop()
    finally:
        ignore_signals()
        tools.kill_all()


def signed_in(email: str, password: str) -> Any:
    """Django's client with a session of its own."""
    from django.test import Client

    client = Client(SERVER_NAME="localhost")
    answer = client.post("/sign-in/", {"username": email, "password": password, "zone": "Australia/Sydney"})
    assert answer.status_code == 302, answer.content
    return client


def first_admin() -> tuple[Any, str]:
    """The signed-in admin of a new organisation, who holds every role, and the organisation's id."""
    from access.services.bootstrap import tenant_bootstrap

    made, admin = tenant_bootstrap(
        slug="acme", name="Acme", email="sam@acme.example", admin_name="Sam Okoye", password=PASSWORD
    )
    return signed_in(admin.email, PASSWORD), str(made.id)
