"""The page and the document say the same about what still works."""

from pathlib import Path

from config.health.words import MEANINGS

DOCUMENT = Path(__file__).parents[2] / "docs" / "operations.md"


def test_the_table_of_the_document_is_the_one_that_the_page_shows() -> None:
    text = DOCUMENT.read_text()
    for meaning in MEANINGS.values():
        assert f"| {meaning.down} | {meaning.works} | {meaning.lost} |" in text
