"""The database: reachable with both roles, rights, migrations, epoch, credentials, clock, sweep."""

import time
from collections.abc import Iterator
from typing import Any

import psycopg
from cryptography.fernet import InvalidToken, MultiFernet

from access.store import cipher
from config.doctor.lines import Line, Patient, ok, problem, skipped
from config.health.parts import SILENT_AFTER_S, connect, expected_migrations
from config.management.commands.prepare_database import APPEND_ONLY, MAY_DELETE

ROLES = {"DATABASE_URL": "the application's role", "DATABASE_OWNER_URL": "the owner's role"}
PREPARE = "Run `manage.py prepare_database`."
SKEW_S = 2.0
OWNED = """
SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE nspname = 'public' AND relkind IN ('r', 'p') AND NOT relispartition AND {condition} ORDER BY relname
"""


def look_at_database(patient: Patient) -> Iterator[Line]:
    """Connects with both roles. They must be two, and in one database."""
    for name, role in ROLES.items():
        address = patient.addresses.get(name)
        if address is None:
            yield skipped(f"database ({role})", f"needs {name}.")
            continue
        try:
            patient.databases[name] = connect(address)
        except psycopg.Error as error:
            yield _unreachable(name, role, address, error)
        else:
            yield ok(f"database ({role})", "It can be reached.")
    if len(patient.databases) == 2:
        application, owner = (_where(patient.databases[name]) for name in ROLES)
        if application[0] != owner[0]:
            remedy = "Let DATABASE_URL and DATABASE_OWNER_URL name the same database."
            yield problem("database", "The two addresses lead to two databases.", remedy)
        if application[1] == owner[1]:
            remedy = "Give the application a role of its own (docs/operations.md)."
            yield problem("database", "Both addresses use the same role.", remedy)


def _where(connection: "psycopg.Connection[Any]") -> tuple[str, str]:
    row = connection.execute(
        "SELECT (SELECT system_identifier FROM pg_control_system())::text || '/' || (SELECT oid FROM pg_database "
        "WHERE datname = current_database()), current_user::text"
    ).fetchone()
    assert row is not None
    return row[0], row[1]


def _unreachable(name: str, role: str, address: dict[str, Any], error: psycopg.Error) -> Line:
    said = str(error).replace(address["PASSWORD"] or "\0", "…").lower()
    subject, where = f"database ({role})", address["HOST"] or "the local socket"
    if "password authentication failed" in said or "no password supplied" in said:
        return problem(subject, f"The server refuses the password of {address['USER']}.", f"Correct {name}.")
    if "does not exist" in said and "role" in said:
        return problem(subject, f"There is no role {address['USER']}.", f"Make it, or correct {name}.")
    if "does not exist" in said and "database" in said:
        return problem(subject, f"There is no database {address['NAME']}.", f"Make it, or correct {name}.")
    if "timeout" in said or "timed out" in said:
        return problem(subject, f"{where} takes the connection and does not answer.", "Look at the server.")
    if "too many" in said or "remaining connection slots" in said:
        return problem(subject, "The server has no connection left.", "Raise max_connections, or stop what holds them.")
    return problem(subject, f"Nothing answers at {where} ({type(error).__name__}).", f"Start it, or correct {name}.")


def look_at_tables(patient: Patient) -> Iterator[Line]:
    """Migrations, then what can only be asked of tables that are there."""
    connection = patient.databases.get("DATABASE_URL")
    if connection is None:
        for subject in ("migrations", "rights", "epoch", "clocks", "sweep", "stored credentials"):
            yield skipped(subject, "needs the database.")
        return
    yield _clocks(connection)
    try:
        applied = set(connection.execute("SELECT app, name FROM django_migrations").fetchall())
    except psycopg.Error as error:
        words = (
            "The tables are not there." if isinstance(error, psycopg.errors.UndefinedTable) else "They cannot be read."
        )
        yield problem("migrations", words, PREPARE)
        return
    missing = sorted(expected_migrations() - applied)
    if missing:
        first = ".".join(missing[0])
        yield problem("migrations", f"{len(missing)} are not applied, the first is {first}.", PREPARE)
    else:
        yield ok("migrations", "All are applied.")
    for look in (_rights, _epoch, _sweep):
        try:
            yield from look(connection)
        except psycopg.Error as error:
            words = f"It cannot be asked ({type(error).__name__})."
            yield problem(look.__name__.strip("_"), words, PREPARE)
    yield from _credentials(patient, connection)


