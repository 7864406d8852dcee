"""Two texts of a policy beside each other: line by line, and part by part in words (A8)."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from approvals.core.policy_document import Policy
from approvals.core.policy_words import Said, policy_said

type Change = Literal["same", "added", "removed", "changed"]

_LARGE = 1_000_000  # pairs of lines that are compared; where more differ, all between is told as one change


@dataclass(frozen=True, slots=True)
class Line:
    """One row of two texts side by side; a number is 0 and a text "" where that side has no such line."""

    change: Change
    left_number: int
    left: str
    right_number: int
    right: str


@dataclass(frozen=True, slots=True)
class Part:
    """One rule, freeze or limit on both sides, matched by its id; `moved` if it stands at another place among those
    that both have."""

    change: Change
    left: Said | None
    right: Said | None
    moved: bool = False

    @property
    def sides(self) -> tuple[Said | None, Said | None]:
        """Left and right."""
        return self.left, self.right


def compare_lines(left: str, right: str) -> list[Line]:
    """Both texts, row by row. The time is bounded whatever the texts are."""
    a, b = left.splitlines(), right.splitlines()
    rows: list[Line] = []
    for tag, a0, a1, b0, b1 in _codes(a, b):
        for at in range(max(a1 - a0, b1 - b0)):
            old, new = a0 + at < a1, b0 + at < b1
            change: Change = "same" if tag == "equal" else "changed" if old and new else "removed" if old else "added"
            rows.append(
                Line(
                    change,
                    a0 + at + 1 if old else 0,
                    a[a0 + at] if old else "",
                    b0 + at + 1 if new else 0,
                    b[b0 + at] if new else "",
                )
            )
    return rows


def around(rows: Sequence[Line], context: int = 3) -> list[Line | None]:
    """The rows that differ with some around them; None stands for rows that were left out."""
    near: set[int] = set()
    for at, row in enumerate(rows):
        if row.change != "same":
            near.update(range(max(0, at - context), min(len(rows), at + context + 1)))
    kept: list[Line | None] = []
    for at, row in enumerate(rows):
        if at in near:
            kept.append(row)
        elif not kept or kept[-1] is not None:
            kept.append(None)
    return kept


def compare_parts(left: Policy, right: Policy) -> list[Part]:
    """Both policies in words: in the order of the right one, what was removed behind what it stood behind."""
    old = {(said.part, said.id): said for said in policy_said(left)}
    new = {(said.part, said.id): said for said in policy_said(right)}
    kept_old = [key for key in old if key in new]
    kept_new = [key for key in new if key in old]
    matcher = difflib.SequenceMatcher(None, kept_old, kept_new, autojunk=False)
    still = {kept_new[block.b + at] for block in matcher.get_matching_blocks() for at in range(block.size)}
    removed: dict[tuple[str, str] | None, list[Part]] = {}
    behind: tuple[str, str] | None = None
    for key, said in old.items():
        if key in new:
            behind = key
        else:
            removed.setdefault(behind, []).append(Part("removed", said, None))
    parts = removed.get(None, [])
    for key, said in new.items():
        before = old.get(key)
        change: Change = "added" if before is None else "same" if before.text == said.text else "changed"
        parts.append(Part(change, before, said, moved=before is not None and key not in still))
        parts += removed.get(key, [])
    return parts


def _codes(a: list[str], b: list[str]) -> list[tuple[str, int, int, int, int]]:
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    middle_a, middle_b = a[start : len(a) - end], b[start : len(b) - end]
    codes = [("equal", 0, start, 0, start)]
    if len(middle_a) * len(middle_b) > _LARGE:
        codes.append(("replace", start, len(a) - end, start, len(b) - end))
    else:
        found = difflib.SequenceMatcher(None, middle_a, middle_b).get_opcodes()
        codes += [(tag, a0 + start, a1 + start, b0 + start, b1 + start) for tag, a0, a1, b0, b1 in found]
    codes.append(("equal", len(a) - end, len(a), len(b) - end, len(b)))
    return codes
