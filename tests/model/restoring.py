"""Going back to a backup's savepoint is the restore: the database forgets; the target, the clock, the fences and the
workers' memories do not. The restored database stands in another place until its epoch is raised (`ELSEWHERE`), as one
that was really restored does (tests/restore).
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from audit.store import clock
from runs.models import Dispatch
from runs.store import claims
from tests.model.driving import Hand, Stage
from tests.model.explore import Machine
from tests.model.walking import Driver, Walk

ELSEWHERE = """ALTER FUNCTION clearance_place() RENAME TO clearance_place_itself;
CREATE FUNCTION clearance_place() RETURNS text LANGUAGE sql STABLE AS
$$ SELECT concat_ws('/', public.clearance_place_itself(), nullif(current_setting('clearance.restored', true), '')) $$"""

ALLOWING = "version: 1\nrules:\n  - {id: refund, tool: refund_order, effect: allow}\n"
TIMEOUT_MS = 30_000
BACKUP, RESTORE = "a backup is made", "the backup is restored"


@dataclass(frozen=True)
class World:
    """What a restore does not take back. `memory` is the driver's own."""

    now: datetime
    effects: tuple[tuple[tuple[str, str], ...], int]
    hands: dict[str, Hand]
    memory: Any


class RestoringDriver[S: Hashable](Driver[S]):
    """Leads the services through a model in which a backup is restored."""

    def __init__(self, stage: Stage, machine: Machine[S]) -> None:
        super().__init__(stage)
        self.machine = machine
        stage.world.admit("refund_order", lambda document: document.update(approval="policy"))

    def remembered(self) -> Any:
        """What the driver knows of the world beside the stage's hands."""
        return None

    def remember(self, memory: Any) -> None:
        """Know that again."""

    def world(self) -> World:
        """To be kept over a restore."""
        hands = {name: replace(hand) for name, hand in self.stage.hands.items()}
        return World(clock.now(), self.stage.book.mark(), hands, self.remembered())

    def live_on(self, world: World) -> None:
        """The database has just gone back to its backup; the world is where it was."""
        self.stage.stand_at(world.now)
        self.stage.book.reset(world.effects)
        self.stage.hands = {name: replace(hand) for name, hand in world.hands.items()}
        self.remember(world.memory)
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('clearance.restored', 'elsewhere', false)")

    def tried(self, deed: Callable[[], bool]) -> bool:
        """Whether the services let somebody do this; all of it is undone."""
        hands, savepoint = dict(self.stage.hands), transaction.savepoint_create()
        done = deed()
        transaction.savepoint_rollback(savepoint)
        self.stage.hands = hands
        return done

    def sends(self, call_pk: object) -> bool:
        """Whether a worker starts this call now."""
        [row] = Dispatch.objects.filter(call_id=call_pk, kind="dispatch", status="ready")
        self.stage.pass_time(row.not_before)
        claim = claims.claim_next(worker="early", run_id=row.run_id, kinds=(row.kind,))
        if claim is None:
            return False
        self.stage.hands["early"] = Hand(claim)
        return self.stage.begin("early")


@dataclass
class RestoreWalk[S: Hashable](Walk[S]):
    """A restore goes back to a savepoint that lies outside those of the walk, so it is walked last: what is led to by
    it is collected below its backup, and gone on from when everything else below the backup was walked."""

    restores: list[tuple[S, list[str], World]] = field(default_factory=list)

    def _step(self, label: str, s: S, after: S, history: list[str]) -> None:
        assert isinstance(self.driver, RestoringDriver)
        if label == RESTORE:
            self.restores.append((after, [*history, label], self.driver.world()))
            return
        if label != BACKUP:
            super()._step(label, s, after, history)
            return
        with self._here():
            self.restores = []
            self._do(label, s, after, [*history, label])
            # The shortest first: the longer ones find more that was gone on from already.
            for restored, led, world in sorted(self.restores, key=lambda each: len(each[1])):
                with self._here():
                    self.driver.live_on(world)
                    self._arrive(RESTORE, restored, led)
