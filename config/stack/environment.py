"""Folders of one installation and the environment of the programs that run in it."""

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from config.stack.process import StackError, write_private
from config.stack.secrets import Secrets

ROOT = Path(__file__).resolve().parent.parent.parent
# What a program may keep of the caller's environment. Everything else (PGHOST, DJANGO_*, PYTHONPATH, a stray
# CELERY_BROKER_URL) would change what the programs do without anybody seeing it.
KEPT = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TERM", "LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR")
KEPT_PREFIXES = ("CLEARANCE_",)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything lies under one folder, normally var/."""

    home: Path

    @property
    def secrets(self) -> Path:
        return self.home / "secrets"

    @property
    def postgres(self) -> Path:
        return self.home / "postgres"

    @property
    def valkey(self) -> Path:
        return self.home / "valkey"

    @property
    def stripe(self) -> Path:
        return self.home / "stripe"

    @property
    def reference(self) -> Path:
        return self.home / "reference"

    @property
    def logs(self) -> Path:
        return self.home / "log"

    @property
    def mail(self) -> Path:
        """Each mail that is sent is a file here, unless CLEARANCE_EMAIL_URL names a server."""
        return self.home / "mail"

    @property
    def run(self) -> Path:
        return self.home / "run"

    @property
    def environment_file(self) -> Path:
        """The environment as `export` lines, for a second terminal: `. var/secrets/environment`."""
        return self.secrets / "environment"


def outside_servers(caller: Mapping[str, str]) -> tuple[tuple[str, str] | None, str | None]:
    """((application address, owner address) or None, Redis address or None) that the caller has set.

    Raises StackError for half a pair: with one address only, either nothing could migrate or the application would
    own its tables.
    """
    application, owner = caller.get("DATABASE_URL", ""), caller.get("DATABASE_OWNER_URL", "")
    if bool(application) != bool(owner):
        present, absent = ("DATABASE_URL", "DATABASE_OWNER_URL")[:: 1 if application else -1]
        raise StackError(
            f"{present} is set and {absent} is not. Set both (the application's role and the owner of the tables), "
            "or neither to use the embedded PostgreSQL."
        )
    return (application, owner) if application else None, caller.get("REDIS_URL") or None


def compose(
    *,
    layout: Layout,
    secrets: Secrets,
    database: tuple[str, str],
    redis: str,
    port: int,
    payments_url: str,
    settings: str = "config.settings.demo",
    caller: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The environment of every child. What the caller set as CLEARANCE_… wins over what is composed here."""
    given = os.environ if caller is None else caller
    kept = {name: value for name, value in given.items() if name in KEPT}
    chosen = {name: value for name, value in given.items() if name.startswith(KEPT_PREFIXES)}
    composed = {
        "DATABASE_URL": database[0],
        "DATABASE_OWNER_URL": database[1],
        "REDIS_URL": redis,
        "DJANGO_SETTINGS_MODULE": given.get("DJANGO_SETTINGS_MODULE", settings),
        "CLEARANCE_SECRET_KEY_FILE": str(secrets.django_key),
        "CLEARANCE_CREDENTIAL_KEY_FILE": str(secrets.credential_key),
        "CLEARANCE_TOKEN_KEYS_DIR": str(secrets.token_keys),
        "CLEARANCE_BASE_URL": f"http://localhost:{port}",
        "CLEARANCE_REFERENCE_DIR": str(layout.reference),
        "CLEARANCE_EMAIL_URL": layout.mail.absolute().as_uri(),
        "CLEARANCE_DEMO_DIR": str(secrets.demo),
        "CLEARANCE_DEMO_PAYMENTS_URL": payments_url,
        # Within the launcher's patience with its children (children.py).
        "CLEARANCE_DRAIN_SECONDS": "7",
        "PYTHONUNBUFFERED": "1",
    }
    return kept | composed | chosen


def write_environment(layout: Layout, environment: Mapping[str, str]) -> None:
    """Lets a person run `manage.py` beside the running stack."""
    wanted = {name: value for name, value in environment.items() if name not in KEPT and name != "PYTHONUNBUFFERED"}
    lines = [f"export {name}={shlex.quote(value)}" for name, value in sorted(wanted.items())]
    write_private(
        layout.environment_file,
        "# Made by `make up`.  Use:  . " + str(layout.environment_file) + "\n" + "\n".join(lines) + "\n",
    )