def _clocks(connection: "psycopg.Connection[Any]") -> Line:
    before = time.time()
    row = connection.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
    assert row is not None
    skew = row[0] - (before + time.time()) / 2
    if abs(skew) > SKEW_S:
        which = "behind" if skew > 0 else "ahead of"
        remedy = "Set both machines' clocks by NTP. Deadlines follow the database's; tokens follow this machine's."
        return problem("clocks", f"This machine's clock is {abs(skew):.0f} s {which} the database's.", remedy)
    return ok("clocks", f"They differ by {abs(skew):.2f} s.")


def _rights(connection: "psycopg.Connection[Any]") -> Iterator[Line]:
    def tables(condition: str) -> list[str]:
        return [row[0] for row in connection.execute(OWNED.format(condition=condition)).fetchall()]  # type: ignore[arg-type]

    found: list[Line] = []
    row = connection.execute("SELECT rolsuper, rolcreaterole FROM pg_roles WHERE rolname = current_user").fetchone()
    if row is not None and any(row):
        remedy = "Give the application a role without rights of its own; then " + PREPARE.lower()
        found.append(problem("rights", "The application's role may do anything.", remedy))
    else:
        owned = tables("pg_get_userbyid(relowner) = current_user")
        if owned:
            remedy = "Let the owner's role own them (ALTER TABLE … OWNER TO …). " + PREPARE
            found.append(problem("rights", f"The application's role owns {_some(owned)}.", remedy))
        changing = "has_table_privilege(c.oid, 'UPDATE') OR has_table_privilege(c.oid, 'DELETE') OR " \
            "has_table_privilege(c.oid, 'TRUNCATE')"  # fmt: skip
        open_ = [name for name in tables(f"({changing})") if name in APPEND_ONLY and name not in owned]
        if open_:
            words = f"What is append-only can be changed by the application: {_some(open_)}."
            found.append(problem("rights", words, PREPARE))
        removing = [
            name
            for name in tables("has_table_privilege(c.oid, 'DELETE')")
            if name not in (*MAY_DELETE, *APPEND_ONLY, *owned)
        ]
        if removing:
            words = f"The application may remove rows of {_some(removing)} and never does."
            found.append(problem("rights", words, PREPARE))
        closed = tables(
            "(NOT has_table_privilege(c.oid, 'SELECT') OR relname <> 'django_migrations' "
            "AND NOT has_table_privilege(c.oid, 'INSERT'))"
        )
        if closed:
            found.append(problem("rights", f"The application lacks rights on {_some(closed)}.", PREPARE))
    yield from found or [ok("rights", "The application's role owns nothing and has what it needs.")]


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _epoch(connection: "psycopg.Connection[Any]") -> Iterator[Line]:
    row = connection.execute("SELECT clearance_epoch() IS NOT NULL, clearance_restored_at()").fetchone()
    assert row is not None
    if not row[0]:
        words = "A backup was restored and nobody has taken note of it; nothing is started until then."
        yield problem("epoch", words, "Run `manage.py restored`, or start the sweep.")
    elif row[1]:
        yield ok("epoch", f"The last restore was taken note of at {row[1]:%Y-%m-%d %H:%M} UTC.")
    else:
        yield ok("epoch", "No backup was ever restored.")


def _sweep(connection: "psycopg.Connection[Any]") -> Iterator[Line]:
    row = connection.execute(
        "SELECT extract(epoch FROM clearance_now() - beat_at)::float8 FROM audit_heartbeat WHERE part = 'sweep'"
    ).fetchone()
    start = "Start `manage.py sweep`: it finds lost hints and ends the leases of dead workers."
    if row is None:
        yield problem("sweep", "None has ever run.", start)
    elif row[0] > SILENT_AFTER_S:
        yield problem("sweep", f"None has made a turn for {row[0]:.0f} s.", start)
    else:
        yield ok("sweep", f"Its last turn was {max(row[0], 0):.0f} s ago.")


def _credentials(patient: Patient, connection: "psycopg.Connection[Any]") -> Iterator[Line]:
    subject = "stored credentials"
    try:
        opener = MultiFernet(cipher.read_keys(patient.value("CLEARANCE_CREDENTIAL_KEY_FILE")))
        rows = connection.execute("SELECT name, ciphertext FROM access_backendcredential").fetchall()
    except (OSError, ValueError):
        yield skipped(subject, "need the credential key.")
        return
    except psycopg.Error as error:
        yield problem(subject, f"They cannot be read ({type(error).__name__}).", PREPARE)
        return
    shut = []
    for name, ciphertext in rows:
        try:
            opener.decrypt(bytes(ciphertext))
        except InvalidToken:
            shut.append(name)
    if shut:
        remedy = "Put the right key back into CLEARANCE_CREDENTIAL_KEY_FILE, or store these anew."
        yield problem(subject, f"{len(shut)} of {len(rows)} do not open with this key: {_some(shut)}.", remedy)
    else:
        yield ok(subject, f"All {len(rows)} open.")
