"""Transition tables written as text, read once at import.

A line is `from | event | guards | to | commands`. A guard that ends in `?` chooses between lines of the same `from`
and `event`: the first line whose choosers all hold is the one; then its other guards must hold too. `to` says `=`
where nothing moves, several words where the event's own word decides. A word that nobody knows fails the import.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runs.core.events import Event
from runs.core.kinds import CommandKind, EventKind

# "" when it holds, else the sentence of the refusal. A call's guard takes (state, call, event), a run's (state, event).
Guard = Callable[..., str]


class IllegalTransition(Exception):
    """The history does not allow this event here; nothing changed.

    `state` is where the call or the run stands, `event` what was tried, `sentence` the reason with its remedy.
    Services answer it with a conflict (409).
    """

    def __init__(self, state: str, event: str, sentence: str) -> None:
        super().__init__(sentence)
        self.state = state
        self.event = event
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Row:
    """One line. `source` and `to` hold state names; an empty `to` means that the state stays."""

    source: tuple[str, ...]
    events: tuple[EventKind, ...]
    choosers: tuple[Guard, ...]
    guards: tuple[Guard, ...]
    to: tuple[str, ...]
    commands: tuple[CommandKind, ...]

    def transitions(self) -> Iterator[tuple[str, EventKind, str]]:
        """Every (from, event, to) that the line allows."""
        for source in self.source:
            for event in self.events:
                for target in self.to or (source,):
                    yield source, event, target


Index = Mapping[tuple[str, EventKind], tuple[Row, ...]]


def read(text: str, *, states: Mapping[str, tuple[str, ...]], guards: Mapping[str, Any]) -> tuple[Row, ...]:
    """The rows of `text`. `states` gives the states that a word stands for, `guards` the functions by name."""
    rows = []
    for line in text.strip().splitlines()[1:]:
        source, events, checks, target, commands = (cell.strip() for cell in line.split("|"))
        names = checks.split()
        rows.append(
            Row(
                source=tuple(state for word in source.split() for state in states[word]),
                events=tuple(EventKind(word) for word in events.split()),
                choosers=tuple(guards[name[:-1]] for name in names if name.endswith("?")),
                guards=tuple(guards[name] for name in names if not name.endswith("?")),
                to=() if target == "=" else tuple(state for word in target.split() for state in states[word]),
                commands=tuple(CommandKind(word) for word in commands.split()),
            )
        )
    return tuple(rows)


def index(rows: Iterable[Row]) -> Index:
    """The rows by (state, event), in their order."""
    found: dict[tuple[str, EventKind], tuple[Row, ...]] = {}
    for row in rows:
        for source in row.source:
            for event in row.events:
                found[source, event] = (*found.get((source, event), ()), row)
    return found


def choose(found: Index, where: str, event: Event, *seen: Any) -> Row | None:
    """The row for `event` in state `where`, its guards passed; None when the table has none for it.

    `seen` is what the guards look at before the event. Raises IllegalTransition with the first guard's refusal, or,
    where no line's choosers hold, with the last chooser's.
    """
    sentence = ""
    for row in found.get((where, event.kind), ()):
        if sentence := _refusal(row.choosers, seen, event):
            continue
        if sentence := _refusal(row.guards, seen, event):
            break
        return row
    if sentence:
        raise IllegalTransition(where, event.kind, sentence)
    return None


def _refusal(guards: tuple[Guard, ...], seen: tuple[Any, ...], event: Event) -> str:
    for guard in guards:
        if sentence := guard(*seen, event):
            return sentence
    return ""
