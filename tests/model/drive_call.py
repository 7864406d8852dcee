"""What each label of `call_model` is in the real services, and what they show in each of its states."""

import re
from collections.abc import Hashable
from dataclasses import replace
from datetime import timedelta

import pytest

from approvals.models import Proposal
from approvals.services.proposal import proposal_expire_due
from approvals.services.revoking import permit_revoke
from audit.core.refusal import Conflict
from audit.store import clock
from runs.core.kinds import CallState
from runs.selectors.rows import CallRow
from runs.services.call import call_withdraw
from runs.services.dispatch import Observed
from runs.services.held_back import sweep_held_back
from runs.services.run import run_cancel
from runs.services.stop import stop_lift, stop_set
from runs.services.sweep import sweep_expired_leases
from tests.model import book, call_model
from tests.model.call_model import Model
from tests.model.driving import DENYING, STRICTER, Shown, Stage, shown
from tests.model.walking import Driver

WORLD = frozenset({
    "clock passes the void time", "policy asks for more", "policy denies or a right is revoked",
    "the target's record changes",
})  # fmt: skip
STOPS = frozenset({"a stop is set", "the stop is lifted", "sweep tells of what is held back"})
PEOPLE = frozenset({"reject", "the approval is taken back", "agent withdraws", "sweep marks expired"})
CANCEL = frozenset({"cancel"})


class CallDriver(Driver[Model]):
    """One refund of one order. `read`: whoever claims it reads the target with it, so that a worker stands still right
    before its start, behind what would tell it without a lock that its claim is over."""

    machine = call_model.MACHINE
    call: CallRow
    charge: str
    seen: Shown

    def __init__(self, stage: Stage, *, read: bool = False) -> None:
        super().__init__(stage)
        self.read = read

    def begin(self, s: Model) -> None:
        world = self.stage.world
        self.stage.hands.clear()
        self.stage.stand_at(clock.now())
        order = world.order(book.WHOLE)
        self.charge = str(world.orders[order]["charge"])
        run = world.run()
        self.call = world.refund(run, order, book.AMOUNT)

    # -- the labels ----------------------------------------------------------------------------------------------------

    def do(self, label: str, s: Model, after: Model) -> bool:
        self.stage.pass_time(None)
        worker, _, verb = label.partition(" ")
        if worker in ("w0", "w1"):
            return self._worker(worker, verb, s)
        if label == "clock passes the void time" and (s.call == "started" or (s.call == "unknown" and not s.left)):
            # The void time is hours away, a request's deadline seconds: here the code's time has one order only.
            return False
        deed = getattr(self, re.sub("[ -]", "_", re.sub("[:,']", "", label)), None)
        if deed is None:
            return False
        deed()
        return True

    def proposed(self) -> None:
        self.stage.turn(self.call, "evaluate")

    def approve(self) -> None:
        self.stage.approve(self.call)

    def approve_and_the_new_policy_asks_anew(self) -> None:
        self._click_that_counts_no_more("ROUND_CHANGED")

    def approve_and_the_new_policy_refuses_it(self) -> None:
        self._click_that_counts_no_more("CLOSED")
        self.stage.take_up(self.call)

    def _click_that_counts_no_more(self, code: str) -> None:
        with pytest.raises(Conflict) as refused:
            self.stage.approve(self.call)
        assert refused.value.code == code

    def reject(self) -> None:
        self.stage.world.decide(self.stage.world.look(self.call), "reject")
        self.stage.take_up(self.call)

    def the_run_takes_up_the_grant(self) -> None:
        self.stage.take_up(self.call)

    def the_approval_is_taken_back(self) -> None:
        proposal = Proposal.objects.get(run_id=self.call.run_id)
        permit_revoke(actor=self.stage.world.admin, proposal_id=proposal.pk, reason="A second thought.")

    def sweep_marks_expired(self) -> None:
        assert proposal_expire_due() == 1
        self.stage.take_up(self.call)

    def agent_withdraws(self) -> None:
        call_withdraw(actor=self.stage.world.agent_actor, run_id=self.call.run_id, call_id=self.call.call_id)

    def cancel(self) -> None:
        run_cancel(actor=self.stage.world.asker.actor, run_id=self.call.run_id, reason="Not wanted.")

    def a_stop_is_set(self) -> None:
        made = stop_set(actor=self.stage.world.admin, kind="tool", subject="refund_order", reason="Something is odd.")
        assert not made.repeated
        self.stage.stop_id = made.stop.id

    def the_stop_is_lifted(self) -> None:
        assert not stop_lift(
            actor=self.stage.world.admin, stop_id=self.stage.stop_id, reason="It was nothing."
        ).repeated

    def clock_passes_the_void_time(self) -> None:
        void_at = Proposal.objects.get(run_id=self.call.run_id).expires_at
        self.stage.as_if_claimed_at(void_at - timedelta(seconds=1))
        self.stage.pass_time(void_at)

    def policy_asks_for_more(self) -> None:
        self.stage.publish(STRICTER)

    def policy_denies_or_a_right_is_revoked(self) -> None:
        self.stage.publish(DENYING)

    def the_targets_record_changes(self) -> None:
        self.stage.book.others += 100

    def lease_ends(self) -> None:
        self.stage.lease_ends(self.call)

    def the_old_requests_deadline_passes(self) -> None:
        self.stage.can_arrive_no_more(self.call)

    def sweep_outcome_unknown(self) -> None:
        self.stage.lose(self.call)

    def look_up_finds_the_effect(self) -> None:
        self.stage.turn(self.call, "look_up")

    look_up_finds_nothing = look_up_finds_the_effect

    def operator_it_did_not_happen(self) -> None:
        self.stage.operator(self.call, "did_not_happen")

    def operator_send_it_again(self) -> None:
        self.stage.operator(self.call, "retry")

    def sweep_tells_of_what_is_held_back(self) -> None:
        sweep_expired_leases()
        assert sweep_held_back() == 1

    def _worker(self, name: str, verb: str, s: Model) -> bool:
        stage = self.stage
        if verb == "claims":
            stage.claim(name, self.call)
            if self.read:
                stage.read(name)
        elif verb == "redeems, started":
            assert stage.begin(name, observed=self._as_read(name)), "nothing was started"
        elif verb == "checks before sending":
            # The answer comes at once; that the effect is there, and when, the book says.
            assert stage.send(name).status == "succeeded"
        elif verb == "sends":
            stage.book.arrive(self.charge, self.call.key)
        elif verb == "is refused by the target, records it":
            assert stage.send(name, book.refuse).status == "refused"
            stage.record(name)
        elif verb == "is turned away before any effect, backs off":
            assert stage.send(name, book.turn_away).status == "failed_before_effect"
            stage.record(name)
            stage.turn(self.call, "timer")
        elif verb in ("is turned away, too late to record", "is too late to send"):
            assert stage.send(name, book.turn_away).code in ("SEND_TOO_LATE", "GUARD_TIMER")
            stage.record(name)
        elif verb in ("records success", "is late, kept as evidence"):
            stage.record(name)
        elif verb == "killed":
            del stage.hands[name]
        else:
            assert verb.startswith(("re-check ", "finds ", "loses "))
            assert not stage.begin(name, observed=self._as_read(name)), "it was started"
        return True

    def _as_read(self, name: str) -> Observed | None:
        """What the worker has read already. It is young: how long after its claim it read is nothing a history says."""
        observed = self.stage.hands[name].observed
        return replace(observed, read_at=clock.now()) if observed is not None else None

    # -- what stands there ------------------------------------------------------------------------------------------

    def compared(self, s: Model) -> dict[str, tuple[object, object]]:
        seen = self.seen = shown(self.call)
        pairs: dict[str, tuple[object, object]] = {
            "call": (seen.call, _call(s)),
            "run": (seen.run, _run(s)),
            "effects": (self.stage.book.keys(self.charge), [seen.key] * s.effects),
            "resource": (seen.holds, s.call in ("started", "unknown") and not s.left),
            "work": ([kind for kind, _, _ in seen.work], _work(s)),
            "worker": (seen.worker, _holder(s)),
            "proposal": (seen.proposal, _proposal(s)),
        }
        if seen.proposal != "none":
            pairs |= {"permit": (seen.permit, s.permit), "round": (seen.round, s.rounds + 1)}
        return pairs

    def essence(self) -> Hashable:
        return self.seen, tuple(sorted(self.stage.hands))

    def is_another_name(self, label: str, s: Model) -> bool:
        return label == "w1 claims" and s.w0[0] == "idle"


