"""A call as text for people: the sentence, the arguments, before → after (screens.md, Proposal 1, 3 and 4).

Everything works on the canonical value, nothing is cut, and whatever came from outside is shown by its visible pieces
(S12, S13, S14, S83). Pages only lay out what is made here.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from approvals.core.cel import Bindings, CelError, compile_value, evaluate
from approvals.core.contract_types import Compare, Contract, Money
from approvals.core.money import exponent
from approvals.core.money import money_exact as money_exact
from approvals.core.money import money_text as money_text
from approvals.core.schema_rules import schema_at
from approvals.core.sentence import parse_sentence
from audit.core.canonical import canonical_bytes
from audit.core.jsondoor import Json
from audit.core.pointers import follow, pointer, split_pointer
from audit.core.visible import Piece as Piece
from audit.core.visible import as_line, warning
from audit.core.visible import has_hidden as has_hidden
from audit.core.visible import visible as visible

_COMPARE_NAMES = ("args", "state")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}:[/\\]{2}[^\s<>\"'`]+")
_AUTHORITY_END = re.compile(r"[/\\?#]")


@dataclass(frozen=True, slots=True)
class Row:
    """One effective argument. `path` is its JSON pointer, `raw` its canonical text, `shown` what to show for it (for
    money with the raw number). `default`: the agent did not send it. `hosts` are the real hosts of the links in it."""

    path: str
    label: str
    shown: tuple[Piece, ...]
    raw: str
    type: str
    default: bool
    warning: str
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CompareRow:
    """One value of the target before and after. `problem` says why a side is not known; its pieces are then empty."""

    label: str
    now: tuple[Piece, ...]
    after: tuple[Piece, ...]
    changed: bool
    problem: str = ""


def sentence(contract: Contract, arguments: Mapping[str, Any], state: Mapping[str, Any] | None) -> list[Piece]:
    """The contract's sentence about this call. Pieces of the template itself have the kind "fixed"; a value that is not
    there gives one of the kind "unresolved", such as `unresolved: customer`."""
    names: dict[str, Json] = {"args": dict(arguments), "state": dict(state or {})}
    pieces: list[Piece] = []
    for part in parse_sentence(contract.presentation.sentence):
        if not part.path:
            pieces.append(Piece(part.text, "fixed", part.text))
            continue
        value = _look_up(names, part.path)
        if value is None:
            name = part.path[-1].replace("_", " ")
            pieces.append(Piece(f"unresolved: {name}", "unresolved", ""))
            continue
        currency = _currency_of(contract, part.path, names)
        pieces.extend(visible(_value_text(value, currency), multiline=False))
    return pieces


def sentence_text(contract: Contract, arguments: Mapping[str, Any], state: Mapping[str, Any] | None) -> str:
    """The sentence as one line for lists, mails and titles; what it hides is written [U+202E]."""
    return "".join(
        f"[{piece.text}]" if piece.kind in ("escape", "unresolved") else piece.text
        for piece in sentence(contract, arguments, state)
    )


def argument_rows(contract: Contract, given: Any, effective: Mapping[str, Any]) -> list[Row]:
    """Every effective argument as a row, in the order of the canonical bytes; lists and objects down to their values.
    `given` is what the agent sent, so that defaults are marked."""
    money = {place: item for item in contract.money for place in _places(item.amount, effective)}
    return [
        _row(contract, path, value, given, _argument_currency(money.get(pointer(path)), path, effective))
        for path, value in _leaves(dict(effective), [])
    ]


def compare_rows(contract: Contract, arguments: Mapping[str, Any], state: Mapping[str, Any] | None) -> list[CompareRow]:
    """The contract's before → after rows, by its own expressions over what the server read."""
    bindings = Bindings({"args": arguments, "state": state})
    return [_compare(row, bindings) for row in contract.presentation.compare]


