"""What each label of `compensation_model` is in the services: an unknown refund, and a call that makes up for it.

The compensating call works on a record of its own: what two calls on one record do to each other is
`contention_model`'s. The first question's settling time is long, so that the compensating call's losses, which take
time, never settle it: the model lets both pass by labels of their own.
"""

from collections.abc import Hashable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection

from audit.store import clock
from runs.models import Call, Dispatch
from runs.selectors.rows import CallRow, call_row_of
from runs.services.reconciliation import reconciliation_ask
from runs.services.run import run_cancel
from runs.store.look_ups import AGAIN_AFTER
from tests.model import book, compensation_model
from tests.model.compensation_model import Asked
from tests.model.driving import DENYING, SETTLE_MS, Shown, Stage, shown
from tests.model.walking import Driver

LONG_MS = 100 * SETTLE_MS
ASKING_BOTH = """
version: 1
rules:
  - {id: refund, tool: refund_order, effect: ask, approvers: [{group: finance, count: 1}], expires_in_s: 36000}
  - {id: back, tool: take_back, effect: ask, approvers: [{group: finance, count: 1}], expires_in_s: 36000}
"""


def settles_late(document: dict[str, Any]) -> None:
    """The target of the first call may take its time."""
    document["settle_after_ms"] = LONG_MS


