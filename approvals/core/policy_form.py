"""The form of the common rules and limits: fields as people type them, and what they say in the document (W3).

People are typed as `1 of finance and 2 of leads`, times as `15 min`, money as `AUD 250.00`: as the page tells them.
What the form does not know (terms, advisory levels) stays in the document as it is.
"""

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from approvals.core.money import exponent
from approvals.core.policy_words import time_words
from audit.core.jsondoor import SAFE_INTEGER

type Fields = dict[str, str]

RULE_FIELDS = ("id", "tool", "when", "effect", "message", "approvers", "expires_in_s")
LIMIT_FIELDS = ("id", "tool", "per", "window", "amount", "calls", "over", "approvers", "message")
MAX_TIERS = 20
_ONE = re.compile(r"([0-9]{1,2})\s*(?:x|of)?\s+([a-z0-9][a-z0-9_.-]*)|([a-z0-9][a-z0-9_.-]*)", re.ASCII)
_NEXT = re.compile(r"\s*(?:,|\n)(?:\s*and\s)?\s*|\s+and\s+|\Z")
_TIME = re.compile(r"([0-9]{1,7})\s*(s|sec|seconds?|min|m|minutes?|h|hours?|d|days?)?", re.ASCII)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_MONEY = re.compile(r"([A-Z]{3})\s*([0-9][0-9,]*(?:\.[0-9]+)?)", re.ASCII)


def fields_of(part: str, item: Mapping[str, Any]) -> Fields:
    """An item of the document as the form shows it; tiers are `tier-<n>-up_to`, `-approvers` and `-expires_in_s`."""
    names = RULE_FIELDS if part == "rules" else LIMIT_FIELDS
    fields = {name: _shown(name, item.get(name)) for name in names}
    for at, tier in enumerate(item.get("tiers", ())):
        for name in ("up_to", "approvers", "expires_in_s"):
            fields[f"tier-{at}-{name}"] = _shown(name, tier.get(name))
    return fields


def tier_count(fields: Mapping[str, str]) -> int:
    """How many rows of tiers the fields have."""
    numbers = [int(found.group(1)) for name in fields if (found := re.fullmatch(r"tier-([0-9]{1,2})-[a-z_]+", name))]
    return min(MAX_TIERS, max(numbers, default=-1) + 1)


def item_of(part: str, fields: Mapping[str, str], old: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """What the fields say, over the members of `old` that no field stands for, and what is wrong by field.

    A member whose field was left empty is None: it is to be taken out."""
    names = RULE_FIELDS if part == "rules" else LIMIT_FIELDS
    item: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for name in names:
        _take(item, wrong, name, name, fields.get(name, ""), old)
    if part == "rules":
        tiers = _tiers(fields, old.get("tiers", ()), wrong)
        item["tiers"] = tiers or None
        if item.get("effect") == "deny" and old.get("level") != "overridable":
            item["approvers"] = None
        if item.get("effect") == "deny":
            item["tiers"] = None
            if old.get("effect") != "deny":
                item["expires_in_s"] = None
    elif item.get("over") == "deny":
        item["approvers"] = None
    for name in ("id", "tool"):
        if not item.get(name):
            wrong.setdefault(name, "This is needed.")
    return item, wrong


def changes_of(item: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    """The members that differ from what the document says, None for one to take out."""
    return {name: value for name, value in item.items() if value != old.get(name)}


def _shown(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name == "approvers":
        return " and ".join(f"{one['count']} of {one['group']}" for one in value)
    if name == "expires_in_s":
        return time_words(value)
    if name in ("amount", "up_to"):
        return ", ".join(f"{code} {_major(amount, code)}" for code, amount in value.items())
    return str(value)


def _take(
    item: dict[str, Any], wrong: dict[str, str], name: str, field: str, text: str, old: Mapping[str, Any]
) -> None:
    text = text.replace("\r\n", "\n")
    if text == _shown(name, old.get(name)):
        item[name] = old.get(name)  # what nobody typed in says what it said, space at its end and all
        return
    text = text.strip()
    if not text:
        item[name] = None
        return
    read = {"approvers": _people, "expires_in_s": _seconds, "amount": _amounts, "up_to": _amounts, "calls": _whole}
    try:
        item[name] = read[name](text) if name in read else text
    except ValueError as error:
        wrong[field] = str(error)


def _tiers(fields: Mapping[str, str], old: Any, wrong: dict[str, str]) -> list[dict[str, Any]]:
    tiers = []
    for at in range(tier_count(fields)):
        given = {name: fields.get(f"tier-{at}-{name}", "") for name in ("up_to", "approvers", "expires_in_s")}
        if not any(text.strip() for text in given.values()):
            continue  # an empty row is none: that is how a tier is taken out
        said: dict[str, Any] = {}
        kept = dict(old[at]) if at < len(old) else {}
        for name, text in given.items():
            _take(said, wrong, name, f"tier-{at}-{name}", text, kept)
        if not said.get("approvers"):
            wrong.setdefault(f"tier-{at}-approvers", "Say who approves: 1 of finance.")
        tiers.append({name: value for name, value in (kept | said).items() if value is not None})
    return tiers


def _people(text: str) -> list[dict[str, Any]]:
    found = []
    rest = text
    while rest:
        # One behind the other: a group's own name may hold "and", as r-and-d does.
        one = _ONE.match(rest)
        behind = _NEXT.match(rest, one.end()) if one else None
        if one is None or behind is None:
            raise ValueError("Write how many of which group: 1 of finance and 2 of leads.")
        found.append({"group": one.group(2) or one.group(3), "count": int(one.group(1) or 1)})
        rest = rest[behind.end() :]
    return found


def _seconds(text: str) -> int:
    found = _TIME.fullmatch(text.lower())
    if found is None:
        raise ValueError("Write a time such as 15 min, 2 h or 90 s.")
    return int(found.group(1)) * _UNITS[(found.group(2) or "m")[0]]


def _amounts(text: str) -> dict[str, int]:
    amounts: dict[str, int] = {}
    rest = text
    while rest:
        found = _MONEY.match(rest)
        if found is None:
            raise ValueError("Write the currency and the amount: AUD 250.00, EUR 150.00.")
        code, number = found.groups()
        amounts[code] = _minor(code, number)
        rest = rest[found.end() :].lstrip(" ,\n")
    return amounts


def _minor(code: str, number: str) -> int:
    digits = exponent(code)
    if digits is None:
        raise ValueError(f"There is no currency {code}.")
    try:
        amount = Decimal(number.replace(",", "")).scaleb(digits)
    except InvalidOperation:
        raise ValueError(f"{number} is no amount.") from None
    if amount != int(amount) or amount > SAFE_INTEGER:
        raise ValueError(f"{code} {number} is no amount: {code} has {digits} digits behind the point.")
    return int(amount)


def _major(minor: int, code: str) -> str:
    digits = exponent(code)
    return str(minor) if not digits else f"{Decimal(minor).scaleb(-digits):.{digits}f}"


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError("Write a whole number.")
    return int(text)
