"""From what an agent sent to what is judged, shown, hashed and executed: the effective arguments (data rule 13, S3)."""

import copy
from collections.abc import Iterator
from enum import Enum
from typing import Any, Final

import jsonschema_rs
from jsonschema_rs import ValidationErrorKind as Kind

from approvals.core.contract_types import Contract
from audit.core.canonical import canonical_bytes
from audit.core.jsondoor import Json
from audit.core.pointers import pointer
from audit.core.refusal import Invalid, TooLarge

MAX_ERRORS = 50
"""Faults that one refusal lists."""
MAX_ADDED = 1_048_576
"""Bytes that defaults may add: a default inside a list is added once for every item."""


class Absent(Enum):
    """The argument object was not sent at all: neither `null` nor `{}` (S2)."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT

_KINDS = {
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


def effective_arguments(contract: Contract, arguments: Any | Absent) -> dict[str, Any]:
    """The arguments after validation and defaults; a new object, the one that everything later works from.

    Unknown fields are refused, formats are asserted, defaults come only from plain `properties`, and the result is
    validated again. Raises `Invalid` (ARGUMENTS_MISSING, ARGUMENTS_INVALID with `detail.errors`, each a path and a
    sentence) or `TooLarge` (ARGUMENTS_TOO_LARGE).
    """
    if arguments is ABSENT:
        raise Invalid(
            "The call has no arguments. Send an object, or {} if the tool needs none.",
            code="ARGUMENTS_MISSING",
            missing=["arguments"],
        )
    _validate(contract, arguments)
    if not isinstance(arguments, dict):  # the schema's top is an object, so validation has refused everything else
        raise _invalid([("", "must be an object")], more=False)
    effective = copy.deepcopy(arguments)
    _Filler(contract.input_schema).fill(effective)
    _validate(contract, effective)
    return effective


def _validate(contract: Contract, arguments: Any) -> None:
    errors: list[tuple[str, str]] = []
    for error in contract.input_validator.iter_errors(arguments):
        errors.extend(_sentences(error))
        if len(errors) > MAX_ERRORS:
            break
    if errors:
        raise _invalid(sorted(set(errors[:MAX_ERRORS])), more=len(errors) > MAX_ERRORS)


def _invalid(errors: list[tuple[str, str]], *, more: bool) -> Invalid:
    place, sentence = errors[0]
    others = len(errors) - 1
    least = "at least " if more else ""
    rest = f" ({least}{others} more problem{'s' if others > 1 else ''})" if others else ""
    return Invalid(
        f"The arguments do not fit the tool: {place or 'they'} {sentence}{rest}. Correct them and send the call again.",
        code="ARGUMENTS_INVALID",
        missing=[place for place, sentence in errors if sentence == _REQUIRED],
        detail={
            "errors": [{"path": place, "message": f"{place or 'The arguments'} {text}."} for place, text in errors]
        },
    )


_REQUIRED = "is required and is missing"


def _sentences(error: jsonschema_rs.ValidationError) -> Iterator[tuple[str, str]]:
    """One fault as places and the second halves of sentences. Repeats no value: a value may be long or secret."""
    path = list(error.instance_path)
    match error.kind:
        case Kind.Required(name):
            yield pointer([*path, name]), _REQUIRED
        case Kind.AdditionalProperties(names):
            for name in names:
                yield pointer([*path, name]), "is not a field of this tool"
        case kind:
            yield pointer(path), _sentence(kind)


def _sentence(kind: Kind) -> str:
    match kind:
        case Kind.Type(types):
            return "must be " + " or ".join(_KINDS.get(name, name) for name in sorted(types))
        case Kind.Enum(options):
            shown = ", ".join(_shown(option) for option in options[:20])
            return f"must be one of {shown}" + (" …" if len(options) > 20 else "")
        case Kind.Constant(value):
            return f"must be {_shown(value)}"
        case Kind.Format(name):
            return f"must be written as {name}"
        case Kind.Pattern(pattern):
            return f"must match the pattern {pattern[:200]}"
        case Kind.Minimum(limit):
            return f"must be at least {limit}"
        case Kind.Maximum(limit):
            return f"must be at most {limit}"
        case Kind.ExclusiveMinimum(limit):
            return f"must be more than {limit}"
        case Kind.ExclusiveMaximum(limit):
            return f"must be less than {limit}"
        case Kind.MultipleOf(step):
            return f"must be a multiple of {step}"
        case Kind.MinLength(limit):
            return f"must have at least {limit} characters"
        case Kind.MaxLength(limit):
            return f"must have at most {limit} characters"
        case Kind.MinItems(limit):
            return f"must have at least {limit} items"
        case Kind.MaxItems(limit):
            return f"must have at most {limit} items"
        case Kind.MinProperties(limit):
            return f"must have at least {limit} fields"
        case Kind.MaxProperties(limit):
            return f"must have at most {limit} fields"
        case Kind.UniqueItems():
            return "must not have the same item twice"
        case Kind.FalseSchema():
            return "must not be there"
        case Kind.AnyOf() | Kind.OneOfNotValid():
            return "fits none of the forms that this tool takes here"
        case Kind.OneOfMultipleValid():
            return "fits more than one of the forms that this tool takes here"
    return f"breaks the tool's rule {kind.name!r}"


def _shown(value: Any) -> str:
    """A value of the tool's own schema as text, short."""
    text = canonical_bytes(value).decode()
    return text if len(text) <= 200 else text[:200] + "…"


class _Filler:
    """Adds defaults from plain `properties`, in objects and in the objects of lists."""

    def __init__(self, schema: dict[str, Json]) -> None:
        self.schema = schema
        self.added = 0
        self.costs: dict[int, int] = {}

    def fill(self, arguments: Json) -> None:
        self._fill(self.schema, arguments)

    def _fill(self, schema: Json, value: Json) -> None:
        if not isinstance(schema, dict):
            return
        if isinstance(value, list) and isinstance(schema.get("items"), dict) and "prefixItems" not in schema:
            if _has_defaults(schema["items"]):
                for item in value:
                    self._fill(schema["items"], item)
            return
        properties = schema.get("properties")
        if not isinstance(value, dict) or not isinstance(properties, dict):
            return
        for name, part in properties.items():
            if isinstance(part, dict):
                if name not in value and "default" in part:
                    value[name] = self._copy(part["default"])
                if name in value:
                    self._fill(part, value[name])

    def _copy(self, default: Json) -> Json:
        cost = self.costs.get(id(default))
        if cost is None:
            cost = self.costs[id(default)] = len(canonical_bytes(default)) + 16
        self.added += cost
        if self.added > MAX_ADDED:
            raise TooLarge(
                "With the tool's defaults filled in, the arguments become too large. Send fewer items.",
                code="ARGUMENTS_TOO_LARGE",
            )
        return copy.deepcopy(default)


def _has_defaults(schema: Json) -> bool:
    if isinstance(schema, dict):
        properties = schema.get("properties")
        parts = list(properties.values()) if isinstance(properties, dict) else []
        parts.append(schema.get("items"))
        return any(isinstance(part, dict) and ("default" in part or _has_defaults(part)) for part in parts)
    return False
