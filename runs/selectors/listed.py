"""What the list of runs shows, read for one actor: its page and the live pushes render the same values."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from access.selectors.names import agent_names
from approvals.selectors.catalogue import tool_names
from audit.core.actor import Actor
from audit.core.once import Once
from audit.selectors.counted import COUNTED, count_words, counts_of
from audit.store.clock import now
from runs.core.kinds import RunStatus
from runs.core.meanings import RUN_MEANING
from runs.core.standing import RUN_WORD, Standing, run_told
from runs.core.words import Segment
from runs.selectors.asked import query_of
from runs.selectors.pages import beside
from runs.selectors.rows import RunRow, run_row
from runs.selectors.runs import (
    EVERY,
    PAGE,
    RunFilter,
    call_counts,
    runs_by_id,
    runs_page,
    runs_wanted,
    visible_runs,
)
from runs.selectors.stuck import MOST, Stuck, stuck_runs

FINISHED = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED)
_OPEN = [status.value for status in RunStatus if status not in FINISHED]
STUCK_SHOWN = 8
"""Stuck runs that stand above the list; behind them a link to all of them."""
RECENT = 500
"""Runs whose people are offered to choose from."""


@dataclass(frozen=True, slots=True)
class RunListed:
    """A run as a row of the list. `stuck`: why it does not go on by itself, or None."""

    run: RunRow
    standing: Standing
    meaning: str
    detail: tuple[Segment, ...]
    stuck: Stuck | None = None


@dataclass(frozen=True, slots=True)
class StateOption:
    """One state of the filter, and how many runs stand there, at most COUNTED + 1."""

    value: str
    word: str
    meaning: str
    count: int


@dataclass(frozen=True, slots=True)
class Choices:
    """What the filters offer: agents as (id, name), tools by name, people whom agents acted for lately."""

    agents: list[tuple[str, str]]
    tools: list[str]
    people: list[str]


@dataclass(frozen=True, slots=True)
class RunsListed:
    """The list of runs. `fresh` runs are newer than what the reader has; `next` is the cursor of the next page.

    `total` counts all of them, at most COUNTED + 1. `stuck` are those that stand first, of `stuck_total` that pass the
    filter (MOST: perhaps more).
    """

    rows: list[RunListed]
    states: list[StateOption]
    total: int
    wanted: RunFilter
    stuck: list[RunListed]
    stuck_total: int
    next: str
    now: datetime
    fresh: int = 0

    @property
    def counts(self) -> str:
        """The tabs' numbers as JSON, for the live page."""
        numbers = {option.value: option.count for option in self.states}
        numbers |= {"all": self.total, "stuck": self.stuck_total}
        return json.dumps({key: n if n <= COUNTED else count_words(n) for key, n in numbers.items()})

    @property
    def stuck_query(self) -> str:
        """The part of the address of those alone."""
        return query_of(self.wanted, stuck="1")

    @property
    def stuck_more(self) -> bool:
        """Whether there may be more of them than were looked for."""
        return self.stuck_total >= MOST

    @property
    def stuck_sig(self) -> str:
        """Another one whenever what stands first says something else."""
        said = [(row.run.id, row.run.seq, row.stuck) for row in self.stuck], self.stuck_total
        return hashlib.sha256(repr(said).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class RunsHas:
    """What a page's list shows: its filter, its runs with their sequences, since when, and what it was told beside
    rows (how many are new, the counts, what stands first)."""

    wanted: RunFilter
    rows: Mapping[UUID, int]
    since: datetime
    told: tuple[int, str, str] = (0, "", "")


def run_counts(actor: Actor) -> dict[str, int]:
    """How many runs that the actor may see stand in each state, each count up to COUNTED + 1; states without any are
    left out. One query, and no more work however many runs were."""
    states = [status.value for status in RunStatus]
    counts = counts_of([visible_runs(actor).filter(status=state) for state in states])
    return {state: count for state, count in zip(states, counts, strict=True) if count}


def open_count(actor: Actor) -> int:
    """Runs that are not finished, at most COUNTED + 1."""
    [count] = counts_of([visible_runs(actor).filter(status__in=_OPEN)])
    return count


def choices(actor: Actor) -> Choices:
    """What the filters offer."""
    recent = visible_runs(actor).order_by("-updated_at").values_list("acting_user_name", flat=True)[:RECENT]
    return Choices(
        agents=[(id_, name) for id_, name, _ in agent_names(actor.tenant_id)],
        tools=[name for name, _ in tool_names(actor.tenant_id)],
        people=sorted({name for name in recent if name}, key=str.casefold),
    )


def runs_listed(actor: Actor, wanted: RunFilter = EVERY, *, cursor: str = "") -> RunsListed:
    """One page of the list; of stuck runs all that were found, the gravest first. A state that does not exist lists
    nothing. Raises Invalid (CURSOR_INVALID)."""
    if wanted.stuck:
        return _listing(actor, [], wanted, "")
    page = runs_page(actor, wanted, cursor=cursor)
    return _listing(actor, page.rows, wanted, page.next)


type RunsNews = tuple[RunsListed, RunsHas]
"""A list's runs that changed and how many are new, and what the page has with them."""


def runs_changed(actor: Actor, has: RunsHas) -> RunsNews | None:
    """What one list lacks, with what it has then. None: nothing."""
    [found] = runs_news([(actor, has)])
    if isinstance(found, Exception):
        raise found
    return found


def runs_news(asks: Sequence[tuple[Actor, RunsHas]]) -> list[RunsNews | Exception | None]:
    """What each of these lists lacks: its rows that changed, how many runs are new or came to this state; None where it
    lacks nothing. A list that cannot be read has its own error and costs no other one its answer.

    What a person sees of runs follows from organisation and roles alone: it is read once for all who have the same.
    """
    once = Once()
    names = {actor: replace(actor.nameless(), groups=frozenset()) for actor, _ in asks}
    ids: dict[Actor, set[UUID]] = {}
    for actor, has in asks:
        ids[names[actor]] = ids.get(names[actor], set()) | set(has.rows)
    found: list[RunsNews | Exception | None] = []
    for actor, has in asks:
        name = names[actor]
        try:
            found.append(_news(once, name, has, ids[name]))
        except Exception as error:
            found.append(error)
    return found


def _news(once: Once, name: Actor, has: RunsHas, ids: set[UUID]) -> RunsNews | None:
    known = once((name, "rows"), lambda: {run.id: run for run in runs_by_id(name, sorted(ids))})
    changed = [known[run_id] for run_id, seq in has.rows.items() if run_id in known and known[run_id].seq > seq]
    listing = _listing(name, changed, has.wanted, "", once)
    fresh = 0
    if not has.wanted.stuck:
        newest = once((name, "newest", has.wanted), lambda: runs_page(name, has.wanted, limit=PAGE).rows)
        fresh = sum(run.id not in has.rows and run.updated_at > has.since for run in newest)
    told = (fresh, listing.counts, listing.stuck_sig)
    if not changed and told == has.told:
        return None
    rows = dict(has.rows) | {run.id: run.seq for run in changed}
    return replace(listing, fresh=fresh), replace(has, rows=rows, told=told)


def _listing(
    actor: Actor, rows: Sequence[RunRow], wanted: RunFilter, following: str, once: Once | None = None
) -> RunsListed:
    """`once`: what several lists of this very actor share."""
    once = once or Once()
    counts = once((actor, "counts"), lambda: run_counts(actor))
    found: Mapping[UUID, Stuck] = once(
        (actor, "stuck"), lambda: {one.run_id: one for one in stuck_runs(actor)} if actor.roles else {}
    )
    passing = once((actor, "passing", wanted), lambda: {run.id: run for run in _rows(actor, wanted, found)})
    stuck = [passing[run_id] for run_id in found if run_id in passing]
    shown = stuck if wanted.stuck else stuck[:STUCK_SHOWN]
    completed = tuple(run.id for run in [*rows, *shown] if run.status == RunStatus.COMPLETED)
    calls = once((actor, "calls", completed), lambda: call_counts(actor, completed))
    return RunsListed(
        rows=[_listed(run, calls.get(run.id, {}), found.get(run.id)) for run in rows],
        states=[StateOption(s.value, RUN_WORD[s], RUN_MEANING[s], counts.get(s.value, 0)) for s in RunStatus],
        total=min(sum(counts.values()), COUNTED + 1),
        wanted=wanted,
        stuck=[_listed(run, calls.get(run.id, {}), found.get(run.id)) for run in shown],
        stuck_total=len(stuck),
        next=following,
        now=once((actor, "now"), now),
    )


def _rows(actor: Actor, wanted: RunFilter, found: Mapping[UUID, Stuck]) -> list[RunRow]:
    return [run_row(run) for run in runs_wanted(actor, wanted).filter(pk__in=list(found))]


def _listed(run: RunRow, calls: Mapping[str, int], stuck: Stuck | None) -> RunListed:
    standing, meaning = run_told(run.status, calls)
    return RunListed(run, standing, meaning, beside(run, standing), stuck)
