"""One call from being asked for to its outcome: every interleaving of people, two workers, clock, stops and crashes.

The target does NOT honour idempotency keys (the hard case); `effects` counts what it did.
Sources of the rules: data rules 2, 3, 11, "What the guarantees are, exactly". Where the code does more than the model
knows, the model grows first. Two calls that want the same thing: `contention_model`; what an operator decides about an
unknown outcome: `compensation_model`; a restored database: `restore_model`.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.model.explore import NOTHING, Machine

BREAKS = {
    "fence": "a worker's outcome and redeem are accepted without comparing fence and lease",
    "redeem-once": "the permit is not consumed by redeem",
    "intent": "no started event before sending: an expired lease re-queues a call that may have been sent",
    "expiry-at-dispatch": "expiry is judged at the decision only",
    "policy-at-dispatch": "policy and rights are judged at the decision only",
    "state-at-dispatch": "the target's state is not compared at dispatch",
    "lookup-proves": "a look-up that finds nothing is believed before the old request's deadline has passed",
    "decide-unknown": "approve and reject are still possible while an outcome is unknown",
    "cancel-started": "cancel turns a started call into cancelled",
    "kernel-timer": "a sender stopped past its request's deadline may still send when it is continued",
    "proven-before-effect": "a machine sends again after any failure, not only after one before the effect",
    "round-voids-votes": "a new round keeps the votes of the round before",
    "revoke-voids": "taking an approval back leaves its permit ready",
    "revoke-until-dispatch": "an approval can be taken back after its permit was redeemed, and people are asked anew",
    "stop-at-claim": "a worker claims without looking for a stop",
    "stop-at-redeem": "a stop that came after the claim is not seen when the permit is redeemed",
    "stop-spares-started": "a stop ends what was started as if nothing had been sent",
}

FINAL = {"succeeded", "refused", "rejected", "expired", "cancelled", "withdrawn"}
NO_EFFECT = FINAL - {"succeeded"}


class Model(NamedTuple):
    """One state of everything.

    `call`: new, waiting, started, unknown or one of FINAL (both ways of not happening, refused and failed, are
    *refused* here). `ready`: the run has taken up a grant, so that workers find the call; it may be behind `permit`
    (none, ready, redeemed, void) in both directions. `outbox`: a grant was not taken up yet. `policy` of now compared
    with the approved round's: same, stricter, denies. A worker is (pc, fence) with pc in idle, claimed, started,
    checked, sent. `past` is the highest fence whose request deadline has passed. `left`: a look-up proved that nothing
    happened, and an operator decides.
    """

    call: str = "new"
    ready: bool = False
    permit: str = "none"
    outbox: bool = False
    fence: int = 0
    lease: bool = False
    holder: int = -1
    w0: tuple[str, int] = ("idle", 0)
    w1: tuple[str, int] = ("idle", 0)
    effects: int = 0
    expired: bool = False
    policy: str = "same"
    changed: bool = False
    cancel: bool = False
    stop: bool = False
    past: int = 0
    left: bool = False
    retries: int = 0
    approved: bool = False
    bad: str = ""
    rounds: int = 0


Step = tuple[str, Model]
START = Model()
STATES = 99_312
"""How many there are to reach, so that no test leaves parts of the model out."""
MOST_CLAIMS = 2
MOST_ROUNDS = 1


def steps(s: Model, broken: frozenset[str] = NOTHING) -> list[Step]:
    """All (label, next state) of `s`."""
    out = [*_world(s), *_people(s, broken), *_stops(s, broken), *_reconciliation(s, broken)]
    for number in (0, 1):
        out.extend(_worker(s, number, broken))
    return out


def _world(s: Model) -> Iterator[Step]:
    # What the world does before it was asked for, or after it has ended, is no question of this call.
    if s.call in ("waiting", "started", "unknown"):
        if not s.expired:
            yield "clock passes the void time", s._replace(expired=True)
        # A round opens at most once here, so what would open a second one does not happen; the next is like this one.
        if s.policy == "same" and s.rounds < MOST_ROUNDS:
            yield "policy asks for more", s._replace(policy="stricter")
        if s.policy != "denies":
            yield "policy denies or a right is revoked", s._replace(policy="denies")
        if not s.changed and s.effects == 0 and s.rounds < MOST_ROUNDS:
            yield "the target's record changes", s._replace(changed=True)
    if s.lease:
        yield "lease ends", s._replace(lease=False)
    if s.call == "unknown" and s.past < s.fence - 1:
        yield "the old request's deadline passes", s._replace(past=s.fence - 1)


def _people(s: Model, broken: frozenset[str]) -> Iterator[Step]:
    if s.call == "new":
        yield "proposed", s._replace(call="waiting")
    undecided = s.call == "waiting" and s.permit == "none"
    if undecided and not s.expired and s.policy == "stricter":
        # Judged before it counts, by the version in force and on the state that was read last (A5).
        yield "approve, and the new policy asks anew", s._replace(policy="same", rounds=s.rounds + 1)
        yield "reject", _ended(s, "rejected")
    elif undecided and not s.expired and s.policy == "denies":
        yield "approve, and the new policy refuses it", _ended(s, "refused")
        yield "reject", _ended(s, "rejected")
    elif (undecided or ("decide-unknown" in broken and s.call == "unknown")) and not s.expired:
        yield "approve", s._replace(permit="ready", outbox=True, approved=True, call="waiting")
        yield "reject", _ended(s, "rejected")
    if s.outbox and s.call == "waiting":
        yield "the run takes up the grant", s._replace(outbox=False, ready=True)
    redeemed = s.call in ("started", "unknown") and "revoke-until-dispatch" in broken
    if not s.expired and s.rounds < MOST_ROUNDS and ((s.call == "waiting" and s.permit == "ready") or redeemed):
        kept = "ready" if "revoke-voids" in broken else "none"
        yield (
            "the approval is taken back",
            s._replace(call="waiting", permit=kept, approved=False, rounds=s.rounds + 1),
        )
    if s.call == "waiting" and s.expired and s.permit != "void":
        # A grant that the run has taken up already: workers find the call, and learn it when they re-check.
        later = s.ready and s.permit == "ready" and not s.outbox
        yield "sweep marks expired", s._replace(permit="void") if later else _ended(s, "expired")
    if s.call in ("new", "waiting"):
        yield "agent withdraws", _ended(s, "withdrawn")
    if not s.cancel and s.call not in FINAL:
        if s.call in ("new", "waiting") or ("cancel-started" in broken and s.call in ("started", "unknown")):
            yield "cancel", _ended(s, "cancelled")._replace(cancel=True)
        else:  # started or unknown: nothing new is scheduled, the effect stays an open question
            yield "cancel", s._replace(cancel=True)


def _ended(s: Model, word: str) -> Model:
    """What was not used is void; what was redeemed stays so."""
    return s._replace(call=word, permit="void" if s.permit == "ready" else s.permit, ready=False, outbox=False)


def _stops(s: Model, broken: frozenset[str]) -> Iterator[Step]:
    if s.call in FINAL or s.call == "new":
        return
    if s.stop and s.call == "waiting" and s.ready and s.permit != "ready" and not s.lease:
        # Nobody claims what is held back, so nobody would learn at a re-check that its approval is gone.
        yield (
            "sweep tells of what is held back",
            _ended(s, "expired") if s.permit == "void" else s._replace(ready=False),
        )
    if s.stop:
        yield "the stop is lifted", s._replace(stop=False)
    elif "stop-spares-started" in broken and s.call in ("started", "unknown"):
        yield "a stop is set", _ended(s, "refused")._replace(stop=True)
    else:
        yield "a stop is set", s._replace(stop=True)


def _reconciliation(s: Model, broken: frozenset[str]) -> Iterator[Step]:
    if s.call == "started" and not s.lease:
        if "intent" in broken:
            yield (
                "sweep re-queues the call",
                s._replace(call="waiting", permit="ready", ready=True, fence=s.fence + 1, holder=-1),
            )
        else:
            yield "sweep: outcome unknown", s._replace(call="unknown", fence=s.fence + 1, holder=-1)
    if s.call != "unknown":
        return
    if s.left:
        yield "operator: it did not happen", _ended(s, "refused")
        if s.retries == 0 and not s.cancel:
            # The permit goes back, and whether it still holds is judged when it is redeemed again, like any other; one
            # whose time is over goes back to people, who get a time of their own.
            again = s._replace(retries=1, call="waiting", left=False)
            if s.expired:
                again = again._replace(permit="none", approved=False, expired=False, rounds=s.rounds + 1)
            else:
                again = again._replace(permit="ready", ready=True)
            yield "operator: send it again", again
    elif s.effects:
        yield "look-up finds the effect", s._replace(call="succeeded")
    elif s.past >= s.fence - 1 or "lookup-proves" in broken:
        early = "believed that nothing happened while a request could still arrive" if s.past < s.fence - 1 else ""
        yield "look-up finds nothing", s._replace(left=True, bad=s.bad or early)


def _worker(s: Model, number: int, broken: frozenset[str]) -> Iterator[Step]:
    name = f"w{number}"
    pc, fence = (s.w0, s.w1)[number]
    mine = (fence == s.fence and s.lease and s.holder == number) or "fence" in broken

    def put(label: str, to: str, at: int = fence, **changes: object) -> Step:
        return f"{name} {label}", s._replace(**{name: (to, at)}, **changes)  # type: ignore[arg-type]

    def free(label: str, **changes: object) -> Step:
        return put(label, "idle", 0, lease=False, holder=-1, **changes)

    # Two workers are alike: the second one's name is used while the first one holds something.
    named = number == 0 or s.w0[0] != "idle"
    found = named and s.call == "waiting" and s.ready and not s.lease and s.fence <= MOST_CLAIMS
    if pc == "idle" and found and (not s.stop or "stop-at-claim" in broken):
        bad = "claimed while a stop was in force" if s.stop else ""
        yield put("claims", "claimed", s.fence + 1, fence=s.fence + 1, lease=True, holder=number, bad=s.bad or bad)
    if pc == "claimed":
        yield from _redeem(s, mine, broken, put, free)
    if pc == "started":  # last look at fence and deadline; the process can be stopped right after it
        yield put("checks before sending", "checked") if mine else put("is too late to send", "idle", 0)
    if pc == "checked":
        overdue = fence <= s.past  # armed before the check: the kernel ends the process at the deadline
        if not overdue or "kernel-timer" in broken:
            yield put("sends", "sent", effects=s.effects + 1)
        if mine and s.call == "started":
            yield free("is refused by the target, records it", call="refused")
            if not s.cancel:
                yield free("is turned away before any effect, backs off", call="waiting", permit="ready", ready=True)
        else:
            yield put("is turned away, too late to record", "idle", 0)
    if pc == "sent":
        if mine and s.call == "started":
            yield free("records success", call="succeeded")
            if "proven-before-effect" in broken and not s.cancel:
                yield free("gets no answer, backs off", call="waiting", permit="ready", ready=True)
        else:
            yield put("is late, kept as evidence", "idle", 0)
    if pc != "idle":
        yield put("killed", "idle", 0)
    if "redeem-once" in broken and s.call == "started" and s.permit == "ready" and not s.lease:
        yield "another worker finds the permit ready", s._replace(call="waiting", ready=True)


def _redeem(
    s: Model, mine: bool, broken: frozenset[str], put: Callable[..., Step], free: Callable[..., Step]
) -> Iterator[Step]:
    if not mine or s.call != "waiting":
        yield put("loses its claim", "idle", 0)
        return
    if s.stop and "stop-at-redeem" not in broken:
        yield free("finds a stop, gives back")
        return
    if s.permit == "none":  # taken back since the run took it up
        yield free("finds that it is asked anew", ready=False)
        return
    if s.permit == "void" or (s.expired and "expiry-at-dispatch" not in broken):
        yield free("re-check finds it expired", call="expired", permit="void", ready=False, outbox=False)
        return
    if s.policy == "denies" and "policy-at-dispatch" not in broken:
        yield free("re-check refuses", call="refused", permit="void", ready=False, outbox=False)
        return
    stricter = s.policy == "stricter" and "policy-at-dispatch" not in broken
    if stricter or (s.changed and "state-at-dispatch" not in broken):
        # Judged by today's policy and on today's state; the void time stays what it was.
        kept = "round-voids-votes" in broken and s.approved
        yield free(
            "re-check opens a new round",
            permit="ready" if kept else "none", ready=kept, approved=False, rounds=s.rounds + 1,
            policy="same", changed=False,
        )  # fmt: skip
        return
    bad = s.bad
    if not s.approved:
        bad = bad or "dispatched without an approval"
    elif s.expired or s.policy != "same" or s.changed:
        bad = bad or "dispatched on a stale approval"
    elif s.stop:
        bad = bad or "dispatched while a stop was in force"
    yield put(
        "redeems, started",
        "started",
        call="started",
        ready=False,
        permit="ready" if "redeem-once" in broken else "redeemed",
        bad=bad,
    )


def faults(s: Model) -> Iterator[str]:
    """Broken invariants of one state."""
    if s.bad:
        yield s.bad
    if s.effects > 1:
        yield "duplicate effect"
    if s.effects and s.call in NO_EFFECT:
        yield f"the effect happened but the call reads {s.call}"
    if s.effects and not s.approved:
        yield "effect without approval"


def word(s: Model) -> str | None:
    """How the call has ended."""
    return s.call if s.call in FINAL else None


MACHINE = Machine("call", (START,), steps, faults, word, BREAKS)
