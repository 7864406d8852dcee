"""Supervision with real processes: what dies comes back, what ends leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import psycopg
import pytest

from config.stack.children import Child, Supervisor, end_leftovers
from config.stack.process import StackError
from config.stack.servers import start_postgres
from tests.stack.support import alive, all_gone, clean_environment, eventually, start_launcher

pytestmark = pytest.mark.stack
SLEEP = "import time; time.sleep(600)"


def child(folder: Path, code: str, name: str = "child") -> Child:
    return Child([sys.executable, "-c", code], folder / f"{name}.log", clean_environment(), folder, patience=3.0)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def supervisor(folder: Path, said: list[str]):
    keeper = Supervisor(folder / "children.json", said.append)
    yield keeper
    keeper.stop_all()


def tend_until(supervisor: Supervisor, true, seconds: float = 20.0) -> None:
    def once() -> bool:
        supervisor.tend()
        return true()

    assert eventually(once, seconds)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_launcher_leaves_nothing_running(folder: Path, number: signal.Signals) -> None:
    launcher, pids = start_launcher(folder)
    launcher.send_signal(number)
    assert launcher.wait(30) == 0
    assert not any(alive(pid) for pid in pids.values())
    assert not (folder / "postgres" / "data" / "postmaster.pid").exists()
    assert not (folder / "children.json").exists()


def test_a_second_signal_does_not_cut_the_end_short(folder: Path) -> None:
    launcher, pids = start_launcher(folder)
    for _ in range(5):
        launcher.send_signal(signal.SIGINT)
        time.sleep(0.01)
    assert launcher.wait(30) == 0
    assert not any(alive(pid) for pid in pids.values())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
def test_a_killed_launcher_takes_its_children_along(folder: Path) -> None:
    launcher, pids = start_launcher(folder)
    launcher.kill()
    launcher.wait(10)
    assert all_gone(list(pids.values()))


def test_after_a_killed_launcher_the_next_one_starts_and_continues(folder: Path) -> None:
    first, _ = start_launcher(folder)
    first.kill()
    first.wait(10)
    second, pids = start_launcher(folder)
    assert all(alive(pid) for pid in pids.values())
    second.terminate()
    assert second.wait(30) == 0


def test_a_killed_child_is_started_again_and_said_in_one_line(supervisor: Supervisor, said: list[str], folder) -> None:
    supervisor.add("the worker", child(folder, SLEEP))
    first = supervisor.kept[0].server.process
    first.kill()

    tend_until(supervisor, lambda: supervisor.kept[0].server.process.pid != first.pid)

    assert said == [
        f"The worker ended (signal SIGKILL); it starts again in 0.5 s. Its log: {folder / 'child.log'}",
    ]
    assert alive(supervisor.kept[0].server.process.pid)


def test_a_child_that_keeps_dying_is_started_ever_more_rarely(supervisor: Supervisor, said: list[str], folder) -> None:
    supervisor.add("the sweep", child(folder, "import sys; sys.exit(3)"))
    tend_until(supervisor, lambda: len(said) == 3)
    pauses = [line.split(" again in ")[1].split(" s.")[0] for line in said]
    assert pauses == ["0.5", "1", "2"]
    assert all("exit code 3" in line for line in said)


def test_a_killed_database_comes_back_at_its_address(supervisor: Supervisor, said: list[str], folder: Path) -> None:
    postgres = start_postgres(folder / "pg", durable=False)
    supervisor.add("PostgreSQL", postgres, running=True)
    postgres.process.kill()
    tend_until(supervisor, lambda: bool(said))
    tend_until(supervisor, lambda: postgres.process.poll() is None)
    psycopg.connect(postgres.app_url).close()
    assert said[0].startswith("PostgreSQL ended (signal SIGKILL)")


def test_a_child_that_does_not_answer_is_described_with_its_last_lines(supervisor: Supervisor, folder: Path) -> None:
    supervisor.add("the web server", child(folder, f"print('I am stuck', flush=True); {SLEEP}"))
    with pytest.raises(StackError, match=r"(?s)The web server did not answer within 1 s; its last lines .*I am stuck"):
        supervisor.wait_for("the web server", lambda: False, seconds=1)


def test_a_child_that_ends_at_once_is_described_without_waiting(supervisor: Supervisor, folder: Path) -> None:
    supervisor.add("the web server", child(folder, "raise SystemExit('no such setting')"))
    started = time.monotonic()
    with pytest.raises(StackError, match=r"(?s)The web server ended \(exit code 1\).*no such setting"):
        supervisor.wait_for("the web server", lambda: False, seconds=30)
    assert time.monotonic() - started < 10


def test_a_child_that_ignores_term_is_killed_and_its_grandchildren_too(supervisor: Supervisor, folder: Path) -> None:
    deaf = (
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"p = subprocess.Popen([sys.executable, '-c', {SLEEP!r}])\n"
        "open('grandchild', 'w').write(str(p.pid)); time.sleep(600)\n"
    )
    supervisor.add("the worker", child(folder, deaf))
    pid = supervisor.kept[0].server.process.pid
    note = folder / "grandchild"
    assert eventually(lambda: note.exists() and note.read_text().isdigit())
    supervisor.stop_all()
    assert all_gone([pid, int(note.read_text())])


def test_what_others_need_ends_after_them(supervisor: Supervisor, folder: Path) -> None:
    note = (
        "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(open('ended', 'a').write({!r})))\n"
    )
    slow = (
        "signal.signal(signal.SIGTERM, lambda *_: (time.sleep(1), open('ended', 'a').write('worker '), sys.exit()))\n"
    )
    ready = "print('ready', flush=True); time.sleep(600)"
    payments = child(folder, note.format("payments ") + ready, "payments")
    payments.needed_by_others = True
    supervisor.add("the payment server", payments)
    supervisor.add("the worker", child(folder, note.format("") + slow + ready, "worker"))
    for name in ("payments", "worker"):
        log = folder / f"{name}.log"
        assert eventually(lambda log=log: "ready" in log.read_text())
    supervisor.stop_all()
    assert (folder / "ended").read_text() == "worker payments "


def test_the_log_of_the_start_before_is_kept(supervisor: Supervisor, folder: Path) -> None:
    (folder / "child.log").write_text("yesterday\n")
    supervisor.add("the worker", child(folder, "print('today')"))
    assert eventually(lambda: "today" in (folder / "child.log").read_text())
    assert (folder / "child.log.1").read_text() == "yesterday\n"


def test_leftovers_that_are_provably_ours_are_ended(folder: Path, said: list[str]) -> None:
    left = subprocess.Popen([sys.executable, "-c", SLEEP])
    note = folder / "children.json"
    started = psutil.Process(left.pid).create_time()
    note.write_text(json.dumps([{"name": "the worker", "pid": left.pid, "started": started}]))
    end_leftovers(note, said.append)
    assert not alive(left.pid)
    assert said == [f"The worker of an earlier start was still running (process {left.pid}); it is stopped."]
    assert not note.exists()


def test_a_process_that_only_has_the_same_number_is_left_alone(folder: Path, said: list[str]) -> None:
    other = subprocess.Popen([sys.executable, "-c", SLEEP])
    started = psutil.Process(other.pid).create_time()
    note = folder / "children.json"
    note.write_text(json.dumps([{"name": "the worker", "pid": other.pid, "started": started - 100}]))
    end_leftovers(note, said.append)
    assert other.poll() is None
    assert said == []
    other.kill()
    other.wait(5)


def test_a_note_cut_short_by_a_kill_is_no_obstacle(folder: Path, said: list[str]) -> None:
    (folder / "children.json").write_text('[{"name": "the wor')
    end_leftovers(folder / "children.json", said.append)
    assert said == []


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_make_alone_stops_everything(folder: Path, number: signal.Signals) -> None:
    makefile = folder / "Makefile"
    makefile.write_text(f"up:\n\t@{sys.executable} -m tests.stack.launcher {folder}\n")
    make, pids = start_launcher_under_make(makefile)
    os.kill(make.pid, number)
    make.wait(30)
    assert all_gone(list(pids.values()))


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_killed_make_stops_everything(folder: Path) -> None:
    makefile = folder / "Makefile"
    makefile.write_text(f"up:\n\t@{sys.executable} -m tests.stack.launcher {folder}\n")
    make, pids = start_launcher_under_make(makefile)
    make.kill()
    make.wait(10)
    assert all_gone(list(pids.values()))


def start_launcher_under_make(makefile: Path) -> tuple[subprocess.Popen[str], dict[str, int]]:
    make = subprocess.Popen(
        ["make", "-f", str(makefile), "up"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=Path(__file__).resolve().parent.parent.parent,
        env=clean_environment(),
        start_new_session=True,
    )
    assert make.stdout is not None
    return make, json.loads(make.stdout.readline())
