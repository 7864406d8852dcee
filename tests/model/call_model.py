"""Executable model of one call from proposal to outcome: every interleaving of people, two workers, clock, crashes.

    python -m tests.model.call_model            explores the protocol; prints counts; exits 1 on a broken invariant
    python -m tests.model.call_model --break X  removes one safeguard (BREAKS), shows the shortest history that breaks
    python -m tests.model.call_model --all      every safeguard in turn: each must break something, or it is not needed

The target does NOT honour idempotency keys (the hard case); `effects` counts what it did.
Sources of the rules: data rules 2, 3, 11, "What the guarantees are, exactly". Where the code does more than the model
knows, the model grows first; it has grown by withdrawing, by a new round at dispatch and by a machine's own second
attempt after a failure that provably came before the effect.
"""

import sys
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

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
}

FINAL = {"succeeded", "refused", "rejected", "expired", "cancelled", "withdrawn"}
NO_EFFECT = FINAL - {"succeeded"}


class Model(NamedTuple):
    """One state of everything. `call`: new, waiting, started, unknown or one of FINAL (both ways of not happening,
    refused and failed, are *refused* here). `permit`: none, ready, redeemed, void. A worker is (pc, fence) with pc in
    idle, claimed, started, checked, sent. `past` is the highest fence whose request deadline has passed."""

    call: str = "new"
    permit: str = "none"
    fence: int = 0
    lease: bool = False
    holder: int = -1
    w0: tuple[str, int] = ("idle", 0)
    w1: tuple[str, int] = ("idle", 0)
    effects: int = 0
    expired: bool = False
    strict: bool = False
    changed: bool = False
    cancel: bool = False
    past: int = 0
    retries: int = 0
    approved: bool = False
    bad: str = ""
    late: int = 0
    rounds: int = 0


Step = tuple[str, Model]
START = Model()
MOST_CLAIMS = 3


def steps(s: Model, broken: frozenset[str] = frozenset()) -> list[Step]:
    """All (label, next state) of `s`."""
    out = [*_world(s), *_people(s, broken), *_reconciliation(s, broken)]
    for number in (0, 1):
        out.extend(_worker(s, number, broken))
    return out


def _world(s: Model) -> Iterator[Step]:
    if not s.expired:
        yield "clock passes the void time", s._replace(expired=True)
    if not s.strict:
        yield "policy is tightened or a right is revoked", s._replace(strict=True)
    if not s.changed and s.effects == 0:
        yield "the target's record changes", s._replace(changed=True)
    if s.lease:
        yield "lease ends", s._replace(lease=False)
    if s.call == "unknown" and s.past < s.fence - 1:
        yield "the old request's deadline passes", s._replace(past=s.fence - 1)


def _people(s: Model, broken: frozenset[str]) -> Iterator[Step]:
    if s.call == "new":
        yield "proposed", s._replace(call="waiting")
    undecided = s.call == "waiting" and s.permit == "none"
    if undecided or ("decide-unknown" in broken and s.call == "unknown"):
        if not s.expired:
            yield "approve", s._replace(permit="ready", approved=True, call="waiting")
        yield "reject", s._replace(call="rejected", permit="void")
    if undecided and s.expired:
        yield "sweep marks expired", s._replace(call="expired", permit="void")
    if s.call == "waiting" and not s.cancel:
        yield "agent withdraws", s._replace(call="withdrawn", permit="void")
    if not s.cancel and s.call not in FINAL:
        if s.call in ("new", "waiting") or ("cancel-started" in broken and s.call in ("started", "unknown")):
            yield "cancel", s._replace(cancel=True, call="cancelled", permit="void")
        else:  # started or unknown: nothing new is scheduled, the effect stays an open question
            yield "cancel", s._replace(cancel=True)


def _reconciliation(s: Model, broken: frozenset[str]) -> Iterator[Step]:
    if s.call == "started" and not s.lease:
        if "intent" in broken:
            yield (
                "sweep re-queues the call",
                s._replace(call="waiting", permit="ready", fence=s.fence + 1, holder=-1),
            )
        else:
            yield "sweep: outcome unknown", s._replace(call="unknown", fence=s.fence + 1, holder=-1)
    if s.call != "unknown":
        return
    if s.effects:
        yield "look-up finds the effect", s._replace(call="succeeded")
    elif s.past >= s.fence - 1 or "lookup-proves" in broken:
        early = "closed as not happened while a request could still arrive" if s.past < s.fence - 1 else ""
        yield (
            "look-up finds nothing, operator closes: it did not happen",
            s._replace(call="refused", permit="void", bad=s.bad or early),
        )
        if s.retries == 0 and not s.cancel:
            holds = not (s.expired or s.strict or s.changed)
            yield (
                "look-up finds nothing, operator retries with the same key",
                s._replace(
                    retries=1, call="waiting", permit="ready" if holds else "none", approved=s.approved and holds
                ),
            )


