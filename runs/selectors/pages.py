"""What the run pages show, read for one actor: the web views and the live pushes render the same values.

Every part of a page carries a signature of what it says; a push replaces only parts that say something new.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db.models import Count

from audit.core.actor import Actor
from audit.core.visible import as_line
from audit.store.clock import now
from runs.core.kinds import CallState, RunStatus
from runs.core.meanings import RUN_MEANING
from runs.core.standing import RUN_WORD, UNREADABLE, UNREADABLE_RUN, Standing, call_told, run_told
from runs.core.state import CallMachine, State
from runs.core.words import Line, Segment, Tone, detail_segments, effect_words
from runs.selectors.rows import CallRow, RunRow
from runs.selectors.runs import (
    EventRow,
    call_counts,
    run_detail,
    run_get,
    runs_by_id,
    runs_page,
    timeline_of,
    visible_runs,
)
from runs.selectors.unresolved import unresolved_of

WINDOW = 200
"""Events that a page shows at once and a push carries at most."""

FINISHED = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED)


@dataclass(frozen=True, slots=True)
class EventShown:
    """An event with its words, and as JSON for whoever wants to see it raw."""

    seq: int
    at: datetime
    line: Line
    raw: str


@dataclass(frozen=True, slots=True)
class CallShown:
    """One call of the run's list of calls. `unresolved_id` is there if its outcome is or was unknown."""

    unresolved_id: UUID | None
    call_id: str
    tool: str
    digest: str
    word: str
    tone: Tone
    meaning: str
    proposal_id: UUID | None
    effect: str
    attempt: int
    reference: str
    until: str
    message: str


@dataclass(frozen=True, slots=True)
class RunShown:
    """A run's page. `events` are newest first, `first` and `last` their sequence numbers (last: the run's own)."""

    run: RunRow
    now: datetime
    title: str
    standing: Standing
    meaning: str
    detail: tuple[Segment, ...]
    events: list[EventShown]
    first: int
    last: int
    calls: list[CallShown]
    counts: str
    unresolved: str
    cancel_asked: str
    cancel_acknowledged: str
    quiescent: str
    may_cancel: bool
    why_no_cancel: str
    sig: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RunListed:
    """A run as a row of the list."""

    run: RunRow
    standing: Standing
    meaning: str
    detail: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class StateOption:
    """One state of the filter, and how many runs stand there."""

    value: str
    word: str
    meaning: str
    count: int


@dataclass(frozen=True, slots=True)
class RunsListed:
    """The list of runs. `fresh` runs are newer than what the reader has; `next` is the cursor of the next page."""

    rows: list[RunListed]
    states: list[StateOption]
    total: int
    state: str
    q: str
    next: str
    now: datetime
    fresh: int = 0

    @property
    def counts(self) -> str:
        """The tabs' numbers as JSON, for the live page."""
        return json.dumps({"all": self.total} | {option.value: option.count for option in self.states})


@dataclass(frozen=True, slots=True)
class RunsHas:
    """What a page's list shows: its filter, its runs with their sequences, since when, and what it was told beside
    rows (how many are new, the counts)."""

    state: str
    q: str
    rows: Mapping[UUID, int]
    since: datetime
    told: tuple[int, str] = (0, "")


def run_counts(actor: Actor) -> dict[str, int]:
    """How many runs that the actor may see stand in each state; states without any are left out."""
    found = visible_runs(actor).order_by().values_list("status").annotate(Count("pk"))
    return dict(found)


def open_count(actor: Actor) -> int:
    """Runs that are not finished."""
    return visible_runs(actor).exclude(status__in=FINISHED).count()


def runs_listed(actor: Actor, *, state: str = "", q: str = "", cursor: str = "") -> RunsListed:
    """One page of the list. A state that does not exist lists nothing. Raises Invalid (CURSOR_INVALID)."""
    page = runs_page(actor, status=state, search=q, cursor=cursor)
    return _listing(actor, page.rows, state, q, page.next)


def runs_changed(actor: Actor, has: RunsHas) -> tuple[RunsListed, RunsHas] | None:
    """What a list lacks: its rows that changed, how many runs are new or came to this state; with what it has then.
    None: nothing."""
    changed = [run for run in runs_by_id(actor, list(has.rows)) if run.seq > has.rows[run.id]]
    newest = runs_page(actor, status=has.state, search=has.q).rows
    fresh = sum(run.id not in has.rows and run.updated_at > has.since for run in newest)
    listing = replace(_listing(actor, changed, has.state, has.q, ""), fresh=fresh)
    told = (fresh, listing.counts)
    if not changed and told == has.told:
        return None
    return listing, replace(has, rows=dict(has.rows) | {run.id: run.seq for run in changed}, told=told)


