"""What narrows a list of proposals, as it stands in an address: `?q=anna&tool=refund_order&from=20&currency=AUD`.

An address is typed, saved and sent around, so every part is read with care: what cannot be understood is told in a
sentence and narrows nothing.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from approvals.core.money import exponent
from audit.core.jsondoor import SAFE_INTEGER

WITHIN = {"5": "5 minutes", "15": "15 minutes", "60": "1 hour", "1440": "1 day"}
"""Choices of "expires within", minutes to words."""
LONGEST = 200
FIELDS = ("q", "tool", "agent", "group", "within", "from", "to", "currency")
"""The names of the parts in an address, in the order in which they are written."""

_AMOUNT = re.compile(r"(?:\d{1,15}|\d{1,3}(?:,\d{3}){1,4})(?:\.\d{1,4})?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """What a list is narrowed to; "" is everything.

    `q` is part of a sentence, tool, agent's name or run's title; `agent` an agent's id; `group` the slug of one that
    must decide; `within` minutes until the deadline (a key of WITHIN); `low` and `high` amounts in major units of
    `currency` as decimal text, both ends included.
    """

    q: str = ""
    tool: str = ""
    agent: str = ""
    group: str = ""
    within: str = ""
    low: str = ""
    high: str = ""
    currency: str = ""

    def __bool__(self) -> bool:
        return self != Narrowing()

    @property
    def low_minor(self) -> int | None:
        """The lower end in minor units."""
        return _minor(self.low, self.currency)

    @property
    def high_minor(self) -> int | None:
        """The upper end in minor units."""
        return _minor(self.high, self.currency)

    def fields(self) -> dict[str, str]:
        """The parts that are set, by their names in an address."""
        found = (self.q, self.tool, self.agent, self.group, self.within, self.low, self.high, self.currency)
        return {name: value for name, value in zip(FIELDS, found, strict=True) if value}


def read_narrowing(given: Mapping[str, str]) -> tuple[Narrowing, list[str]]:
    """The narrowing that an address names, and a sentence for each part that was left out because it says nothing."""
    problems: list[str] = []
    typed = {name: _clean(given.get(name, "")) for name in FIELDS}
    currency = _one("currency", typed["currency"].upper(), lambda text: exponent(text) is not None, problems)
    low, high = (_amount(typed[name], currency, problems) for name in ("from", "to"))
    if low and high and Decimal(low) > Decimal(high):
        problems.append("The lower amount is above the higher one, so neither was used.")
        low = high = ""
    return Narrowing(
        q=typed["q"],
        tool=typed["tool"],
        agent=_one("agent", typed["agent"], _is_id, problems),
        group=typed["group"],
        within=_one("expires within", typed["within"], WITHIN.__contains__, problems),
        low=low,
        high=high,
        currency=currency,
    ), problems


def _clean(text: str) -> str:
    """PostgreSQL takes no NUL, and nothing here holds one."""
    return text.replace("\0", "").strip()[:LONGEST]


def _one(name: str, text: str, known: Callable[[str], bool], problems: list[str]) -> str:
    if not text or known(text):
        return text
    problems.append(f"{text[:40]!r} is none of the choices for {name}, so it was not used.")
    return ""


def _is_id(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def _amount(text: str, currency: str, problems: list[str]) -> str:
    if not text:
        return ""
    if not _AMOUNT.fullmatch(text):
        problems.append(f"{text[:40]!r} is not an amount, so it was not used. Write it as 1250 or 1250.50.")
        return ""
    plain = text.replace(",", "")
    if not currency:
        problems.append("Say which currency the amounts are in, such as AUD: amounts of different ones do not compare.")
        return ""
    minor = _minor(plain, currency)
    if minor is None:
        places = exponent(currency)
        problems.append(f"{text[:40]!r} is not an amount of {currency}, which has {places or 'no'} decimal places.")
        return ""
    if minor > SAFE_INTEGER:
        problems.append(f"{text[:40]!r} is more than any call can ask for, so it was not used.")
        return ""
    return plain


def _minor(text: str, currency: str) -> int | None:
    places = exponent(currency) if text and currency else None
    if places is None:
        return None
    minor = Decimal(text).scaleb(places)
    return int(minor) if minor == minor.to_integral_value() else None
