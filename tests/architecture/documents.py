"""Finds dead ends in the documents: links to files, headings and repository paths that do not exist.

    python -m tests.architecture.documents        prints each dead end and exits 1 when there is one

Links to other hosts are not followed: a check must give the same answer without a network.
"""

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent.parent
LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
# `access/services/token.py` in running text: a path of the repository, recognised by its first folder.
PATH = re.compile(r"^[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)+/?$")


def documents(root: Path) -> list[Path]:
    """Every Markdown file that git knows or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        capture_output=True,
        text=True,
        check=True,
        cwd=root,
    ).stdout.splitlines()
    return [root / name for name in sorted(set(listed)) if (root / name).exists()]


def anchors(text: str) -> set[str]:
    """The fragments that GitHub gives the headings of a document."""
    found: set[str] = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        plain = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        number, name = 0, plain
        while name in found:
            number += 1
            name = f"{plain}-{number}"
        found.add(name)
    return found


def dead_ends(document: Path, root: Path) -> list[str]:
    """One sentence for each link or path in `document` that leads nowhere."""
    text = document.read_text()
    prose = FENCE.sub("", text)
    problems = []
    for target in LINK.findall(CODE.sub("", prose)):
        if re.match(r"[a-z][a-z0-9+.-]*:", target, re.IGNORECASE):
            continue
        path, _, fragment = unquote(target).partition("#")
        file = document if not path else (root / path.lstrip("/") if path.startswith("/") else document.parent / path)
        if not file.exists():
            problems.append(f"links to {target}, which does not exist")
        elif fragment and file.suffix == ".md" and fragment not in anchors(file.read_text()):
            problems.append(f"links to {target}, but {file.name} has no such heading")
    tops = {entry.name for entry in root.iterdir() if entry.is_dir() and entry.name != "var"}
    problems.extend(
        f"names the path {code}, which does not exist"
        for code in CODE.findall(prose)
        if PATH.match(code) and code.split("/")[0] in tops and not (root / code).exists()
    )
    return [f"{document.relative_to(root)} {problem}." for problem in problems]


def main(root: Path = ROOT) -> int:
    problems = [problem for document in documents(root) for problem in dead_ends(document, root)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