def run_shown(actor: Actor, run_id: UUID | str, *, after: int | None = None, before: int | None = None) -> RunShown:
    """A run's page: its newest events, or those behind `after` (at most WINDOW, oldest of them first to be sent), or
    the window that ends before `before`. Raises NotFound."""
    detail = run_detail(actor, run_id)
    run = detail.run
    if after is None:
        last = run.seq if before is None else min(before - 1, run.seq)
        after = max(0, last - WINDOW)
    else:
        last = min(run.seq, after + WINDOW)
    events = timeline_of(detail, after=after, until=last)
    may_cancel, why_no_cancel = (False, detail.damaged) if detail.damaged else _cancel(actor, detail.state)
    standing, meaning = run_told(run.status, detail.counts)
    if detail.damaged:
        standing, meaning = Standing(UNREADABLE, "bad"), UNREADABLE_RUN
    looked_up = unresolved_of([call.id for call in detail.calls])
    shown = RunShown(
        run=run,
        now=now(),
        title=f"{as_line(run.title) or 'Run ' + str(run.id)[:8]} · {standing.word} · Clearance",
        standing=standing,
        meaning=meaning,
        detail=_beside(run, standing),
        events=[_event(event) for event in reversed(events)],
        first=after + 1,
        last=last,
        calls=[_call(call, detail.machines.get(call.call_id), looked_up) for call in detail.calls],
        counts=", ".join(f"{n} {state}" for state, n in detail.counts.items() if n and state != "in_flight"),
        unresolved=_unresolved(detail.counts),
        cancel_asked=detail.state.cancel_asked_at or detail.state.kill_asked_at or "",
        cancel_acknowledged=detail.state.acknowledged_at or "",
        quiescent=detail.state.quiescent_at or "",
        may_cancel=may_cancel,
        why_no_cancel=why_no_cancel,
        sig={},
    )
    return replace(shown, sig=_signatures(shown))


def run_changed(actor: Actor, run_id: UUID | str, *, after: int) -> RunShown | None:
    """What a page that has the events up to `after` lacks; None if nothing. Raises NotFound."""
    return run_shown(actor, run_id, after=after) if run_get(actor, run_id).seq > after else None


def _listing(actor: Actor, rows: Sequence[RunRow], state: str, q: str, following: str) -> RunsListed:
    counts = run_counts(actor)
    calls = call_counts(actor, [run.id for run in rows if run.status == RunStatus.COMPLETED])
    return RunsListed(
        rows=[
            RunListed(run, standing, meaning, _beside(run, standing))
            for run in rows
            for standing, meaning in [run_told(run.status, calls.get(run.id, {}))]
        ],
        states=[StateOption(s.value, RUN_WORD[s], RUN_MEANING[s], counts.get(s.value, 0)) for s in RunStatus],
        total=sum(counts.values()),
        state=state,
        q=q,
        next=following,
        now=now(),
    )


def _beside(run: RunRow, standing: Standing) -> tuple[Segment, ...]:
    if run.detail == "1 for people":
        return ()  # the tag says so already
    return (Segment("text", standing.beside),) if standing.beside else detail_segments(run.detail)


def _event(row: EventRow) -> EventShown:
    raw = {"seq": row.seq, "kind": row.kind, "at": row.at.isoformat(), "actor": row.actor, "body": row.body}
    return EventShown(row.seq, row.at, row.line, json.dumps(raw, indent=2, ensure_ascii=False))


def _call(row: CallRow, machine: CallMachine | None, looked_up: set[UUID]) -> CallShown:
    word, tone, meaning = call_told(row.state)
    error = (row.answer or {}).get("error") or {}
    return CallShown(
        unresolved_id=row.id if row.id in looked_up else None,
        call_id=row.call_id,
        tool=row.tool,
        digest=row.digest,
        word=word,
        tone=tone,
        meaning=meaning,
        proposal_id=row.proposal_id,
        effect=effect_words(machine.effect.value) if machine and machine.effect else "",
        attempt=machine.attempt if machine else 0,
        reference=(machine.reference or "") if machine else "",
        until=(machine.request_deadline or "") if machine and row.state == CallState.STARTED else "",
        message=str(error.get("message", "")),
    )


def _unresolved(counts: Mapping[str, int]) -> str:
    waiting, unknown = counts.get("waiting", 0), counts.get("unknown", 0)
    parts = [f"{waiting} approval{'s' if waiting > 1 else ''}"] if waiting else []
    parts += [f"{unknown} unknown outcome{'s' if unknown > 1 else ''}"] if unknown else []
    return ", ".join(parts) or "nothing"


def _cancel(actor: Actor, state: State) -> tuple[bool, str]:
    """Whether to offer the verb, and if not, why in words. The service judges again."""
    if state.finished:
        return False, ""
    if state.stop_asked:
        return False, "A cancel was asked; nothing new starts."
    if not actor.has_role("operator", "admin"):
        return False, "Cancelling a run takes the role operator."
    return True, ""


def _signatures(shown: RunShown) -> dict[str, str]:
    run = shown.run
    said: dict[str, object] = {
        "head": (shown.standing, run.detail, run.updated_at, run.title),
        "verbs": (shown.may_cancel, shown.why_no_cancel),
        "calls": (shown.calls, shown.counts),
        "facts": (shown.unresolved, shown.cancel_asked, shown.cancel_acknowledged, shown.quiescent, run.finished_at),
    }
    return {part: hashlib.sha256(repr(value).encode()).hexdigest()[:12] for part, value in said.items()}
