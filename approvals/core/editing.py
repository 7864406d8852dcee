"""A call's arguments as fields that a person can change, and back into JSON of the same types (S15).

The fields are made from the contract's input schema. What was not touched comes back exactly as it was: a text keeps
its line ends and its hidden characters, a number stays a number. What decides which record the call is about cannot be
changed: that would be another call, judged on a state that nobody has read.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from approvals.core.contract_types import Contract
from approvals.core.money import exponent, money_exact
from approvals.core.schema_rules import schema_at
from approvals.core.template import placeholders
from audit.core.canonical import canonical_bytes
from audit.core.jsondoor import SAFE_INTEGER, Json, open_json
from audit.core.pointers import follow, pointer
from audit.core.refusal import Refusal
from audit.core.visible import as_line, has_hidden, visible

type Kind = Literal["money", "whole", "number", "text", "choice", "yesno", "json"]
type Presence = Literal["value", "null", "absent"]

VALUE, PRESENCE = "v.", "p."
"""How the names of a form's fields begin: what a value is, and whether there is one."""
LONGEST = 262_144
"""Characters that one field may bring."""
_WHOLE = re.compile(r"-?[0-9]+")
_ARGS_OF = re.compile(r"\bargs\s*(?:\.\s*([A-Za-z_]\w*)|\[\s*[\"']([^\"']+)[\"']\s*\])?")
_LINES = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One top-level argument. `text` is what its field holds now, for a choice the key of the option that is chosen.

    `presence` says whether there is a value, `null`, or nothing at all; `presences` which of these the tool takes.
    `echo` reads an amount in its currency. `locked` says why it cannot be changed, "" where it can.
    """

    name: str
    label: str
    kind: Kind
    text: str
    presence: Presence
    presences: tuple[Presence, ...]
    options: tuple[tuple[str, str], ...] = ()
    hint: str = ""
    echo: str = ""
    locked: str = ""
    long: bool = False
    problem: str = ""

    @property
    def value_name(self) -> str:
        """The name of its form field."""
        return VALUE + self.name

    @property
    def presence_name(self) -> str:
        """The name of the form field that says whether there is a value."""
        return PRESENCE + self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """What a form says: the arguments, and by name what could not be read."""

    arguments: dict[str, Json]
    problems: Mapping[str, str]


def fields_of(
    contract: Contract,
    arguments: Mapping[str, Json],
    *,
    typed: Mapping[str, str] | None = None,
    problems: Mapping[str, str] | None = None,
) -> list[Field]:
    """The fields for the effective `arguments`. `typed` is what a form brought: it is kept in the fields as it was
    typed, whether it could be read or not; `problems` stand beside them."""
    fixed = _locked(contract)
    names = _names(contract)
    return [_field(contract, name, arguments, fixed, typed or {}, problems or {}) for name in names]


def edited(contract: Contract, arguments: Mapping[str, Json], typed: Mapping[str, str]) -> Edited:
    """The arguments after a form was filled in. A field that it does not bring stays as it is."""
    fixed = _locked(contract)
    result: dict[str, Json] = dict(arguments)
    problems: dict[str, str] = {}
    for name in _names(contract):
        if name in fixed:
            continue
        schema = _schema(contract, name)
        presence = typed.get(PRESENCE + name, "")
        if presence == "absent" and "absent" in _presences(contract, name, schema):
            result.pop(name, None)
        elif presence == "null" and "null" in _presences(contract, name, schema):
            result[name] = None
        elif VALUE + name in typed:
            try:
                result[name] = _read(contract, name, schema, arguments, typed[VALUE + name])
            except ValueError as error:
                problems[name] = str(error)
    return Edited(arguments=result, problems=problems)


def _names(contract: Contract) -> list[str]:
    properties = contract.input_schema.get("properties")
    return list(properties) if isinstance(properties, dict) else []


def _schema(contract: Contract, name: str) -> dict[str, Any]:
    return schema_at(contract.input_schema, pointer([name])) or {}


def _locked(contract: Contract) -> set[str]:
    """The arguments by which the record is named or read; all of them where an expression takes the whole."""
    reading, reference = contract.adapter.read_state, contract.adapter.reference
    templates: list[Json] = [contract.target, contract.resource]
    expressions: list[str] = []
    if reference is not None:
        templates.append(reference.key)
    if reading is not None:
        request = reading.request
        templates += [request.path, request.query, request.form, request.json, reading.also]
        expressions = list(reading.derived.values())
    named = {place.path[1] for one in templates for place in placeholders(one) if len(place.path) > 1}
    for expression in expressions:
        for match in _ARGS_OF.finditer(expression):
            found = match.group(1) or match.group(2)
            if not found:
                return set(_names(contract))
            named.add(found)
    return named & set(_names(contract))


def _kind(contract: Contract, name: str, schema: Mapping[str, Any], value: Json) -> Kind:
    if isinstance(schema.get("enum"), list) or "const" in schema:
        return "choice"
    types = _types(schema) - {"null"}
    if types == {"boolean"}:
        return "yesno"
    if types == {"integer"}:
        return "money" if _is_money(contract, name) else "whole"
    if types == {"number"}:
        return "number"
    if types == {"string"} and (value is None or (isinstance(value, str) and not _needs_escapes(value))):
        return "text"
    return "json"


def _types(schema: Mapping[str, Any]) -> set[str]:
    given = schema.get("type")
    return {given} if isinstance(given, str) else set(given) if isinstance(given, list) else set()


def _is_money(contract: Contract, name: str) -> bool:
    return any(item.amount == pointer([name]) for item in contract.money)


def _needs_escapes(text: str) -> bool:
    """A browser shows no hidden character in a field, and turns every kind of line end into one."""
    return has_hidden(text) or "\r" in text


def _presences(contract: Contract, name: str, schema: Mapping[str, Any]) -> tuple[Presence, ...]:
    required = contract.input_schema.get("required")
    found: list[Presence] = ["value"]
    if "null" in _types(schema) and not isinstance(schema.get("enum"), list):
        found.append("null")
    # What has a default is never absent: leaving it out would bring the default back.
    if not (isinstance(required, list) and name in required) and "default" not in schema:
        found.append("absent")
    return tuple(found)


def _options(schema: Mapping[str, Any]) -> list[Json]:
    given = schema.get("enum")
    return list(given) if isinstance(given, list) else [schema["const"]] if "const" in schema else []


def _field(
    contract: Contract,
    name: str,
    arguments: Mapping[str, Json],
    fixed: set[str],
    typed: Mapping[str, str],
    problems: Mapping[str, str],
) -> Field:
    schema = _schema(contract, name)
    present, value = name in arguments, arguments.get(name)
    kind = _kind(contract, name, schema, value)
    options = tuple((str(place), _option_word(option)) for place, option in enumerate(_options(schema)))
    if kind == "yesno":
        options = (("true", "Yes"), ("false", "No"))
    text = typed.get(VALUE + name, _text(kind, schema, value) if present else "")
    asked: Any = typed.get(PRESENCE + name)
    presences = _presences(contract, name, schema)
    presence: Presence = "absent" if not present else "null" if value is None and "null" in presences else "value"
    return Field(
        name=name,
        label=as_line(_label(contract, name, schema)),
        kind=kind,
        text=text,
        presence=asked if asked in presences else presence,
        presences=presences,
        options=options,
        hint=_hint(contract, name, kind, schema, arguments),
        echo=_echo(value, _currency(contract, name, arguments)) if kind == "money" else "",
        locked="It names the record that this is about. Another one is another request." if name in fixed else "",
        long=kind == "json" or (kind == "text" and (len(text) > _LINES or "\n" in text)),
        problem=problems.get(name, ""),
    )


def _label(contract: Contract, name: str, schema: Mapping[str, Any]) -> str:
    title = schema.get("title")
    given = contract.presentation.labels.get(pointer([name])) or (title if isinstance(title, str) else "")
    return given or name.replace("_", " ")


def _option_word(option: Json) -> str:
    return as_line(option) if isinstance(option, str) else canonical_bytes(option).decode()


def _text(kind: Kind, schema: Mapping[str, Any], value: Json) -> str:
    if kind == "choice":
        found = [place for place, option in enumerate(_options(schema)) if _same(option, value)]
        return str(found[0]) if found else ""
    if kind == "text":
        return value if isinstance(value, str) else ""
    if kind == "json":
        return _json_text(value)
    return "" if value is None else canonical_bytes(value).decode()


def _json_text(value: Json) -> str:
    """JSON to be edited: what would hide is written as an escape."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return "".join(json.dumps(piece.raw)[1:-1] if piece.kind == "escape" else piece.raw for piece in visible(text))


