"""What each label of `turn_model` is in the services: one run whose agent opens turns, and one refund."""

from collections.abc import Hashable
from dataclasses import replace
from uuid import UUID

import pytest

from approvals.services.shown_tools import shown_tools_set
from audit.core.refusal import Refusal
from audit.store import clock
from runs.core.turns import open_turn
from runs.models import Run
from runs.selectors.history import folded
from runs.selectors.rows import CallRow, RunRow
from runs.services.call import call_withdraw
from runs.services.run import run_cancel
from runs.services.turn import turn_open
from tests.model import book, turn_model
from tests.model.driving import Shown, Stage, shown
from tests.model.turn_model import NOT_OPEN, Loop, refusal
from tests.model.walking import Driver

CHOSEN: dict[str, list[str] | None] = {"refund": ["refund_order"], "other": ["get_order"], "all": None}
CALL_ID = "call-in-turn"
ENDS = frozenset({"cancel", "the agent withdraws it", "is rejected"})
ASKED_IN_ORDER = frozenset({
    "an admin takes the tool away", "an admin gives the tool back", "opens the next turn with all",
    "opens the open turn again", "opens the open turn with other", "opens the open turn with all",
    "the first turn's request comes late", "asks in no turn", "asks in a turn that is over",
    "asks in a turn that was never opened", "asks again in no turn", "asks again in the open turn",
    "asks again in a turn that was never opened",
})  # fmt: skip


