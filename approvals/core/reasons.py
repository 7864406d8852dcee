"""A reason that a person types: one that says something, and that can be stored and shown."""

from audit.core.refusal import Invalid
from audit.core.visible import visible

LONGEST = 2_000
"""Characters."""


def reason_of(text: str, *, required: bool) -> str:
    """`text` without spaces around it. Raises `Invalid`: REASON_REQUIRED (nothing that can be seen, S12),
    REASON_TOO_LONG, REASON_INVALID (NUL or half a character, which no database keeps)."""
    reason = text.strip()
    if any(char == "\0" or "\ud800" <= char <= "\udfff" for char in reason):
        raise Invalid("The reason holds characters that cannot be kept. Type it again.", code="REASON_INVALID")
    if len(reason) > LONGEST:
        raise Invalid(f"The reason has {len(reason):,} characters; at most {LONGEST:,}.", code="REASON_TOO_LONG")
    if required and not _says_something(reason):
        raise Invalid(
            "Say why: a reason is needed, and the agent is told it.", code="REASON_REQUIRED", missing=["reason"]
        )
    return reason


def words_of(text: str, *, what: str) -> str:
    """`text` without spaces around it, for a question or an answer: `what` says which. Raises `Invalid` like
    `reason_of`, with codes such as QUESTION_REQUIRED."""
    said = text.strip()
    code = what.upper()
    if any(char == "\0" or "\ud800" <= char <= "\udfff" for char in said):
        raise Invalid(f"The {what} holds characters that cannot be kept. Type it again.", code=f"{code}_INVALID")
    if len(said) > LONGEST:
        raise Invalid(f"The {what} has {len(said):,} characters; at most {LONGEST:,}.", code=f"{code}_TOO_LONG")
    if not _says_something(said):
        raise Invalid(f"Write the {what} first.", code=f"{code}_REQUIRED", missing=[what])
    return said


def _says_something(text: str) -> bool:
    return any(piece.kind != "escape" and piece.text.strip() for piece in visible(text))
