"""The embedded PostgreSQL: private, resumable, and gone when it was stopped."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psutil
import psycopg
import pytest

from config.stack.process import StackError
from config.stack.servers import Postgres, start_postgres
from tests.stack.support import ROOT, alive, clean_environment, mode
from tests.support.waiting import wait_until

pytestmark = pytest.mark.stack


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def postgres(folder: Path, said: list[str]) -> Iterator[Postgres]:
    server = start_postgres(folder / "pg", durable=False, say=said.append)
    yield server
    server.stop()


def _start_in(folder: Path) -> str:
    return f"from pathlib import Path; from config.stack.servers import *; start_postgres(Path({str(folder / 'pg')!r}))"


def _initdb_of(launcher: int) -> list[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return [child for child in psutil.Process(launcher).children(recursive=True) if child.name() == "initdb"]
    return []


def without_password(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{parts.username}@"))


def test_the_application_role_connects_and_owns_nothing(postgres: Postgres) -> None:
    with psycopg.connect(postgres.app_url) as connection:
        assert connection.execute("select current_user, current_database()").fetchone() == ("clr_app", "clearance")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("create table mine (id int)")


def test_the_owner_role_makes_tables_but_neither_databases_nor_roles(postgres: Postgres) -> None:
    with psycopg.connect(postgres.owner_url, autocommit=True) as connection:
        connection.execute("create table made (id int)")
        for statement in ("create database other", "create role other"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


@pytest.mark.parametrize("role", ["postgres", "clr_owner", "clr_app"])
def test_nobody_gets_in_without_the_password(postgres: Postgres, role: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="no password supplied"):
        psycopg.connect(without_password(postgres.url(role)))
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(postgres.url(role).replace(postgres.passwords[role], "guess"))


def test_no_tcp_port_is_open(postgres: Postgres) -> None:
    with psycopg.connect(postgres.superuser_url) as connection:
        assert connection.execute("show listen_addresses").fetchone() == ("",)


def test_passwords_data_and_socket_are_private(postgres: Postgres, folder: Path) -> None:
    passwords = folder / "pg" / "passwords"
    assert {mode(file) for file in passwords.iterdir()} == {"0o600"}
    assert mode(passwords) == mode(folder / "pg" / "data") == mode(postgres.socket_folder) == "0o700"
    assert len(set(postgres.passwords.values())) == 3


def test_no_password_stands_in_the_log_or_the_arguments(postgres: Postgres, folder: Path) -> None:
    written = (folder / "pg" / "server.log").read_text() + (folder / "pg" / "initdb.log").read_text()
    written += Path(f"/proc/{postgres.pid}/cmdline").read_text() if os.path.exists("/proc/self/cmdline") else ""
    assert not any(password in written for password in postgres.passwords.values())


def test_a_restart_continues_with_the_data(folder: Path) -> None:
    first = start_postgres(folder / "pg", durable=False)
    with psycopg.connect(first.owner_url) as connection:
        connection.execute("create table kept (word text); insert into kept values ('still here')")
    first.stop()
    assert not alive(first.pid)

    second = start_postgres(folder / "pg", durable=False)
    with psycopg.connect(second.owner_url) as connection:
        assert connection.execute("select word from kept").fetchone() == ("still here",)
    second.stop()


def test_after_a_kill_it_starts_again_at_the_same_address_with_committed_data(postgres: Postgres) -> None:
    with psycopg.connect(postgres.owner_url) as connection:
        connection.execute("create table kept (word text); insert into kept values ('still here')")
    postgres.process.send_signal(signal.SIGKILL)
    postgres.process.wait(10)
    assert (postgres.folder / "data" / "postmaster.pid").exists()

    postgres.restart()

    with psycopg.connect(postgres.owner_url) as connection:
        assert connection.execute("select word from kept").fetchone() == ("still here",)


def test_a_stale_pid_file_that_names_another_living_process_is_no_obstacle(folder: Path) -> None:
    first = start_postgres(folder / "pg", durable=False)
    first.process.send_signal(signal.SIGKILL)
    first.process.wait(10)
    pid_file = folder / "pg" / "data" / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")
    first.lock.close()

    second = start_postgres(folder / "pg", durable=False)

    assert alive(os.getpid())
    assert alive(second.pid)
    second.stop()


def test_a_server_whose_launcher_is_gone_is_ended_before_the_next_start(folder: Path) -> None:
    orphan = start_postgres(folder / "pg", durable=False)
    orphan.lock.close()  # what the kernel does when a launcher is killed

    second = start_postgres(folder / "pg", durable=False)

    assert not alive(orphan.pid)
    second.stop()
    orphan.process.wait(10)


def test_what_an_interrupted_initialisation_left_is_made_again_and_said(folder: Path, said: list[str]) -> None:
    half = folder / "pg" / "data.new-1234abcd" / "base"
    half.mkdir(parents=True)
    (folder / "pg" / "data.new-5678.pw").write_text("a password")

    server = start_postgres(folder / "pg", durable=False, say=said.append)
    server.stop()

    assert said == ["An earlier start was interrupted while it made the database folder; that part begins again."]
    assert not list((folder / "pg").glob("data.new*"))


def test_an_initdb_that_outlives_its_launcher_empties_only_its_own_folder(folder: Path) -> None:
    first = subprocess.Popen([sys.executable, "-c", _start_in(folder)], cwd=ROOT, env=clean_environment())
    assert wait_until(lambda: bool(_initdb_of(first.pid)), seconds=20)
    # What it forks has its name for a moment; the first is itself.
    orphan = _initdb_of(first.pid)[0]
    orphan.suspend()
    first.kill()
    first.wait(10)

    # Its launcher's death sent it SIGTERM, whose answer is to empty the path it was given: while ours fills its own.
    def go_on() -> None:
        if wait_until(lambda: bool(_initdb_of(os.getpid())), seconds=20):
            orphan.resume()

    meanwhile = threading.Thread(target=go_on)
    meanwhile.start()
    server = start_postgres(folder / "pg", durable=False)
    meanwhile.join(30)

    assert wait_until(lambda: not alive(orphan.pid), seconds=20)
    psycopg.connect(server.app_url).close()
    assert (folder / "pg" / "data" / "PG_VERSION").exists()
    server.stop()


@pytest.mark.parametrize("after", [0.1, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0])
def test_a_kill_at_any_moment_of_the_first_start_is_no_obstacle(folder: Path, said: list[str], after: float) -> None:
    first = subprocess.Popen([sys.executable, "-c", _start_in(folder)], cwd=ROOT, env=clean_environment())
    with contextlib.suppress(subprocess.TimeoutExpired):
        first.wait(after)
    first.kill()
    first.wait(10)

    server = start_postgres(folder / "pg", durable=False, say=said.append)

    psycopg.connect(server.app_url).close()
    psycopg.connect(server.owner_url).close()
    server.stop()


def test_an_incomplete_data_folder_is_moved_aside_and_said(folder: Path, said: list[str]) -> None:
    broken = folder / "pg" / "data"
    broken.mkdir(parents=True)
    (broken / "PG_VERSION").write_text("18\n")

    server = start_postgres(folder / "pg", durable=False, say=said.append)
    server.stop()

    aside = next((folder / "pg").glob("data.broken-*"))
    assert (aside / "PG_VERSION").exists()
    assert said[-1] == f"The database folder was incomplete. It was moved to {aside}, and a new one is made."


def test_data_of_another_version_is_refused_and_left_alone(folder: Path) -> None:
    data = folder / "pg" / "data"
    (data / "global").mkdir(parents=True)
    for name, content in (("PG_VERSION", "13\n"), ("pg_hba.conf", ""), ("global/pg_control", "")):
        (data / name).write_text(content)

    with pytest.raises(StackError, match=r"written by PostgreSQL 13; .* Move it away"):
        start_postgres(folder / "pg")

    assert (data / "PG_VERSION").read_text() == "13\n"


def test_a_second_server_on_the_same_folder_is_refused(postgres: Postgres, folder: Path) -> None:
    with pytest.raises(StackError, match=f"already run by process {os.getpid()}"):
        start_postgres(folder / "pg")
    assert alive(postgres.pid)


def test_a_lost_role_and_a_lost_database_come_back(folder: Path) -> None:
    first = start_postgres(folder / "pg", durable=False)
    with psycopg.connect(first.url("postgres", "postgres"), autocommit=True) as connection:
        connection.execute("drop database clearance")
        connection.execute("drop role clr_app")
    first.stop()

    second = start_postgres(folder / "pg", durable=False)
    psycopg.connect(second.app_url).close()
    second.stop()


def test_a_deep_folder_gets_a_short_private_socket_folder(folder: Path) -> None:
    deep = folder / ("d" * 60) / ("e" * 60)
    server = start_postgres(deep, durable=False)
    assert len(str(server.socket_folder)) < 60
    assert mode(server.socket_folder) == "0o700"
    psycopg.connect(server.app_url).close()
    server.stop()
    assert not server.socket_folder.exists()


def test_a_server_that_cannot_start_says_why(folder: Path) -> None:
    server = start_postgres(folder / "pg", durable=False)
    server.stop()
    (folder / "pg" / "data" / "postgresql.conf").write_text("shared_buffers = banana\n")

    with pytest.raises(StackError, match=r"(?s)PostgreSQL ended with exit code 1; its last lines .*banana"):
        start_postgres(folder / "pg", durable=False)
