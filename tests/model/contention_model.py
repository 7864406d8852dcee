"""Two calls, a and b, that want an effect on one record, in one run or in two; the run of a may be cancelled or paused.

What it asks: is there ever more than one request under way on the record, is every effect made on the record as it was
when people approved it, and does what is cancelled or paused stay unsent? Fences, permits and expiry are
`call_model`'s; here each call has one worker, and both were approved before the first step.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tests.model.explore import NOTHING, Machine

BREAKS = {
    "resource-lease": "a dispatch starts without leasing the record",
    "unknown-keeps-lease": "an unknown outcome gives the record free at once",
    "left-after-deadline": "a question is left to people, and the record freed, while the old request may still arrive",
    "state-at-dispatch": "the record's state is not compared with the approved one when a dispatch starts",
    "read-behind-start": "a state that was read before another dispatch started on the record is still believed",
    "pause-at-start": "a pause that came after the claim is not seen at the start",
    "cancel-ends-unsent": "cancel leaves what was not sent to whoever has claimed it",
    "kernel-timer": "a sender stopped past its request's deadline may still send when it is continued",
}
FINAL = {"succeeded", "failed", "cancelled"}


class One(NamedTuple):
    """One call. `state`: ready, waiting (asked anew), started, unknown or one of FINAL. `pc` of its worker: idle,
    claimed (the record was free), read, started, sent. `agreed` and `seen` are versions of the record: as it was
    approved, as the worker read it. `crossed`: another dispatch has started on the record since the claim. `parked`:
    given up because of a pause; a resume orders it again. `past`: the request's deadline has passed. `left`: the
    look-up found nothing and people decide; what they may decide is `compensation_model`'s."""

    state: str = "ready"
    pc: str = "idle"
    agreed: int = 0
    seen: int = 0
    crossed: bool = False
    parked: bool = False
    past: bool = False
    left: bool = False
    effects: int = 0


class Two(NamedTuple):
    """Both calls; `version` counts the effects on the record, `holder` has leased it. `shared`: one run owns both."""

    a: One = One()
    b: One = One()
    holder: str = ""
    version: int = 0
    shared: bool = False
    paused: bool = False
    cancelled: bool = False
    bad: str = ""


Step = tuple[str, Two]
STARTS = (Two(), Two(shared=True))


def steps(s: Two, broken: frozenset[str] = NOTHING) -> list[Step]:
    """All (label, next state) of `s`."""
    out = list(_run(s, broken))
    for name in ("a", "b"):
        out += [(f"{name} {label}", after) for label, after in _call(s, name, broken)]
    return out


def _run(s: Two, broken: frozenset[str]) -> Iterator[Step]:
    owned = ("a", "b") if s.shared else ("a",)
    if all(getattr(s, name).state in FINAL for name in owned) or s.cancelled:
        return
    if s.paused:
        again = {name: getattr(s, name)._replace(parked=False) for name in owned}
        yield "resume", s._replace(paused=False, **again)
    else:
        yield "pause", s._replace(paused=True)
    after = s._replace(cancelled=True, paused=False)
    for name in owned:
        one: One = getattr(s, name)
        if one.state in ("ready", "waiting") and "cancel-ends-unsent" not in broken:
            after = after._replace(**{name: one._replace(state="cancelled")})  # type: ignore[arg-type]
    yield "cancel", after


