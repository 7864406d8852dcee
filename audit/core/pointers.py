"""JSON pointers (RFC 6901): writing one, reading one, following one. Wildcards are `audit.core.redact`'s business."""

from collections.abc import Mapping, Sequence
from functools import lru_cache


def pointer(path: Sequence[str | int]) -> str:
    """The pointer of a path of member names and indexes: `/items/0/a~1b`; "" for the whole document."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def split_pointer(text: str) -> list[str]:
    """The parts of a pointer, unescaped. Raises ValueError if `text` is no pointer."""
    return list(_parts(text))


@lru_cache(maxsize=2_048)
def _parts(text: str) -> tuple[str, ...]:
    # Contracts name the same few places for every call.
    if text == "":
        return ()
    if not text.startswith("/"):
        raise ValueError(f"a JSON pointer is empty or begins with /, not {text!r}")
    parts = text[1:].split("/")
    for part in parts:
        if "~" in part.replace("~0", "").replace("~1", ""):
            raise ValueError(f"in the JSON pointer {text!r} a ~ is not followed by 0 or 1")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)


def follow(value: object, text: str) -> object:
    """What the pointer names in `value`. Raises KeyError (with the pointer) if there is no such place."""
    place = value
    for part in split_pointer(text):
        if isinstance(place, Mapping) and part in place:
            place = place[part]
        elif isinstance(place, list) and is_index(part) and int(part) < len(place):
            place = place[int(part)]
        else:
            raise KeyError(text)
    return place


def is_index(part: str) -> bool:
    """True for the text of an array index: ASCII digits, no leading zero, few enough to be one."""
    return part.isascii() and part.isdigit() and len(part) <= 9 and (part == "0" or part[0] != "0")
