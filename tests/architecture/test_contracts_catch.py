"""A contract that has never been seen to catch anything proves nothing: each is shown a planted violation."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PLANTED = [
    ("Apps point one way", "audit/core/planted.py", "import approvals.core\n"),
    ("Floors inside every app", "approvals/selectors/planted.py", "import approvals.services\n"),
    ("Floors inside every app", "access/attic.py", "A_FLOOR_THAT_NO_LAYER_NAMES = True\n"),
    ("core is pure", "runs/core/planted.py", "import random\n"),
    ("core is pure", "approvals/core/planted.py", "from django.utils import html\n"),
    ("Tools are adapters only", "runs/tools/planted.py", "import access.models\n"),
    ("The four boundaries know nothing of each other", "runs/boundaries/gateway.py", "import runs.boundaries.direct\n"),
    ("The four boundaries know nothing of each other", "runs/boundaries/backend.py", "import runs.boundaries.direct\n"),
    ("Only runs/services/dispatch.py calls a boundary", "runs/receivers.py", "import runs.boundaries.direct\n"),
    ("Only runs/services/dispatch.py calls a boundary", "runs/services/sending.py", "import runs.boundaries.direct\n"),
    ("Apps point one way", "access/services/planted.py", "import config.env\n"),
    ("Apps point one way", "approvals/receivers.py", "import runs.signals\n"),
    ("Only runs' own", "runs/web/planted.py", "import runs.models\n"),
    ("Only approvals' own", "runs/services/planted.py", "import approvals.models\n"),
    ("Only access' own", "approvals/selectors/planted.py", "import access.models\n"),
    ("Only audit's own", "access/services/planted.py", "import audit.models\n"),
]


def broken_contracts(tree: Path) -> set[str]:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-logo", "--no-cache"],
        cwd=tree,
        capture_output=True,
        text=True,
    )
    return set(re.findall(r"^(.*) BROKEN$", done.stdout, re.MULTILINE))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("planted")
    for name in ("config", "runs", "approvals", "access", "audit"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


def test_the_tree_as_it_stands_breaks_none(tree):
    assert broken_contracts(tree) == set()


@pytest.mark.parametrize(("contract", "file", "line"), PLANTED)
def test_a_planted_violation_is_caught(tree, contract, file, line):
    planted = tree / file
    before = planted.read_text() if planted.exists() else None
    planted.write_text((before or "") + "\n" + line)
    try:
        assert any(name.startswith(contract) for name in broken_contracts(tree))
    finally:
        if before is None:
            planted.unlink()
        else:
            planted.write_text(before)
