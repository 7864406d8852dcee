"""How each field of the form of a policy's parts is shown and read: people, times, money, lists, choices (W3)."""

import re
from decimal import Decimal, InvalidOperation
from typing import Any

from approvals.core.money import exponent
from approvals.core.policy_types import moment
from approvals.core.policy_words import time_words
from audit.core.jsondoor import SAFE_INTEGER

type Fields = dict[str, str]

_ONE = re.compile(r"([0-9]{1,2})\s*(?:x|of)?\s+([a-z0-9][a-z0-9_.-]*)|([a-z0-9][a-z0-9_.-]*)", re.ASCII)
_NEXT = re.compile(r"\s*(?:,|\n)(?:\s*and\s)?\s*|\s+and\s+|\Z")
_TIME = re.compile(r"([0-9]{1,7})\s*(s|sec|seconds?|min|m|minutes?|h|hours?|d|days?)?", re.ASCII)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_MONEY = re.compile(r"([A-Z]{3})\s*([0-9][0-9,]*(?:\.[0-9]+)?)", re.ASCII)


def shown(name: str, value: Any) -> str:
    """A member of the document as its field shows it; "" for None."""
    if value is None:
        return ""
    if name == "approvers":
        return " and ".join(f"{one['count']} of {one['group']}" for one in value)
    if name == "expires_in_s":
        return time_words(value)
    if name in ("amount", "up_to"):
        return ", ".join(f"{code} {_major(amount, code)}" for code, amount in value.items())
    if name == "editable":
        return "yes" if value else "no"
    if name in ("tools", "escalate_to"):
        return ", ".join(value)
    if name == "reasons":
        return "\n".join(value)
    return str(value)


def read(name: str, text: str) -> Any:
    """What a field's text says in the document. Raises ValueError with a sentence for whoever typed it."""
    return _READ[name](text) if name in _READ else text


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


def _percent(text: str) -> int:
    return _whole(text.removesuffix("%").rstrip())


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(re.split(r"[\s,]+", text.strip(" \t\n,"))))


def _lines(text: str) -> list[str]:
    return list(dict.fromkeys(line.strip() for line in text.split("\n") if line.strip()))


def _moment(text: str) -> str:
    """As the document writes it: 2026-12-24T18:00:00+11:00."""
    try:
        found = moment(re.sub(r"\s+(?=[+-][0-9]|Z$)", "", text))
    except ValueError:
        raise ValueError("Write the time with its zone: 2026-12-24 18:00 +11:00.") from None
    return found.isoformat()


def _yes(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ValueError("Choose yes or no.")
    return text == "yes"


_READ = {
    "approvers": _people, "expires_in_s": _seconds, "amount": _amounts, "up_to": _amounts, "calls": _whole,
    "rejections": _whole, "remind_at_percent": _percent, "tools": _names, "escalate_to": _names, "reasons": _lines,
    "editable": _yes, "from": _moment, "to": _moment,
}  # fmt: skip
