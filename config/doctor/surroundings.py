"""The environment, the files that it names, the disk, Valkey, workers and the web server's port."""

import shutil
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import redis
from celery import Celery
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from access.store import cipher
from config import env
from config.doctor.lines import Line, Patient, ok, problem, skipped
from config.health.parts import LEAST_FREE, ROOT, SECONDS

REQUIRED = {
    "DATABASE_URL": "the postgresql:// address with the application's role",
    "DATABASE_OWNER_URL": "the same database with the role that owns the tables",
    "REDIS_URL": "the address of Valkey or Redis",
    "CLEARANCE_BASE_URL": "the address that people open",
    "CLEARANCE_SECRET_KEY_FILE": "a file with Django's secret key",
    "CLEARANCE_CREDENTIAL_KEY_FILE": "a file with the Fernet key of backend credentials",
    "CLEARANCE_TOKEN_KEYS_DIR": "the folder of the keys that sign tokens",
}
SETTINGS = ("config.settings.production", "config.settings.demo", "config.settings.test")
WORKERS_S = 6.0


def look_at_environment(patient: Patient) -> Iterator[Line]:
    """Each variable: there, and of a form that can be used."""
    for name, meaning in REQUIRED.items():
        if not patient.value(name):
            yield problem(name, "is not set.", f"Set it to {meaning}; docs/operations.md lists every variable.")
    module = patient.value("DJANGO_SETTINGS_MODULE") or SETTINGS[0]
    if module in SETTINGS:
        yield ok("settings", f"{module}.")
    else:
        yield problem("settings", f"{module} is none of ours.", f"Set DJANGO_SETTINGS_MODULE to {SETTINGS[0]}.")
    for name in ("DATABASE_URL", "DATABASE_OWNER_URL"):
        if patient.value(name):
            try:
                patient.addresses[name] = env.database_at(patient.value(name), name, pool_max=None)
            except (env.EnvironmentProblem, ValueError) as error:
                yield problem(name, _plain(error), "Write it as postgresql://role:password@host:port/database.")
    if patient.value("REDIS_URL") and urlsplit(patient.value("REDIS_URL")).scheme not in ("redis", "rediss", "unix"):
        yield problem("REDIS_URL", "does not begin with redis://.", "Write it as redis://:password@host:port/0.")
    base = urlsplit(patient.value("CLEARANCE_BASE_URL"))
    if patient.value("CLEARANCE_BASE_URL") and not (base.scheme in ("http", "https") and base.hostname):
        yield problem("CLEARANCE_BASE_URL", "is no http address.", "Write it as https://clearance.example.")
    pool = patient.value("CLEARANCE_DATABASE_POOL")
    if pool and not pool.isdigit():
        yield problem("CLEARANCE_DATABASE_POOL", "is no whole number.", "Set it to 16, or leave it out.")
    if all(patient.value(name) for name in REQUIRED):
        yield ok("environment", "Every variable that must be set is set.")


def look_at_keys(patient: Patient) -> Iterator[Line]:
    """The key files: there, readable by this process and by nobody else, and keys."""
    if patient.value("CLEARANCE_SECRET_KEY_FILE"):
        yield from _secret_key(Path(patient.value("CLEARANCE_SECRET_KEY_FILE")))
    if patient.value("CLEARANCE_CREDENTIAL_KEY_FILE"):
        yield from _credential_key(Path(patient.value("CLEARANCE_CREDENTIAL_KEY_FILE")))
    if patient.value("CLEARANCE_TOKEN_KEYS_DIR"):
        yield from _token_keys(Path(patient.value("CLEARANCE_TOKEN_KEYS_DIR")))


def _secret_key(path: Path) -> Iterator[Line]:
    try:
        text = path.read_text().strip()
    except (OSError, ValueError) as error:
        yield problem("secret key", f"{path} cannot be read ({_plain(error)}).", "Correct CLEARANCE_SECRET_KEY_FILE.")
        return
    if len(text) < 32:
        yield problem("secret key", f"{path} holds less than 32 characters.", "Write 43 or more random ones into it.")
    else:
        yield _closed("secret key", path) or ok("secret key", "It can be read.")


def _credential_key(path: Path) -> Iterator[Line]:
    try:
        cipher.read_keys(str(path))
    except OSError as error:
        remedy = "Correct CLEARANCE_CREDENTIAL_KEY_FILE. Without that very key stored credentials are lost."
        yield problem("credential key", f"{path} cannot be read ({_plain(error)}).", remedy)
    except ValueError:
        remedy = "Put back the right one. Without that very key stored credentials are lost."
        yield problem("credential key", f"{path} holds no Fernet key.", remedy)
    else:
        yield _closed("credential key", path) or ok("credential key", "It is a Fernet key.")


