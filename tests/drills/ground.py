"""The stack that the drills break: own PostgreSQL, own Valkey, a payment server that forgets nothing, real processes.

Everything is started here, in a folder of its own and on free ports, and only that is ever harmed, by process id.
"""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs

import psycopg
from django.db import connections

from config.stack.process import StackError
from config.stack.servers import Postgres
from tests.drills.plan import WORKERS, Fault
from tests.support.broker import freeze, kill, thaw
from tests.support.processes import Between, Processes
from tests.support.stages import state_of
from tests.support.stripe import LocalStripe
from tests.support.target import Visit

STARTS = ("web", "sweep", *WORKERS)


def busy() -> float:
    """How much longer than by itself the machine takes now: 1 to 3. The drills' time limits are stretched by it, so
    that what happens in them happens because of the faults."""
    return min(3.0, max(1.0, os.getloadavg()[0] / (2 * (os.cpu_count() or 1))))


def steady[T](do: Callable[[], T], *, seconds: float = 60.0) -> T:
    """`do` until the database answers: an outage is the drill's own doing. Raises what it raised last."""
    until = time.monotonic() + seconds
    while True:
        try:
            return do()
        except Exception as error:
            connections.close_all()
            if time.monotonic() > until or not _of_the_database(error):
                raise
            time.sleep(0.1)


def _of_the_database(error: BaseException) -> bool:
    from django.db import DatabaseError, InterfaceError

    return isinstance(error, (DatabaseError, InterfaceError, psycopg.Error))