def _same(one: Json, other: Json) -> bool:
    return canonical_bytes(one) == canonical_bytes(other)


def _hint(contract: Contract, name: str, kind: Kind, schema: Mapping[str, Any], arguments: Mapping[str, Json]) -> str:
    if kind == "json":
        return "JSON"
    if kind == "money":
        return f"whole number of minor units, {_unit(_currency(contract, name, arguments))}"
    if kind in ("whole", "number"):
        low, high = schema.get("minimum"), schema.get("maximum")
        return " ".join(
            ([f"from {low}"] if low is not None else []) + ([f"up to {high}"] if high is not None else [])
        ) or ("whole number" if kind == "whole" else "number")
    if kind == "text" and isinstance(schema.get("maxLength"), int):
        return f"at most {schema['maxLength']:,} characters"
    return ""


def _unit(currency: str) -> str:
    digits = exponent(currency) if currency else None
    if digits is None:
        return "currency not known"
    return f"{currency.upper()} has none" if digits == 0 else f"{10**digits:,} are 1 {currency.upper()}"


def _currency(contract: Contract, name: str, arguments: Mapping[str, Json]) -> str:
    for item in contract.money:
        if item.amount == pointer([name]):
            try:
                found = follow(dict(arguments), item.currency)
            except KeyError:
                return ""
            return found if isinstance(found, str) else ""
    return ""


