"""What the pages for each role name in bold quotes, **“Reject”**, must stand on a page of the product as it is written.

    python -m tests.architecture.words_on_pages        prints what stands nowhere and exits 1 when there is something

A button, heading or label is a whole text between two tags of a template, or a whole string of the code that makes the
words of pages. What only stands inside a longer sentence does not count: "Add" would be found everywhere.
"""

import ast
import html
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
NAMED = re.compile(r"\*\*“([^”]+)”\*\*")
LEFT_OUT = re.compile(r"\{% comment %\}.*?\{% endcomment %\}|\{#.*?#\}", re.DOTALL)
JS_STRING = re.compile(r"\"([^\"\n]+)\"|`([^`\n]+)`")
CODE = ("*/web/*.py", "*/core/*.py", "*/selectors/*.py", "config/navigation.py", "config/health/*.py")


def named(text: str) -> list[str]:
    """What a document names in bold quotes, in its order."""
    return [" ".join(words.split()) for words in NAMED.findall(text)]


def texts(root: Path) -> set[str]:
    """Every text that a page can show as a whole."""
    return {" ".join(html.unescape(text).split()) for text in _all(root)}


def _all(root: Path) -> Iterator[str]:
    for file in (root / "templates").rglob("*.html"):
        # An attribute such as {{ a > b }} would end a tag too early: what Django writes goes first.
        shown = re.sub(r"\{%.*?%\}|\{\{.*?\}\}", "\0", LEFT_OUT.sub("", file.read_text()), flags=re.DOTALL)
        yield from re.split(r"<[^>]*>|\0", shown)
    for file in (root / "static" / "js").glob("*.js"):
        yield from (one or other for one, other in JS_STRING.findall(file.read_text()))
    for pattern in CODE:
        for file in root.glob(pattern):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


def problems(root: Path) -> list[str]:
    """One sentence for each name in docs/roles that stands on no page."""
    known = texts(root)
    return [
        f"{file.relative_to(root)} names “{words}”, which stands on no page."
        for file in sorted((root / "docs" / "roles").glob("*.md"))
        for words in named(file.read_text())
        if words not in known
    ]


def main() -> int:
    found = problems(ROOT)
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
