"""The sentence template of a contract: `Refund {amount} of {state.amount} to {state.customer}`.

A bare name is an argument, `state.x` a value of the state; `{{` and `}}` are braces. What the parts say is rendered by
`approvals.core.present`; admission reads the template with the same function.
"""

import re
from dataclasses import dataclass

_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*", re.ASCII)


class SentenceError(ValueError):
    """The template is malformed; the message is a sentence without its full stop."""


@dataclass(frozen=True, slots=True)
class Part:
    """Fixed `text`, or a value: `path` begins with "args" or "state"."""

    text: str
    path: tuple[str, ...] = ()


def parse_sentence(template: str) -> list[Part]:
    """The parts of a sentence template in order. Raises `SentenceError`."""
    parts: list[Part] = []
    fixed = ""
    start = 0
    for match in _PART.finditer(template):
        fixed += template[start : match.start()]
        start = match.end()
        if match.group() in ("{{", "}}"):
            fixed += match.group()[0]
            continue
        name = match.group(1)
        if name is None:
            raise SentenceError("A brace is not closed; a plain brace is written {{ or }}")
        if not _NAME.fullmatch(name):
            raise SentenceError(f"{{{name}}} is not the name of an argument or of a value of the state")
        if fixed:
            parts.append(Part(fixed))
            fixed = ""
        path = tuple(name.split("."))
        parts.append(Part("", path if path[0] in ("args", "state") and len(path) > 1 else ("args", *path)))
    fixed += template[start:]
    if fixed:
        parts.append(Part(fixed))
    return parts