def primary_money(contract: Contract, arguments: Mapping[str, Any]) -> tuple[int | None, str]:
    """The first amount of a call in minor units with its currency in capitals, for lists and sums; (None, "") if there
    is none."""
    for item in contract.money:
        amount = _at(arguments, item.amount)
        currency = _at(arguments, item.currency)
        if type(amount) is int and isinstance(currency, str):
            return amount, currency.upper()
    return None, ""


def hides_anything(contract: Contract, arguments: Mapping[str, Any], state: Mapping[str, Any] | None) -> bool:
    """True if any text of the call, or of its sentence, hides or imitates something."""
    rows = argument_rows(contract, dict(arguments), arguments)
    line = sentence(contract, arguments, state)
    return any(row.warning for row in rows) or any(piece.kind in ("escape", "lookalike") for piece in line)


def link_hosts(text: str) -> tuple[str, ...]:
    """The hosts that the links in `text` really lead to, in their ASCII form: `evil.test` for
    `https://bank.test@evil.test/`."""
    hosts = []
    for match in _URL.finditer(text):
        rest = re.split(r"[/\\]{2}", match.group(), maxsplit=1)[1]
        authority = _AUTHORITY_END.split(rest, maxsplit=1)[0]
        host = re.sub(r":[0-9]*$", "", authority.rpartition("@")[2]).rstrip(".,;)]").lower()
        try:
            host = host if host.isascii() else host.encode("idna").decode()
        except UnicodeError:
            host = as_line(host)
        if host and host not in hosts:
            hosts.append(host)
    return tuple(hosts)


def _leaves(value: Json, path: list[str | int]) -> Iterator[tuple[list[str | int], Json]]:
    if isinstance(value, dict) and value:
        # RFC 8785 sorts by UTF-16 units; the rows stand in the order of the bytes that are hashed.
        for name in sorted(value, key=lambda key: key.encode("utf-16be")):
            yield from _leaves(value[name], [*path, name])
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _leaves(item, [*path, index])
    elif path:
        yield path, value


def _row(contract: Contract, path: list[str | int], value: Json, given: Json, currency: str | None) -> Row:
    place = pointer(path)
    label = as_line(_label(contract, path))
    raw = canonical_bytes(value).decode()
    text = value if isinstance(value, str) else None
    warnings = [_name_warning(path), "" if text is None else warning(text), _currency_warning(currency)]
    if currency is not None and type(value) is int:
        shown = visible(money_exact(value, currency))
    elif text is not None:
        shown = visible(f"{text} {currency.upper()}" if currency else text)
    else:
        shown = visible(raw)
    return Row(
        path=place,
        label=label,
        shown=tuple(shown),
        raw=raw,
        type=_type_word(value),
        default=not _sent(given, path),
        warning=" ".join(filter(None, warnings)),
        hosts=() if text is None else link_hosts(text),
    )


def _name_warning(path: list[str | int]) -> str:
    found = warning("".join(part for part in path if isinstance(part, str)), multiline=False)
    return f"The name of this field: {found}" if found else ""


def _currency_warning(currency: str | None) -> str:
    if currency is None or exponent(currency) is not None:
        return ""
    name = f"{as_line(currency)} is no currency of ISO 4217" if currency else "The currency is not there"
    return f"{name}, so the amount is shown as it was sent."


def _label(contract: Contract, path: list[str | int]) -> str:
    """The contract's label for a place, else the schema's title, else the name in words; list positions from 1."""
    general = pointer(["*" if isinstance(part, int) else part for part in path])
    label = contract.presentation.labels.get(pointer(path)) or contract.presentation.labels.get(general)
    if label is None:
        title = (schema_at(contract.input_schema, general) or {}).get("title")
        label = title if isinstance(title, str) and title else None
    numbers = " ".join(str(part + 1) for part in path if isinstance(part, int))
    if label is None:
        label = " ".join(str(part) for part in path if isinstance(part, str)).replace("_", " ")
    return f"{label} {numbers}".strip()


def _type_word(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int):
        return "whole number"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "text"
    return "empty list" if isinstance(value, list) else "empty object"


