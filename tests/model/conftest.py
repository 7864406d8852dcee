"""What the histories that are led through the services one by one begin with."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.model.driving import Stage


@pytest.fixture
def stage(committed_db: str, owner_sql: Any) -> "Iterator[Stage]":
    """A tenant in a database whose clock is this session's; what a test does is one transaction."""
    # Not above: this file is read before Django is set up.
    from django.db import connection, transaction

    from audit.store import clock
    from tests.model.book import Book
    from tests.model.driving import SESSION_CLOCK, Stage
    from tests.support.target import Target

    owner_sql(SESSION_CLOCK)
    target = Book()
    with Target(target) as server:
        stage = Stage.build(target, server.host)
        with transaction.atomic():
            stage.stand_at(clock.now())
            yield stage
            transaction.set_rollback(True)
    connection.close()