def _call(s: Model) -> str | tuple[str, ...]:
    if s.call == "waiting":
        return CallState.READY if s.ready else CallState.WAITING
    return ("refused", "failed") if s.call == "refused" else s.call


def _run(s: Model) -> str | tuple[str, ...]:
    if s.cancel:
        return {"started": "cancelling", "unknown": "needs_reconciliation"}.get(s.call, "cancelled")
    ready = "waiting_tool" if s.ready else "waiting_approval"
    open_ = {"new": "running", "waiting": ready, "started": "waiting_tool", "unknown": "needs_reconciliation"}
    return open_.get(s.call, "ready")


def _proposal(s: Model) -> str | tuple[str, ...]:
    if s.call == "new":
        return "none"
    if s.permit == "redeemed" or s.call in ("started", "unknown", "succeeded"):
        return "granted"
    if s.call == "waiting":
        return {"ready": "granted", "none": "pending", "void": "expired"}[s.permit]
    # Whoever stops what is over by the clock is told that it was over.
    return ("expired" if s.expired else s.call, "none" if s.permit == "none" else s.call, s.call)


def _holder(s: Model) -> str | tuple[str, ...]:
    """Whose claim holds: a worker with an old one neither ends another's nor gives it back."""
    if not s.lease or s.call not in ("waiting", "started"):
        return ""
    name = f"w{s.holder}"
    killed = (s.w0, s.w1)[s.holder][0] == "idle"  # the driver does not make it hold as long as those of the living
    return (name, "") if killed else name


def _work(s: Model) -> list[str]:
    """Work is never lost: where something is left to do, there is a row that says so."""
    if s.call == "unknown":
        return [] if s.left else ["look_up"]
    if s.call == "new":
        return ["evaluate"]
    return ["dispatch"] if s.ready or s.call == "started" else []
