"""Calls whose outcome nobody knows: the list, oldest first, and one of them with everything that is known (screens.md,
Needs reconciliation). Reads rows and histories only; no reader of a page ever calls a target.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import DateTimeField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from approvals.core.digest import CallFacts, check_call_bytes
from approvals.core.money import money_text
from approvals.core.present import Piece, Row, argument_rows, primary_money, sentence
from approvals.selectors.catalogue import active_contracts
from approvals.selectors.proposals import proposal_detail
from audit.core.actor import Actor
from audit.core.jsondoor import open_json
from audit.core.page_mark import page_mark, page_mark_read
from audit.core.refusal import NotFound, Refusal
from audit.store.clock import now as clock_now
from runs.core.kinds import CallState, EventKind, RunStatus
from runs.core.proof import Proof
from runs.core.state import CallMachine
from runs.models import Call, Dispatch, Event
from runs.selectors.history import folded
from runs.selectors.look_ups import LookUps, look_ups_of
from runs.selectors.proving import Proving, contract_or_none, proof_at, proving
from runs.selectors.runs import EventRow, timeline, visible_runs
from runs.selectors.settled import Decided, Late, Noted, decisions_on, late_results, noted_on

PAGE = 50
# A run with an unknown call stands in one of these, so the index on the status finds it.
STANDING = (RunStatus.NEEDS_RECONCILIATION, RunStatus.CANCELLING)
_STORED_LIMIT = 8 * 1_048_576


@dataclass(frozen=True, slots=True, kw_only=True)
class UnresolvedRow:
    """One unknown call. `sentence` is "" where its stored bytes are not the ones that were asked for. `sent_at` is when
    the request was sent, `since` when its outcome became unknown."""

    id: UUID
    run_id: UUID
    run_title: str
    agent_name: str
    acting_for: str
    call_id: str
    tool: str
    proposal_id: UUID | None
    sentence: tuple[Piece, ...]
    amount: str
    sent_at: datetime | None
    since: datetime
    proof: Proof
    look_ups: LookUps
    can_be_asked: bool
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnresolvedPage:
    """One page, oldest first; `next` is the cursor of the page behind it, "" at the end. `total` counts all."""

    rows: list[UnresolvedRow]
    next: str
    total: int
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One request: when it was sent, until when its answer was awaited, under which fence, and how its worker ended."""

    number: int
    sent_at: datetime
    deadline: datetime
    fence: int
    ended: str
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """Another call of the run: prepared to make up for this one, or one that could be named as having done so."""

    id: UUID
    call_id: str
    tool: str
    state: str
    reference: str
    proposal_id: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unresolved:
    """One call that is unknown or was. `damaged` is "" or says that the stored bytes cannot be trusted; then there are
    no `arguments`. `proposal` is approvals' own detail (who approved what, and why it was held), None where nobody was
    asked."""

    row: UnresolvedRow
    now: datetime
    unknown: bool
    state: str
    machine: CallMachine
    key: str
    digest: str
    target: str
    contract_version: int
    arguments: tuple[Row, ...]
    size_bytes: int
    damaged: str
    proposal: Any
    proving: Proving
    attempts: list[Attempt]
    events: list[EventRow]
    prepared: list[Other]
    linkable: list[Other]
    tools: list[str]
    decided: list[Decided]
    noted: list[Noted]
    late: list[Late]
    run_stopped: bool
    may: bool
    why_not: str


def unresolved_calls(actor: Actor) -> QuerySet[Call]:
    """The unknown calls that the actor may see."""
    runs = visible_runs(actor).filter(status__in=[status.value for status in STANDING])
    return Call.objects.filter(state=CallState.UNKNOWN.value, run__in=runs)


def unresolved_count(actor: Actor) -> int:
    """How many there are; for the navigation."""
    return unresolved_calls(actor).count()


def unresolved_token(actor: Actor) -> Any:
    """Another one whenever the list may have news, the passing of time apart."""
    calls = list(unresolved_calls(actor).order_by("id").values_list("id", "version")[: 4 * PAGE])
    asked = Dispatch.objects.filter(call_id__in=[call_pk for call_pk, _ in calls], kind="look_up")
    return calls, list(asked.order_by("id").values_list("id", "status", "not_before"))


