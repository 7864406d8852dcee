"""What each label of `contention_model` is in the services: two approved refunds of one order, in one run or in two."""

from collections.abc import Hashable
from dataclasses import replace

from audit.store import clock
from runs.core.kinds import EventKind
from runs.selectors.rows import CallRow, RunRow
from runs.services.run import run_cancel
from runs.store import claims
from runs.store.append import append, lock_run
from tests.model import book, contention_model
from tests.model.contention_model import One, Two
from tests.model.driving import Shown, Stage, shown
from tests.model.walking import Driver


class ContentionDriver(Driver[Two]):
    """Workers are named after the call that they hold. `alike`: nothing happens to the run of a alone, so that two
    calls that stand alike need not be told apart."""

    machine = contention_model.MACHINE
    calls: dict[str, CallRow]
    run: RunRow
    charge: str
    seen: dict[str, Shown]

    def __init__(self, stage: Stage, *, alike: bool) -> None:
        super().__init__(stage)
        self.alike = alike

    def is_another_name(self, label: str, s: Two) -> bool:
        return self.alike and s.a == s.b and label.startswith("b ")

    def begin(self, s: Two) -> None:
        world, stage = self.stage.world, self.stage
        stage.hands.clear()
        stage.stand_at(clock.now())
        order = world.order(book.WHOLE)
        self.charge = str(world.orders[order]["charge"])
        self.run = world.run()
        runs = {"a": self.run, "b": self.run if s.shared else world.run()}
        self.calls = {}
        for name, run in runs.items():
            # Two amounts: the same bytes twice in one run would be the same question to people.
            call = self.calls[name] = world.refund(run, order, book.AMOUNT + (name == "b"))
            stage.turn(call, "evaluate")
            stage.approve(call)
            stage.take_up(call)

    def do(self, label: str, s: Two, after: Two) -> bool:
        self.stage.pass_time(None)
        name, _, verb = label.partition(" ")
        if label in ("pause", "resume", "cancel"):
            getattr(self, label)()
            return True
        return self._call(name, verb, getattr(s, name))

    def pause(self) -> None:
        """There is no service for it yet; the history and the start know of it."""
        append(lock_run(self.run.id), [(EventKind.PAUSE_ASKED, {})], actor=self.stage.world.asker.actor)

    def resume(self) -> None:
        append(lock_run(self.run.id), [(EventKind.RESUME_ASKED, {})], actor=self.stage.world.asker.actor)

    def cancel(self) -> None:
        run_cancel(actor=self.stage.world.asker.actor, run_id=self.run.id, reason="Not wanted.")

    def _call(self, name: str, verb: str, one: One) -> bool:
        stage, call = self.stage, self.calls[name]
        if verb == "is claimed":
            stage.claim(name, call)
        elif verb == "reads the record":
            stage.read(name)
        elif verb == "starts":
            assert stage.begin(name, observed=stage.hands[name].observed), "nothing was started"
        elif verb == "sends":
            if one.state == "started":
                assert stage.send(name).status == "succeeded"
            stage.book.arrive(self.charge, call.key)
        elif verb in ("records success", "is late, kept as evidence"):
            if stage.hands[name].outcome is None:
                stage.send(name)
            stage.record(name)
        elif verb == "loses its worker":
            if one.state == "ready":
                # One that ends in order, so that the other's claim and reading do not grow old meanwhile.
                claims.give_back(stage.hands.pop(name).claim, wait_ms=0, count_attempt=False)
        elif verb == "is lost, outcome unknown":
            # By an answer that does not come; that a lease ends is `call_model`'s. The request stays on its way.
            hand = replace(stage.hands[name])
            assert stage.send(name, book.drop).status == "unknown"
            stage.record(name)
            stage.hands[name] = hand
        elif verb == "can arrive no more":
            stage.keep_up(stage.until_nothing_arrives(call))
            stage.can_arrive_no_more(call)
        elif verb.startswith("is looked up"):
            stage.turn(call, "look_up")
        elif verb == "did not happen, says an operator":
            stage.operator(call, "did_not_happen")
        elif verb == "is approved again":
            stage.approve(call)
            stage.take_up(call)
        else:
            assert verb.startswith(("has ", "finds ", "is asked anew"))
            assert not stage.begin(name, observed=stage.hands[name].observed), "it was started"
        return True

    def compared(self, s: Two) -> dict[str, tuple[object, object]]:
        self.seen = {name: shown(call) for name, call in self.calls.items()}
        pairs: dict[str, tuple[object, object]] = {}
        for name, one in (("a", s.a), ("b", s.b)):
            seen = self.seen[name]
            pairs[f"call {name}"] = (seen.call, one.state)
            pairs[f"effects of {name}"] = (self.stage.book.keys(self.charge).count(seen.key), one.effects)
            pairs[f"resource, {name}"] = (seen.holds, s.holder == name)
            pairs[f"permit of {name}"] = (seen.permit, PERMITS[one.state])
        return pairs

    def essence(self) -> Hashable:
        hands = [(name, hand.observed is None, hand.outcome is None) for name, hand in self.stage.hands.items()]
        return tuple(self.seen.values()), tuple(sorted(hands))


PERMITS = {
    "ready": "ready", "waiting": "none", "cancelled": ("void", "none"), "started": "redeemed", "unknown": "redeemed",
    "succeeded": "redeemed", "failed": "redeemed",
}  # fmt: skip
