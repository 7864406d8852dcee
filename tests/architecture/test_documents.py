"""The finder of dead ends, on documents made for it and on ours."""

import re
from pathlib import Path

import pytest

from tests.architecture.documents import ROOT, anchors, dead_ends, documents


@pytest.fixture
def page(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "other.md").write_text("# The life of one `call`\n\n## Twice\n\n## Twice\n")
    return tmp_path / "docs" / "page.md"


def test_no_document_of_ours_leads_nowhere() -> None:
    assert [problem for document in documents(ROOT) for problem in dead_ends(document, ROOT)] == []


def test_the_glossary_has_each_term_once_and_in_order() -> None:
    terms = re.findall(r"^\| \*\*([^*]+)\*\*", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)
    assert len(terms) > 80
    assert terms == sorted(set(terms), key=str.casefold)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[x](gone.md)", "links to gone.md, which does not exist"),
        ("![x](img/gone.png)", "links to img/gone.png, which does not exist"),
        ("[x](other.md#nothing)", "but other.md has no such heading"),
        ("[x](#nothing)", "but page.md has no such heading"),
        ("see `docs/gone.py`", "names the path docs/gone.py, which does not exist"),
    ],
)
def test_a_dead_end_is_found(page: Path, text: str, problem: str) -> None:
    page.write_text(f"# Page\n\n{text}\n")
    (found,) = dead_ends(page, page.parent.parent)
    assert problem in found


@pytest.mark.parametrize(
    "text",
    [
        "[x](other.md)",
        "[x](../docs/other.md#the-life-of-one-call)",
        "[x](/docs/other.md#twice-1)",
        "[x](#page)",
        "[x](https://example.test/gone)",
        "[x](mailto:a@example.test)",
        "see `docs/other.md`, `and/or`, `GET /api/v1/runs`",
        "```\n[x](gone.md) `docs/gone.py`\n```",
    ],
)
def test_what_leads_somewhere_or_is_no_link_is_left_alone(page: Path, text: str) -> None:
    page.write_text(f"# Page\n\n{text}\n")
    assert dead_ends(page, page.parent.parent) == []


def test_headings_get_the_fragments_that_github_gives_them() -> None:
    assert anchors("# Life, *in* full\n\n## 2. It's `run_open`\n\n```\n# no heading\n```\n") == {
        "life-in-full",
        "2-its-run_open",
    }
