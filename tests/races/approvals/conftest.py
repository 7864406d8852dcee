"""A tenant in a database of its own: races commit. Imported before Django is set up, so the import stands inside."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.approvals import World


@pytest.fixture
def acme(committed_db: str) -> "World":
    """Real commits, seen by every thread."""
    from tests.support.approvals import world

    return world()
