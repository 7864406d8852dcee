"""Fixtures of the whole suite. Real PostgreSQL and Valkey; tests run as the application role."""

import gc
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support import databases

LONG = ("drills", "crashes", "browser", "model", "stack", "restore")
"""Folders in which a file can take minutes. They begin, so that no process is left alone with one at the end."""

# How long an example takes says nothing on a machine that does other things as well.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

_servers: list[object] = []
if not os.environ.get("PYTEST_XDIST_WORKER"):
    _servers = databases.start_session()
    databases.tune()


def pytest_configure(config: pytest.Config) -> None:
    import django

    django.setup()
    # A banner that comes when a look in the background has ended would make two looks at one page differ.
    from config.health import report
    from config.health.looking import Looking

    report.looking = Looking({})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {name: place for place, name in enumerate(LONG)}
    here = Path(__file__).parent
    items.sort(key=lambda item: rank.get(item.path.relative_to(here).parts[0], len(LONG)))


def pytest_collection_finish() -> None:
    # Nine thousand tests and all modules stay to the end: to look at each of them again and again for garbage costs a
    # twentieth of the tests' time.
    gc.collect()
    gc.freeze()


def pytest_unconfigure(config: pytest.Config) -> None:
    if _servers:
        databases.stop_session(_servers)
        _servers.clear()


def _point_at(name: str) -> None:
    from django.db import connections

    for alias in ("default", "owner"):
        connections[alias].close()
        connections.settings[alias]["NAME"] = name
        connections[alias].settings_dict["NAME"] = name


@pytest.fixture(scope="session")
def django_db_setup(django_db_blocker: Any) -> Iterator[None]:
    """pytest-django's own set-up would create the database as the application role, which may not."""
    from django.db import connections

    with databases.cloned_database() as name:
        with django_db_blocker.unblock():
            _point_at(name)
        yield
        with django_db_blocker.unblock():
            connections.close_all()


@pytest.fixture
def committed_db(django_db_setup: None, django_db_blocker: Any) -> Iterator[str]:
    """A database of the test's own: commits are real, threads and processes see them. Yields its name."""
    from django.db import connections

    before = connections["default"].settings_dict["NAME"]
    with databases.cloned_database() as name:
        with django_db_blocker.unblock():
            _point_at(name)
            yield name
            _point_at(before)


@pytest.fixture
def owner_sql(django_db_setup: None) -> Callable[..., list[tuple[Any, ...]]]:
    """owner_sql(statement, parameters) runs as the tables' owner, committed, on the test's database."""
    from django.db import connections

    def run(statement: str, parameters: object = None) -> list[tuple[Any, ...]]:
        return databases.owner_execute(connections["default"].settings_dict["NAME"], statement, parameters)

    return run


@pytest.fixture
def stand_at(owner_sql: Callable[..., Any]) -> Iterator[Callable[[datetime | None], None]]:
    """stand_at(instant) makes clearance_now() answer that instant; stand_at(None) lets time run again."""
    running = "SELECT clock_timestamp()"
    frozen = False

    def stand(instant: datetime | None) -> None:
        nonlocal frozen
        frozen = instant is not None
        body = running if instant is None else f"SELECT timestamptz '{instant.isoformat()}'"
        owner_sql(
            "CREATE OR REPLACE FUNCTION clearance_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE "
            f"AS $$ {body} $$"
        )

    yield stand
    if frozen:
        stand(None)


@pytest.fixture
def race() -> Callable[..., list[Any]]:
    """race(function, n) runs `function(i)` in n threads that start together; returns results or the exceptions."""
    from django.db import connections

    def run(function: Callable[[int], Any], n: int = 20) -> list[Any]:
        gate = threading.Barrier(n)

        def one(i: int) -> Any:
            try:
                connections["default"].ensure_connection()
                gate.wait(30)
                return function(i)
            except Exception as error:
                return error
            finally:
                connections.close_all()

        with ThreadPoolExecutor(n) as pool:
            return list(pool.map(one, range(n)))

    return run


@pytest.fixture(scope="session")
def stack() -> Iterator[Any]:
    """The whole product as real processes, with the demo's data; shared by a worker's tests."""
    from tests.support.stack import Stack

    with Stack.start() as running:
        yield running
