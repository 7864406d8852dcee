"""One look at each part. Blocking, bounded by its own time limits, and never through Django's connections: a frozen
database or Valkey costs a look, not a request's connection. What is told holds no secret."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import psycopg
import redis
from django.conf import settings

from access.store import cipher, keys
from audit.core.refusal import Unavailable

type Status = Literal["ok", "impaired"]

SECONDS = 2
SILENT_AFTER_S = 10.0
"""A sweep that has made no turn for longer is silent. It looks every second; one of its chores may take a few."""
LEAST_FREE = 512 * 1024 * 1024
APPS = ("audit", "access", "approvals", "runs")
ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True, slots=True)
class Part:
    """What a look at one part found, in words for an operator."""

    status: Status
    words: str


def expected_migrations() -> set[tuple[str, str]]:
    """(app, name) of every migration of this version's own apps, from their files."""
    return {(app, path.stem) for app in APPS for path in (ROOT / app / "migrations").glob("0*.py")}


_expected = expected_migrations()


def connect(address: dict[str, Any]) -> "psycopg.Connection[Any]":
    """A connection of its own to one of Django's DATABASES, with short limits. Raises psycopg.Error."""
    limit = f"-c statement_timeout={SECONDS * 1000 - 500}"
    given = {"host": address["HOST"], "port": address["PORT"], "options": limit}
    options = {name: value for name, value in given.items() if value}
    return psycopg.connect(
        dbname=address["NAME"], user=address["USER"], password=address["PASSWORD"], connect_timeout=SECONDS,
        tcp_user_timeout=SECONDS * 1000, autocommit=True, **options,
    )  # fmt: skip


def look_at_database() -> dict[str, Part]:
    """database, migrations, epoch and sweep: what one short visit tells. Later parts are left out where an earlier one
    is missing: there is nothing to say about them."""
    try:
        with connect(settings.DATABASES["default"]) as connection:
            found = {"database": Part("ok", "It answers.")}
            applied = set(connection.execute("SELECT app, name FROM django_migrations").fetchall())
            missing = sorted(_expected - applied)
            if missing:
                words = f"{len(missing)} migrations are not applied (first {'.'.join(missing[0])}). Run `manage.py "
                return found | {"migrations": Part("impaired", words + "prepare_database`.")}
            found["migrations"] = Part("ok", "All are applied.")
            row = connection.execute(
                "SELECT clearance_epoch() IS NOT NULL, (SELECT extract(epoch FROM clearance_now() - beat_at)::float8 "
                "FROM audit_heartbeat WHERE part = 'sweep'), (SELECT count(*) FROM audit_owed)"
            ).fetchone()
            assert row is not None
            return found | {"epoch": _epoch(row[0]), "sweep": _sweep(row[1]), "audit": _owed(row[2])}
    except psycopg.errors.UndefinedTable:
        words = "The tables are not there. Run `manage.py prepare_database`."
        return {"database": Part("ok", "It answers."), "migrations": Part("impaired", words)}
    except psycopg.Error as error:
        # libpq's own sentences name hosts and users; the class is enough for who may read this without signing in.
        words = f"It does not answer ({type(error).__name__}). `manage.py doctor` tells more."
        return {"database": Part("impaired", words)}


def _epoch(here: bool) -> Part:
    if here:
        return Part("ok", "The database is where it was last used.")
    return Part("impaired", "A backup was restored and not taken note of yet; nothing is started until then.")


def _sweep(age_s: float | None) -> Part:
    if age_s is None:
        return Part("impaired", "No sweep has ever run. Start `manage.py sweep`.")
    if age_s > SILENT_AFTER_S:
        return Part("impaired", f"No sweep has made a turn for {round(age_s)} s. Start `manage.py sweep`.")
    return Part("ok", f"Its last turn was {max(round(age_s), 0)} s ago.")


def _owed(count: int) -> Part:
    if count:
        return Part("impaired", f"{count} entries could not be written and are owed.")
    return Part("ok", "Nothing is owed.")


def look_at_broker() -> dict[str, Part]:
    """Valkey or Redis: hints and live pages."""
    try:
        with redis.Redis.from_url(
            settings.REDIS_URL, socket_timeout=SECONDS - 0.5, socket_connect_timeout=SECONDS - 0.5
        ) as client:
            client.ping()
    except (redis.RedisError, OSError, ValueError) as error:
        words = f"It does not answer ({type(error).__name__}). Slower, nothing is lost: the sweep finds the work."
        return {"broker": Part("impaired", words)}
    return {"broker": Part("ok", "It answers.")}


def look_at_keys() -> dict[str, Part]:
    """The keys that tokens are signed with, and the one that opens backend credentials."""
    try:
        keys.key_ring()
    except (Unavailable, OSError):
        return {"keys": Part("impaired", "No token key can be read. Look at CLEARANCE_TOKEN_KEYS_DIR.")}
    try:
        cipher.read_keys(settings.CREDENTIAL_KEY_FILE)
    except (OSError, ValueError):
        words = "The key for backend credentials cannot be read. Look at CLEARANCE_CREDENTIAL_KEY_FILE."
        return {"keys": Part("impaired", words)}
    return {"keys": Part("ok", "They can be read.")}


def data_folders() -> list[Path]:
    """Where this installation writes: its home (logs, the embedded servers' data), and the reference tables."""
    home = Path(os.environ.get("CLEARANCE_HOME") or ROOT / "var")
    return [folder for folder in (home, Path(settings.REFERENCE_DIR)) if folder.exists()] or [ROOT]


def look_at_disk() -> dict[str, Part]:
    """The space that is left where logs and data are written, as far as this process sees it."""
    try:
        free = min(shutil.disk_usage(folder).free for folder in data_folders())
    except OSError as error:
        return {"disk": Part("impaired", f"The data folder cannot be looked at ({error.strerror}).")}
    words = f"{free // (1024 * 1024)} MiB are free."
    return {"disk": Part("ok" if free >= LEAST_FREE else "impaired", words)}


LOOKS: dict[str, Callable[[], dict[str, Part]]] = {
    "database": look_at_database,
    "broker": look_at_broker,
    "keys": look_at_keys,
    "disk": look_at_disk,
}
"""By the part that stands for it where the look itself does not come back."""
