"""The template check, on templates made for it and on ours."""

from pathlib import Path

import pytest

from tests.architecture.templates import ROOT, problems


def test_every_template_of_ours_compiles() -> None:
    assert problems(ROOT / "templates") == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{% nosuchtag %}", "Invalid block tag"),
        ("{% if a %}never closed", "Unclosed tag"),
        ("{{ a|nosuchfilter }}", "Invalid filter"),
        ("{% extends 'gone.html' %}", "names the template gone.html, which does not exist"),
        ("{% block a %}{% include 'gone.html' %}{% endblock %}", "names the template gone.html"),
    ],
)
def test_a_broken_template_is_found(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "page.html").write_text(text)
    (found,) = problems(tmp_path)
    assert found.startswith("page.html: ")
    assert problem in found


def test_a_template_chosen_at_run_time_is_no_problem(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("{% include which %}")
    assert problems(tmp_path) == []
