"""Supervision: starts programs, starts them again when they die, and leaves none behind.

Everything happens in one thread, the main one: on Linux a child ends with the thread that started it.
"""

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from types import FrameType
from typing import NoReturn, Protocol

import psutil

from config.stack import process as tools
from config.stack.process import STOPPING, Say, StackError

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
# A child that lived this long has recovered: the next death begins with the first pause again (seconds).
RECOVERED_AFTER = 60.0


class Stopped(BaseException):
    """INT, TERM or HUP came. Not an Exception: no `except Exception` on the way may swallow it."""


class Server(Protocol):
    """What the supervisor needs of a thing that it keeps alive: `Child`, `Postgres` and `Valkey` have it."""

    process: Popen[bytes]

    def restart(self) -> None: ...

    def stop(self) -> None: ...

    @property
    def log(self) -> Path: ...


@dataclass(slots=True)
class Child:
    """One program of the stack; its output goes to `log`."""

    command: Sequence[str]
    log: Path
    environment: Mapping[str, str]
    folder: Path
    # How long it may take to end by itself after TERM (seconds).
    patience: float = 8.0
    # Open descriptors that it inherits under the same numbers.
    descriptors: Sequence[int] = ()
    # Other children need it until they have ended: a worker in the middle of a refund still gets its answer.
    needed_by_others: bool = False
    process: Popen[bytes] = field(init=False)

    def restart(self) -> None:
        self.process = tools.spawn(
            self.command,
            log=self.log,
            environment=self.environment,
            folder=self.folder,
            descriptors=self.descriptors,
        )

    def stop(self) -> None:
        tools.stop(self.process, (signal.SIGTERM, self.patience))


@dataclass(slots=True)
class _Kept:
    name: str
    server: Server
    since: float
    pause: float = FIRST_PAUSE
    again_at: float | None = None


class Supervisor:
    """Keeps servers alive between `add` and `stop_all`. `note` is a file that tells a later start what was ours."""

    def __init__(self, note: Path, say: Say = tools.say) -> None:
        self.note = note
        self.say = say
        self.kept: list[_Kept] = []

    def add(self, name: str, server: Server, *, running: bool = False) -> None:
        """Starts `server` (or takes it over when `running`) and watches it from now on. `name`: "the web server"."""
        if not running:
            tools.rotate(server.log)
            server.restart()
        self.kept.append(_Kept(name, server, time.monotonic()))
        self._write_note()

    def wait_for(self, name: str, ready: Callable[[], bool], *, seconds: float = 30.0) -> None:
        """Waits until `ready` says yes. Raises StackError with the last lines of the child's log when it does not."""
        server = next(kept.server for kept in self.kept if kept.name == name)
        until = time.monotonic() + seconds
        while not ready():
            exit_code = server.process.poll()
            if exit_code is not None or time.monotonic() > until:
                how = (
                    f"did not answer within {seconds:.0f} s" if exit_code is None else f"ended ({describe(exit_code)})"
                )
                raise StackError(
                    f"{capital(name)} {how}; its last lines ({server.log}):\n{tools.last_lines(server.log)}"
                )
            time.sleep(0.03)

    def tend(self) -> None:
        """One round: notices what died, starts again what has waited long enough. Never sleeps."""
        now = time.monotonic()
        for kept in self.kept:
            if kept.again_at is None:
                exit_code = kept.server.process.poll()
                if exit_code is not None:
                    if isinstance(kept.server, Child):
                        tools.end_group(kept.server.process.pid)
                    self._plan(kept, describe(exit_code), now)
            elif now >= kept.again_at:
                kept.again_at = None
                kept.since = now
                try:
                    kept.server.restart()
                except StackError as error:
                    self._plan(kept, str(error).partition("; its last lines")[0], now)
                self._write_note()

    def _plan(self, kept: _Kept, why: str, now: float) -> None:
        if now - kept.since > RECOVERED_AFTER:
            kept.pause = FIRST_PAUSE
        kept.again_at = now + kept.pause
        self.say(f"{capital(kept.name)} ended ({why}); it starts again in {kept.pause:g} s. Its log: {kept.server.log}")
        kept.pause = min(kept.pause * 2, LONGEST_PAUSE)

    def watch(self, also: Callable[[], None] = lambda: None) -> NoReturn:
        """Tends for ever; ends by an exception, `Stopped` in the normal case. `also` runs in every round."""
        while True:
            self.tend()
            also()
            time.sleep(0.2)

    def stop_all(self) -> None:
        """Stops everything: the programs together, then the servers they use, in the order opposite to the start."""
        for kept in self.kept:
            server = kept.server
            if isinstance(server, Child) and not server.needed_by_others and server.process.poll() is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(server.process.pid, signal.SIGTERM)
        for kept in reversed(self.kept):
            kept.server.stop()
        self.kept.clear()
        self.note.unlink(missing_ok=True)

    def _write_note(self) -> None:
        """Process id and start time of each child: together they prove later that a process is ours."""
        entries = []
        for kept in self.kept:
            with contextlib.suppress(psutil.NoSuchProcess):
                pid = kept.server.process.pid
                entries.append({"name": kept.name, "pid": pid, "started": psutil.Process(pid).create_time()})
        tools.write_private(self.note, json.dumps(entries))


def end_leftovers(note: Path, say: Say = tools.say) -> None:
    """Ends what an earlier launcher left when it was killed where the kernel does not end children with it."""
    try:
        entries = json.loads(note.read_text())
    except (OSError, ValueError):
        return
    found = []
    for entry in entries:
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(entry["pid"])
            if abs(process.create_time() - entry["started"]) < 0.05:
                found.append((entry["name"], process))
    for name, process in found:
        say(f"{capital(name)} of an earlier start was still running (process {process.pid}); it is stopped.")
        with contextlib.suppress(psutil.NoSuchProcess):
            # INT, not TERM: PostgreSQL would wait for its sessions, the others take it the same way.
            process.send_signal(signal.SIGINT)
    _, alive = psutil.wait_procs([process for _, process in found], timeout=15)
    for process in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(alive, timeout=5)
    note.unlink(missing_ok=True)


def stop_on_signals() -> None:
    """From now on the first INT, TERM or HUP raises `Stopped`; later ones are ignored so that the end completes.

    A HUP that was ignored when we started (`nohup make up`) stays ignored.
    """

    def handler(number: int, _frame: FrameType | None) -> NoReturn:
        ignore_signals()
        raise Stopped(signal.Signals(number).name)

    for number in STOPPING:
        if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
            continue
        signal.signal(number, handler)


def ignore_signals() -> None:
    """While everything is being stopped: stopping is bounded in time and must not be cut short."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)


def describe(exit_code: int) -> str:
    """An exit code in words: "exit code 1", "signal SIGKILL"."""
    if exit_code >= 0:
        return f"exit code {exit_code}"
    try:
        return f"signal {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"signal {-exit_code}"


def capital(name: str) -> str:
    return name[:1].upper() + name[1:]
