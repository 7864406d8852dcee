"""Walks a model's histories with the real services beside it: drives a label, compares, goes back, drives the next."""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from django.db import transaction

from tests.model.driving import Stage
from tests.model.explore import Machine


class Driver[S: Hashable]:
    """Leads the services through one model. A subclass has a method for each label (`LABELS`) and says what they should
    show after it."""

    machine: Machine[S]

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def is_another_name(self, label: str, s: S) -> bool:
        """Whether another label of `s` says the same of another worker's name: one of them is enough."""
        return False

    def begin(self, s: S) -> None:
        """Bring the services to the model's start `s`."""
        raise NotImplementedError

    def do(self, label: str, s: S, after: S) -> bool:
        """Do what `label` says. False: the code has no such deed."""
        raise NotImplementedError

    def differs(self, s: S) -> str:
        """In what the services' states are not the model's; "" when they agree."""
        pairs = self.compared(s)
        return "; ".join(
            f"{name}: the services say {real}, the model {modelled}"
            for name, (real, modelled) in pairs.items()
            if real != modelled and not (isinstance(modelled, tuple) and real in modelled)
        )

    def compared(self, s: S) -> dict[str, tuple[object, object]]:
        """By name, what the services show and what they should show in `s` (a tuple: one of these)."""
        raise NotImplementedError

    def essence(self) -> Hashable:
        """What the services' next answers depend on, as far as the database shows it."""
        raise NotImplementedError


@dataclass
class Walk[S: Hashable]:
    """Every history of the model up to `plain` labels is driven as it is; beyond that, up to `length`, each pair of
    model state and essence is gone on from once, by the first history that reached it."""

    driver: Driver[S]
    plain: int
    length: int
    without: frozenset[str] = frozenset()
    steps: int = 0
    histories: int = 0
    states: set[S] = field(default_factory=set)
    labels: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    reached: dict[Hashable, int] = field(default_factory=dict)

    @property
    def figures(self) -> str:
        """What was driven, in a line."""
        return (
            f"{self.driver.machine.name}: {self.steps} steps driven, {self.histories} histories of up to {self.length} "
            f"labels (all of up to {self.plain}), {len(self.states)} states compared, {len(self.labels)} labels; "
            f"not driven: {', '.join(sorted(self.missing)) or 'none'}"
        )

    def run(self) -> None:
        """Walk from every start. Raises AssertionError with the history where model and services part."""
        for start in self.driver.machine.starts:
            with transaction.atomic():
                self.driver.begin(start)
                self._check(start, [])
                self._on(start, [])
                transaction.set_rollback(True)

    def _check(self, s: S, history: list[str]) -> None:
        said = self.driver.differs(s)
        assert not said, "\n".join([said, str(s), *history])
        self.states.add(s)

    def _on(self, s: S, history: list[str]) -> None:
        if len(history) == self.length:
            self.histories += 1
            return
        if len(history) >= self.plain:
            key = (s, self.driver.essence())
            if self.reached.get(key, self.length + 1) <= len(history):
                self.histories += 1
                return
            self.reached[key] = len(history)
        for label, after in self.driver.machine.steps(s, frozenset()):
            if label in self.without or self.driver.is_another_name(label, s):
                continue
            self._step(label, s, after, history)

    def _step(self, label: str, s: S, after: S, history: list[str]) -> None:
        """One label: done, compared, gone on from, left."""
        with self._here():
            self._do(label, s, after, [*history, label])

    def _do(self, label: str, s: S, after: S, history: list[str]) -> None:
        try:
            done = self.driver.do(label, s, after)
        except Exception as error:
            error.add_note("\n".join(["at " + str(s), *history]))
            raise
        if not done:
            self.missing.add(label)
            return
        self._arrive(label, after, history)

    def _arrive(self, label: str, after: S, history: list[str]) -> None:
        self.steps += 1
        self.labels.add(label)
        self._check(after, history)
        self._on(after, history)

    @contextmanager
    def _here(self) -> Iterator[None]:
        """Back to this state afterwards: the database, the clock, the target, and what workers hold in memory."""
        stage = self.driver.stage
        mark, policies, stop_id = stage.book.mark(), stage.policies, stage.stop_id
        hands = {name: replace(hand) for name, hand in stage.hands.items()}
        savepoint = transaction.savepoint_create()
        yield
        transaction.savepoint_rollback(savepoint)
        stage.book.reset(mark)
        stage.policies, stage.stop_id, stage.hands = policies, stop_id, hands
