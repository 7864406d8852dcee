"""Deciding several proposals at once: which of them may stand together, and up to which sum.

A bulk decision is so many single decisions, each about its own digest in its own round. What is judged here is only
whether they may be offered together: one tool, so that one look and one reason fit all, and no more money than the
organisation lets be approved at one go. Rejecting has no such bound: it lets nothing run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation

from approvals.core.money import exponent, money_text
from audit.core.refusal import Conflict, Refusal

MOST = 25
"""Proposals that are decided at once."""
ANY = "*"


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is compared of a chosen proposal. `amount` in minor units, None where the call carries none."""

    tool: str
    amount: int | None
    currency: str


def sums_of(chosen: Sequence[Chosen]) -> dict[str, int]:
    """Minor units by currency, in the order of the codes."""
    sums: dict[str, int] = {}
    for one in chosen:
        if one.amount is not None:
            sums[one.currency] = sums.get(one.currency, 0) + one.amount
    return dict(sorted(sums.items()))


def not_together(chosen: Sequence[Chosen]) -> Refusal | None:
    """Why these are not decided at once at all, or None."""
    if not chosen:
        return Conflict("Choose proposals first; those that were chosen wait no more.", code="NOTHING_CHOSEN")
    if len(chosen) > MOST:
        return Conflict(f"{len(chosen)} were chosen; at most {MOST} are decided at once.", code="TOO_MANY_CHOSEN")
    tools = sorted({one.tool for one in chosen})
    if len(tools) > 1:
        return Conflict(
            f"These are calls of {' and '.join(tools)}. Calls of one tool are decided together; choose again.",
            code="TOOLS_DIFFER",
        )
    return None


def too_much(chosen: Sequence[Chosen], limits: Mapping[str, Decimal]) -> Refusal | None:
    """Why these are not approved at once although they may be rejected, or None. `limits` are major units by currency;
    `*` is for every other one. A currency that nobody limits is approved one by one."""
    # An amount below zero makes no room for another one.
    moved = [replace(one, amount=max(one.amount, 0)) for one in chosen if one.amount is not None]
    for currency, minor in sums_of(moved).items():
        digits = exponent(currency)
        limit = limits.get(currency, limits.get(ANY))
        if digits is None or limit is None:
            return Conflict(
                f"Nobody has said how much {currency or 'of an unknown currency'} may be approved at once. "
                "Approve these one by one.",
                code="SUM_NOT_LIMITED",
            )
        most = int(limit.scaleb(digits))
        if minor > most:
            return Conflict(
                f"Together they come to {money_text(minor, currency)}; at most {money_text(most, currency)} are "
                "approved at once. Choose fewer, or approve them one by one.",
                code="SUM_TOO_LARGE",
                detail={"currency": currency, "sum": minor, "most": most},
            )
    return None


def limits_of(text: str) -> dict[str, Decimal]:
    """`AUD=5000, JPY=100000, *=1000` as major units by currency. Raises ValueError with a sentence."""
    limits: dict[str, Decimal] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        code, _, amount = (piece.strip() for piece in part.partition("="))
        code = code.upper()
        try:
            limit = Decimal(amount)
        except InvalidOperation:
            raise ValueError(f"{part!r} is no currency and amount such as AUD=5000") from None
        if code != ANY and exponent(code) is None:
            raise ValueError(f"{code!r} is no currency of ISO 4217, and not *")
        if not limit.is_finite() or limit < 0 or limit > Decimal(10) ** 12:
            raise ValueError(f"{part!r} is no amount from 0 to 10^12")
        limits[code] = limit
    return limits