def unresolved_page(actor: Actor, *, after: str = "", limit: int = PAGE) -> UnresolvedPage:
    """One page of the list. Raises Invalid (CURSOR_INVALID)."""
    calls = _dated(unresolved_calls(actor))
    if after:
        at, last = page_mark_read(after)
        calls = calls.exclude(since__lt=at).exclude(since=at, id__lte=last)
    found = list(calls.select_related("run").order_by("since", "id")[: limit + 1])
    shown = found[:limit]
    now = clock_now()
    asked = look_ups_of([call.id for call in shown])
    return UnresolvedPage(
        rows=[_row(call, asked.get(call.id, LookUps()), now) for call in shown],
        next=page_mark(shown[-1].since, shown[-1].id) if len(found) > limit else "",
        total=unresolved_count(actor),
        now=now,
    )


def unresolved_detail(actor: Actor, unresolved_id: UUID) -> Unresolved:
    """One call that is unknown, or was and is settled. Raises NotFound, also for one whose outcome never was."""
    found = Call.objects.filter(pk=unresolved_id, run__in=visible_runs(actor))
    call = _dated(found).select_related("run").first()
    if call is None:
        raise NotFound
    decided = decisions_on(call.run_id, call.call_id)
    unknown = call.state == CallState.UNKNOWN
    asked = look_ups_of([call.id]).get(call.id)
    if not unknown and asked is None and not decided:
        raise NotFound
    now = clock_now()
    state = folded(call.run)
    machine = state.calls[call.call_id]
    known = proving(call, machine, now, asked or LookUps())
    rows, size, damaged = _arguments(call, machine)
    others = {other.call_id: other for other in _others(call)}
    machines = state.calls.values()
    taken = {one.compensated_by for one in machines if one.compensated_by}
    may, why_not = _may(actor)
    return Unresolved(
        row=_row(call, asked or LookUps(), now),
        now=now,
        unknown=unknown,
        state=call.state,
        machine=machine,
        key=call.key,
        digest=call.digest,
        target=call.target,
        contract_version=call.contract_version,
        arguments=rows,
        size_bytes=size,
        damaged=damaged,
        proposal=proposal_detail(actor, call.proposal_id) if call.proposal_id else None,
        proving=known,
        attempts=_attempts(call),
        events=[event for event in _all_events(actor, call) if event.body.get("call_id") == call.call_id],
        prepared=[others[one.call_id] for one in machines if one.compensates == call.call_id],
        linkable=[
            others[one.call_id]
            for one in machines
            if one.call_id in others
            and one.state is CallState.SUCCEEDED
            and not one.read_only
            and one.compensates is None
            and one.call_id not in taken
        ],
        tools=_tools(actor, known) if unknown and may else [],
        decided=decided,
        noted=noted_on(call),
        late=late_results(call),
        run_stopped=state.stop_asked,
        may=may,
        why_not=why_not,
    )


def unresolved_visible(actor: Actor, unresolved_id: UUID) -> None:
    """Raises NotFound where `unresolved_detail` would; reads next to nothing."""
    call = Call.objects.filter(pk=unresolved_id, run__in=visible_runs(actor)).only("id", "run_id", "call_id").first()
    if call is None or not (unresolved_of([call.id]) or decisions_on(call.run_id, call.call_id)):
        raise NotFound


def unresolved_of(call_pks: Sequence[UUID]) -> set[UUID]:
    """Which of these calls have a page here: those that were looked up. For links from other pages."""
    rows = Dispatch.objects.filter(call_id__in=list(call_pks), kind="look_up")
    return {call_pk for call_pk in rows.values_list("call_id", flat=True).distinct() if call_pk is not None}


def _dated(calls: QuerySet[Call]) -> QuerySet[Any]:
    """With `sent_at`, `request_deadline` (of the last attempt) and `since`."""
    sent = Dispatch.objects.filter(call_id=OuterRef("pk"), kind="dispatch", started_at__isnull=False)
    last = sent.order_by("-started_at")
    calls = calls.annotate(
        sent_at=Subquery(last.values("started_at")[:1], output_field=DateTimeField()),
        request_deadline=Subquery(last.values("request_deadline")[:1], output_field=DateTimeField()),
    )
    looked = Dispatch.objects.filter(call_id=OuterRef("pk"), kind="look_up", created_at__gte=OuterRef("sent_at"))
    first = looked.order_by("created_at").values("created_at")[:1]
    return calls.annotate(since=Coalesce(Subquery(first, output_field=DateTimeField()), "sent_at", "created_at"))


