"""Filling `${args.x}` placeholders. A dotted look-up and nothing else: what is filled in is never read again.

`${args.note?}` may be absent: as a whole member or item it is then left out. `$${` is a plain `${`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from audit.core.canonical import canonical_bytes
from audit.core.jsondoor import Json
from audit.core.refusal import Invalid

_PLACE = re.compile(r"\$\$\{|\$\{([^{}$]*)\}|\$\{")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_-]+)*\??", re.ASCII)
_PLAIN_IN_URLS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


@dataclass(frozen=True, slots=True)
class Placeholder:
    """One `${…}`: the dotted name as parts, and whether it may be absent."""

    path: tuple[str, ...]
    optional: bool

    @property
    def name(self) -> str:
        return ".".join(self.path)


class _Absent:
    """What an optional placeholder gives when its name is absent."""


_ABSENT = _Absent()


def placeholders(template: Json) -> list[Placeholder]:
    """Every placeholder in a template, in order. Raises ValueError with a sentence for one that is malformed."""
    return [place for text in _texts(template) for place in _placeholders(text)]


def render(template: Any, names: Mapping[str, Any]) -> Any:
    """`template` with its placeholders filled from `names`.

    A text that is one whole placeholder keeps the value's JSON type; inside other text a value must be a text, a
    number, true or false. Raises `Invalid` (TEMPLATE_NAME_MISSING, TEMPLATE_VALUE) naming the placeholder.
    """
    value = _render(template, names)
    if isinstance(value, _Absent):
        raise _missing(placeholders(template)[0])
    return value


def render_text(template: str, names: Mapping[str, Any]) -> str:
    """A text template as text, whatever the type of a value that fills it alone. Raises like `render`."""
    return _fill(template, names, _as_text)


def render_path(template: str, names: Mapping[str, Any]) -> str:
    """A URL path: every value percent-encoded, so that it stays inside its own segment.

    Raises like `render`, and TEMPLATE_VALUE for an empty value, `.` or `..`, which would name another place.
    """
    return _fill(template, names, _as_segment)


def _texts(template: Json) -> Iterator[str]:
    if isinstance(template, str):
        yield template
    elif isinstance(template, list):
        for item in template:
            yield from _texts(item)
    elif isinstance(template, dict):
        for item in template.values():
            yield from _texts(item)


def _placeholders(text: str) -> Iterator[Placeholder]:
    for match in _PLACE.finditer(text):
        if match.group() == "$${":
            continue
        name = match.group(1)
        if name is None:
            raise ValueError("a ${ is not closed by }; a plain ${ is written $${")
        if not _NAME.fullmatch(name):
            raise ValueError(f"${{{name}}} is not a dotted name")
        yield Placeholder(tuple(name.rstrip("?").split(".")), name.endswith("?"))


def _render(template: Json, names: Mapping[str, Any]) -> Json | _Absent:
    if isinstance(template, str):
        whole = _PLACE.fullmatch(template)
        if whole is not None and whole.group(1) is not None:
            return _look_up(next(_placeholders(template)), names)
        return _fill(template, names, _as_text)
    if isinstance(template, list):
        items = (_render(item, names) for item in template)
        return [item for item in items if not isinstance(item, _Absent)]
    if isinstance(template, dict):
        members = ((key, _render(item, names)) for key, item in template.items())
        return {key: item for key, item in members if not isinstance(item, _Absent)}
    return template


def _fill(template: str, names: Mapping[str, Any], write: Callable[[Placeholder, Json], str]) -> str:
    def one(match: re.Match[str]) -> str:
        if match.group() == "$${":
            return "${"
        place = next(_placeholders(match.group()))
        value = _look_up(place, names)
        return "" if isinstance(value, _Absent) else write(place, value)

    return _PLACE.sub(one, template)


def _look_up(place: Placeholder, names: Mapping[str, Any]) -> Json | _Absent:
    value: object = names
    for part in place.path:
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and len(part) < 6 and int(part) < len(value):
            value = value[int(part)]
        elif place.optional:
            return _ABSENT
        else:
            raise _missing(place)
    return value  # type: ignore[return-value]


def _as_text(place: Placeholder, value: Json) -> str:
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, list | dict):
        kind = "null" if value is None else "a list" if isinstance(value, list) else "an object"
        raise Invalid(
            f"${{{place.name}}} is {kind}, which cannot stand inside a text. The tool's contract must use it alone.",
            code="TEMPLATE_VALUE",
            detail={"name": place.name},
        )
    return canonical_bytes(value).decode()


def _as_segment(place: Placeholder, value: Json) -> str:
    text = _as_text(place, value)
    if text in ("", ".", ".."):
        raise Invalid(
            f'${{{place.name}}} is "{text}", which would name another address. Send a real id.',
            code="TEMPLATE_VALUE",
            detail={"name": place.name},
        )
    return "".join(chr(byte) if byte in _PLAIN_IN_URLS else f"%{byte:02X}" for byte in text.encode())


def _missing(place: Placeholder) -> Invalid:
    return Invalid(
        f"${{{place.name}}} is not there. Give it, or correct the tool's contract.",
        code="TEMPLATE_NAME_MISSING",
        missing=[place.name],
        detail={"name": place.name},
    )
