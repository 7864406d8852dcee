"""Backups with PostgreSQL's own programs, out of the wheel that the embedded server comes from."""

import contextlib
import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg

from config.stack.data_folder import programs, server_environment
from tests.support import databases


def _run(program: str, *arguments: str) -> None:
    done = subprocess.run(
        [str(programs() / program), *arguments], env=server_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def dump(database: str, file: Path) -> None:
    """docs/backup.md's backup: everything of one database, in pg_dump's own format."""
    url = databases.with_database(os.environ[databases.SUPERUSER_URL], database)
    _run("pg_dump", "--format=custom", f"--file={file}", url)


def restore(file: Path, database: str) -> None:
    """docs/backup.md's restore, into a database with nothing in it."""
    url = databases.with_database(os.environ[databases.SUPERUSER_URL], database)
    _run("pg_restore", "--exit-on-error", f"--dbname={url}", str(file))


@contextlib.contextmanager
def empty_database() -> Iterator[str]:
    """A new database of the owner's, with nothing in it."""
    name = f"r_{uuid.uuid4().hex[:12]}"
    databases.superuser(f"create database {name} owner clr_owner")
    try:
        yield name
    finally:
        databases.superuser(f"drop database if exists {name} with (force)")


def empty(database: str) -> None:
    """Remove everything that is in a database, and not the database itself."""
    url = databases.with_database(os.environ[databases.SUPERUSER_URL], database)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
