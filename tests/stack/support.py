"""What the launcher's tests share: short folders, clean environments, and a look at which processes are left."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent.parent


def clean_environment(**more: str) -> dict[str, str]:
    """Like a newcomer's terminal: none of the addresses that the test session has set."""
    return {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ} | more


def short_folder() -> Path:
    """A new folder that the database's user may pass through, with room in its path for a socket."""
    path = Path(tempfile.mkdtemp(prefix="clr-t-", dir="/tmp"))
    path.chmod(0o711)
    return path


def start_launcher(folder: Path, *before: str) -> tuple[subprocess.Popen[str], dict[str, int]]:
    """Starts tests/stack/launcher.py and answers it with the pids of its children."""
    process = subprocess.Popen(
        [*before, sys.executable, "-m", "tests.stack.launcher", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=clean_environment(),
        start_new_session=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise AssertionError(process.communicate()[1])
    return process, json.loads(line)


def alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and waits for its parent does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def all_gone(pids: list[int], seconds: float = 20.0) -> bool:
    return eventually(lambda: not any(alive(pid) for pid in pids), seconds)


def eventually(true: Callable[[], bool], seconds: float = 20.0) -> bool:
    until = time.monotonic() + seconds
    while not true():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def mode(path: Path) -> str:
    return oct(path.stat().st_mode & 0o777)
