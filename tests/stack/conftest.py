"""Fixtures of the launcher's tests."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path that another user may pass through: pytest's own folders are private and nearly too long."""
    path = Path(tempfile.mkdtemp(prefix="clr-t-", dir="/tmp"))
    path.chmod(0o711)
    yield path
    shutil.rmtree(path, ignore_errors=True)
