"""One PostgreSQL and one Valkey a test session; one migrated template; a clone for whoever commits (data rule 12)."""

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

import psutil
import psycopg
from psycopg import sql

from config.stack.servers import start_postgres, start_valkey

ROOT = Path(__file__).resolve().parent.parent.parent
SUPERUSER_URL = "CLEARANCE_TEST_SUPERUSER_URL"
SESSION_DIR = "CLEARANCE_TEST_DIR"
TEMPLATE = "clearance_template"
PREFIX = "clr-test-"
MEMORY = Path("/dev/shm")
FIRST_EPOCH = """
INSERT INTO approvals_epoch (id, number, place, raised_at, because)
VALUES (gen_random_uuid(), 1, clearance_place(), clearance_now(), 'The database was made.')
"""
ROOM = 4 << 30
"""Bytes: three processes' databases and PostgreSQL's log of a whole session stay well below it."""


def with_database(url: str, name: str) -> str:
    """`url` pointing at database `name`."""
    return urlunsplit(urlsplit(url)._replace(path="/" + name))


def start_session() -> list[object]:
    """Starts the session's servers and sets the environment that settings read. Returns what must be stopped."""
    # Short, because a socket's path may hold 104 bytes; outside var/, because a killed session leaves it behind.
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=in_memory()))
    folder.chmod(0o711)
    postgres = start_postgres(folder / "postgres", durable=False)
    valkey = start_valkey(folder / "valkey")
    (folder / "keys").mkdir()
    from cryptography.fernet import Fernet
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    pem = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "keys" / "test-1.pem").write_bytes(pem)
    (folder / "secret-key").write_text(uuid.uuid4().hex * 2)
    (folder / "credential-key").write_text(Fernet.generate_key().decode())
    (folder / "reference").mkdir()
    os.environ.update(
        {
            SUPERUSER_URL: postgres.superuser_url,
            SESSION_DIR: str(folder),
            "DATABASE_URL": postgres.app_url,
            "DATABASE_OWNER_URL": postgres.owner_url,
            "REDIS_URL": valkey.url,
            "CLEARANCE_SECRET_KEY_FILE": str(folder / "secret-key"),
            "CLEARANCE_CREDENTIAL_KEY_FILE": str(folder / "credential-key"),
            "CLEARANCE_TOKEN_KEYS_DIR": str(folder / "keys"),
            "CLEARANCE_REFERENCE_DIR": str(folder / "reference"),
            "CLEARANCE_BASE_URL": "http://localhost:8000",
            "DJANGO_SETTINGS_MODULE": "config.settings.test",
        }
    )
    return [valkey, postgres]


def tune() -> None:
    """For tests alone. A password is hashed once instead of 4,096 times: each test connects several times. And no
    statistics are taken in the background: a plan that a test reads would be another one after such a visit."""
    with psycopg.connect(superuser_url("postgres"), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET autovacuum = off")
        connection.execute("ALTER SYSTEM SET scram_iterations = 1")
        connection.execute("SELECT pg_reload_conf()")
        connection.execute("SET scram_iterations = 1")
        for variable in (SUPERUSER_URL, "DATABASE_URL", "DATABASE_OWNER_URL"):
            parts = urlsplit(os.environ[variable])
            connection.execute(
                sql.SQL("ALTER ROLE {} PASSWORD {}").format(
                    sql.Identifier(parts.username or ""), sql.Literal(unquote(parts.password or ""))
                )
            )


def in_memory() -> Path | None:
    """The folder of the system that lives in memory, if it has room for a session: to clone a database of a thousand
    small files costs a fifth there. What killed sessions left in it is removed first, as it would fill the memory."""
    if not MEMORY.is_dir():
        return None
    for left in MEMORY.glob(f"{PREFIX}*/postgres/lock"):
        # Whoever runs a session's server holds its lock, and a server ends with the session.
        with contextlib.suppress(OSError), left.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left.parent.parent, ignore_errors=True)
    room = min(shutil.disk_usage(MEMORY).free, psutil.virtual_memory().available)
    return MEMORY if room > ROOM and os.access(MEMORY, os.W_OK) else None


