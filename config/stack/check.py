"""`make check`: everything that can be known without running the tests. All steps run, then the failures are shown.

python -m config.stack.check [STEP…]
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from config.stack import process as tools
from config.stack.children import Stopped, ignore_signals, stop_on_signals
from config.stack.environment import KEPT, ROOT, Layout, compose
from config.stack.process import StackError, say
from config.stack.secrets import ensure_secrets
from config.stack.servers import start_postgres, start_valkey

IMPORTS = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
# Name → arguments of Python. Fast ones first.
STEPS: dict[str, list[str]] = {
    "style": ["-m", "ruff", "check", "."],
    "format": ["-m", "ruff", "format", "--check", "."],
    "links": ["-m", "tests.architecture.documents"],
    "templates": ["-m", "tests.architecture.templates"],
    "settings": ["manage.py", "check"],
    "migrations": ["manage.py", "makemigrations", "--check", "--dry-run"],
    "imports": ["-c", IMPORTS],
    "types": ["-m", "mypy", "."],
}


def main(chosen: list[str]) -> int:
    unknown = [name for name in chosen if name not in STEPS]
    if unknown:
        say(f"There is no step {unknown[0]!r}. Steps: {', '.join(STEPS)}.")
        return 2
    stop_on_signals()
    try:
        # Short and outside var/: a socket's path is short, and a killed check leaves nothing in the checkout.
        with tempfile.TemporaryDirectory(prefix="clr-check-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            folder.chmod(0o711)
            return check(folder, chosen or list(STEPS))
    except StackError as error:
        say(str(error))
        return 1
    except Stopped:
        return 130
    finally:
        ignore_signals()
        tools.kill_all()


def check(folder: Path, names: list[str]) -> int:
    """Runs the steps; the settings get real, empty servers. Answers 1 when a step failed."""
    postgres = start_postgres(folder / "postgres", durable=False)
    valkey = start_valkey(folder / "valkey")
    environment = compose(
        layout=Layout(folder),
        secrets=ensure_secrets(folder / "secrets"),
        database=(postgres.app_url, postgres.owner_url),
        redis=valkey.url,
        port=8000,
        payments_url="http://127.0.0.1:1",
        settings="config.settings.test",
        caller={name: value for name, value in os.environ.items() if name in KEPT},
    )
    try:
        failed = [name for name in names if not _passes(name, environment)]
    finally:
        valkey.stop()
        postgres.stop()
    print(f"failed: {', '.join(failed)}" if failed else f"all {len(names)} checks pass")
    return 1 if failed else 0


def _passes(name: str, environment: dict[str, str]) -> bool:
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, *STEPS[name]], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    passed = done.returncode == 0
    print(f"{'ok    ' if passed else 'FAILED'}  {name} ({time.monotonic() - started:.1f} s)", flush=True)
    if not passed:
        print((done.stdout + done.stderr).strip(), flush=True)
    return passed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