def _worker(s: Model, number: int, broken: frozenset[str]) -> Iterator[Step]:
    name = f"w{number}"
    pc, fence = (s.w0, s.w1)[number]
    mine = (fence == s.fence and s.lease and s.holder == number) or "fence" in broken

    def put(label: str, to: str, at: int = fence, **changes: object) -> Step:
        return f"{name} {label}", s._replace(**{name: (to, at)}, **changes)  # type: ignore[arg-type]

    def free(label: str, **changes: object) -> Step:
        return put(label, "idle", 0, lease=False, holder=-1, **changes)

    if pc == "idle" and s.call == "waiting" and s.permit == "ready" and not s.lease and s.fence <= MOST_CLAIMS:
        yield put("claims", "claimed", s.fence + 1, fence=s.fence + 1, lease=True, holder=number)
    if pc == "claimed":
        yield from _redeem(s, mine, broken, put, free)
    if pc == "started":  # last look at fence and deadline; the process can be stopped right after it
        yield put("checks before sending", "checked" if mine else "idle")
    if pc == "checked":
        overdue = fence <= s.past  # armed before the check: the kernel ends the process at the deadline
        if not overdue or "kernel-timer" in broken:
            yield put("sends", "sent", effects=s.effects + 1)
        if mine and s.call == "started":
            yield free("cannot connect, records failed before effect", call="refused", permit="void")
            if not s.cancel:
                yield free("cannot connect, backs off", call="waiting", permit="ready")
        else:
            yield put("cannot connect, too late to record", "idle", 0)
    if pc == "sent":
        if mine and s.call == "started":
            yield free("records success", call="succeeded")
            if "proven-before-effect" in broken and not s.cancel:
                yield free("gets no answer, backs off", call="waiting", permit="ready")
        else:
            yield put("is late, kept as evidence", "idle", 0, late=1)
    if pc != "idle":
        yield put("killed", "idle", 0)
    if "redeem-once" in broken and s.call == "started" and s.permit == "ready" and not s.lease:
        yield "another worker finds the permit ready", s._replace(call="waiting")


def _redeem(
    s: Model, mine: bool, broken: frozenset[str], put: Callable[..., Step], free: Callable[..., Step]
) -> Iterator[Step]:
    if not mine or s.call != "waiting" or s.permit != "ready":
        yield put("loses its claim", "idle", 0)
        return
    stale = (
        (s.expired and "expiry-at-dispatch" not in broken)
        or (s.strict and "policy-at-dispatch" not in broken)
        or (s.changed and "state-at-dispatch" not in broken)
    )
    if stale or s.cancel:
        yield free("re-check refuses, permit void", call="expired" if s.expired else "refused", permit="void")
        if s.rounds == 0 and not s.cancel:
            # Judged anew by today's policy and on today's state, with a void time of its own.
            kept = "round-voids-votes" in broken and s.approved
            yield free(
                "re-check opens a new round",
                permit="ready" if kept else "none",
                approved=False,
                rounds=1,
                expired=False,
                strict=False,
                changed=False,
            )
        return
    bad = s.bad
    if not s.approved:
        bad = bad or "dispatched without an approval"
    elif s.expired or s.strict or s.changed:
        bad = bad or "dispatched on a stale approval"
    yield put(
        "redeems, started",
        "started",
        call="started",
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
    if s.effects and not s.approved and not s.retries:
        yield "effect without approval"


Parents = dict[Model, tuple[Model, str] | None]


def explore(broken: frozenset[str] = frozenset(), first_only: bool = False) -> tuple[Parents, dict[str, Model], int]:
    """Every reachable state with the step that led to it, every broken invariant with its first state, dead ends.

    With `first_only` it stops at the first broken invariant; breadth first, so its history is a shortest one.
    """
    parents: Parents = {START: None}
    queue = deque([START])
    found: dict[str, Model] = {}
    dead = 0
    while queue and not (found and first_only):
        s = queue.popleft()
        nexts = steps(s, broken)
        if not nexts and s.call not in FINAL:
            dead += 1
        for label, after in nexts:
            if s.call in FINAL and after.call != s.call:
                found.setdefault(f"final {s.call} became {after.call}", after)
            if after in parents:
                continue
            parents[after] = (s, label)
            broken_here = list(faults(after))
            for fault in broken_here:
                found.setdefault(fault, after)
            if not broken_here:
                queue.append(after)
    return parents, found, dead


def history(parents: Parents, s: Model) -> list[str]:
    """The labels that lead to `s`."""
    labels = []
    step = parents[s]
    while step is not None:
        s, label = step
        labels.append(label)
        step = parents[s]
    return labels[::-1]


def main(arguments: list[str]) -> int:
    """The command line."""
    if arguments == ["--all"]:
        for name in BREAKS:
            _, found, _ = explore(frozenset([name]))
            print(f"without {name:20s} {'breaks: ' + '; '.join(found) if found else 'BREAKS NOTHING'}")
        return 0
    parents, found, dead = explore(frozenset(arguments[1:]))
    print(f"{len(parents)} states, {dead} dead ends, {len(found)} broken invariants")
    for fault, s in found.items():
        print(f"\nBROKEN: {fault}")
        for number, label in enumerate(history(parents, s), 1):
            print(f"  {number:2d} {label}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
