"""A backup is restored: the database forgets, the target does not. Nothing from before may have a second effect.

The database is taken back, at any step, to what it was at an earlier one; requests that were on their way stay on it,
and whoever waits for their answers may live through it. A call that needs no approval is the second start. What an
attempt is otherwise (fence, lease, policy) is `call_model`'s.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tests.model.explore import NOTHING, Machine

BREAKS = {
    "epoch-stops-starts": "a restored database starts calls before its epoch was raised",
    "epoch-voids-permits": "an approval of before the restore is executed without being given anew",
    "look-before-send": "a call of before the restore is sent without asking the target for its key first",
    "look-in-time": "that look-up counts although a request of the lost time may still arrive",
    "proof-after-restore": "a look-up of before the restore still proves that nothing happened",
    "deadline-of-lost-time": "after a restore a proof waits for the last request that the backup knows of only",
    "epoch-stops-words": "an operator may settle a question in a restored database before its epoch was raised",
    "kernel-timer": "a request may still arrive after its deadline",
}
FINAL = {"succeeded", "failed"}
MOST_SENT = 3


class Db(NamedTuple):
    """What the database says. `call`: waiting, ready, started, unknown or one of FINAL; `permit`: none, ready, void,
    redeemed, of the epoch `given`; `attempt` is the one in force, `proof` the highest attempt that had passed when a
    look-up found nothing, -1 without one; `epoch` the last one that was raised."""

    call: str = "waiting"
    permit: str = "none"
    given: int = 0
    attempt: int = 0
    proof: int = -1
    epoch: int = 0
    retried: bool = False


class All(NamedTuple):
    """`db` and the world: `saved` is the backup, `place` where the database is (0, or 1 once restored), `sent` counts
    attempts, `flying` are those whose request may still arrive, `done` those with an effect, `past` is the highest one
    whose deadline and settling time are over, `before` how many were sent before the restore."""

    db: Db = Db()
    saved: Db | None = None
    place: int = 0
    sent: int = 0
    flying: frozenset[int] = frozenset()
    done: frozenset[int] = frozenset()
    past: int = 0
    before: int = 0
    free: bool = False
    bad: str = ""


Step = tuple[str, All]
STARTS = (All(), All(Db(call="ready"), free=True))


def steps(s: All, broken: frozenset[str] = NOTHING) -> list[Step]:
    """All (label, next state) of `s`."""
    return [*_world(s, broken), *_send(s, broken), *_unknown(s, broken)]


def _put(s: All, **changes: object) -> All:
    return s._replace(db=s.db._replace(**changes))  # type: ignore[arg-type]


def _world(s: All, broken: frozenset[str]) -> Iterator[Step]:
    db = s.db
    if s.saved is None and db.call not in FINAL:
        yield "a backup is made", s._replace(saved=db)
    if s.saved is not None and s.place == 0 and s.saved != db:
        yield "the backup is restored", s._replace(db=s.saved, place=1, before=s.sent)
    if db.epoch < s.place:
        raised = db._replace(epoch=1, call="unknown" if db.call == "started" else db.call)
        if db.permit == "ready" and "epoch-voids-permits" not in broken:
            raised = raised._replace(permit="void")
        yield "the epoch is raised", s._replace(db=raised)
    if s.past < s.sent:
        yield "the next request's deadline passes", s._replace(past=s.past + 1)
    for attempt in sorted(s.flying):
        if attempt > s.past or "kernel-timer" in broken:
            yield f"request {attempt} arrives", s._replace(flying=s.flying - {attempt}, done=s.done | {attempt})
            yield f"request {attempt} is lost", s._replace(flying=s.flying - {attempt})


def _send(s: All, broken: frozenset[str]) -> Iterator[Step]:
    db = s.db
    here = db.epoch == s.place or "epoch-stops-starts" in broken
    if db.call == "waiting" and here:
        yield "approved", _put(s, call="ready", permit="ready", given=db.epoch)
    if db.call == "waiting" and s.place and s.done and here:
        yield "looked up while it waits, found", _put(s, call="succeeded")
    if db.call == "ready" and here:
        yield from _start(s, broken)
    # Whoever waits for the answer of the attempt in force may live through a restore.
    if db.call == "started" and db.attempt in s.done:
        yield "its answer is recorded", _put(s, call="succeeded")
    if db.call == "started" and db.attempt in s.flying and db.attempt > s.past and here:
        turned = s._replace(flying=s.flying - {db.attempt})
        if s.sent < MOST_SENT:
            yield "it is turned away, backs off", _put(turned, call="ready", permit=_back(db))
        yield "it is refused by the target", _put(turned, call="failed")
    if db.call == "started":
        yield "its answer is lost", _put(s, call="unknown")


def _back(db: Db) -> str:
    return "ready" if db.permit == "redeemed" else db.permit


def _start(s: All, broken: frozenset[str]) -> Iterator[Step]:
    db = s.db
    if s.place and "look-before-send" not in broken:
        if s.done:
            yield "looked up before it is sent, found", _put(s, call="succeeded")
            return
        if s.past < s.before and "look-in-time" not in broken:
            return  # it is looked up again later
    void = db.permit != "ready" or (db.given != db.epoch and "epoch-voids-permits" not in broken)
    if void and not s.free:
        yield "is asked anew", _put(s, call="waiting", permit="none")
        return
    if s.sent == MOST_SENT:
        yield "the attempts are used up", _put(s, call="failed")
    else:
        attempt = s.sent + 1
        old = not s.free and db.given < s.place
        yield (
            "starts",
            _put(
                s._replace(
                    sent=attempt,
                    flying=s.flying | {attempt},
                    bad=s.bad or ("executed on an approval of before the restore" if old else ""),
                ),
                call="started", permit="redeemed" if not s.free else "none", attempt=attempt, proof=-1,
            ),
        )  # fmt: skip


def _unknown(s: All, broken: frozenset[str]) -> Iterator[Step]:
    db = s.db
    if db.call != "unknown":
        return
    here = db.epoch == s.place
    needed = db.attempt if "deadline-of-lost-time" in broken else max(db.attempt, s.before)
    if here and s.done:
        yield "look-up finds the effect", _put(s, call="succeeded")
    elif here and s.past >= needed and db.proof < s.past:
        yield "look-up finds nothing", _put(s, proof=s.past)
    if not here and "epoch-stops-words" not in broken:
        return
    # A look-up of before the restore knew of fewer requests than were sent.
    if db.proof >= (db.attempt if {"proof-after-restore", "epoch-stops-words"} & broken else needed) > 0:
        yield "operator: it did not happen", _put(s, call="failed")
        if not db.retried:
            yield "operator: send it again", _put(s, call="ready", permit=_back(db), retried=True)


def faults(s: All) -> Iterator[str]:
    """Broken invariants of one state."""
    if s.bad:
        yield s.bad
    if len(s.done) > 1:
        yield "duplicate effect"
    if s.done and s.db.call == "failed":
        yield "the effect happened but the call reads failed"


def word(s: All) -> str | None:
    """How the call has ended, for good once no restore can come any more."""
    return s.db.call if s.db.call in FINAL and (s.place or s.saved is None) else None


MACHINE = Machine("restore", STARTS, steps, faults, word, BREAKS)
