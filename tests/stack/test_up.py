"""`make up` as a newcomer meets it: the whole product on free ports, in a folder of its own."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
import pytest

from config.stack.process import free_port
from tests.stack.support import ROOT, alive, all_gone, clean_environment, eventually, mode, short_folder

pytestmark = pytest.mark.stack


def _command(process: psutil.Process) -> list[str]:
    """Its arguments; none when it ended meanwhile."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@dataclass
class Up:
    """One `make up`; its words are collected as they come."""

    folder: Path
    port: int
    more: dict[str, str] = field(default_factory=dict)
    out: list[str] = field(default_factory=list)
    err: list[str] = field(default_factory=list)

    def start(self) -> None:
        self.out.clear()
        self.err.clear()
        environment = clean_environment(PORT=str(self.port), CLEARANCE_HOME=str(self.folder / "var"), **self.more)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "config.stack.up"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment,
            start_new_session=True,
        )
        for stream, lines in ((self.process.stdout, self.out), (self.process.stderr, self.err)):
            threading.Thread(target=self._collect, args=(stream, lines), daemon=True).start()

    def _collect(self, stream, lines: list[str]) -> None:
        for line in stream:
            lines.append(line.rstrip("\n"))  # noqa: PERF401 - read by the test while it grows

    def ready(self) -> None:
        self.start()
        assert eventually(lambda: any("Stop everything with Ctrl-C" in line for line in self.out), 90), self.words()

    def words(self) -> str:
        return "\n".join([*self.out, *self.err])

    def children(self) -> dict[str, int]:
        """Name in the log folder → pid, by the arguments of the running children."""
        marks = {"config.stack.web": "web", "config.celery": "worker", "sweep": "sweep", "demo_agent": "agent"}
        marks |= {"stripe_server": "payments", "postgres": "postgres", "valkey": "valkey"}
        found = {}
        for child in psutil.Process(self.process.pid).children():
            command = " ".join(_command(child))
            found[next((name for mark, name in marks.items() if mark in command), command)] = child.pid
        return found

    def everything(self) -> list[int]:
        return [child.pid for child in psutil.Process(self.process.pid).children(recursive=True)]

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(60)

    def get(self, path: str = "/", timeout: float = 30) -> httpx.Response:
        return httpx.get(f"http://localhost:{self.port}{path}", timeout=timeout, trust_env=False)


@pytest.fixture
def up(folder: Path) -> Iterator[Up]:
    made = Up(folder, free_port())
    yield made
    if hasattr(made, "process"):
        made.stop()


@pytest.fixture(scope="module")
def running() -> Iterator[Up]:
    """One that runs for all the tests that leave it running."""
    folder = short_folder()
    made = Up(folder, free_port())
    try:
        made.ready()
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)


def test_it_says_where_it_is_who_may_sign_in_and_what_to_do_next(running: Up) -> None:
    text = "\n".join(running.out)
    assert f"Clearance is ready at http://localhost:{running.port}" in text
    people = re.findall(r"^  (\w+) +(\w+@acme\.example\.test) +(\S{24,})$", text, re.MULTILINE)
    assert [role for role, _, _ in people] == ["reviewer", "operator", "admin", "auditor"]
    assert len({password for _, _, password in people}) == 4
    assert "sign in as the reviewer" in text
    assert running.get().status_code in (200, 302)
    assert set(running.children()) == {"web", "worker", "sweep", "agent", "payments", "postgres", "valkey"}


def test_everything_listens_on_loopback_only_and_every_file_is_private(running: Up) -> None:
    for pid in running.everything():
        for connection in psutil.Process(pid).net_connections("inet"):
            if connection.status == psutil.CONN_LISTEN:
                assert connection.laddr.ip in ("127.0.0.1", "::1"), psutil.Process(pid).cmdline()
    var = running.folder / "var"
    for file in [*(var / "secrets").rglob("*"), *(var / "log").glob("*.log"), *(var / "postgres/passwords").iterdir()]:
        assert mode(file) == ("0o700" if file.is_dir() else "0o600"), file


def test_no_secret_stands_in_the_arguments_of_a_process_or_in_a_log(running: Up) -> None:
    var = running.folder / "var"
    files = [*(var / "secrets").rglob("*.password"), *(var / "secrets").rglob("*.secret"), *var.rglob("passwords/*")]
    files += [var / "secrets/django.key", var / "secrets/credentials.key", var / "secrets/demo/payments.key"]
    secrets = [file.read_text().strip() for file in files]
    assert len(secrets) >= 12
    told = [" ".join(psutil.Process(pid).cmdline()) for pid in running.everything()]
    told += [log.read_text(errors="replace") for log in [*(var / "log").glob("*"), *var.rglob("server.log")]]
    assert [secret for secret in secrets if any(secret in text for text in told)] == []