class CompensationDriver(Driver[Asked]):
    """Workers: "call" holds the second sending of the call, "amends" the compensating call."""

    machine = compensation_model.MACHINE
    call: CallRow
    charge: str
    amends_order: str
    amends_charge: str
    seen: Shown
    amends_seen: Shown | None
    prepared: dict[UUID, CallRow]

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        world = stage.world
        world.admit("refund_order", settles_late)
        world.admit("refund_order", lambda document: document.update(name="take_back"))
        stage.publish(ASKING_BOTH)

    def begin(self, s: Asked) -> None:
        world, stage = self.stage.world, self.stage
        stage.hands.clear()
        self.prepared = {}
        stage.stand_at(clock.now())
        order, self.amends_order = world.order(book.WHOLE), world.order(book.WHOLE)
        self.charge = str(world.orders[order]["charge"])
        self.amends_charge = str(world.orders[self.amends_order]["charge"])
        self.call = world.refund(world.run(), order, book.AMOUNT)
        stage.turn(self.call, "evaluate")
        stage.approve(self.call)
        stage.take_up(self.call)
        self.it_starts_again()
        self.its_answer_is_lost()

    # -- the labels ----------------------------------------------------------------------------------------------------

    def do(self, label: str, s: Asked, after: Asked) -> bool:
        self.stage.pass_time(None)
        deed = getattr(self, label.replace(":", "").replace("'", "").replace(" ", "_").replace("-", "_"), None)
        if deed is None:
            return False
        deed()
        return True

    def the_old_request_arrives(self) -> None:
        self.stage.book.arrive(self.charge, self.call.key)

    def the_old_request_can_arrive_no_more(self) -> None:
        until = self.stage.until_nothing_arrives(self.call, settle_ms=LONG_MS)
        amends = self._amends()
        if amends is not None:
            # Its answer may come after this all the same: how long a worker waits for it is nothing a history says.
            self._outlast(amends, until + timedelta(seconds=10))
        self.stage.pass_time(until)

    def cancel(self) -> None:
        run_cancel(actor=self.stage.world.asker.actor, run_id=self.call.run_id, reason="Not wanted.")

    def look_up_finds_the_effect(self) -> None:
        """Asked for by the operator's page where the next look-up by itself is a long way off."""
        due = Dispatch.objects.get(call_id=self.call.id, kind="look_up", status="ready").not_before
        if due > clock.now() + AGAIN_AFTER:
            reconciliation_ask(actor=self.stage.world.asker.actor, unresolved_id=self.call.id)
        self.stage.turn(self.call, "look_up")

    look_up_finds_nothing = look_up_finds_nothing_yet = look_up_finds_the_effect

    def operator_it_happened(self) -> None:
        self.stage.operator(self.call, "happened", reference="re_seen")

    def operator_it_did_not_happen(self) -> None:
        self.stage.operator(self.call, "did_not_happen")

    def operator_send_it_again(self) -> None:
        self.stage.operator(self.call, "retry")

    def operator_compensate(self) -> None:
        # Each asks for another amount: what people rejected once is not asked of them again in the same run.
        amount = 100 + Call.objects.filter(run_id=self.call.run_id).count()
        arguments = {"order_id": self.amends_order, "amount": amount, "currency": "AUD"}
        self.stage.operator(self.call, "compensate", tool="take_back", arguments=arguments)
        self.stage.turn(self._made(), "evaluate")

    def it_starts_again(self) -> None:
        self._start("call", self.call)

    def it_is_refused_when_it_is_judged_again(self) -> None:
        self.stage.publish(DENYING)
        self.stage.claim("call", self.call)
        assert not self.stage.begin("call"), "it was started"

    def its_answer_comes(self) -> None:
        assert self.stage.send("call").status == "succeeded"
        self.stage.record("call")

    def its_answer_is_lost(self) -> None:
        assert self.stage.send("call", book.drop).status == "unknown"
        self.stage.record("call")

    def the_compensation_is_approved(self) -> None:
        self.stage.approve(self._made())
        self.stage.take_up(self.call)

    def the_compensation_is_rejected(self) -> None:
        world = self.stage.world
        world.decide(world.look(self._made()), "reject")
        self.stage.take_up(self.call)

    def the_compensation_starts(self) -> None:
        self._start("amends", self._made())
        # The answer comes at once; that the effect is there, and when, the book says.
        assert self.stage.send("amends").status == "succeeded"

    def the_compensation_arrives(self) -> None:
        self.stage.book.arrive(self.amends_charge, self._made().key)

    def the_compensation_succeeds(self) -> None:
        self.stage.record("amends")

    def the_compensations_answer_is_lost(self) -> None:
        del self.stage.hands["amends"]
        self.stage.lose(self._made())

    def the_compensation_can_arrive_no_more(self) -> None:
        self.stage.can_arrive_no_more(self._made())

    def look_up_finds_the_compensation(self) -> None:
        self.stage.turn(self._made(), "look_up")

    def the_compensation_did_not_happen(self) -> None:
        made = self._made()
        self.stage.turn(made, "look_up")
        self.stage.operator(made, "did_not_happen")

    def _start(self, name: str, call: CallRow) -> None:
        self.stage.claim(name, call)
        assert self.stage.begin(name), "nothing was started"

    def _outlast(self, amends: CallRow, instant: datetime) -> None:
        Dispatch.objects.filter(call_id=amends.id, status="started").update(lease_until=instant)

    def _amends(self) -> CallRow | None:
        """The last one that was prepared; of a row that was read before, the names are what they were."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT id FROM runs_call WHERE run_id = %s ORDER BY created_at DESC", [self.call.run_id])
            last, *first = (id_ for (id_,) in cursor.fetchall())
        if not first:
            return None
        if last not in self.prepared:
            self.prepared[last] = call_row_of(Call.objects.get(pk=last))
        return self.prepared[last]

    def _made(self) -> CallRow:
        made = self._amends()
        assert made is not None
        return made

    # -- what stands there ---------------------------------------------------------------------------------------------

    def compared(self, s: Asked) -> dict[str, tuple[object, object]]:
        seen = self.seen = shown(self.call)
        made = self._amends()
        amends = self.amends_seen = None if made is None else shown(made)
        effects = self.stage.book.keys(self.amends_charge)
        pairs: dict[str, tuple[object, object]] = {
            "call": (seen.call, ENDED_UNSENT if s.call == "failed" else s.call),
            "run": (seen.run, _run(s)),
            "effects": (self.stage.book.keys(self.charge), [seen.key] * s.effects),
            "permit": (seen.permit, PERMITS[s.call]),
            "resource": (seen.holds, s.call == "started" or (s.call == "unknown" and s.proof != "nothing")),
            "work": ([kind for kind, _, _ in seen.work], _work(s.call, proven=s.proof == "nothing")),
            "amends": (amends.call if amends else "none", AMENDS_ENDED if s.amends == "ended" else s.amends),
            "effects of amends": (len(effects), s.amends_effects),
        }
        if amends is not None:
            pairs["permit of amends"] = (amends.permit, PERMITS[s.amends])
            pairs["resource of amends"] = (amends.holds, s.amends in ("started", "unknown"))
            pairs["work of amends"] = ([kind for kind, _, _ in amends.work], _work(s.amends, proven=False))
        return pairs

    def essence(self) -> Hashable:
        """A compensating call that has ended is asked about no more, whatever ended it; nor does its number matter."""
        amends = self.amends_seen
        if amends is not None:
            amends = None if amends.call in AMENDS_ENDED else replace(amends, key="")
        return self.seen, amends, tuple(sorted(self.stage.hands))


ENDED_UNSENT = ("failed", "refused", "cancelled")
AMENDS_ENDED = ("rejected", "withdrawn", "cancelled", "failed")
PERMITS = {
    "waiting": "none", "ready": "ready", "started": "redeemed", "unknown": "redeemed", "succeeded": "redeemed",
    "compensated": "redeemed", "failed": ("redeemed", "void"), "ended": ("none", "void", "redeemed"),
}  # fmt: skip


def _work(state: str, *, proven: bool) -> list[str]:
    """Work is never lost: where something is left to do, there is a row that says so."""
    if state == "unknown":
        return [] if proven else ["look_up"]
    return ["dispatch"] if state in ("ready", "started") else []


def _run(s: Asked) -> str:
    both = (s.call, s.amends)
    if s.cancelled and "started" in both:
        return "cancelling"
    if "unknown" in both:
        return "needs_reconciliation"
    if s.cancelled:
        return "cancelled"
    if "waiting" in both:
        return "waiting_approval"
    return "waiting_tool" if {"ready", "started"} & set(both) else "ready"
