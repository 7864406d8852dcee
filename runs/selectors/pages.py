"""What the run page shows, read for one actor: the web views and the live pushes render the same values.

Every part of a page carries a signature of what it says; a push replaces only parts that say something new.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from audit.core.actor import Actor
from audit.core.visible import as_line
from audit.store.clock import now
from runs.core.kinds import FINAL_CALLS, CallState
from runs.core.standing import UNREADABLE, UNREADABLE_RUN, Standing, call_told, run_told
from runs.core.state import CallMachine, State
from runs.core.words import Segment, Tone, detail_segments, effect_words
from runs.selectors.contract_panel import RunContract, run_contract
from runs.selectors.rows import CallRow, RunRow
from runs.selectors.runs import RunRead, calls_of_interest, calls_page, run_get, run_read
from runs.selectors.timeline import (
    WHOLE,
    Block,
    EventShown,
    GroupShown,
    Narrowed,
    block_at,
    blocks,
    events_shown,
    groups_shown,
)
from runs.selectors.unresolved import unresolved_of

WINDOW = 200
"""Events that a push carries at most."""
OPEN_CALLS = 40
LATEST_CALLS = 6
CALLS_PAGE = 100


@dataclass(frozen=True, slots=True)
class CallShown:
    """One call of the run's list of calls. `unresolved_id` is there if its outcome is or was unknown, `until` while its
    answer is awaited."""

    unresolved_id: UUID | None
    call_id: str
    tool: str
    contract_version: int
    digest: str
    state: str
    word: str
    tone: Tone
    meaning: str
    proposal_id: UUID | None
    effect: str
    attempt: int
    reference: str
    until: datetime | None
    asked_at: datetime
    message: str


@dataclass(frozen=True, slots=True)
class RunShown:
    """A run's page. `events` are newest first, those of `first` to `last` that pass the filter (`narrowed`). `total` is
    how many pass it in all, `blocks` where they lie. `calls` are those of interest, of `calls_total`."""

    run: RunRow
    now: datetime
    title: str
    standing: Standing
    meaning: str
    detail: tuple[Segment, ...]
    narrowed: Narrowed
    groups: list[GroupShown]
    events: list[EventShown]
    first: int
    last: int
    blocks: list[Block]
    calls: list[CallShown]
    calls_total: int
    counts: str
    unresolved: str
    cancel_asked: str
    cancel_acknowledged: str
    quiescent: str
    may_cancel: bool
    why_no_cancel: str
    contract: RunContract
    sig: Mapping[str, str]

    @property
    def total(self) -> int:
        """How many events pass the filter."""
        return sum(block.count for block in self.blocks)

    @property
    def blocks_json(self) -> str:
        """Where the events lie, newest first, for the page's script."""
        return json.dumps([[block.first, block.last, block.count] for block in self.blocks], separators=(",", ":"))

    @property
    def group_counts(self) -> str:
        """The numbers of the groups as JSON, for the live page."""
        return json.dumps({"": self.run.seq} | {group.key: group.count for group in self.groups})


@dataclass(frozen=True, slots=True)
class CallsListed:
    """One page of all calls of a run, in the order in which they were asked for; `next` is "" at the end."""

    run: RunRow
    calls: list[CallShown]
    total: int
    counts: str
    after: str
    next: str
    now: datetime


def run_shown(actor: Actor, run_id: UUID | str, *, narrowed: Narrowed = WHOLE, at: int | None = None) -> RunShown:
    """A run's page: its newest events, or the block that holds event `at`. Raises NotFound."""
    read = run_read(actor, run_id)
    found = blocks(read.run.id, read.run.seq, narrowed)
    block = block_at(found, at)
    return _shown(actor, read, narrowed, first=block.first, last=block.last, found=found)


def run_changed(actor: Actor, run_id: UUID | str, *, after: int, narrowed: Narrowed = WHOLE) -> RunShown | None:
    """What a page that has the events up to `after` lacks, at most WINDOW of them; None if nothing. Raises NotFound."""
    seq = run_get(actor, run_id).seq
    if seq <= after:
        return None
    read = run_read(actor, run_id)
    last = min(read.run.seq, after + WINDOW)
    return _shown(actor, read, narrowed, first=after + 1, last=last, found=[])


def calls_listed(actor: Actor, run_id: UUID | str, *, after: str = "") -> CallsListed:
    """All calls of a run, a page of them. Raises NotFound, also for an `after` that is no call of this run."""
    read = run_read(actor, run_id)
    rows = calls_page(actor, read.run.id, after=after, limit=CALLS_PAGE + 1)
    shown = rows[:CALLS_PAGE]
    return CallsListed(
        run=read.run,
        calls=_calls(read, shown),
        total=_total(read.counts),
        counts=_in_words(read.counts),
        after=after,
        next=shown[-1].call_id if len(rows) > CALLS_PAGE else "",
        now=now(),
    )