class TurnDriver(Driver[Loop]):
    """The call has one id, so that asking again is asking for the same one. `most` turns are opened."""

    run: RunRow
    order: str
    call: CallRow | None
    seen: Shown | None
    told: tuple[object, ...]

    def __init__(self, stage: Stage, starts: tuple[Loop, ...], *, most: int) -> None:
        super().__init__(stage)
        self.machine = replace(turn_model.MACHINE, starts=starts)
        self.most = most

    def is_another_name(self, label: str, s: Loop) -> bool:
        """A further turn is to the one before it what that is to the first."""
        return label.startswith("opens the next turn with") and len(s.turns) >= self.most

    def begin(self, s: Loop) -> None:
        world, stage = self.stage.world, self.stage
        stage.hands.clear()
        stage.stand_at(clock.now())
        self.order = world.order(book.WHOLE)
        self.call = None
        self.run = world.run(tools=["get_order"]) if s.limited else world.run()

    # -- the labels ----------------------------------------------------------------------------------------------------

    def do(self, label: str, s: Loop, after: Loop) -> bool:
        stage = self.stage
        stage.pass_time(None)
        if s.call == "none":
            self.call = None  # a history that asked was left
        if label.startswith(("opens ", "the first ")):
            self._opens(label, s)
        elif label.startswith("asks"):
            self._asks(label, s)
        elif label == "an admin takes the tool away":
            self._shows(["get_order"])
        elif label == "an admin gives the tool back":
            self._shows(None)
        elif label == "cancel":
            run_cancel(actor=stage.world.asker.actor, run_id=self.run.id, reason="Not wanted.")
        elif label == "the agent withdraws it":
            call_withdraw(actor=stage.world.agent_actor, run_id=self.run.id, call_id=CALL_ID)
        else:
            assert self.call is not None
            self._goes_on(label, self.call)
        return True

    def _goes_on(self, label: str, call: CallRow) -> None:
        stage = self.stage
        if label == "is judged":
            stage.turn(call, "evaluate")
        elif label == "is approved":
            stage.approve(call)
            stage.take_up(call)
        elif label == "is rejected":
            stage.world.decide(stage.world.look(call), "reject")
            stage.take_up(call)
        elif label == "starts":
            stage.claim("w0", call)
            assert stage.begin("w0"), "nothing was started"
        else:
            assert label == "succeeds"
            assert stage.send("w0").status == "succeeded"
            stage.book.arrive(str(stage.world.orders[self.order]["charge"]), call.key)
            stage.record("w0")

    def _shows(self, tools: list[str] | None) -> None:
        world = self.stage.world
        assert shown_tools_set(actor=world.admin, agent_id=UUID(world.agent.id), tools=tools)

    def _opens(self, label: str, s: Loop) -> None:
        if label == "opens the next turn, the run takes none":
            self._refused("NOT_IN_THIS_STATE", len(s.turns) + 1, "other")
        elif label == "the first turn's request comes late":
            self._refused("TURN_ID_REUSED", 1, s.turns[0].choice)
        elif label == "opens the open turn again":
            assert self._open(s.open, s.turns[s.open - 1].choice) is True
        elif label.startswith("opens the open turn with "):
            choice = label.rpartition(" ")[2]
            self._refused("TURN_ID_REUSED", s.open, choice)
        elif label.endswith("which the run does not have"):
            self._refused("TOOLS_INVALID", len(s.turns) + 1, "refund")
        else:
            assert self._open(len(s.turns) + 1, label.rpartition(" ")[2]) is False

    def _open(self, number: int, choice: str) -> bool:
        """Whether it was open already."""
        turn = turn_open(
            actor=self.stage.world.agent_actor, run_id=self.run.id, turn_id=f"t{number}", tools=CHOSEN[choice]
        )
        return turn.repeated

    def _refused(self, code: str, number: int, choice: str) -> None:
        with pytest.raises(Refusal) as refused:
            self._open(number, choice)
        assert refused.value.code == code

    def _asks(self, label: str, s: Loop) -> None:
        name = label.removeprefix("asks ").removeprefix("again ").removeprefix("in ")
        turns = {"no turn": ("", s.open), "the open turn": (f"t{s.open}", s.open), NOT_OPEN: ("t1", 1)}
        named, turn = turns.get(name, ("t9", -1))
        again = label.startswith("asks again ")
        reason = "run" if s.call == "never" else refusal(s, name, turn)
        if again and reason == "turn":
            reason = ""  # repeating is safe when the turn is over
        if not reason:
            call = self._ask(named)
            assert call.repeated == again
            assert self.call is None or self.call.id == call.id
            self.call = call
            return
        with pytest.raises(Refusal) as refused:
            self._ask(named)
        told = {"run": ("NOT_IN_THIS_STATE", "NOT_EXPOSED"), "list": ("NOT_EXPOSED",)}
        assert refused.value.code in told.get(reason, ("TURN_NOT_OPEN" if turn != s.open else "NOT_EXPOSED",))

    def _ask(self, turn: str) -> CallRow:
        return self.stage.world.refund(self.run, self.order, book.AMOUNT, call_id=CALL_ID, turn=turn)

    # -- what stands there ---------------------------------------------------------------------------------------------

    def compared(self, s: Loop) -> dict[str, tuple[object, object]]:
        state = folded(Run.objects.get(pk=self.run.id))
        turn, call = open_turn(state), state.calls.get(CALL_ID)
        self.seen = shown(self.call) if self.call is not None and call is not None else None
        opened = None if turn is None else (turn.turn_id, turn.number, turn.shows("refund_order"))
        self.told = (opened, None if call is None else call.turn, len(state.turns))
        here = s.turns[s.open - 1] if s.open else None
        return {
            "call": ("none" if self.seen is None else self.seen.call, "none" if s.call == "never" else s.call),
            "asked in": (None if call is None else call.turn, f"t{s.asked}" if s.asked else None),
            "open turn": (opened, None if here is None else (f"t{s.open}", s.open, here.shown)),
            "turns": (dict(state.turns), {f"t{number}": number for number in range(1, len(s.turns) + 1)}),
            "effects": (
                self.stage.book.keys(str(self.stage.world.orders[self.order]["charge"])),
                [self.seen.key] if self.seen is not None and s.call == "succeeded" else [],
            ),
        }

    def essence(self) -> Hashable:
        return self.seen, self.told
