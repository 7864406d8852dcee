"""The pages for each role: what they name stands on a page, and their pictures are there and small."""

from pathlib import Path

import pytest

from access.core.names import ROLES
from tests.architecture.words_on_pages import ROOT, named, problems, texts

PAGES = ROOT / "docs" / "roles"
LONGEST = 2_000
"""Words of a page: ten minutes at an unhurried two hundred a minute."""
HEAVIEST = 1_500_000
"""Bytes of all pictures together: whoever clones the project carries them for good."""


def test_every_button_heading_and_label_that_a_role_page_names_stands_on_a_page() -> None:
    assert problems(ROOT) == []


def test_there_is_a_page_for_each_role_and_for_developers_of_agents_and_each_names_what_one_sees() -> None:
    found = {file.stem: file.read_text() for file in PAGES.glob("*.md")}
    assert set(found) == {*ROLES, "agent-developer"}
    assert [role for role in ROLES if len(named(found[role])) < 10] == []


def test_a_role_page_is_read_in_ten_minutes() -> None:
    assert {file.name for file in PAGES.glob("*.md") if len(file.read_text().split()) > LONGEST} == set()


def test_the_pictures_are_small_and_each_is_shown_somewhere() -> None:
    pictures = list((ROOT / "docs" / "images").glob("*.png"))
    shown = "".join(file.read_text() for file in (ROOT / "README.md", *PAGES.glob("*.md")))
    assert [picture.name for picture in pictures if f"images/{picture.name})" not in shown] == []
    assert sum(picture.stat().st_size for picture in pictures) < HEAVIEST


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ('<button class="x">Take it\n  back…</button>', "Take it back…"),
        ("<h2>{% if x %}What changes{% else %}What would have changed{% endif %}</h2>", "What changes"),
        ('<a href="{% url \'x\' %}" title="{{ a }}">Older</a>', "Older"),
        ("<p>Don&#x27;t &amp; do</p>", "Don't & do"),
    ],
)
def test_a_text_between_two_tags_is_found(tmp_path: Path, page: str, words: str) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "page.html").write_text(page)
    assert words in texts(tmp_path)


def test_a_name_that_is_only_part_of_a_sentence_or_stands_nowhere_is_told(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "docs" / "roles").mkdir(parents=True)
    (tmp_path / "templates" / "page.html").write_text("{% comment %}Vanish{% endcomment %}<p>Add a person or two.</p>")
    (tmp_path / "docs" / "roles" / "admin.md").write_text("Press **“Add”**, then **“Vanish”**. **Bold** is no name.")
    assert problems(tmp_path) == [
        "docs/roles/admin.md names “Add”, which stands on no page.",
        "docs/roles/admin.md names “Vanish”, which stands on no page.",
    ]
