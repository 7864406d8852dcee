"""Reads the environment and fails loudly: a missing or malformed variable is named together with its remedy."""

import os
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from approvals.core.bulk import limits_of

IDLE_TRANSACTION_MS = 5000


class EnvironmentProblem(SystemExit):
    """A variable is missing or malformed. Exits with the sentence instead of a traceback."""


def text(name: str, default: str | None = None) -> str:
    """The variable `name`; `default` when unset. Raises EnvironmentProblem when there is neither."""
    value = os.environ.get(name, default)
    if value is None or value == "":
        raise EnvironmentProblem(
            f"{name} is not set. docs/operations.md lists every variable; `make up` sets them all."
        )
    return value


def secret_file(name: str) -> str:
    """The stripped content of the file that variable `name` points at."""
    path = Path(text(name))
    try:
        value = path.read_text().strip()
    except OSError as error:
        raise EnvironmentProblem(f"{name} points at a file that cannot be read: {error.strerror}.") from None
    if not value:
        raise EnvironmentProblem(f"{name} points at an empty file.")
    return value


def whole_number(name: str, default: int) -> int:
    """The variable `name` as an integer."""
    value = os.environ.get(name, "")
    if not value:
        return default
    if not value.isdigit():
        raise EnvironmentProblem(f"{name} must be a whole number.")
    return int(value)


def words(name: str) -> list[str]:
    """The variable `name` as words between commas, in lower case; none when it is unset."""
    return [word.strip().lower() for word in os.environ.get(name, "").split(",") if word.strip()]


def bulk_sums(name: str, default: str) -> dict[str, Decimal]:
    """The variable `name` as amounts by currency: AUD=5000, JPY=500000, *=1000."""
    try:
        return limits_of(os.environ.get(name, "") or default)
    except ValueError as error:
        raise EnvironmentProblem(f"{name}: {error}. Write it like AUD=5000, *=1000.") from None


def database(name: str, *, pool_max: int | None) -> dict[str, Any]:
    """Django's DATABASES entry for the postgresql:// address in variable `name`.

    `pool_max` is the number of connections that this process may hold (None: no pool). Pool and threads are sized
    together in settings: a pool smaller than the thread count starves requests (architecture.md, Connections).
    """
    return database_at(text(name), name, pool_max=pool_max)


def database_at(address: str, name: str, *, pool_max: int | None) -> dict[str, Any]:
    """The same for an address at hand, which variable `name` held."""
    parts = urlsplit(address)
    if parts.scheme not in ("postgresql", "postgres"):
        raise EnvironmentProblem(f"{name} must begin with postgresql:// (Clearance runs on PostgreSQL only).")
    query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    host = query.pop("host", None) or parts.hostname or ""
    options: dict[str, Any] = {**query, "connect_timeout": 5}
    if name == "DATABASE_URL":
        # No transaction of the application waits for anything but the database, so one that stands idle belongs to a
        # process that is frozen or gone; ending it frees a run's head that nobody could work on meanwhile (S37).
        options["options"] = f"-c idle_in_transaction_session_timeout={IDLE_TRANSACTION_MS}"
    if pool_max is not None:
        options["pool"] = {"min_size": 1, "max_size": pool_max, "timeout": 10, "max_idle": 60}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path.lstrip("/"),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": str(query.pop("port", "") or parts.port or ""),
        "OPTIONS": options,
        "CONN_MAX_AGE": 0,
        # A pool keeps connections that a restart of the server has ended: without a look at each as it is handed out,
        # as many requests would fail afterwards as it holds.
        "CONN_HEALTH_CHECKS": pool_max is not None,
    }


@dataclass(frozen=True, slots=True)
class Mail:
    """How mail is sent. `kind` is off, smtp, file or console; `words` tell it without any secret."""

    kind: str
    words: str
    sender: str
    mailer: dict[str, Any] = field(repr=False)


_SMTP = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}
_NO_MAIL = "Mail is not set up: nothing is sent. Set CLEARANCE_EMAIL_URL."


def mail(name: str, *, sender: str) -> Mail:
    """The way to send mail from the address in variable `name`; off when it is unset.

    smtp://host[:25], smtp+starttls://user@host[:587], smtps://user@host[:465] (a password in the address or, better, in
    the file CLEARANCE_EMAIL_PASSWORD_FILE), file:///folder (each mail becomes a file), console: (standard error's log).
    Raises EnvironmentProblem for anything else.
    """
    value = os.environ.get(name, "")
    sender = os.environ.get("CLEARANCE_EMAIL_FROM", "") or sender
    if "@" not in sender or "\n" in sender or "\r" in sender:
        raise EnvironmentProblem("CLEARANCE_EMAIL_FROM must be an address: Clearance <clearance@example.org>.")
    backend = "django.core.mail.backends."
    if not value:
        return Mail("off", _NO_MAIL, sender, {"BACKEND": backend + "dummy.EmailBackend"})
    if value == "console:":
        words = "Mail is written to the log of the web server, and sent to nobody."
        return Mail("console", words, sender, {"BACKEND": backend + "console.EmailBackend"})
    parts = urlsplit(value)
    if parts.scheme == "file" and not parts.netloc and parts.path.startswith("/"):
        folder = unquote(parts.path)
        words = f"Each mail becomes a file in {folder}, and is sent to nobody."
        return Mail(
            "file", words, sender, {"BACKEND": backend + "filebased.EmailBackend", "OPTIONS": {"file_path": folder}}
        )
    try:
        port = _SMTP.get(parts.scheme, 0) if parts.port is None else parts.port
    except ValueError:
        port = 0
    if parts.scheme not in _SMTP or not parts.hostname or not port or parts.path not in ("", "/") or parts.query:
        raise EnvironmentProblem(
            f"{name} must read smtp://host:port, smtp+starttls://user@host:port, smtps://user@host:port, "
            "file:///folder or console:. A password belongs into the file that CLEARANCE_EMAIL_PASSWORD_FILE names."
        )
    password = unquote(parts.password or "")
    if os.environ.get("CLEARANCE_EMAIL_PASSWORD_FILE"):
        password = secret_file("CLEARANCE_EMAIL_PASSWORD_FILE")
    user = unquote(parts.username or "")
    if password and parts.scheme == "smtp" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise EnvironmentProblem(f"{name} would send a password in the clear. Use smtp+starttls:// or smtps://.")
    how = {"smtp": "unencrypted", "smtp+starttls": "with STARTTLS", "smtps": "with TLS"}[parts.scheme]
    words = f"Mail goes to {parts.hostname}, port {port}, {how}, " + (f"as {user}." if user else "without signing in.")
    options: dict[str, Any] = {
        "host": parts.hostname,
        "port": port,
        "username": user,
        "password": password,
        "use_tls": parts.scheme == "smtp+starttls",
        "use_ssl": parts.scheme == "smtps",
        "timeout": 10,
    }
    return Mail("smtp", words, sender, {"BACKEND": backend + "smtp.EmailBackend", "OPTIONS": options})
