"""Fixtures of a tenant at work. Imported by conftests, which are read before Django is set up."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.support.stripe import LocalStripe

if TYPE_CHECKING:
    from tests.support.world import World

__all__ = ["payments", "world"]


@pytest.fixture(scope="session")
def payments(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStripe]:
    """A real payment server that ignores idempotency keys, so that a doubled refund shows."""
    with LocalStripe(tmp_path_factory.mktemp("payments")) as server:
        yield server


@pytest.fixture
def world(committed_db: str, payments: LocalStripe) -> "World":
    """A tenant at work, in a database of the test's own."""
    from tests.support.world import World

    return World(payments)