def _token_keys(folder: Path) -> Iterator[Line]:
    names = sorted(folder.glob("*.pem")) if folder.is_dir() else []
    good = 0
    for path in names:
        try:
            right = isinstance(load_pem_private_key(path.read_bytes(), password=None), Ed25519PrivateKey)
        except (OSError, ValueError, TypeError):
            right = False
        if not right:
            yield problem(
                "token keys", f"{path.name} is no Ed25519 private key that can be read.", "Remove it or put it right."
            )
            continue
        good += 1
        closed = _closed("token keys", path)
        if closed is not None:
            yield closed
    if good:
        yield ok("token keys", f"{good} can be used; the last by name signs.")
    else:
        make = "openssl genpkey -algorithm ed25519 -out <folder>/2026-01.pem"
        yield problem("token keys", f"{folder} holds no Ed25519 key.", f"Make one: {make}")


def _closed(subject: str, path: Path) -> Line | None:
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        return problem(subject, f"{path} can be read by others.", f"chmod 600 {path}")
    return None


def look_at_disk(patient: Patient) -> Iterator[Line]:
    """Space where logs and data are written."""
    home = Path(patient.value("CLEARANCE_HOME") or ROOT / "var")
    folders = [folder for folder in (home, Path(patient.value("CLEARANCE_REFERENCE_DIR") or home)) if folder.exists()]
    for folder in dict.fromkeys(folders or [ROOT]):
        free = shutil.disk_usage(folder).free // (1024 * 1024)
        if free * 1024 * 1024 < LEAST_FREE:
            yield problem("disk", f"{free} MiB are free at {folder}.", "Make room: a full disk stops the database.")
        else:
            yield ok("disk", f"{free} MiB are free at {folder}.")


def look_at_broker(patient: Patient) -> Iterator[Line]:
    """Valkey or Redis answers."""
    url = patient.value("REDIS_URL")
    if not url:
        yield skipped("broker", "needs REDIS_URL.")
        return
    try:
        with redis.Redis.from_url(url, socket_timeout=SECONDS, socket_connect_timeout=SECONDS) as client:
            client.ping()
    except redis.AuthenticationError:
        yield problem("broker", "It refuses the password.", "Correct the password in REDIS_URL.")
    except (redis.RedisError, OSError, ValueError) as error:
        remedy = "Start Valkey or Redis, or correct REDIS_URL. Until then everything is slower and nothing is lost."
        yield problem("broker", f"It does not answer ({type(error).__name__}).", remedy)
    else:
        patient.broker = True
        yield ok("broker", "It answers.")


def look_at_workers(patient: Patient) -> Iterator[Line]:
    """Celery's workers answer; asked in a thread of its own, because nothing bounds a broker that stops half-way."""
    if not patient.broker:
        yield skipped("workers", "are asked through the broker.")
        return
    found: list[str] = []

    def ask() -> None:
        app = Celery("doctor", broker=patient.value("REDIS_URL"), set_as_current=False)
        limits = {"socket_timeout": SECONDS, "socket_connect_timeout": SECONDS, "max_retries": 0}
        app.conf.update(broker_transport_options=limits, broker_connection_retry=False)
        found.extend(app.control.inspect(timeout=SECONDS).ping() or {})

    thread = threading.Thread(target=_quietly, args=(ask,), daemon=True)
    thread.start()
    thread.join(WORKERS_S)
    if found:
        yield ok("workers", f"{len(found)} answer.")
    else:
        start = "celery -A config.celery worker --pool threads"
        yield problem("workers", "None answers.", f"Start one: {start}. Until then the sweep does the work, slower.")


def _quietly(do: object) -> None:
    try:
        do()  # type: ignore[operator]
    except Exception as error:
        del error  # told as "none answers": whatever it was, no worker was heard


def look_at_port(patient: Patient) -> Iterator[Line]:
    """The web server answers at the address that people open."""
    base = patient.value("CLEARANCE_BASE_URL")
    if not urlsplit(base).hostname:
        yield skipped("web server", "needs CLEARANCE_BASE_URL.")
        return
    try:
        answer = httpx.get(f"{base.rstrip('/')}/livez", timeout=SECONDS, trust_env=False)
        ours = answer.status_code == 200 and answer.json() == {"status": "ok"}
    except (httpx.HTTPError, ValueError, OSError, httpx.InvalidURL) as error:
        if isinstance(error, ValueError):
            ours = False
        else:
            start = "uvicorn config.asgi:application"
            yield problem("web server", f"None answers at {base} ({type(error).__name__}).", f"Start it: {start}")
            return
    if ours:
        yield ok("web server", f"It answers at {base}.")
    else:
        yield problem("web server", f"Another program answers at {base}.", "Free the port, or correct the address.")


def _plain(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error)