@pytest.mark.parametrize(("number", "after"), [(signal.SIGTERM, 0.0), (signal.SIGHUP, 0.7), (signal.SIGINT, 2.0)])
def test_a_signal_during_the_start_leaves_nothing_running(up: Up, number: signal.Signals, after: float) -> None:
    up.start()
    assert eventually(lambda: bool(up.everything()), 60)
    seen: set[int] = set()
    until = time.monotonic() + after
    while not seen or time.monotonic() < until:
        seen |= set(up.everything())
        time.sleep(0.02)
    assert up.stop(number) == 0
    assert all_gone(list(seen), 15)


def test_stopped_by_a_signal_or_killed_nothing_is_left_and_the_next_start_continues(up: Up) -> None:
    """The database included. INT here; TERM and HUP take the same way, see above and tests/stack/test_children.py."""
    up.ready()
    people = [line for line in up.out if "@acme.example.test" in line]
    assert eventually(lambda: (up.folder / "var/run/agent.json").exists(), 30)
    pids = up.everything()
    assert len(pids) >= 7
    assert up.stop(signal.SIGINT) == 0
    assert not any(alive(pid) for pid in pids)
    with pytest.raises(httpx.ConnectError):
        up.get(timeout=5)
    charges = (up.folder / "var/reference/acme/orders.json").read_text()

    up.ready()

    assert [line for line in up.out if "@acme.example.test" in line] == people
    assert (up.folder / "var/reference/acme/orders.json").read_text() == charges
    assert up.err == []
    if sys.platform != "linux":
        return  # only Linux ends children with their parent
    pids = up.everything()
    up.process.kill()
    up.process.wait(10)
    assert all_gone(pids, 30)

    up.ready()

    assert up.get().status_code < 500


def test_a_second_start_beside_a_running_one_is_a_sentence(running: Up) -> None:
    second = Up(running.folder, free_port())
    second.start()
    assert second.process.wait(30) == 1
    assert eventually(lambda: bool(second.err))
    assert second.err[0].startswith("Clearance already runs from ")
    assert f"(process {running.process.pid})" in second.err[0]
    assert running.get().status_code < 500


def test_a_port_in_use_is_a_sentence_and_nothing_is_left_running(up: Up) -> None:
    with socket.create_server(("127.0.0.1", up.port)):
        up.start()
        assert up.process.wait(30) == 1
    assert eventually(lambda: bool(up.err))
    assert up.err == [
        f"Port {up.port} is in use by another program. End that program, or choose another port: "
        f"make up PORT={up.port + 1}"
    ]
    assert not [process for process in psutil.process_iter() if str(up.folder) in " ".join(_command(process))]


def test_half_a_pair_of_database_addresses_is_a_sentence(up: Up) -> None:
    up.more = {"DATABASE_URL": "postgresql://clr_app:x@127.0.0.1/clearance"}
    up.start()
    assert up.process.wait(30) == 1
    assert eventually(lambda: bool(up.err))
    assert up.err[0].startswith("DATABASE_URL is set and DATABASE_OWNER_URL is not.")


def test_servers_that_the_caller_names_are_used_instead_of_the_embedded_ones(up: Up) -> None:
    from config.stack.servers import start_postgres, start_valkey

    postgres, valkey = start_postgres(up.folder / "own-pg", durable=False), start_valkey(up.folder / "own-vk")
    try:
        up.more = {
            "DATABASE_URL": postgres.app_url,
            "DATABASE_OWNER_URL": postgres.owner_url,
            "REDIS_URL": valkey.url,
        }
        up.ready()
        assert set(up.children()) == {"web", "worker", "sweep", "agent", "payments"}
        assert not (up.folder / "var/postgres").exists()
        up.stop()
        assert alive(postgres.pid)
        assert alive(valkey.pid)
    finally:
        up.stop()
        valkey.stop()
        postgres.stop()


@pytest.mark.parametrize("name", ["web", "worker", "sweep", "agent", "payments", "postgres", "valkey"])
def test_a_child_that_is_killed_comes_back_and_the_page_answers(running: Up, name: str) -> None:
    before, said = running.children(), len(running.err)
    os.kill(before[name], signal.SIGKILL)
    assert eventually(lambda: running.children().get(name) not in (None, before[name]), 30), running.words()
    assert eventually(lambda: running.get().status_code < 500, 30), running.words()
    about = [line for line in running.err[said:] if "ended (signal SIGKILL); it starts again in" in line]
    assert len(about) == 1, running.err


def test_a_request_made_while_the_web_server_restarts_is_answered_late_not_refused(running: Up) -> None:
    os.kill(running.children()["web"], signal.SIGKILL)
    assert running.get("/sign-in/").status_code == 200
