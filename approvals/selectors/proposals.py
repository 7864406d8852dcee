"""Reading proposals: the inbox in a constant number of queries, rows for live lists, one proposal in full.

Lists carry summaries, never bodies (S88), and one bad row never hides the others (S87).
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.db.models import BooleanField, Case, Exists, OuterRef, Q, QuerySet, Value, When
from django.db.models.fields.json import KT

from approvals.core.eligibility import REVIEWER
from approvals.core.narrowing import Narrowing
from approvals.models import Alarm, Decision, Proposal
from approvals.selectors.detail import Detail, detail_of
from approvals.selectors.handling import claim_facts
from approvals.selectors.narrowing import Sums, narrowed, narrowed_to, newest_decided, sums_of
from approvals.selectors.revisions import edited_by
from approvals.selectors.saved import SavedRow
from approvals.selectors.standing import (
    SETTLED,
    WAITING,
    Intact,
    RestoredAt,
    place_held,
    same_call,
    visible_proposals,
    with_standing,
)
from approvals.selectors.summary import UNREADABLE, SummaryRow, rows_of
from audit.core.actor import Actor
from audit.core.once import Once
from audit.core.page_mark import page_mark, page_mark_read
from audit.core.refusal import Conflict, Invalid, NotFound
from audit.selectors.counted import counts_of
from audit.store.clock import ClearanceNow, now

logger = logging.getLogger(__name__)

type View = Literal["mine", "all", "decided"]

VIEWS: tuple[View, ...] = ("mine", "all", "decided")
PAGE = 50
EVERYTHING = Narrowing()
LIVE_ROWS = 1000
"""Rows that a live list may ask for at once."""
_BODIES = ("canonical", "given", "snapshot", "observed", "why", "outcome_detail", "reason", "scopes")


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxPage:
    """One page of a view; `next` is the cursor of the page behind it, "" at the end. `now` is the database's clock."""

    view: View
    rows: list[SummaryRow]
    next: str
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxCounts:
    """How many wait, at most COUNTED + 1: for this actor, for anybody, and in each kept view that is about waiting ones
    (by its id)."""

    mine: int
    all: int
    saved: Mapping[UUID, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """The proposal before or behind another one in a list's order: enough to lead there."""

    id: UUID
    sentence: str


def inbox(
    actor: Actor,
    *,
    view: str = "mine",
    search: str = "",
    narrowing: Narrowing = EVERYTHING,
    cursor: str = "",
    limit: int = PAGE,
    once: Once | None = None,
) -> InboxPage:
    """One page of proposals: *mine* (those that the actor may decide) and *all* by deadline, *decided* newest first.

    `search` is the narrowing's `q` alone. Narrowed, *decided* looks through its newest only (NEWEST_DECIDED). `once`:
    what is found by a word, where `inbox_sums` of the same list is read beside it. Raises Invalid (VIEW_UNKNOWN,
    CURSOR_INVALID). Two queries, however many rows; a third where there is a word.
    """
    search = search.strip().replace("\0", "")
    if search:
        narrowing = replace(narrowing, q=search)
    limit = max(1, min(limit, PAGE))
    descending = view == "decided"
    found = _ordered(actor, view, narrowing, once)
    if cursor:
        at, last_id = page_mark_read(cursor)
        found = found.filter(_behind("settled_at" if descending else "expires_at", at, last_id, descending))
    rows = list(_summaries(actor, _first_of(actor, found, limit + 1), all_mine=view == "mine"))
    shown = rows[:limit]
    more = len(rows) > limit
    return InboxPage(
        view=view,  # type: ignore[arg-type]  # one of VIEWS, checked above
        rows=rows_of(shown),
        next=page_mark(shown[-1].settled_at if descending else shown[-1].expires_at, shown[-1].pk) if more else "",
        now=rows[0].read_at if rows else now(),
    )


def inbox_counts(actor: Actor, saved: Sequence[SavedRow] = ()) -> InboxCounts:
    """How many proposals wait, each count up to COUNTED (one more says "more than that"), in one query."""
    waiting = visible_proposals(actor).filter(WAITING)
    mine = _may_decide(actor)
    kept = {
        row.id: waiting.filter(narrowed_to(row.narrowing, by_index=True), mine if row.view == "mine" else Q())
        for row in saved
        if row.view in ("mine", "all")
    }
    all_, mine_, *others = counts_of([waiting, waiting.filter(mine), *kept.values()])
    return InboxCounts(mine=mine_, all=all_, saved=dict(zip(kept, others, strict=True)))


def inbox_sums(actor: Actor, *, view: str, narrowing: Narrowing = EVERYTHING, once: Once | None = None) -> Sums:
    """What the rows of a view come to. Raises Invalid (VIEW_UNKNOWN). One query; see `inbox` for a word."""
    return sums_of(_ordered(actor, view, narrowing, once))


def near(actor: Actor, *, view: str, narrowing: Narrowing, of: Detail) -> tuple[Near | None, Near | None]:
    """Who stands before and behind a proposal in a list's order, whether it still belongs to that list or not.

    Raises Invalid (VIEW_UNKNOWN). Two queries.
    """
    descending = view == "decided"
    column, at = ("settled_at", of.decided_at or of.expires_at) if descending else ("expires_at", of.expires_at)
    found = _ordered(actor, view, narrowing).exclude(pk=of.id)
    before = found.filter(_behind(column, at, of.id, not descending)).reverse()
    behind = found.filter(_behind(column, at, of.id, descending))
    return _first(before), _first(behind)


def _first(found: "QuerySet[Proposal, Any]") -> Near | None:
    first = Proposal.objects.filter(pk__in=found.values("pk")[:1])
    row = first.annotate(readable=Intact("canonical", "digest")).values_list("pk", "sentence", "readable").first()
    if row is None:
        return None
    return Near(id=row[0], sentence=row[1] if row[2] else UNREADABLE)


def _ordered(actor: Actor, view: str, narrowing: Narrowing, once: Once | None = None) -> "QuerySet[Proposal, Any]":
    """The rows of a view in its order, with their standing."""
    once = once or Once()
    return once((actor, "ordered", view, narrowing), lambda: _narrowed_in_order(actor, view, narrowing))


def _narrowed_in_order(actor: Actor, view: str, narrowing: Narrowing) -> "QuerySet[Proposal, Any]":
    if view not in VIEWS:
        raise Invalid(f"There is no view {view[:40]!r}; use mine, all or decided.", code="VIEW_UNKNOWN")
    found = with_standing(visible_proposals(actor))
    if view == "decided":
        found = found.filter(SETTLED)
        if narrowing:
            found = newest_decided(actor, found)
    else:
        found = found.filter(WAITING)
    if view == "mine":
        found = found.filter(_may_decide(actor))
    if narrowing:
        found = found.filter(narrowed_to(narrowing)) if view == "decided" else narrowed(found, narrowing)
    return found.order_by(*(("-settled_at", "-id") if view == "decided" else ("expires_at", "id")))


def _first_of(actor: Actor, found: "QuerySet[Proposal, Any]", count: int) -> "QuerySet[Proposal, Any]":
    """The first rows of an ordered list. Which they are is asked of an index alone, then their rows are read."""
    order = found.query.order_by
    return with_standing(visible_proposals(actor).filter(pk__in=found.values("pk")[:count])).order_by(*order)


def rows_by_id(actor: Actor, ids: Sequence[UUID]) -> list[SummaryRow]:
    """The rows with these ids that the actor may see, in no particular order; for live lists."""
    return rows_of(list(_summaries(actor, with_standing(visible_proposals(actor).filter(pk__in=ids[:LIVE_ROWS])))))


def proposal_detail(actor: Actor, proposal_id: UUID) -> Detail:
    """Everything that a proposal's page shows; see `Detail`. Raises NotFound, also for a foreign id (S62).

    The bytes are verified at every look (S84): if they are not what was made, `tampered` says so and there is no
    content.
    """
    return detail_of(actor, proposal_row(actor, proposal_id))


def proposal_row(actor: Actor, proposal_id: UUID) -> Any:
    """The row that a detail is made of. Raises NotFound."""
    found = with_standing(visible_proposals(actor)).select_related("tool_version")
    asked = found.annotate(same=same_call(), read_at=ClearanceNow(), restored_at=RestoredAt())
    proposal = asked.filter(pk=proposal_id).first()
    if proposal is None:
        raise NotFound
    return proposal


def earlier_rejection(run_id: UUID, digest: str) -> Conflict | None:
    """The refusal for a call whose digest people rejected in this run before (S16), or None."""
    rejected = Proposal.objects.filter(run_id=run_id, digest=digest, status="rejected").order_by("-decided_at").first()
    if rejected is None:
        return None
    vote = Decision.objects.filter(proposal=rejected, round=rejected.round, verdict="reject").first()
    reason = vote.reason if vote else ""
    by = vote.by if vote else "people"
    return Conflict(
        f"This exact call was rejected in this run by {by}: {reason}. It is not asked again; do something else.",
        code="REJECTED_BEFORE",
        detail={"by": by, "reason": reason, "at": rejected.decided_at and rejected.decided_at.isoformat()},
    )


def _may_decide(actor: Actor) -> Q:
    """The proposals that wait for this actor. A filter for lists only: a decision reads rights anew."""
    if actor.kind != "person" or REVIEWER not in actor.roles or not (actor.groups or actor.stands_in):
        return Q(pk__isnull=True)
    given = Decision.objects.filter(proposal=OuterRef("pk"), round=OuterRef("round"))
    # A vote in another's place counts no more when its delegation was called back, or when whoever gave it may not
    # decide any more: then its people may vote again.
    given = given.filter(Q(for_user_id=None) | Q(verdict="reject") | place_held(actor.tenant_id))
    ways = _in_place(actor.id, actor.groups, given) if actor.groups else Q(pk__isnull=True)
    for giver, groups in actor.stands_in:
        ways |= _in_place(giver, groups, given) & _not_of(giver) & ~edited_by(replace(actor, id=giver))
    return ways & _not_of(actor.id) & ~Q(Exists(given.filter(reviewer_id=actor.id))) & ~edited_by(actor)


def _in_place(person: str, groups: Iterable[str], given: "QuerySet[Decision, Any]") -> Q:
    """What asks these groups, unless somebody has given the person's vote for them."""
    asked = Q()
    for group in sorted(groups):
        asked |= Q(requires__contains=[{"group": group}])
    return asked & ~Q(Exists(given.filter(Q(for_user_id=person) | Q(reviewer_id=person, for_user_id=None))))


def _not_of(person: str) -> Q:
    """Not that person's own call, nor their agent's, nor what they prepared in an agent's place (A9)."""
    prepared = Proposal.objects.annotate(preparer=KT("why__prepared_by__id")).filter(
        status="pending", why__has_key="prepared_by", preparer=person
    )
    # Written positively, since a missing owner or person is NULL and NULL is neither equal nor unequal.
    asked = (Q(acting_user_id=None) | ~Q(acting_user_id=person)) & (Q(agent_owner_id=None) | ~Q(agent_owner_id=person))
    return asked & ~Q(pk__in=prepared.values("pk"))


def _summaries(actor: Actor, found: "QuerySet[Proposal, Any]", *, all_mine: bool = False) -> "QuerySet[Proposal, Any]":
    """`all_mine`: they were found as this actor's, by the same statement."""
    mine: Any = Value(True, output_field=BooleanField())
    if not all_mine:
        mine = Case(When(WAITING & _may_decide(actor), then=True), default=False, output_field=BooleanField())
    return (
        found.defer(*_BODIES)
        .annotate(
            readable=Intact("canonical", "digest"),
            held_because=KT("why__verdict__message"),
            asked_anew=KT("why__opened_because__message"),
            ended_by=KT("outcome_detail__by"),
            mine=mine,
            same=same_call(),
            claimed=claim_facts(),
            stuck=Exists(Alarm.objects.filter(proposal=OuterRef("pk"), ended_at=None)),
            read_at=ClearanceNow(),
        )
        .prefetch_related("decisions")
    )


def _behind(column: str, at: datetime, last_id: UUID, descending: bool) -> Q:
    side = "lt" if descending else "gt"
    # The first part says nothing new; it is what an index can begin at.
    return Q(**{f"{column}__{side}e": at}) & (
        Q(**{f"{column}__{side}": at}) | Q(**{column: at, f"pk__{side}": last_id})
    )