def stop_session(servers: list[object]) -> None:
    for server in servers:
        with contextlib.suppress(Exception):
            server.stop()  # type: ignore[attr-defined]
    shutil.rmtree(os.environ[SESSION_DIR], ignore_errors=True)


def superuser_url(database: str) -> str:
    """The superuser's address of a database."""
    return with_database(os.environ[SUPERUSER_URL], database)


def superuser(statement: sql.Composable | str) -> None:
    """One statement as superuser on the maintenance database."""
    with psycopg.connect(superuser_url("postgres"), autocommit=True) as connection:
        connection.execute(statement)  # type: ignore[arg-type]


def ensure_template() -> None:
    """The migrated template, made once a session whichever worker comes first."""
    folder = Path(os.environ[SESSION_DIR])
    with (folder / "template.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / "template.done").exists():
            return
        superuser(f"create database {TEMPLATE} owner clr_owner")
        environment = os.environ | {
            "DATABASE_URL": with_database(os.environ["DATABASE_URL"], TEMPLATE),
            "DATABASE_OWNER_URL": with_database(os.environ["DATABASE_OWNER_URL"], TEMPLATE),
        }
        subprocess.run(
            [sys.executable, "manage.py", "prepare_database", "-v0", "--skip-checks"],
            env=environment,
            cwd=ROOT,
            check=True,
        )
        forget_its_epoch(TEMPLATE)
        (folder / "template.done").touch()


def forget_its_epoch(name: str) -> None:
    """Of a database that becomes a template: the epoch would be of another place in every clone."""
    owner_execute(
        name,
        "ALTER TABLE approvals_epoch DISABLE TRIGGER approvals_epoch_append_only; DELETE FROM approvals_epoch; "
        "ALTER TABLE approvals_epoch ENABLE TRIGGER approvals_epoch_append_only",
    )


def settle(name: str) -> None:
    """A clone is a copy, and a copy starts nothing (docs/backup.md): its first epoch is its own."""
    owner_execute(name, FIRST_EPOCH)


def migrate(**environment: str) -> None:
    """Make the tables, in the database that the environment (and what is given beside it) names."""
    subprocess.run(
        [sys.executable, "manage.py", "prepare_database", "-v0", "--skip-checks"],
        env=os.environ | environment,
        cwd=ROOT,
        check=True,
    )


def make_clone(name: str, template: str = TEMPLATE) -> None:
    """Database `name`, a fresh clone that has its own epoch."""
    ensure_template()
    with (Path(os.environ[SESSION_DIR]) / "template.lock").open("w") as lock:
        # PostgreSQL refuses to clone a template that another session is reading.
        fcntl.flock(lock, fcntl.LOCK_EX)
        superuser(f"create database {name} template {template} owner clr_owner strategy file_copy")
    settle(name)


@contextlib.contextmanager
def cloned_database(template: str = TEMPLATE) -> Iterator[str]:
    """The name of a fresh clone of the template, dropped afterwards with whoever is still connected."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    make_clone(name, template)
    try:
        yield name
    finally:
        superuser(f"drop database if exists {name} with (force)")


def on_the_sessions_server() -> bool:
    """Not where a test has started a server of its own, and not in a benchmark."""
    session = os.environ.get(SUPERUSER_URL)
    return session is not None and urlsplit(owner_url()).query == urlsplit(session).query


def owner_url() -> str:
    """The address as the tables' owner."""
    return os.environ["DATABASE_OWNER_URL"]


def owner_execute(database: str, statement: str, parameters: object = None) -> list[tuple[object, ...]]:
    """Runs `statement` as the owner of the tables and returns its rows (empty for a command)."""
    url = with_database(owner_url(), database)
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement, parameters)  # type: ignore[arg-type]
        return cursor.fetchall() if cursor.description else []
