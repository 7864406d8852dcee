"""A backup taken with pg_dump at a chosen moment, and restored into a new database that the test then goes on in."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support import backups
from tests.support.world_fixtures import payments, world

__all__ = ["payments", "world"]


class Backup:
    """One backup of the test's database, and the restore of it elsewhere."""

    def __init__(self, file: Path, stack: contextlib.ExitStack) -> None:
        self.file = file
        self._stack = stack

    def take(self) -> None:
        from django.db import connections

        backups.dump(connections["default"].settings_dict["NAME"], self.file)

    def restore(self) -> str:
        """Into a new database, which every connection of this test uses from now on. Nothing is started on it."""
        from tests.conftest import _point_at

        name = self._stack.enter_context(backups.empty_database())
        backups.restore(self.file, name)
        _point_at(name)
        return name


@pytest.fixture
def backup(committed_db: str, tmp_path: Path) -> Iterator[Backup]:
    from tests.conftest import _point_at

    with contextlib.ExitStack() as stack:
        yield Backup(tmp_path / "backup.dump", stack)
        _point_at(committed_db)


@pytest.fixture
def settled_within() -> Callable[..., object]:
    """settled_within(world, call): a worker's turns until the call has ended, or until `until` holds of it."""

    def run(world, call, *, until=lambda found: found.final, seconds: float = 30.0):  # type: ignore[no-untyped-def]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            world.work(call)
            found = world.look(call)
            if until(found):
                return found
            time.sleep(0.05)
        raise AssertionError(f"{call.call_id} is {world.look(call).state}: {world.look(call).answer}")

    return run