@dataclass
class Ground:
    """The servers and processes, what was done to them, and what the payment server was asked for."""

    postgres: Postgres
    payments: LocalStripe
    between: Between
    processes: Processes
    owner_url: str
    broken: str = ""
    pace: float = 1.0
    """By how much this schedule's time limits and freezes are stretched (`busy`)."""
    arrived: list[tuple[str, datetime]] = field(default_factory=list)
    """(idempotency key, time) of every refund that reached the payment server's door."""
    done: dict[str, int] = field(default_factory=dict)
    """Faults that happened, by kind."""
    leases: dict[str, datetime] = field(default_factory=dict)
    """By dispatch id: until when the lease of a started row ran, as long as somebody looked."""
    outages: list[tuple[str, float, float]] = field(default_factory=list)
    """(who, from, to) in wall-clock seconds: while it was down, nobody could surface anything."""
    ended_by_timer: int = 0
    _skew: dict[str, int] = field(default_factory=dict)
    _frozen: list[tuple[float, str, Any]] = field(default_factory=list)
    _armed: list[Fault] = field(default_factory=list)
    _mend: list[tuple[float, str, float, Callable[[], None]]] = field(default_factory=list)
    _dead: dict[str, float] = field(default_factory=dict)

    def start(self) -> None:
        """Web server, sweep and workers, all with named steps."""
        self.between.before_refund = self._note
        for name in STARTS:
            self._start(name)
        self.processes.until(self.processes.answers, "the web server answers", name="web")
        for name in WORKERS:
            self.processes.ready(name)

    def _note(self, visit: Visit) -> None:
        key = parse_qs(visit.body).get("metadata[clearance_key]", [""])[0]
        self.arrived.append((key, datetime.now(UTC)))

    def _start(self, name: str) -> None:
        more = {"STAGED_BREAK": self.broken} if self.broken else {}
        if name in self._skew:
            more["STAGED_SKEW_S"] = str(self._skew[name])
        starts = {"web": self.processes.web, "sweep": self.processes.sweep}
        starts.get(name, self.processes.worker)(name, staged=True, wait=False, **more)

    # -- harm --------------------------------------------------------------------------------------------------------

    def harm(self, fault: Fault) -> None:
        """Do it now, or arm it where a process has to come to a step first."""
        if fault.step:
            self._armed.append(fault)
            word = "KILL" if "killed" in fault.kind else "STOP"
            self.processes.stage(fault.who).arm(fault.step, word)
            return
        if fault.kind.startswith("PostgreSQL"):
            number = signal.SIGKILL if "kill -9" in fault.kind else signal.SIGQUIT
            if self._down("PostgreSQL"):
                return
            os.kill(self.postgres.pid, number)
            self._later("PostgreSQL", fault.for_s, self.postgres.restart)
        elif fault.kind.startswith("Valkey"):
            if self._down("Valkey"):
                return
            valkey = self.processes.valkey
            if "killed" in fault.kind:
                kill(valkey)
                self._later("Valkey", fault.for_s, valkey.restart)
            else:
                freeze(valkey)
                self._later("Valkey", fault.for_s, lambda: thaw(valkey))
        elif fault.kind.endswith("killed"):
            self._signal(fault.who, signal.SIGKILL)
        elif "clock" in fault.kind:
            self._skew[fault.who] = fault.skew_s
            self._signal(fault.who, signal.SIGKILL)
        else:
            self._freeze(fault.who, fault.for_s * (self.pace if "lease" in fault.kind else 1.0))
        self._count(fault)

    def _down(self, who: str) -> bool:
        return any(name == who for _, name, _, _ in self._mend)

    def _later(self, who: str, for_s: float, mend: Callable[[], None]) -> None:
        self._mend.append((time.monotonic() + for_s, who, time.time(), mend))

    def _signal(self, name: str, number: signal.Signals) -> None:
        process = self.processes.running[name]
        if process.poll() is None:
            os.kill(process.pid, number)

    def _freeze(self, name: str, for_s: float) -> None:
        self._signal(name, signal.SIGSTOP)
        self._frozen.append((time.monotonic() + for_s, name, self.processes.running[name]))
        if name == "sweep":
            self.outages.append(("sweep", time.time(), time.time() + for_s))

    def _count(self, fault: Fault) -> None:
        self.done[fault.kind] = self.done.get(fault.kind, 0) + 1

    # -- keeping up --------------------------------------------------------------------------------------------------

    def tick(self, *, mend_all: bool = False) -> None:
        """What is due: continue who was frozen long enough, start what died, see who came to an armed step."""
        now = time.monotonic()
        for fault in list(self._armed):
            stage, process = self.processes.stage(fault.who), self.processes.running[fault.who]
            told = stage.reached(fault.step)
            if told is None and mend_all and stage.disarm(fault.step):
                self._armed.remove(fault)
            if told is None:
                continue
            if "frozen" in fault.kind:
                if told["pid"] == process.pid and process.poll() is None:
                    if state_of(process.pid) != "T":
                        continue
                    self._frozen.append((now + fault.for_s * self.pace, fault.who, process))
                    self._count(fault)
            else:
                self._count(fault)
            self._armed.remove(fault)
        for due in [each for each in self._frozen if mend_all or each[0] <= now]:
            self._frozen.remove(due)
            if due[2].poll() is None:
                os.kill(due[2].pid, signal.SIGCONT)
        for broken in [each for each in self._mend if mend_all or each[0] <= now]:
            if self._mended(broken[3]):
                self._mend.remove(broken)
                self.outages.append((broken[1], broken[2], time.time()))
        for name in STARTS:
            code = self.processes.running[name].poll()
            if code is None:
                continue
            since = self._dead.setdefault(name, time.time())
            if time.time() - since < 0.3 and not mend_all:
                continue
            self.ended_by_timer += code == -signal.SIGALRM
            self.outages.append((name, since, time.time() + 2.0))  # a program takes that long to start
            del self._dead[name]
            self._start(name)

    def _mended(self, mend: Callable[[], None]) -> bool:
        try:
            mend()
        except StackError:
            return False  # the last processes of a killed server still hold what they share
        return True

    @property
    def frozen(self) -> bool:
        """Whether a process still stands still."""
        return bool(self._frozen)

    @property
    def whole(self) -> bool:
        """Whether nothing is frozen, down or armed."""
        return not (self._frozen or self._mend or self._armed or self._dead)

    def mend(self) -> None:
        """End every fault; afterwards only the product's own recovery is left to wait for."""
        self._skew.clear()
        until = time.monotonic() + 60
        while True:
            self.tick(mend_all=True)
            if self.whole and all(each.poll() is None for each in self.processes.running.values()):
                return
            if time.monotonic() > until - 40:
                self._armed.clear()  # taken by a process that another fault ended before it could say so
            if time.monotonic() > until:
                raise RuntimeError("the drill could not mend what it broke")
            time.sleep(0.1)

    # -- looking -----------------------------------------------------------------------------------------------------

    def sql(self, statement: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        """One statement as the tables' owner, beside the product's own selectors."""

        def ask() -> list[tuple[Any, ...]]:
            with psycopg.connect(self.owner_url, autocommit=True, connect_timeout=3) as connection:
                return connection.execute(statement, parameters).fetchall()  # type: ignore[arg-type]

        return steady(ask)

    @contextlib.contextmanager
    def watching_leases(self) -> Iterator[None]:
        """Note until when the leases of started rows run; the row forgets it when it is taken over."""
        over = threading.Event()

        def watch() -> None:
            while not over.is_set():
                with contextlib.suppress(psycopg.Error):
                    with psycopg.connect(self.owner_url, autocommit=True, connect_timeout=3) as connection:
                        while not over.wait(0.25):
                            found = connection.execute(
                                "SELECT id::text, lease_until FROM runs_dispatch WHERE status = 'started'"
                            )
                            self.leases |= dict(found.fetchall())
                over.wait(0.25)

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(10)

    def late_by(self, dispatch_id: str, told_at: datetime) -> float | None:
        """Seconds from the end of a lease until somebody said so; from the end of the outage, where there was one."""
        lease_until = self.leases.get(dispatch_id)
        if lease_until is None:
            return None
        since = lease_until
        for who, began, ended in sorted(self.outages, key=lambda each: each[1]):
            if who in ("PostgreSQL", "sweep") and began <= since.timestamp() + 2 and ended > since.timestamp():
                since = max(since, datetime.fromtimestamp(ended, UTC))
        return max((told_at - since) / timedelta(seconds=1), 0.0)
