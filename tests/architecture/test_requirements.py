"""What an installation gets is enough: each requirement set runs its programs without what the next one adds.

The suite's own environment holds every set, so an import that only a development package satisfies would work here and
end the worker of every fresh installation (kombu's Redis transport and `packaging` did).
"""

import os
import re
import subprocess
import sys

import pytest

from tests.support.databases import ROOT

# Refuses every module that comes only from distributions outside the set, then imports what the programs import.
GUARD = """
import importlib.metadata as metadata, re, sys
from pathlib import Path

def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()

given = {plain(name) for name in re.findall(r"^([A-Za-z0-9_.-]+)==", Path(sys.argv[1]).read_text(), re.MULTILINE)}
refused = {
    module for module, names in metadata.packages_distributions().items() if not {plain(n) for n in names} & given
} - {"pip", "setuptools", "_virtualenv"}

class Without:
    # A finder that does not know the refused ones: libraries may still ask whether an optional one is there.

    def __init__(self, finder):
        self.finder = finder
        # Versions of installed packages are asked for by this name.
        self.find_distributions = getattr(finder, "find_distributions", lambda *_: ())

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in refused else self.finder.find_spec(name, path, target)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
import importlib
for module in sys.argv[2:]:
    importlib.import_module(module)
print("refused", len(refused))
"""
PROGRAMS = {
    "run": ["config.asgi", "config.celery", "celery.bin.worker", "kombu.transport.redis", "celery.concurrency.thread",
            "channels_redis.pubsub", "uvicorn.protocols.http.httptools_impl", "runs.tasks",
            "runs.management.commands.sweep", "access.management.commands.bootstrap", "config.api.urls", "config.urls"],
    "demo": ["config.stack.up", "config.stack.smoke", "config.stack.stripe_server", "config.stack.demo_agent"],
}  # fmt: skip


def imports(name: str, *modules: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", GUARD, f"requirements/{name}.txt", *modules],
        cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings.test"},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_set_is_enough_for_its_programs(name):
    done = imports(name, *PROGRAMS[name])
    assert done.returncode == 0, done.stderr[-2000:]
    assert re.fullmatch(r"refused [1-9]\d*", done.stdout.strip().splitlines()[-1])


def test_what_a_set_lacks_is_refused():
    assert "No module named 'pytest'" in imports("run", "pytest").stderr


def test_the_sets_carry_hashes_and_no_addresses():
    for path in (ROOT / "requirements").glob("*.txt"):
        text = path.read_text()
        pinned = re.findall(r"^[A-Za-z0-9_.-]+==\S+.*$", text, re.MULTILINE)
        assert len(pinned) > 20
        assert all(line.endswith("\\") for line in pinned), path.name
        assert not re.search(r"https?://|file:|--index|--find-links", text), path.name
