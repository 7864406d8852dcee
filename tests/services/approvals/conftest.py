"""A tenant in which calls are held. Imported before Django is set up, so the imports stand inside."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.approvals import World


@pytest.fixture
def acme(db: None) -> "World":
    """In the test's own transaction."""
    from tests.support.approvals import world

    return world()


@pytest.fixture
def acme_committed(committed_db: str) -> "World":
    """In a database of its own, with real commits; for edits by the owner and for the clock."""
    from tests.support.approvals import world

    return world()
