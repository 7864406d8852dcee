"""A sound installation, to be broken in one place, and what the doctor says of it."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import databases
from tests.support.world_fixtures import payments

__all__ = ["payments"]


@pytest.fixture
def sound(committed_db: str, tmp_path: Path) -> dict[str, str]:
    """The environment of an installation whose files are closed and whose sweep has just made a turn."""
    from audit.services.heartbeat import heartbeat_record

    heartbeat_record(part="sweep")
    folder = Path(os.environ[databases.SESSION_DIR])
    for name in ("secret-key", "credential-key"):
        shutil.copy(folder / name, tmp_path / name)
        (tmp_path / name).chmod(0o600)
    (tmp_path / "keys").mkdir()
    shutil.copy(folder / "keys" / "test-1.pem", tmp_path / "keys" / "test-1.pem")
    (tmp_path / "keys" / "test-1.pem").chmod(0o600)
    return {
        "DJANGO_SETTINGS_MODULE": "config.settings.test",
        "DATABASE_URL": databases.with_database(os.environ["DATABASE_URL"], committed_db),
        "DATABASE_OWNER_URL": databases.with_database(os.environ["DATABASE_OWNER_URL"], committed_db),
        "REDIS_URL": os.environ["REDIS_URL"],
        "CLEARANCE_BASE_URL": "http://127.0.0.1:9",
        "CLEARANCE_SECRET_KEY_FILE": str(tmp_path / "secret-key"),
        "CLEARANCE_CREDENTIAL_KEY_FILE": str(tmp_path / "credential-key"),
        "CLEARANCE_TOKEN_KEYS_DIR": str(tmp_path / "keys"),
    }


@pytest.fixture
def examined(sound: dict[str, str]) -> Callable[..., dict[str, list[Any]]]:
    """examined(**changes): by subject, what the doctor says; None removes a variable. Workers and the web server, which
    do not run in these tests, are left out."""
    from config.doctor.main import examine

    def run(**changes: str | None) -> dict[str, list[Any]]:
        environment = {name: value for name, value in (sound | changes).items() if value is not None}
        found: dict[str, list[Any]] = {}
        for line in examine(environment):
            assert "could not be looked at" not in line.words, line
            if line.subject not in ("workers", "web server"):
                found.setdefault(line.subject, []).append(line)
        return found

    return run
