"""A backup is restored while calls a and b want one record and c another: the leases of records are lost with it.

`restore_model` has one call on its record. Here the record is what is asked about: is an effect ever made on a record
that has changed since it was read, because a request of the lost time arrived behind the reading? The rule is that
nothing with an effect starts, whoever asks, until no request of that time can arrive any more (`quiet_at`). a is asked
for in a run of before; b and c whenever, perhaps in the lost time, and then anew in another run. No call needs people:
approvals and epochs are `restore_model`'s, and so are workers that live through a restore.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tests.model.explore import NOTHING, Machine

BREAKS = {
    "record-is-quiet": "a call of after the restore starts while a request of the lost time may still arrive",
    "look-in-time": "a call of before starts on a look-up that found nothing while such a request may still arrive",
    "look-before-send": "a call of before is sent without asking the target for its key first",
    "epoch-stops-starts": "a restored database starts calls before its epoch was raised",
    "resource-lease": "a dispatch starts without leasing its record",
    "unknown-keeps-lease": "an unknown outcome gives the record free at once",
    "deadline-of-lost-time": "after a restore a proof waits for the last request that the backup knows of only",
    "kernel-timer": "a request may still arrive after its deadline",
}
FINAL = {"succeeded", "failed"}
NAMES = ("a", "b", "c")
RECORDS = ("one", "one", "other")
C = 2
MOST_SENT = 3
MOST_ASKED = 4


class Call(NamedTuple):
    """One call in the database: not asked for (""), ready, started, unknown, left to people, or one of FINAL. `key` is
    a number of its own, `sent` its latest request's. `freed`: left to people before, so it holds no record. `again`:
    an operator had it sent once more."""

    state: str = ""
    key: int = 0
    sent: int = 0
    freed: bool = False
    again: bool = False


class Request(NamedTuple):
    """One request to the target: `seen` is the record's version that its worker read; `done`: it has its effect. One
    that is lost on its way is one that has none until it can arrive no more."""

    call: int
    key: int
    seen: int
    done: bool = False


class Db(NamedTuple):
    """What the database says."""

    calls: tuple[Call, Call, Call] = (Call("ready", 1), Call(), Call())
    epoch: int = 0


class All(NamedTuple):
    """`db` and the world: `saved` is the backup, `place` 1 once it was restored; `asked` counts keys, `past` is the
    last request that can arrive no more; `before` and `old` are the last request and key of before the restore."""

    db: Db = Db()
    saved: Db | None = None
    place: int = 0
    asked: int = 1
    requests: tuple[Request, ...] = ()
    past: int = 0
    before: int = 0
    old: int = 0
    bad: str = ""


Step = tuple[str, All]


def version(s: All, number: int) -> int:
    """How many effects there are on the record of a call."""
    return sum(one.done and RECORDS[one.call] == RECORDS[number] for one in s.requests)


def is_done(s: All, call: Call) -> bool:
    """Whether the target shows the call's effect."""
    return any(one.done and one.key == call.key for one in s.requests)


def is_quiet(s: All) -> bool:
    """Whether no request of before the restore can arrive any more."""
    return s.past >= s.before


def holds(call: Call) -> bool:
    """Whether it has leased its record."""
    return call.state == "started" or (call.state == "unknown" and not call.freed)


def steps(s: All, broken: frozenset[str] = NOTHING) -> list[Step]:
    """All (label, next state) of `s`."""
    out = list(_world(s, broken))
    for number, name in enumerate(NAMES):
        out += [(f"{name} {label}", after) for label, after in _call(s, number, broken)]
    return out


def _put(s: All, number: int, **changes: object) -> All:
    calls = list(s.db.calls)
    calls[number] = calls[number]._replace(**changes)  # type: ignore[arg-type]
    return s._replace(db=s.db._replace(calls=(calls[0], calls[1], calls[2])))


def _ended(s: All, number: int, state: str) -> All:
    return _put(s, number, state=state, sent=0, freed=False, again=False)


