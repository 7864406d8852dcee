"""docs/boundaries.md's table of failures says what the code says, codes, sentences, tests, and leaves none out (B6)."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "boundaries.md"
SECTION = "## How each way of failing is told"
NOT_BUILT = "Not built yet"
APPS = ("audit", "access", "approvals", "runs", "config")
CODE = re.compile(r"[A-Z][A-Z]+(_[A-Z]+)*")

# Where a call passes on its way from the door to its outcome.
ON_THE_WAY = (
    "runs/boundaries",
    "runs/tools",
    "runs/services/work.py",
    "runs/services/dispatch.py",
    "runs/services/sending.py",
    "runs/services/refusing.py",
    "runs/services/evaluate.py",
    "runs/services/exhausted.py",
    "runs/services/reconcile.py",
    "runs/services/lost.py",
    "runs/services/lost_time.py",
    "runs/services/restore.py",
    "runs/services/resolution.py",
    "runs/services/outcome.py",
    "approvals/services/permit.py",
    "approvals/services/revoking.py",
    "approvals/services/settling.py",
    "approvals/services/epoch.py",
    "approvals/services/judge.py",
    "approvals/services/decision.py",
    "approvals/store",
    "approvals/core/digest.py",
    "approvals/core/arguments.py",
    "approvals/core/template.py",
    "access/services/credentials.py",
    "access/store/cipher.py",
    "access/store/keys.py",
)
# What a person typed into a form of ours, or an admin into a contract: told beside the field; nothing was to happen.
FORMS = {"VERDICT_UNKNOWN", "SECRET_INVALID", "NAME_INVALID", "NOT_CANONICAL", "REASON_REQUIRED"}


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    where: str
    fails: str
    codes: tuple[str, ...]
    said: str
    step: str
    tests: tuple[str, ...]


def rows() -> list[Row]:
    section = DOCUMENT.read_text().partition(SECTION)[2].partition("\n## ")[0]
    found = []
    for line in section.splitlines():
        if not line.startswith("|") or line.startswith(("| ---", "| Where")):
            continue
        where, fails, codes, said, step, test = (cell.strip() for cell in line.strip("|").split("|"))
        ticked = re.findall(r"`([^`]+)`", codes)
        found.append(Row(where, fails, tuple(ticked), said, step, tuple(re.findall(r"`(tests/[^`]+)`", test))))
    return found


ROWS = rows()
BUILT = [row for row in ROWS if row.tests]


def trees() -> list[tuple[Path, ast.Module]]:
    paths = [path for app in APPS for path in sorted((ROOT / app).rglob("*.py")) if "migrations" not in path.parts]
    return [(path, ast.parse(path.read_text())) for path in paths]


@pytest.fixture(scope="module")
def texts() -> set[str]:
    """Every piece of text in the code: whole strings, and the parts of filled ones between what is filled in."""
    return {
        node.value
        for _, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_there_is_a_table() -> None:
    assert len(ROWS) > 40


@pytest.mark.parametrize("row", BUILT, ids=lambda row: row.fails[:60])
def test_each_code_of_a_row_is_one_of_the_codes(row: Row, texts: set[str]) -> None:
    # A policy's own codes are written small where they are stored, and told in capitals; a contract's are its own.
    contracts = ROOT / "config" / "demo_data" / "contracts"
    documents = "".join(path.read_text() for path in sorted(contracts.glob("*.json")))
    for code in row.codes:
        assert code in texts or code.lower() in texts or code in documents, code


@pytest.mark.parametrize("row", BUILT, ids=lambda row: row.fails[:60])
def test_each_sentence_of_a_row_is_said_by_the_code(row: Row, texts: set[str]) -> None:
    if row.said.startswith("("):
        pytest.skip("made by the contract, the target or another table")
    pieces = [piece.strip() for piece in row.said.split("…") if len(piece.strip()) > 3]
    assert pieces
    for piece in pieces:
        assert any(piece in text for text in texts), piece


@pytest.mark.parametrize("row", BUILT, ids=lambda row: row.fails[:60])
def test_each_row_names_a_test_that_exists(row: Row) -> None:
    assert row.step
    for name in row.tests:
        path, _, function = name.partition("::")
        tree = ast.parse((ROOT / path).read_text())
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name


def test_a_row_without_a_test_is_of_something_that_is_not_built_and_says_so() -> None:
    assert [row.fails for row in ROWS if not row.tests and not row.step.startswith(NOT_BUILT)] == []


def codes_raised(path: Path) -> set[str]:
    """The codes given as `code=…` in a file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        for keyword in node.keywords:
            if keyword.arg == "code":
                words = [each.value for each in ast.walk(keyword.value) if isinstance(each, ast.Constant)]
                found |= {word for word in words if isinstance(word, str) and CODE.fullmatch(word)}
    return found


@pytest.mark.parametrize("place", ON_THE_WAY)
def test_no_code_on_the_way_of_a_call_is_missing_in_the_document(place: str) -> None:
    path = ROOT / place
    assert path.exists(), f"{place} is not there any more"
    files = [path] if path.is_file() else sorted(path.rglob("*.py"))
    told = set(re.findall(r"`([A-Z_]+)`", DOCUMENT.read_text()))
    assert {code for file in files for code in codes_raised(file)} - told - FORMS == set()