def _echo(value: Json, currency: str) -> str:
    return money_exact(value, currency) if type(value) is int and abs(value) <= SAFE_INTEGER else ""


def _read(contract: Contract, name: str, schema: Mapping[str, Any], arguments: Mapping[str, Json], typed: str) -> Json:
    """What was typed, with the type that the schema wants. Raises ValueError with a sentence for the field."""
    present, value = name in arguments, arguments.get(name)
    kind = _kind(contract, name, schema, value)
    if len(typed) > LONGEST:
        raise ValueError(f"This has {len(typed):,} characters; a field takes at most {LONGEST:,}.")
    typed = typed.replace("\r\n", "\n").replace("\r", "\n")
    if present and typed == _text(kind, schema, value).replace("\r\n", "\n").replace("\r", "\n"):
        return value
    if kind == "text":
        return typed
    if kind == "choice":
        options = _options(schema)
        if not (typed.isascii() and typed.isdecimal() and int(typed) < len(options)):
            raise ValueError("Choose one of the values.")
        return options[int(typed)]
    if kind == "yesno":
        if typed not in ("true", "false"):
            raise ValueError("Choose yes or no.")
        return typed == "true"
    text = typed.strip()
    if kind in ("money", "whole") and not _WHOLE.fullmatch(text):
        raise ValueError("Write a whole number, with digits only.")
    try:
        read = open_json(text.encode("utf-8", "surrogatepass"))
    except Refusal as refusal:
        raise ValueError(
            f"This cannot be read as {'JSON' if kind == 'json' else 'a number'}: {refusal.message}"
        ) from None
    if kind in ("money", "whole", "number") and (isinstance(read, bool) or not isinstance(read, int | float)):
        raise ValueError("Write a number.")
    return read
