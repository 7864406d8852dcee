"""What each label of `restore_model` is in the services: one refund, and a database that is taken back to a backup.

How it is taken back stands in `restoring`. What the model does not allow in a state is tried there as well (`_dares`).

The services know of the lost time only that it ended when the restore was noticed, so they wait for a request that was
sent at that moment. The model waits for those that were sent; where it waits no longer, time passes here (`_catch_up`).
"""

import re
from collections.abc import Callable, Hashable
from dataclasses import replace
from datetime import timedelta
from functools import partial

from django.db.models import QuerySet

from audit.core.refusal import Conflict
from audit.store import clock
from runs.models import Dispatch
from runs.selectors.restored import lost_requests_until
from runs.selectors.rows import CallRow
from runs.services.reconciliation import Choice
from runs.services.restore import database_restored_if_elsewhere
from runs.services.sweep import sweep_refresh, sweep_wishes
from runs.store.look_ups import AGAIN_AFTER
from tests.model import book, restore_model
from tests.model.driving import SETTLE_MS, Shown, Stage, shown
from tests.model.restore_model import All
from tests.model.restoring import ALLOWING, BACKUP, TIMEOUT_MS, RestoringDriver

CHOICES: tuple[Choice, ...] = ("did_not_happen", "retry")


class RestoreDriver(RestoringDriver[All]):
    """Workers are named after the attempt that they hold."""

    call: CallRow
    charge: str
    seen: Shown

    def __init__(self, stage: Stage, starts: tuple[All, ...]) -> None:
        super().__init__(stage, replace(restore_model.MACHINE, starts=starts))

    def begin(self, s: All) -> None:
        world, stage = self.stage.world, self.stage
        stage.hands.clear()
        stage.stand_at(clock.now())
        if s.free:
            stage.publish(ALLOWING)
        order = world.order(book.WHOLE)
        self.charge = str(world.orders[order]["charge"])
        self.call = world.refund(world.run(), order, book.AMOUNT)
        stage.turn(self.call, "evaluate")

    # -- the labels ----------------------------------------------------------------------------------------------------

    def do(self, label: str, s: All, after: All) -> bool:
        if label == "the attempts are used up":
            return False  # the model's bound, not the contract's
        if label == "its answer is recorded" and f"w{s.db.attempt}" not in self.stage.hands:
            return False  # its worker has recorded it in the lost time, and does not do so again
        self.stage.pass_time(None)
        if label.startswith("request "):
            if label.endswith("arrives"):
                self.stage.book.arrive(self.charge, self.call.key)
        elif label not in (BACKUP, "the next request's deadline passes"):
            deed: Callable[[All], None] = getattr(self, re.sub("[ -]", "_", re.sub("[:,]", "", label)))
            deed(s)
        self._catch_up(after)
        return True

    def approved(self, s: All) -> None:
        self.stage.approve(self.call)
        self.stage.take_up(self.call)

    def starts(self, s: All) -> None:
        name = f"w{s.sent + 1}"
        self.stage.claim(name, self.call)
        assert self.stage.begin(name), "nothing was started"
        # The answer comes at once; that the effect is there, and when, the book says.
        assert self.stage.send(name).status == "succeeded"

    def looked_up_before_it_is_sent_found(self, s: All) -> None:
        self.stage.claim("next", self.call)
        assert not self.stage.begin("next"), "it was started"

    is_asked_anew = looked_up_before_it_is_sent_found

    def looked_up_while_it_waits_found(self, s: All) -> None:
        [wish] = sweep_wishes()
        assert sweep_refresh(wish=wish)

    def its_answer_is_recorded(self, s: All) -> None:
        self.stage.record(f"w{s.db.attempt}")

    def it_is_turned_away_backs_off(self, s: All) -> None:
        assert self.stage.send(f"w{s.db.attempt}", book.turn_away).status == "failed_before_effect"
        self.stage.record(f"w{s.db.attempt}")
        self.stage.turn(self.call, "timer")

    def it_is_refused_by_the_target(self, s: All) -> None:
        assert self.stage.send(f"w{s.db.attempt}", book.refuse).status == "refused"
        self.stage.record(f"w{s.db.attempt}")

    def its_answer_is_lost(self, s: All) -> None:
        name = f"w{s.db.attempt}"
        if s.db.epoch == s.place and s.db.attempt > s.past:
            # In time: what a worker has to wait for so that its lease ends would prove too much.
            assert self.stage.send(name, book.drop).status == "unknown"
            self.stage.record(name)
        else:
            self.stage.hands.pop(name, None)
            self.stage.lose(self.call)

    def the_epoch_is_raised(self, s: All) -> None:
        raised = database_restored_if_elsewhere()
        assert raised is not None
        assert raised.permits_void == (s.db.permit == "ready")
        assert raised.unknown == (s.db.call == "started")

    def look_up_finds_the_effect(self, s: All) -> None:
        self.stage.turn(self.call, "look_up")

    look_up_finds_nothing = look_up_finds_the_effect

    def operator_it_did_not_happen(self, s: All) -> None:
        self.stage.operator(self.call, "did_not_happen")

    def operator_send_it_again(self, s: All) -> None:
        self.stage.operator(self.call, "retry")

    def _catch_up(self, s: All) -> None:
        """Time passes as far as `s` says that requests are past."""
        if s.db.call in ("started", "unknown") and s.past >= s.db.attempt:
            self.stage.can_arrive_no_more(self.call)
        if s.place and s.db.epoch and s.past >= s.before:
            until = lost_requests_until(TIMEOUT_MS)
            assert until is not None
            self.stage.pass_time(until + timedelta(milliseconds=SETTLE_MS))
            if _proven(s) and self._look_ups().exists():
                # Nothing was sent in the lost time; the services cannot know that and ask once more.
                self.stage.turn(self.call, "look_up")

    # -- what stands there ---------------------------------------------------------------------------------------------

    def compared(self, s: All) -> dict[str, tuple[object, object]]:
        seen = self.seen = shown(self.call)
        pairs: dict[str, tuple[object, object]] = {
            "call": (seen.call, s.db.call),
            "run": (seen.run, RUNS[s.db.call]),
            "effects": (self.stage.book.keys(self.charge), [seen.key] * len(s.done)),
            "permit": (seen.permit, s.db.permit),
            "resource": (seen.holds, s.db.call == "started" or (s.db.call == "unknown" and s.db.proof < s.db.attempt)),
            "work": ([kind for kind, _, _ in seen.work], _work(s)),
        }
        if seen.call == s.db.call:
            pairs["dares"] = (self._dares(s), [])
        return pairs

    def essence(self) -> Hashable:
        return self.seen, tuple(sorted(self.stage.hands))

    def _look_ups(self) -> QuerySet[Dispatch]:
        return Dispatch.objects.filter(call_id=self.call.id, kind="look_up", status="ready")

    def _dares(self, s: All) -> list[str]:
        """What the services let somebody do now that no label of the model does; all of it is undone."""
        labels = {label for label, _ in restore_model.steps(s)}
        dared = []
        if (
            s.db.call == "ready"
            and not labels & {"starts", "the attempts are used up"}
            and self.tried(partial(self.sends, self.call.id))
        ):
            dared.append("send")
        if s.db.call == "unknown" and "operator: it did not happen" not in labels:
            # A look-up that comes too early finds nothing either, and nobody may go by that.
            early = s.db.epoch == s.place and not labels & {"look-up finds nothing", "look-up finds the effect"}
            if self.tried(partial(self._settles, look=early)):
                dared.append("settle")
        return dared

    def _settles(self, *, look: bool) -> bool:
        if look and self._look_ups().filter(not_before__lte=clock.now() + AGAIN_AFTER).exists():
            self.stage.turn(self.call, "look_up")
        for choice in CHOICES:
            try:
                self.stage.operator(self.call, choice)
            except Conflict as refused:
                if refused.code != "NOT_CONCLUSIVE":
                    raise
            else:
                return True
        return False


def _needed(s: All) -> int:
    return max(s.db.attempt, s.before)


def _proven(s: All) -> bool:
    return s.db.call == "unknown" and s.db.proof >= _needed(s)


def _work(s: All) -> list[str]:
    """Work is never lost: where something is left to do, there is a row that says so."""
    if s.db.call == "unknown":
        here = s.db.epoch == s.place
        return [] if s.db.proof >= (_needed(s) if here else s.db.attempt) else ["look_up"]
    return ["dispatch"] if s.db.call in ("ready", "started") else []


RUNS = {
    "waiting": "waiting_approval", "ready": "waiting_tool", "started": "waiting_tool",
    "unknown": "needs_reconciliation", "succeeded": "ready", "failed": "ready",
}  # fmt: skip
