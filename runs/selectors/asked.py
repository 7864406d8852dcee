"""What the addresses of the run pages ask for. The sockets' hellos say the same in the same words."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from runs.selectors.runs import RunFilter
from runs.selectors.timeline import Narrowed

LONGEST = 200


def text_of(given: Mapping[str, Any], name: str) -> str:
    """A parameter; PostgreSQL takes no NUL, and nothing here holds one."""
    return str(given.get(name, "")).replace("\0", "")[:LONGEST]


def number_of(given: Mapping[str, Any], name: str) -> int | None:
    """A sequence number, or None for anything else."""
    text = text_of(given, name)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


def wanted_of(given: Mapping[str, Any]) -> RunFilter:
    """The filter of the list."""
    names = [field.name for field in fields(RunFilter) if field.name != "stuck"]
    return RunFilter(**{name: text_of(given, name).strip() for name in names}, stuck=text_of(given, "stuck") == "1")


def wanted_of_query(query: str) -> RunFilter:
    """The filter of an address's query string."""
    return wanted_of(dict(parse_qsl(query)))


def query_of(wanted: RunFilter, **changes: str) -> str:
    """The query string of a filter, with changes; `after` is the cursor of a page."""
    after = changes.pop("after", "")
    if "stuck" in changes:
        wanted = replace(wanted, stuck=changes.pop("stuck") == "1")
    wanted = replace(wanted, **changes)  # type: ignore[arg-type]
    told = {field.name: getattr(wanted, field.name) for field in fields(RunFilter)}
    told |= {"stuck": "1" if wanted.stuck else "", "after": after}
    return urlencode({name: value for name, value in told.items() if value})


def narrowed_of(given: Mapping[str, Any]) -> Narrowed:
    """The filter of a history."""
    return Narrowed(group=text_of(given, "kind"), call_id=text_of(given, "call"))