def _sent(given: Json, path: list[str | int]) -> bool:
    place = given
    for part in path:
        if isinstance(place, dict) and part in place:
            place = place[str(part)]
        elif isinstance(place, list) and isinstance(part, int) and part < len(place):
            place = place[part]
        else:
            return False
    return True


def _places(template: str, arguments: Mapping[str, Any]) -> list[str]:
    """The pointers in `arguments` that a pointer with `*` stands for."""
    found: list[tuple[list[str | int], Json]] = [([], dict(arguments))]
    for part in split_pointer(template):
        below: list[tuple[list[str | int], Json]] = []
        for path, value in found:
            if part == "*" and isinstance(value, list):
                below.extend(([*path, index], item) for index, item in enumerate(value))
            elif isinstance(value, dict) and part in value:
                below.append(([*path, part], value[part]))
        found = below
    return [pointer(path) for path, _ in found]


def _argument_currency(money: Money | None, path: list[str | int], arguments: Mapping[str, Any]) -> str | None:
    """The currency of an amount at `path`; the stars of its pointer take the amount's own indexes. "" if it is not
    there, None if the place is no money."""
    if money is None:
        return None
    indexes = iter([str(part) for part in path if isinstance(part, int)])
    parts = [next(indexes, "*") if part == "*" else part for part in split_pointer(money.currency)]
    currency = _at(arguments, pointer(parts))
    return currency if isinstance(currency, str) else ""


def _at(arguments: Mapping[str, Any], place: str) -> object:
    try:
        return follow(arguments, place)
    except KeyError:
        return None


def _look_up(names: Mapping[str, Json], path: tuple[str, ...]) -> Json:
    try:
        return follow(names, pointer(path))  # type: ignore[return-value]
    except KeyError:
        return None


def _currency_of(contract: Contract, path: tuple[str, ...], names: Mapping[str, Json]) -> str | None:
    """The currency of a value in the sentence, None if it is no money.

    An argument is money if the contract says so. A value of the state is money if `presentation.money` names it, or if
    an argument of the same name is: then its currency is the state's value of that name, else the argument's.
    """
    place = pointer(path[1:])
    money = next((item for item in contract.money if item.amount == place), None)
    if path[0] == "state":
        expression = contract.presentation.money.get(".".join(path))
        if expression is not None:
            value = _evaluated(expression, Bindings({"args": _object(names["args"]), "state": _object(names["state"])}))
            return value if isinstance(value, str) else ""
        if money is not None:
            own = _look_up(names, ("state", *split_pointer(money.currency)))
            if isinstance(own, str):
                return own
    if money is None:
        return None
    currency = _look_up(names, ("args", *split_pointer(money.currency)))
    return currency if isinstance(currency, str) else ""


def _value_text(value: Json, currency: str | None) -> str:
    if currency is not None and type(value) is int:
        return money_text(value, currency)
    if isinstance(value, str):
        return f"{value} {currency.upper()}" if currency else value
    return canonical_bytes(value).decode()


def _compare(row: Compare, bindings: Bindings) -> CompareRow:
    try:
        now = evaluate(compile_value(row.now, _COMPARE_NAMES), bindings)
        after = evaluate(compile_value(row.after, _COMPARE_NAMES), bindings)
        currency = evaluate(compile_value(row.money, _COMPARE_NAMES), bindings) if row.money else None
    except CelError as error:
        return CompareRow(row.label, (), (), False, f"unresolved: {error.problem}")
    if row.money and not isinstance(currency, str):
        return CompareRow(row.label, (), (), False, "unresolved: the currency is not known")
    code = currency if isinstance(currency, str) else None
    return CompareRow(
        row.label, tuple(visible(_value_text(now, code))), tuple(visible(_value_text(after, code))), now != after
    )


def _evaluated(expression: str, bindings: Bindings) -> Json:
    try:
        return evaluate(compile_value(expression, _COMPARE_NAMES), bindings)
    except CelError:
        return None


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}
