"""Migrations: none missing, all reversible, on a real PostgreSQL as the owner."""

import os
import subprocess
import sys

import psycopg
from django.core.management import call_command

from tests.support import databases


def test_no_migration_is_missing(committed_db):
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def test_every_migration_of_ours_goes_back_to_nothing_and_forward_again(committed_db):
    environment = os.environ | {
        "DATABASE_URL": databases.with_database(os.environ["DATABASE_URL"], committed_db),
        "DATABASE_OWNER_URL": databases.with_database(os.environ["DATABASE_OWNER_URL"], committed_db),
    }

    def manage(*arguments: str) -> None:
        subprocess.run(
            [sys.executable, "manage.py", *arguments, "--skip-checks", "-v0"],
            env=environment,
            cwd=databases.ROOT,
            check=True,
        )

    for app in ("runs", "approvals", "access", "audit"):
        manage("migrate", "--database", "owner", app, "zero")
    url = databases.with_database(os.environ["DATABASE_OWNER_URL"], committed_db)
    with psycopg.connect(url) as connection:
        left = connection.execute(
            "SELECT relname FROM pg_class WHERE relkind IN ('r','p','S')"
            " AND relname ~ '^(runs|approvals|access|audit)_'"
            " UNION SELECT proname FROM pg_proc WHERE proname ~ '^(runs|approvals|audit|clearance)_'"
        ).fetchall()
    assert left == []
    manage("prepare_database")
