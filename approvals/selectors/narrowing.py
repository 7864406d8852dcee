"""Narrowed lists of proposals: the conditions, what there is to choose from, and what the rows come to."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import DateTimeField, ExpressionWrapper, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from access.selectors.names import agent_names, group_names
from approvals.core.money import money_text
from approvals.core.narrowing import Narrowing
from approvals.models import Proposal
from approvals.selectors.catalogue import tool_names
from approvals.selectors.standing import SETTLED, visible_proposals
from approvals.selectors.words import in_words
from audit.core.actor import Actor
from audit.store.clock import StatementNow

NEWEST_DECIDED = 10_000
"""What is decided grows for ever: only so many of the newest are looked through when that view is narrowed."""
SUMMED = 1_000
"""Rows that a sum reads at most, so that it costs the same however many wait."""
_EVER = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """What the rows of a list come to. `amounts` are texts, one a currency; `more`: there are rows beyond `rows`, which
    are not in the sums; `bare` rows carry no amount."""

    rows: int
    more: bool
    amounts: tuple[str, ...]
    bare: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the filters offer: names of tools; (id, name) of agents; (slug, name) of groups."""

    tools: list[str]
    agents: list[tuple[str, str]]
    groups: list[tuple[str, str]]


def narrowed(found: "QuerySet[Proposal, Any]", narrowing: Narrowing) -> "QuerySet[Proposal, Any]":
    """Of waiting ones those that fit, quick for a word that all have and for one that none has.

    What few have is found by the index of words; what many have comes soon when the list is walked in its order. Which
    of both it is costs one query, where there is a word.
    """
    if not narrowing.q:
        return found.filter(narrowed_to(narrowing))
    fitting = found.filter(narrowed_to(narrowing, by_index=True)).order_by().values_list("pk", flat=True)
    few = list(fitting[: SUMMED + 1])
    return found.filter(pk__in=few) if len(few) <= SUMMED else found.filter(narrowed_to(narrowing))


def narrowed_to(narrowing: Narrowing, *, by_index: bool = False) -> Q:
    """The condition; empty for a narrowing that is. `by_index`: for waiting ones in no order (see `in_words`)."""
    found = Q()
    if narrowing.q:
        found &= Q(in_words(narrowing.q, by_index=by_index))
    if narrowing.tool:
        found &= Q(tool=narrowing.tool)
    if narrowing.agent:
        found &= Q(agent_id=narrowing.agent)
    if narrowing.group:
        found &= Q(requires__contains=[{"group": narrowing.group}])
    if narrowing.within:
        wait = Value(timedelta(minutes=int(narrowing.within)))
        found &= Q(expires_at__lte=ExpressionWrapper(StatementNow() + wait, output_field=DateTimeField()))
    if narrowing.currency:
        # Without an amount there is nothing in a currency.
        found &= Q(currency=narrowing.currency, amount_minor__isnull=False)
    if narrowing.low_minor is not None:
        found &= Q(amount_minor__gte=narrowing.low_minor)
    if narrowing.high_minor is not None:
        found &= Q(amount_minor__lte=narrowing.high_minor)
    return found


def newest_decided(actor: Actor, found: "QuerySet[Proposal, Any]") -> "QuerySet[Proposal, Any]":
    """Of decided ones (that carry `settled_at`) the newest, by the index of the decided list."""
    settled: Any = visible_proposals(actor).annotate(settled_at=Coalesce("decided_at", "expires_at"))
    oldest = (
        settled.filter(SETTLED).order_by("-settled_at", "-id").values("settled_at")[NEWEST_DECIDED : NEWEST_DECIDED + 1]
    )
    return found.filter(Q(settled_at__gt=Coalesce(Subquery(oldest), Value(_EVER, output_field=DateTimeField()))))


def sums_of(found: "QuerySet[Proposal, Any]") -> Sums:
    """The sums of the first rows of an ordered list. One query."""
    rows = list(found.values_list("currency", "amount_minor")[: SUMMED + 1])
    totals: dict[str, int] = {}
    for currency, minor in rows[:SUMMED]:
        if minor is not None:
            totals[currency] = totals.get(currency, 0) + minor
    return Sums(
        rows=min(len(rows), SUMMED),
        more=len(rows) > SUMMED,
        amounts=tuple(money_text(total, currency) for currency, total in sorted(totals.items())),
        bare=sum(minor is None for _, minor in rows[:SUMMED]),
    )


def choices_of(actor: Actor) -> Choices:
    """What the actor can choose from, in three queries."""
    return Choices(
        tools=[name for name, _ in tool_names(actor.tenant_id)],
        agents=[(id_, name) for id_, name, _ in agent_names(actor.tenant_id)],
        groups=group_names(actor.tenant_id),
    )
