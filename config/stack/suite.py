"""`make test`: the whole suite in three processes, browser tests included where there is a browser.

    python -m config.stack.suite [pytest arguments…]

Becomes pytest, so that a signal reaches it directly; the session's servers end with it (see child.py).
"""

import os
import sys

from config.stack.browser import VARIABLE, ensure
from config.stack.environment import ROOT

# What a test session sets itself. From a shell that read var/secrets/environment they would point at real data.
OURS = ("DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE")

# By file: what starts the whole product does so once a file, in one of the processes. In the order of
# tests/conftest.py, which begins with the long ones; xdist's own begins with the files of many tests.
# Three on two cores: many tests wait, for a lease, a page or the disk.
PARALLEL = ["-n", "3", "--dist", "loadfile", "--no-loadscope-reorder"]


def main(arguments: list[str]) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in OURS}
    if browser := ensure(environment):
        environment[VARIABLE] = str(browser)
    command = [sys.executable, "-m", "pytest", *(arguments or PARALLEL)]
    os.chdir(ROOT)
    os.execve(sys.executable, command, environment)  # noqa: S606 - no shell is the point


if __name__ == "__main__":
    main(sys.argv[1:])
