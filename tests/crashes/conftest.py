from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.support.world_fixtures import payments, world

if TYPE_CHECKING:
    from tests.support.processes import Processes

__all__ = ["payments", "running", "world"]


@pytest.fixture
def running(world, tmp_path) -> "Iterator[Processes]":
    """Real processes on the world's database and a broker of the test's own."""
    from tests.support.processes import processes

    with processes(tmp_path) as made:
        yield made
