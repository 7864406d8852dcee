"""Fixtures of the launcher's tests."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stack.support import short_folder


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path that another user may pass through: pytest's own folders are private and nearly too long."""
    path = short_folder()
    yield path
    shutil.rmtree(path, ignore_errors=True)
