"""The text of a policy as it is kept, and what differs between two of them."""

import difflib

from approvals.core.policy_document import MAX_BYTES
from audit.core.refusal import Invalid, TooLarge

LONGEST_DIFF = 400  # lines


def draft_text(source: str) -> str:
    """A text as it is kept: with plain line ends, as a file has them, so that file and browser give the same version.

    Raises TooLarge over 1 MiB and Invalid (TEXT_INVALID) for what the database cannot keep.
    """
    text = source.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise Invalid(f"Line {line} holds the character NUL. Remove it; nothing was saved.", code="TEXT_INVALID")
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise TooLarge(f"The policy has {size:,} bytes; at most {MAX_BYTES:,}. Shorten it; nothing was saved.")
    return text


def difference(before: str, after: str, name: str, other: str) -> list[str]:
    """The lines that differ, at most LONGEST_DIFF of them; `name` and `other` head the two sides."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name, other, lineterm="")
    return list(lines)[:LONGEST_DIFF]