def _row(call: Any, look_ups: LookUps, now: datetime) -> UnresolvedRow:
    contract = contract_or_none(call)
    pieces: tuple[Piece, ...] = ()
    amount = ""
    facts = _facts(call)
    if facts is not None and contract is not None:
        seen = Dispatch.objects.filter(call_id=call.id, kind="dispatch", observed__isnull=False).order_by("-started_at")
        observed = seen.values_list("observed", flat=True).first() or {}
        pieces = tuple(sentence(contract, facts.arguments, observed.get("state")))
        minor, currency = primary_money(contract, facts.arguments)
        amount = money_text(minor, currency) if minor is not None else ""
    return UnresolvedRow(
        id=call.id,
        run_id=call.run_id,
        run_title=call.run.title,
        agent_name=call.run.agent_name,
        acting_for=call.run.acting_user_name,
        call_id=call.call_id,
        tool=call.tool,
        proposal_id=call.proposal_id,
        sentence=pieces,
        amount=amount,
        sent_at=call.sent_at,
        since=call.since,
        proof=proof_at(
            now=now, request_deadline=call.request_deadline or call.since, contract=contract, look_ups=look_ups
        ),
        look_ups=look_ups,
        can_be_asked=contract is not None and contract.adapter.look_up is not None,
        version=call.version,
    )


def _facts(call: Call) -> CallFacts | None:
    """What the stored bytes say; None where they are damaged: a bad row never hides the others (S87)."""
    try:
        return check_call_bytes(bytes(call.canonical), call.digest)
    except Refusal:
        return None


def _arguments(call: Call, machine: CallMachine) -> tuple[tuple[Row, ...], int, str]:
    contract, facts = contract_or_none(call), _facts(call)
    if contract is None or facts is None or machine.digest != call.digest:
        sentence = (
            "The stored call or its contract is not the one that was asked for, so it is not shown and not sent again. "
            "Look at the target by the key, and tell an admin."
        )
        return (), 0, sentence
    try:
        given = open_json(bytes(call.given), limit=_STORED_LIMIT, members=200_000)
    except Refusal:
        given = {}
    return tuple(argument_rows(contract, given, facts.arguments)), len(call.canonical), ""


def _attempts(call: Call) -> list[Attempt]:
    rows = Dispatch.objects.filter(call_id=call.id, kind="dispatch", started_at__isnull=False).order_by("started_at")
    ends: dict[str, tuple[str, dict[str, Any], datetime | None]] = {
        str(body.get("dispatch_id")): (kind, body, at)
        for kind, body, at in Event.objects.filter(run_id=call.run_id, body__call_id=call.call_id)
        .filter(
            kind__in=[
                EventKind.OUTCOME_UNKNOWN.value,
                EventKind.DISPATCH_FAILED.value,
                EventKind.DISPATCH_SUCCEEDED.value,
            ]
        )
        .order_by("seq")
        .values_list("kind", "body", "at")
    }
    attempts = []
    for number, row in enumerate(rows, 1):
        kind, body, at = ends.get(str(row.id), ("", {}, None))
        said = {
            "outcome_unknown": str(body.get("reason") or "no usable answer came"),
            "dispatch_failed": str(body.get("message") or "it failed"),
            "dispatch_succeeded": "it succeeded",
        }
        attempts.append(
            Attempt(
                number=number,
                sent_at=row.started_at or row.created_at,
                deadline=row.request_deadline or row.created_at,
                fence=row.fence,
                ended=said.get(kind, "the run ended its work" if row.status == "done" else "not ended"),
                ended_at=at,
            )
        )
    return attempts


def _all_events(actor: Actor, call: Call) -> list[EventRow]:
    """The newest of the run's events: what happened to a call that is in question is never far back."""
    return timeline(actor, call.run_id, after=max(0, call.run.seq - 500))


def _others(call: Call) -> list[Other]:
    rows = Call.objects.filter(run_id=call.run_id).exclude(pk=call.pk).order_by("created_at", "id")
    return [
        Other(
            id=row.id,
            call_id=row.call_id,
            tool=row.tool,
            state=row.state,
            reference=str(((row.answer or {}).get("receipt") or {}).get("reference") or ""),
            proposal_id=row.proposal_id,
        )
        for row in rows
    ]


def _tools(actor: Actor, known: Proving) -> list[str]:
    """Names to choose from: the contract's own alternatives first, then every other tool that changes something."""
    first = list(known.contract.alternatives) if known.contract is not None else []
    try:
        changing = [found.contract.name for found in active_contracts(actor.tenant_id) if not found.contract.read_only]
    except Refusal:
        return []
    return [name for name in first if name in changing] + [name for name in changing if name not in first]


def _may(actor: Actor) -> tuple[bool, str]:
    """Whether to offer the choices; the service judges again."""
    if actor.kind != "person":
        return False, "People decide this, in their own browser session."
    if actor.has_role("operator"):
        return True, ""
    return False, "Settling an unknown outcome takes the role operator. Ask an admin for it, or tell an operator."