def _call(s: Two, name: str, broken: frozenset[str]) -> Iterator[Step]:
    one: One = getattr(s, name)
    other = "b" if name == "a" else "a"
    owned = name == "a" or s.shared

    def put(label: str, **changes: object) -> Step:
        holder = changes.pop("holder", s.holder)
        return label, s._replace(**{name: one._replace(**changes)}, holder=holder)  # type: ignore[arg-type]

    freed = "" if s.holder == name else s.holder
    if one.state == "waiting":
        yield put("is approved again", state="ready")
    if one.pc == "idle" and one.state == "ready" and not one.parked and (not s.holder or "resource-lease" in broken):
        yield put("is claimed", pc="claimed", crossed=False)
    if one.pc == "claimed":
        yield put("reads the record", pc="read", seen=s.version)
    if one.pc == "read":
        yield from _start(s, name, other, broken, paused=owned and s.paused, cancelled=owned and s.cancelled)
    if one.pc == "started" and (not one.past or "kernel-timer" in broken):
        bad = "an effect on a record that changed since it was approved" if s.version != one.agreed else ""
        if s.holder == other:
            bad = bad or "an effect while another request is under way on the record"
        yield (
            "sends",
            s._replace(
                **{name: one._replace(pc="sent", effects=one.effects + 1)},  # type: ignore[arg-type]
                version=s.version + 1,
                bad=s.bad or bad,
            ),
        )
    if one.pc == "sent":
        if one.state == "started":
            yield put("records success", state="succeeded", pc="idle", holder=freed)
        else:
            yield put("is late, kept as evidence", pc="idle")
    if one.pc != "idle":
        yield put("loses its worker", pc="idle")
    if one.state == "started":
        holder = freed if "unknown-keeps-lease" in broken else s.holder
        yield put("is lost, outcome unknown", state="unknown", holder=holder)
    if one.state == "unknown":
        yield from _unknown(one, freed, put, broken)


def _start(s: Two, name: str, other: str, broken: frozenset[str], *, paused: bool, cancelled: bool) -> Iterator[Step]:
    one: One = getattr(s, name)
    them: One = getattr(s, other)

    def back(label: str, **changes: object) -> Step:
        return label, s._replace(**{name: one._replace(pc="idle", **changes)})  # type: ignore[arg-type]

    if one.state != "ready":
        yield back("has lost its claim")
    elif paused and "pause-at-start" not in broken:
        yield back("finds a pause", parked=True)
    elif one.seen != one.agreed and "state-at-dispatch" not in broken:
        yield back("is asked anew", state="waiting", agreed=one.seen)
    elif s.holder and "resource-lease" not in broken:
        yield back("finds the record held")
    elif one.crossed and "read-behind-start" not in broken:
        yield back("has read too early")
    else:
        bad = "started while paused" if paused else "started after its run was cancelled" if cancelled else ""
        if them.pc in ("claimed", "read"):
            them = them._replace(crossed=True)
        started = one._replace(pc="started", state="started", past=False)
        yield (
            "starts",
            s._replace(**{name: started, other: them}, holder=s.holder or name, bad=s.bad or bad),  # type: ignore[arg-type]
        )


def _unknown(one: One, freed: str, put: object, broken: frozenset[str]) -> Iterator[Step]:
    assert callable(put)
    if not one.past:
        yield put("can arrive no more", past=True)
    if one.effects and not one.left:
        yield put("is looked up and found", state="succeeded", holder=freed)
    if not one.effects and not one.left and (one.past or "left-after-deadline" in broken):
        yield put("is looked up, nothing found, left to people", left=True, holder=freed)
    if one.left:
        yield put("did not happen, says an operator", state="failed")


def faults(s: Two) -> Iterator[str]:
    """Broken invariants of one state."""
    if s.bad:
        yield s.bad
    if all(one.pc == "started" and not one.past for one in (s.a, s.b)):
        yield "two requests are under way on one record"
    for name, one in (("a", s.a), ("b", s.b)):
        if one.effects > 1:
            yield f"duplicate effect of {name}"
        if one.effects and one.state in ("failed", "cancelled"):
            yield f"the effect of {name} happened but the call reads {one.state}"
    if s.holder and getattr(s, s.holder).state in FINAL:
        yield "a call that has ended holds the record"


def word(s: Two) -> tuple[str, str] | None:
    """How both have ended."""
    return (s.a.state, s.b.state) if s.a.state in FINAL and s.b.state in FINAL else None


MACHINE = Machine("contention", STARTS, steps, faults, word, BREAKS)
