"""What differs between two JSON Schemas of a contract, keyword by keyword: does the new one accept more? (R10)"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from audit.core.canonical import canonical_bytes
from audit.core.jsondoor import Json
from audit.core.pointers import pointer

type _Found = tuple[str, str, Literal["looser", "stricter", "other"], Json, Json]

# Keywords that only bound a value: a larger number, or none at all, accepts more.
_CEILINGS = {
    "maximum": "a larger value is accepted",
    "exclusiveMaximum": "a larger value is accepted",
    "maxLength": "longer text is accepted",
    "maxItems": "more items are accepted",
    "maxProperties": "more members are accepted",
    "maxContains": "more is accepted",
}
_FLOORS = {
    "minimum": "a smaller value is accepted",
    "exclusiveMinimum": "a smaller value is accepted",
    "minLength": "shorter text is accepted",
    "minItems": "fewer items are accepted",
    "minProperties": "fewer members are accepted",
    "minContains": "less is accepted",
}
# Keywords that refuse something: without them more is accepted; another one is to be read.
_FENCES = {
    "pattern": "any text is accepted",
    "format": "any text is accepted",
    "const": "other values are accepted",
    "multipleOf": "values in between are accepted",
    "uniqueItems": "items may repeat",
    "not": "what was excluded is accepted",
    "type": "values of any type are accepted",
}
_SPOKEN = ("title", "description", "$comment", "examples")


def schema_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[_Found]:
    """(place as a pointer into the values, what it means, direction, old, new) of every difference."""
    yield from _schema([], dict(old), dict(new))


def _schema(path: list[str | int], old: dict[str, Json], new: dict[str, Json]) -> Iterator[_Found]:
    place = pointer(path)
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name), new.get(name)
        if canonical_bytes(before) == canonical_bytes(after):
            continue
        if name == "properties":
            yield from _properties(path, _object(before), _object(after))
        elif name == "items" and isinstance(before, dict) and isinstance(after, dict):
            yield from _schema([*path, "*"], before, after)
        elif name == "required":
            yield from _required(path, before, after)
        elif name == "enum":
            yield from _enum(place, before, after)
        elif name in _CEILINGS:
            yield _bound(place, name, _CEILINGS[name], before, after, up=True)
        elif name in _FLOORS:
            yield _bound(place, name, _FLOORS[name], before, after, up=False)
        elif name in _FENCES:
            yield _fence(place, name, before, after)
        elif name == "additionalProperties":
            loose = after is not False
            text = "unknown fields are accepted" if loose else "unknown fields are refused"
            yield place, text, "looser" if loose else "stricter", before, after
        elif name == "default":
            yield place, "left out, it now means something else", "other", before, after
        elif name in _SPOKEN:
            yield place, f"the {name} reads differently", "other", before, after
        else:
            yield place, f"{name} reads differently: compare both", "other", before, after


def _properties(path: list[str | int], old: dict[str, Json], new: dict[str, Json]) -> Iterator[_Found]:
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name), new.get(name)
        if name not in old:
            yield pointer([*path, name]), "a new field is accepted", "looser", None, after
        elif name not in new:
            yield pointer([*path, name]), "no longer accepted", "stricter", before, None
        elif isinstance(before, dict) and isinstance(after, dict):
            yield from _schema([*path, name], before, after)
        elif canonical_bytes(before) != canonical_bytes(after):
            yield pointer([*path, name]), "reads differently: compare both", "other", before, after


def _required(path: list[str | int], old: Json, new: Json) -> Iterator[_Found]:
    before, after = (value if isinstance(value, list) else [] for value in (old, new))
    for name in before:
        if name not in after:
            yield pointer([*path, str(name)]), "may be left out now", "looser", "required", None
    for name in after:
        if name not in before:
            yield pointer([*path, str(name)]), "must be given now", "stricter", None, "required"


def _enum(place: str, old: Json, new: Json) -> Iterator[_Found]:
    if not isinstance(old, list) or not isinstance(new, list):
        loose = not isinstance(new, list)
        text = "any value is accepted" if loose else "only these values are accepted"
        yield place, text, "looser" if loose else "stricter", old, new
        return
    for value in new:
        if value not in old:
            yield place, "one more value is accepted", "looser", None, value
    for value in old:
        if value not in new:
            yield place, "a value is no longer accepted", "stricter", value, None


def _bound(place: str, name: str, why: str, old: Json, new: Json, *, up: bool) -> _Found:
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (old, new))
    loose = new is None or (numbers and (new > old) == up)  # type: ignore[operator]
    if not numbers and old is not None and new is not None:
        return place, f"{name} reads differently: compare both", "other", old, new
    return place, why if loose else f"{name} is stricter", "looser" if loose else "stricter", old, new


def _fence(place: str, name: str, old: Json, new: Json) -> _Found:
    if new is None or (name == "uniqueItems" and new is False):
        return place, _FENCES[name], "looser", old, new
    if name == "type":
        before, after = (set(value) if isinstance(value, list) else {value} for value in (old, new))
        if old is not None and after > before:
            return place, "values of another type are accepted too", "looser", old, new
    if old is None:
        return place, f"{name} is asked for", "stricter", old, new
    return place, f"{name} reads differently: compare both", "other", old, new


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}
