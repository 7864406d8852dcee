"""Reference tables: files of the installation that map an id of ours to one of the target (an order to its charge).

`<folder>/<tenant slug>/<table>.json` holds one JSON object, key to row. A tenant's adapter reads its own folder only:
slug and table are taken from a narrow alphabet and the opened file must lie where the name says.
"""

import re
from functools import lru_cache
from pathlib import Path
from typing import Final

from audit.core.jsondoor import Json, open_json_object
from audit.core.refusal import NotFound, Refusal, Unavailable

_TABLE: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_SLUG: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_LIMIT: Final = 32 * 1_048_576
_MEMBERS: Final = 2_000_000


def look_up_row(folder: Path, tenant_slug: str, table: str, key: str) -> dict[str, Json]:
    """The row of `key`. Raises NotFound (NOT_FOUND) for an unknown key, Unavailable (REFERENCE_UNAVAILABLE) when the
    table cannot be read. A changed file counts from the next call on."""
    if not _SLUG.fullmatch(tenant_slug) or not _TABLE.fullmatch(table):
        raise _unavailable(table, "its name is not one that is taken")
    home = folder.resolve() / tenant_slug
    path = home / f"{table}.json"
    try:
        if path.resolve() != path:
            raise _unavailable(table, "it is a link to another place")
        state = path.stat()
        rows = _rows(path, state.st_ino, state.st_size, state.st_mtime_ns)
    except OSError as error:
        raise _unavailable(table, (error.strerror or "it cannot be read").lower()) from None
    except Unavailable:
        raise
    except Refusal as refusal:
        raise _unavailable(table, f"it is not JSON that can be kept exactly, {refusal.code}") from None
    if key not in rows:
        raise NotFound(
            f"There is no {_singular(table)} {_shown(key)} here. Check the number.",
            detail={"table": table, "key": _shown(key)},
        )
    row = rows[key]
    if not isinstance(row, dict):
        raise _unavailable(table, "the row is not an object")
    return dict(row)


@lru_cache(maxsize=32)
def _rows(path: Path, _inode: int, _size: int, _changed_ns: int) -> dict[str, Json]:
    """Opening a table of a thousand rows takes longer than the whole request; inode, size and time tell it apart."""
    with path.open("rb") as file:
        raw = file.read(_LIMIT + 1)
    return open_json_object(raw, limit=_LIMIT, members=_MEMBERS)


def _unavailable(table: str, why: str) -> Unavailable:
    return Unavailable(
        f"The reference table “{table}” cannot be used: {why}. Nothing was started; tell whoever runs this server.",
        code="REFERENCE_UNAVAILABLE",
    )


def _singular(table: str) -> str:
    return table.removesuffix("s").replace("_", " ").replace("-", " ")


def _shown(key: str) -> str:
    return key if len(key) <= 64 else key[:64] + "…"
