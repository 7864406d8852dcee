"""Fixtures of the API's tests: an organisation at work, and its agent over HTTP."""

from typing import Any

import pytest

from tests.support.world_fixtures import payments, world

__all__ = ["payments", "world"]


@pytest.fixture(autouse=True)
def no_worker_to_wait_for(request: pytest.FixtureRequest) -> None:
    """No worker runs in these tests unless one is started, so a request need not wait for its verdict."""
    request.getfixturevalue("settings").VERDICT_WAIT_SECONDS = 0


@pytest.fixture
def agent(world: Any) -> Any:
    """The world's agent over HTTP, acting for the asker."""
    from tests.api.client import AgentClient  # a conftest is imported before Django is set up

    return AgentClient(world.agent, on_behalf_of=world.asker.user_id)
