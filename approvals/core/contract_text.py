"""From the text of a contract, JSON or YAML, to its document, or every reason against it with its place (R10)."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from approvals.core.contract import CONTRACT_SCHEMA, contract_findings
from approvals.core.contract_types import Finding
from approvals.core.yaml_door import Lines, YamlError, open_yaml
from audit.core.jsondoor import BODY_LIMIT, Json, open_json
from audit.core.refusal import Invalid, Refusal, TooLarge

MAX_BYTES = BODY_LIMIT
"""Bytes that the text of a contract may have: what the door takes."""


def read_contract(source: str) -> dict[str, Any]:
    """The document of a text that is a good contract: JSON where it begins like an object, YAML otherwise.

    Raises TooLarge, else Invalid (CONTRACT_INVALID, or SANDBOX_UNAVAILABLE if that is all) with `detail.findings`, each
    with path, code and message and, where they are known, line and column.
    """
    document, lines = _opened(source)
    found = [_placed(finding, lines) for finding in contract_findings(document)]
    if found or not isinstance(document, dict):
        raise _invalid(found)
    return document


def written(document: Any) -> str:
    """A document as people read and edit it: names in the order of the published schema, since the database keeps none.

    What the schema does not name (arguments, headers) stands in the order of its names.
    """
    return json.dumps(_ordered(document), indent=2, ensure_ascii=False)


def _ordered(value: Any) -> Any:
    if isinstance(value, list):
        return [_ordered(item) for item in value]
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: (_PLACES.get(name, len(_PLACES)), name))
        return {name: _ordered(value[name]) for name in names}
    return value


def _names(schema: Any) -> Iterator[str]:
    """Every name of a member that the schema has, in the order in which it is written."""
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from _names(part)
    properties = schema.get("properties") if isinstance(schema, dict) else None
    yield from properties if isinstance(properties, dict) else ()


_KEYWORDS = ("type", "title", "description", "additionalProperties", "required", "properties", "items", "enum")
_TOP = ("id", "name", *CONTRACT_SCHEMA["properties"])
_PLACES = {name: place for place, name in enumerate(dict.fromkeys((*_TOP, *_names(CONTRACT_SCHEMA), *_KEYWORDS)))}


def _opened(source: str) -> tuple[Json, Lines]:
    raw = source.encode("utf-8", "surrogatepass")
    if len(raw) > MAX_BYTES:
        raise TooLarge(f"The contract has {len(raw):,} bytes; at most {MAX_BYTES:,}. Shorten its texts or schemas.")
    if source.lstrip().startswith("{"):
        try:
            document = open_json(raw)
        except Refusal as refusal:
            line, column = _line_of(source, refusal.detail)
            place = str(refusal.detail.get("path", ""))
            raise _invalid([Finding(place, refusal.code, refusal.message, line, column)]) from None
        try:
            # Most JSON is YAML too, whose reader knows the lines; where it is not, findings have their path alone.
            return document, open_yaml(source)[1]
        except YamlError:
            return document, Lines()
    try:
        return open_yaml(source)
    except YamlError as error:
        raise _invalid([Finding("", "YAML", error.message, error.line, error.column)]) from None


def _line_of(source: str, detail: Mapping[str, Any]) -> tuple[int, int]:
    at = detail.get("offset")
    if type(at) is not int:
        return 0, 0
    return source.count("\n", 0, at) + 1, at - source.rfind("\n", 0, at)


def _placed(finding: Finding, lines: Lines) -> Finding:
    place = finding.path
    while place and place not in lines:
        place = place.rpartition("/")[0]
    return replace(finding, line=lines.get(place, 0), column=lines.columns.get(place, 0))


def _invalid(found: list[Finding]) -> Invalid:
    first = found[0] if found else Finding("", "CONTRACT_SHAPE", "A contract is an object.")
    where = f"line {first.line}" if first.line else first.path or "the top"
    count = "1 finding" if len(found) <= 1 else f"{len(found)} findings, the first"
    only_sandbox = bool(found) and all(finding.code == "SANDBOX_UNAVAILABLE" for finding in found)
    return Invalid(
        f"The contract cannot be stored: {count} at {where}: {first.message}",
        code="SANDBOX_UNAVAILABLE" if only_sandbox else "CONTRACT_INVALID",
        detail={"findings": [finding.as_dict() for finding in found or [first]]},
    )
