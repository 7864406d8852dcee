"""Freezes and limits of a policy, judged on one call and told in words with the values that matched."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from approvals.core.contract_types import Contract
from approvals.core.matched import Match
from approvals.core.money import money_text
from approvals.core.policy_names import ExposureError, call_money, spent
from approvals.core.policy_types import Freeze, Limit

_WINDOWS = {"24h": "24 hours", "30d": "30 days"}


@dataclass(frozen=True, slots=True)
class Over:
    """A limit that the call would pass. `problem` says why it cannot be judged, "" where it could."""

    limit: Limit
    matched: tuple[Match, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Frozen:
    """A freeze that the call falls into. `problem` as for a limit."""

    freeze: Freeze
    matched: tuple[Match, ...]
    problem: str = ""


def frozen(freezes: Sequence[Freeze], contract: Contract, now: datetime | None) -> Frozen | None:
    """The first freeze of this tool that holds at `now`. A time that is not known may be inside: then that is told."""
    for freeze in freezes:
        if contract.name not in freeze.tools and ("*" not in freeze.tools or contract.read_only):
            continue
        if now is None:
            return Frozen(freeze, (), "now is not known here")
        if freeze.start <= now < freeze.end:
            local = now.astimezone(freeze.start.tzinfo)
            text = f"from {_clock(freeze.start)} until {_clock(freeze.end)}, now {_clock(local)}"
            values = (("from", freeze.start.isoformat()), ("to", freeze.end.isoformat()), ("now", local.isoformat()))
            return Frozen(freeze, (Match(freeze.id, text, values),))
    return None


def passed(
    limits: Sequence[Limit], contract: Contract, arguments: Mapping[str, Any], exposure: Mapping[str, Any]
) -> Iterator[Over]:
    """The limits of this tool that the call would pass, itself counted, in the document's order."""
    amount, currency = call_money(contract, arguments)
    for limit in limits:
        if limit.tool != contract.name:
            continue
        try:
            matched = tuple(_over(limit, amount, currency, exposure))
        except ExposureError as error:
            yield Over(limit, (), str(error))
            continue
        if matched:
            yield Over(limit, matched)


def _over(limit: Limit, amount: int | None, currency: str, exposure: Mapping[str, Any]) -> Iterator[Match]:
    before, calls = (0, 0) if limit.window == "call" else spent(exposure, limit.per, limit.window, currency)
    scope = "" if limit.window == "call" else f"{_whose(limit)} in {_WINDOWS[limit.window]}"
    if limit.amount:
        if amount is None:
            raise ExposureError("the call names no amount")
        allowed = dict(limit.amount).get(currency)
        values = (("amount", amount), ("currency", currency), *((("before", before),) if scope else ()))
        if allowed is None or before + amount > allowed:
            this = money_text(amount, currency)
            total = money_text(before + amount, currency)
            sum_of = (
                f"{money_text(before, currency)} {scope} and this {this} come to {total}" if scope else f"this {this}"
            )
            if allowed is None:
                yield Match(limit.id, f"{sum_of}; the limit names nothing in {currency}", values)
            else:
                over = f"{sum_of}, over {money_text(allowed, currency)}"
                yield Match(limit.id, over, (*values, ("limit", allowed)))
    if limit.calls is not None and calls + 1 > limit.calls:
        told = (("before", calls), ("limit", limit.calls))
        yield Match(limit.id, f"{calls + 1:,} calls {scope} with this one, over {limit.calls:,}", told)


def _whose(limit: Limit) -> str:
    return f"of {limit.tool}" if limit.per == "tool" else f"for this {limit.per}"


def _clock(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} {moment:%:z}"
