"""What hundreds of tests begin with, made through the services once a process and laid down as rows from then on.

The services take a tenth of a second to make an organisation at work, its rows a few milliseconds. They are laid down
into a database of the session's server that holds no organisation yet and whose clock runs, so that a test finds there
what the services would have left; otherwise the services make it.
"""

import inspect
import sys
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import psycopg
from django.db import connection, connections, transaction
from psycopg import sql

from access.models import Tenant
from audit.store import clock
from tests.support import databases

APPS = frozenset({"access", "approvals", "audit", "runs", "config"})
AGE = 300.0
"""Seconds after which it is made anew: nobody shall meet an organisation of half an hour ago."""
SEEDED = frozenset({"django_migrations", "django_content_type", "auth_permission", "approvals_epoch"})
"""Tables that are full before anybody made anything."""


@dataclass(frozen=True, slots=True)
class Made:
    """What was made: the value, and the statement that lays its rows down."""

    value: Any
    statement: str
    at: float


_asked: set[Hashable] = set()
_made: dict[Hashable, Made] = {}


def made_once[T](key: Hashable, make: Callable[[], T]) -> T:
    """What `make()` answers, which has to be immutable; `key` names all that it depends on. Asked a second time it is
    made in a database of its own, and its rows are copied."""
    if key not in _asked:
        _asked.add(key)
        return make()
    if (
        not databases.on_the_sessions_server()
        or Tenant.objects.exists()
        or abs(clock.now() - datetime.now(UTC)).total_seconds() > 1
    ):
        return make()
    found = _made.get(key)
    if found is None or time.monotonic() - found.at > AGE:
        found = _made[key] = _make_apart(make)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(found.statement)
    _forget()
    return found.value  # type: ignore[no-any-return]


def _forget() -> None:
    """What this process remembers of rows by their ids: it has always met each id for the first time."""
    for remembering in _remembering(len(sys.modules)):
        remembering.cache_clear()


@lru_cache(maxsize=1)
def _remembering(_modules: int) -> list[Any]:
    """The functions outside the cores that keep answers to questions; looked for again when there is a new module."""
    names = [name for name in sys.modules if name.partition(".")[0] in APPS and ".core." not in name]
    found = {
        id(each): each for name in names for each in vars(sys.modules[name]).values() if hasattr(each, "cache_clear")
    }
    return [each for each in found.values() if inspect.signature(each).parameters]


def _make_apart(make: Callable[[], Any]) -> Made:
    """In a database of its own, whatever transaction is open in the test's."""
    before = connections["default"]
    with databases.cloned_database() as name:
        connections["default"] = connections.create_connection("default")
        try:
            connections["default"].settings_dict = before.settings_dict | {"NAME": name}
            value = make()
        finally:
            connections["default"].close()
            connections["default"] = before
        return Made(value, _statement(name), time.monotonic())


def _statement(name: str) -> str:
    """Its rows, in an order in which whatever is referred to is there, and its numbers, which must not come again."""
    with psycopg.connect(databases.with_database(databases.owner_url(), name)) as owner:
        tables = [row[0] for row in owner.execute(_TABLES)]
        parts = [part for table in _in_order(owner, tables) if (part := _rows(owner, table))]
        numbers = owner.execute(_NUMBERS).fetchall()
    parts += [_NEXT.format(sequence=sequence, last=last) for sequence, last in numbers]
    return ";\n".join(parts)


# A partition's rows are its table's.
_TABLES = """
SELECT relname FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY relname
"""
_NUMBERS = """
SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'public' AND last_value IS NOT NULL
AND sequencename NOT LIKE ALL (ARRAY['django%', 'auth_permission%']) ORDER BY 1
"""
_NEXT = (
    "SELECT nextval('{sequence}') FROM generate_series(1, {last} - coalesce(pg_sequence_last_value('{sequence}'), 0))"
)
_REFERENCES = "SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint WHERE contype = 'f'"
_COLUMNS = """
SELECT attname FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum
"""


def _in_order(owner: psycopg.Connection[Any], tables: list[str]) -> list[str]:
    waits: dict[str, set[str]] = {table: set() for table in tables if table not in SEEDED}
    for table, other in owner.execute(_REFERENCES):
        if table in waits and other in waits and table != other:
            waits[table].add(other)
    ordered: list[str] = []
    while waits:
        # In a circle, whose constraints are looked at when the transaction ends, any one.
        free = [table for table in waits if waits[table].isdisjoint(waits)] or [next(iter(waits))]
        ordered += free
        for table in free:
            del waits[table]
    return ordered


def _rows(owner: psycopg.Connection[Any], table: str) -> str:
    columns = [sql.Identifier(row[0]) for row in owner.execute(_COLUMNS, [table])]
    values = sql.SQL(" || ',' || ").join(sql.SQL("quote_nullable({}::text)").format(column) for column in columns)
    rows = owner.execute(sql.SQL("SELECT {} FROM {}").format(values, sql.Identifier(table))).fetchall()
    if not rows:
        return ""
    names = sql.SQL(", ").join(columns).as_string(owner)
    return f'INSERT INTO "{table}" ({names}) VALUES ' + ", ".join(f"({row[0]})" for row in rows)
