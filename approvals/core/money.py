"""Amounts in minor units as people read them (S14). The exponent is ISO 4217's; nothing is ever computed in floats."""

import re
from decimal import Decimal
from functools import lru_cache

from babel import Locale, UnknownLocaleError
from babel.numbers import NumberPattern, is_currency, parse_pattern

from audit.core.jsondoor import SAFE_INTEGER

# ISO 4217 minor units other than 2. Babel's own figures are CLDR's, which are for display and differ from ISO's: they
# give 0 for IQD (ISO: 3) and for LAK, SLL, YER and others (ISO: 2), and would show a hundred times the amount.
_EXPONENTS = {
    **dict.fromkeys(
        ("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF",
         "XPF"), 0
    ),
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
    **dict.fromkeys(("CLF", "UYW"), 4),
}  # fmt: skip


def exponent(currency: str) -> int | None:
    """Digits of the minor unit by ISO 4217: 2 for EUR, 0 for JPY, 3 for KWD; None if there is no such currency."""
    code = currency.upper()
    if not (len(code) == 3 and code.isascii() and code.isalpha() and is_currency(code)):
        return None
    return _EXPONENTS.get(code, 2)


@lru_cache(maxsize=4_096, typed=True)
def money_text(minor: int, currency: str, locale: str = "en") -> str:
    """`A$45.00` for 4500 AUD: short, for a sentence; `money_exact` is for where the raw number must be seen.

    A currency that ISO does not know gives `4500 XYZ (minor units)`, since where its point stands is not known.
    Raises TypeError for what is no integer (an amount is never a float, and true is no amount) and ValueError for one
    beyond what JSON keeps exactly.
    """
    amount = _amount(minor, currency)
    if amount is None:
        return _unknown(minor, currency)
    code = currency.upper()
    text = _pattern(locale, -_shift(amount)).apply(amount, _locale(locale), currency=code, currency_digits=False)
    return _plain(re.sub(rf"{code}(?=[0-9])", f"{code} ", text))


def money_exact(minor: int, currency: str, locale: str = "en") -> str:
    """`25.00 EUR (raw 2500)` and `2,500 JPY`: the code, which is one currency only, and the raw number where it is
    another. Raises like `money_text`."""
    amount = _amount(minor, currency)
    if amount is None:
        return _unknown(minor, currency)
    digits = -_shift(amount)
    number = _plain(_decimal(locale, digits).apply(amount, _locale(locale)))
    return f"{number} {currency.upper()}" + (f" (raw {minor})" if digits else "")


def _amount(minor: int, currency: str) -> Decimal | None:
    """The amount in major units, exactly; None if there is no such currency."""
    if type(minor) is not int:
        raise TypeError(f"an amount is an integer in minor units, not {type(minor).__name__}")
    if abs(minor) > SAFE_INTEGER:
        raise ValueError("an amount is beyond what JSON numbers keep exactly")
    digits = exponent(currency)
    return None if digits is None else Decimal(minor).scaleb(-digits)


def _shift(amount: Decimal) -> int:
    return int(amount.as_tuple().exponent)


def _unknown(minor: int, currency: str) -> str:
    return f"{minor} {currency} (minor units)" if currency else f"{minor} (minor units, currency not known)"


def _plain(text: str) -> str:
    """Babel's no-break spaces as ordinary ones: our own text must not look like one that hides something."""
    return text.replace("\u00a0", " ").replace("\u202f", " ")


@lru_cache(maxsize=64)
def _locale(name: str) -> Locale:
    try:
        return Locale.parse(name.replace("-", "_"))
    except (UnknownLocaleError, ValueError):
        return Locale.parse("en")


@lru_cache(maxsize=256)
def _pattern(locale: str, digits: int) -> NumberPattern:
    return _with_digits(_locale(locale).currency_formats["standard"].pattern, digits)


@lru_cache(maxsize=256)
def _decimal(locale: str, digits: int) -> NumberPattern:
    return _with_digits(_locale(locale).decimal_formats[None].pattern, digits)


def _with_digits(pattern: str, digits: int) -> NumberPattern:
    parsed = parse_pattern(pattern)
    parsed.frac_prec = (digits, digits)
    return parsed
