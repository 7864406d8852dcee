"""Explores a model: every reachable state, each broken invariant with a shortest history, each dead end.

    python -m tests.model.explore                     explores every model; prints counts; exits 1 on a broken invariant
    python -m tests.model.explore call --break fence  removes one safeguard and tells the shortest history that breaks
    python -m tests.model.explore --all               every safeguard in turn: each must break something

A model is a `Machine`: a value that is the state of everything, and a function that gives its labelled next states.
`broken` names safeguards that are taken out. A model that grew one product would not be explored any more, so each
looks at one question and keeps the rest small; what they have in common is this file.
"""

import sys
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

type Step[S] = tuple[str, S]
type Parents[S] = dict[S, tuple[S, str] | None]
NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Machine[S: Hashable]:
    """One model.

    `breaks` says of each safeguard what it means that it is gone. `word` is what a state says for good, None while it
    may still move: once said it never changes.
    """

    name: str
    starts: tuple[S, ...]
    steps: Callable[[S, frozenset[str]], Iterable[Step[S]]]
    faults: Callable[[S], Iterable[str]]
    word: Callable[[S], Hashable | None]
    breaks: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Explored[S: Hashable]:
    """What was found. `parents` holds every reachable state with the step that led to it; `found` each broken
    invariant with the first state that breaks it; `stuck` states from which no word can be said any more."""

    parents: Parents[S]
    found: dict[str, S]
    stuck: list[S]
    steps: int

    def history(self, state: S) -> list[str]:
        """The labels of a shortest way to `state`."""
        labels = []
        step = self.parents[state]
        while step is not None:
            state, label = step
            labels.append(label)
            step = self.parents[state]
        return labels[::-1]


def explore[S: Hashable](machine: Machine[S], broken: frozenset[str] = NOTHING, *, first: bool = False) -> Explored[S]:
    """Breadth first, so that each history is a shortest one. With `first` it stops at the first broken invariant."""
    parents: Parents[S] = dict.fromkeys(machine.starts)
    queue = deque(machine.starts)
    found: dict[str, S] = {}
    before: dict[S, list[S]] = {}
    walked = 0
    while queue and not (found and first):
        s = queue.popleft()
        said = machine.word(s)
        for label, after in machine.steps(s, broken):
            walked += 1
            if said is not None and machine.word(after) != said:
                found.setdefault(f"final {said} became {machine.word(after)}", after)
            before.setdefault(after, []).append(s)
            if after in parents:
                continue
            parents[after] = (s, label)
            faults = list(machine.faults(after))
            for fault in faults:
                found.setdefault(fault, after)
            if not faults:
                queue.append(after)
    return Explored(parents, found, [] if found else _stuck(machine, parents, before), walked)


def _stuck[S: Hashable](machine: Machine[S], parents: Parents[S], before: dict[S, list[S]]) -> list[S]:
    """States from which nothing final can be reached."""
    ends = deque(s for s in parents if machine.word(s) is not None)
    reaching = set(ends)
    while ends:
        for s in before.get(ends.popleft(), ()):
            if s not in reaching:
                reaching.add(s)
                ends.append(s)
    return [s for s in parents if s not in reaching]


def machines() -> dict[str, Machine[Any]]:
    """Every model by its name."""
    from tests.model import call_model, compensation_model, contention_model, record_model, restore_model, turn_model

    every = (
        call_model.MACHINE, contention_model.MACHINE, compensation_model.MACHINE, restore_model.MACHINE,
        record_model.MACHINE, turn_model.MACHINE,
    )  # fmt: skip
    return {machine.name: machine for machine in every}


def main(arguments: list[str]) -> int:
    """The command line."""
    every = machines()
    if arguments == ["--all"]:
        for machine in every.values():
            for name in machine.breaks:
                found = explore(machine, frozenset([name])).found
                print(f"{machine.name}: without {name:24s} {'; '.join(found) if found else 'NOTHING BREAKS'}")
        return 0
    chosen = [every[name] for name in arguments[:1]] or list(every.values())
    broken = frozenset(arguments[2:])
    faults = 0
    for machine in chosen:
        seen = explore(machine, broken)
        faults += len(seen.found) + len(seen.stuck)
        print(
            f"{machine.name}: {len(seen.parents)} states, {seen.steps} steps, {len(machine.breaks)} safeguards, "
            f"{len(seen.found)} broken invariants, {len(seen.stuck)} states without a way on"
        )
        for fault, state in seen.found.items():
            print(f"\nBROKEN: {fault}")
            for number, label in enumerate(seen.history(state), 1):
                print(f"  {number:2d} {label}")
        for state in seen.stuck[:1]:
            print(f"\nSTUCK: {state}", *seen.history(state), sep="\n  ")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