def run_title(run: RunRow) -> str:
    """What people call it, with nothing hidden in it."""
    return as_line(run.title) or f"Run {str(run.id)[:8]}"


def beside(run: RunRow, standing: Standing) -> tuple[Segment, ...]:
    """What stands beside a run's tag."""
    if run.detail == "1 for people":
        return ()  # the tag says so already
    return (Segment("text", standing.beside),) if standing.beside else detail_segments(run.detail)


def _shown(actor: Actor, read: RunRead, narrowed: Narrowed, *, first: int, last: int, found: list[Block]) -> RunShown:
    run = read.run
    rows = _of_interest(run.id, narrowed.call_id)
    tools = {row.call_id: row.tool for row in rows}
    events = events_shown(run.id, narrowed, after=first - 1, until=last, tools=tools)
    newest = events[0] if events and events[0].seq == run.seq else None
    if newest is None:
        newest = next(iter(events_shown(run.id, WHOLE, after=run.seq - 1, until=run.seq, tools=tools)), None)
    may_cancel, why_no_cancel = (False, read.damaged) if read.damaged else _cancel(actor, read.state)
    standing, meaning = run_told(run.status, read.counts)
    if read.damaged:
        standing, meaning = Standing(UNREADABLE, "bad"), UNREADABLE_RUN
    shown = RunShown(
        run=run,
        now=now(),
        title=f"{run_title(run)} · {standing.word} · Clearance",
        standing=standing,
        meaning=meaning,
        detail=beside(run, standing),
        narrowed=narrowed,
        groups=groups_shown(run.id, narrowed.group),
        events=events,
        first=first,
        last=last,
        blocks=found,
        calls=_calls(read, rows),
        calls_total=_total(read.counts),
        counts=_in_words(read.counts),
        unresolved=_unresolved(read.counts),
        cancel_asked=read.state.cancel_asked_at or read.state.kill_asked_at or "",
        cancel_acknowledged=read.state.acknowledged_at or "",
        quiescent=read.state.quiescent_at or "",
        may_cancel=may_cancel,
        why_no_cancel=why_no_cancel,
        contract=run_contract(read, rows, newest),
        sig={},
    )
    return replace(shown, sig=_signatures(shown))


def _of_interest(run_id: UUID, first: str) -> list[CallRow]:
    rows = calls_of_interest(run_id, first=first, limit=OPEN_CALLS)
    settled = [row for row in rows if row.state in FINAL_CALLS]
    # A long list of what still moves pushes what is over out of sight.
    drop = {row.id for row in settled[max(2, LATEST_CALLS - (len(rows) - len(settled))) :]}
    return [row for row in rows if row.id not in drop]


def _calls(read: RunRead, rows: list[CallRow]) -> list[CallShown]:
    looked_up = unresolved_of([row.id for row in rows])
    return [_call(row, read.state.calls.get(row.call_id), looked_up) for row in rows]


def _call(row: CallRow, machine: CallMachine | None, looked_up: set[UUID]) -> CallShown:
    word, tone, meaning = call_told(row.state)
    error = (row.answer or {}).get("error") or {}
    started = machine is not None and row.state == CallState.STARTED
    return CallShown(
        unresolved_id=row.id if row.id in looked_up else None,
        call_id=row.call_id,
        tool=row.tool,
        contract_version=row.contract_version,
        digest=row.digest,
        state=row.state,
        word=word,
        tone=tone,
        meaning=meaning,
        proposal_id=row.proposal_id,
        effect=effect_words(machine.effect.value) if machine and machine.effect else "",
        attempt=machine.attempt if machine else 0,
        reference=(machine.reference or "") if machine else "",
        until=datetime.fromisoformat(machine.request_deadline)
        if machine and started and machine.request_deadline
        else None,
        asked_at=row.created_at,
        message=str(error.get("message", "")),
    )


def _total(counts: Mapping[str, int]) -> int:
    return sum(number for state, number in counts.items() if state != "in_flight")


def _in_words(counts: Mapping[str, int]) -> str:
    return ", ".join(
        f"{number:,} {call_told(state)[0].lower()}"
        for state, number in counts.items()
        if number and state != "in_flight"
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
        "contract": (shown.contract, shown.unresolved, shown.cancel_asked, shown.cancel_acknowledged, shown.quiescent),
    }
    return {part: hashlib.sha256(repr(value).encode()).hexdigest()[:12] for part, value in said.items()}