def _world(s: All, broken: frozenset[str]) -> Iterator[Step]:
    if s.saved is None and s.place == 0 and not all(call.state in FINAL for call in s.db.calls[:C]):
        yield "a backup is made", s._replace(saved=s.db)
    elif s.saved is not None and s.saved != s.db:
        lost = s._replace(db=s.saved, saved=None, place=1, before=len(s.requests), old=s.asked)
        yield "the backup is restored", lost
    if s.db.epoch < s.place:
        a, b, c = (_of_before(call) for call in s.db.calls)
        yield "the epoch is raised", s._replace(db=Db((a, b, c), 1))
    if s.past < len(s.requests):
        yield "what was sent can arrive no more", s._replace(past=len(s.requests))
    for number, one in enumerate(s.requests, 1):
        if not one.done and (number > s.past or "kernel-timer" in broken):
            changed = version(s, one.call) != one.seen
            bad = "an effect on a record that changed since it was read" if changed else ""
            yield f"request {number} arrives", _arrived(s, number, s.bad or bad)


def _of_before(call: Call) -> Call:
    state = {"started": "unknown", "left": "unknown"}.get(call.state, call.state)
    return call._replace(state=state, freed=call.freed or call.state == "left")


def _arrived(s: All, number: int, bad: str) -> All:
    one = s.requests[number - 1]._replace(done=True)
    return s._replace(requests=(*s.requests[: number - 1], one, *s.requests[number:]), bad=bad)


def _call(s: All, number: int, broken: frozenset[str]) -> Iterator[Step]:
    call = s.db.calls[number]
    here = s.db.epoch == s.place
    if call.state == "" and s.asked < MOST_ASKED and here and (s.place or number != C):
        yield "is asked for", _put(s, number, state="ready", key=s.asked + 1)._replace(asked=s.asked + 1)
    if call.state == "ready" and (here or "epoch-stops-starts" in broken):
        yield from _start(s, number, broken)
    if call.state == "started" and here:
        if is_done(s, call) and call.sent > s.past:
            yield "gets its answer", _ended(s, number, "succeeded")
        yield "loses its answer", _put(s, number, state="unknown", freed="unknown-keeps-lease" in broken)
    if call.state == "unknown" and here:
        needed = call.sent if "deadline-of-lost-time" in broken else max(call.sent, s.before)
        if is_done(s, call):
            yield "is looked up and found", _ended(s, number, "succeeded")
        elif s.past >= needed:
            yield "is looked up, nothing found, left to people", _put(s, number, state="left")
    if call.state == "left" and here:
        yield "did not happen, says an operator", _ended(s, number, "failed")
        if not call.again:
            yield "is to be sent again, says an operator", _put(s, number, state="ready", freed=False, again=True)


def _start(s: All, number: int, broken: frozenset[str]) -> Iterator[Step]:
    call = s.db.calls[number]
    others = [one for at, one in enumerate(s.db.calls) if at != number and RECORDS[at] == RECORDS[number]]
    if any(holds(one) for one in others) and "resource-lease" not in broken:
        return
    knows = bool(s.db.epoch)
    if knows and call.key <= s.old:
        if is_done(s, call) and "look-before-send" not in broken:
            yield "is looked up before it is sent, found", _ended(s, number, "succeeded")
            return
        if not is_quiet(s) and not {"look-in-time", "look-before-send"} & broken:
            return
    elif knows and not is_quiet(s) and "record-is-quiet" not in broken:
        return
    if len(s.requests) == MOST_SENT:
        yield "has no attempt left", _ended(s, number, "failed")
        return
    made = (*s.requests, Request(number, call.key, version(s, number)))
    yield "starts", _put(s, number, state="started", sent=len(made), freed=False)._replace(requests=made)


def faults(s: All) -> Iterator[str]:
    """Broken invariants of one state."""
    if s.bad:
        yield s.bad
    done = [one.key for one in s.requests if one.done]
    if len(done) != len(set(done)):
        yield "duplicate effect"
    if any(call.state == "failed" and call.key in done for call in s.db.calls):
        yield "the effect happened but the call reads failed"


def word(s: All) -> tuple[str, ...] | None:
    """How all that are asked for have ended, for good once no restore can come any more."""
    states = tuple(call.state for call in s.db.calls[: None if s.place else C])
    return states if FINAL.issuperset(states) and (s.place or s.saved is None) else None


MACHINE = Machine("records", (All(),), steps, faults, word, BREAKS)
