"""A call whose outcome nobody knows, and what operators decide about it; a compensating call has its own approval.

It begins where the answer was lost: the old request may still be on its way (`arriving`) until its deadline and the
target's settling time have passed (`past`). Two operators, the look-up, the run's cancel and the compensating call's
own losses interleave.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tests.model.explore import NOTHING, Machine

BREAKS = {
    "proof-for-closing": "an operator may say that it did not happen before a look-up has proven it",
    "proof-for-retry": "an operator may have it sent again before a look-up has proven that nothing happened",
    "asked-in-time": "a look-up that was sent before the old request's deadline counts as proof",
    "kernel-timer": "the old request may still arrive after its deadline",
    "own-approval": "a compensating call is sent without an approval of its own",
    "one-compensation": "a second compensating call may be asked for beside the first",
    "success-compensates": "a call reads compensated as soon as its compensating call was sent",
    "no-retry-beside": "the call may be sent again while its compensation is under way",
    "no-closing-beside": "it may be said not to have happened while its compensation is under way",
    "final-stays": "a look-up that finds the effect later moves a call that has ended",
    "cancel-schedules-nothing": "after a cancel an operator may still have it sent again",
}
FINAL = {"succeeded", "failed", "compensated"}
OPEN = {"waiting", "ready", "started", "unknown"}


class Asked(NamedTuple):
    """`call`: unknown, ready (to be sent again), started or one of FINAL. `proof`: none, early (a look-up found nothing
    before the deadline) or nothing (found nothing after it). `amends`: the compensating call: none, waiting, ready,
    started, unknown, succeeded, ended. `amends_past`, `amends_arriving`: as `past` and `arriving`, of it."""

    call: str = "unknown"
    arriving: bool = True
    past: bool = False
    proof: str = "none"
    effects: int = 0
    retries: int = 0
    amends: str = "none"
    amends_approved: bool = False
    amends_arriving: bool = False
    amends_past: bool = False
    amends_effects: int = 0
    cancelled: bool = False
    bad: str = ""


Step = tuple[str, Asked]
START = Asked()


def steps(s: Asked, broken: frozenset[str] = NOTHING) -> list[Step]:
    """All (label, next state) of `s`."""
    return [*_world(s, broken), *_look_up(s, broken), *_operator(s, broken), *_again(s), *_amends(s, broken)]


def _world(s: Asked, broken: frozenset[str]) -> Iterator[Step]:
    if s.arriving and (not s.past or "kernel-timer" in broken):
        yield "the old request arrives", s._replace(arriving=False, effects=s.effects + 1)
    if s.call == "unknown" and not s.past:
        yield "the old request can arrive no more", s._replace(past=True)
    if not s.cancelled and s.call not in FINAL:
        gone = s.amends in ("waiting", "ready")
        called = "failed" if s.call == "ready" else s.call
        yield "cancel", s._replace(cancelled=True, call=called, amends="ended" if gone else s.amends)


def _look_up(s: Asked, broken: frozenset[str]) -> Iterator[Step]:
    moved = s.call in FINAL and s.call != "succeeded" and "final-stays" in broken
    if s.effects and (s.call == "unknown" or moved):
        yield "look-up finds the effect", s._replace(call="succeeded")
    if s.call == "unknown" and not s.effects:
        late = s.past or "asked-in-time" in broken
        if late and s.proof != "nothing":
            yield "look-up finds nothing", s._replace(proof="nothing")
        elif not late and s.proof == "none":
            yield "look-up finds nothing yet", s._replace(proof="early")


def _operator(s: Asked, broken: frozenset[str]) -> Iterator[Step]:
    if s.call != "unknown":
        return
    sent = s.amends in ("started", "unknown", "succeeded")
    dropped = s if s.amends not in ("waiting", "ready") else s._replace(amends="ended")
    if s.effects:
        yield "operator: it happened", s._replace(call="succeeded")
    if s.proof == "nothing" or "proof-for-closing" in broken:
        if "no-closing-beside" in broken:
            yield "operator: it did not happen", s._replace(call="failed")
        elif not sent:
            yield "operator: it did not happen", dropped._replace(call="failed")
    may = not s.retries and (not s.cancelled or "cancel-schedules-nothing" in broken)
    if may and (s.proof == "nothing" or "proof-for-retry" in broken):
        again = s._replace(call="ready", retries=1, proof="none")
        if s.cancelled:
            yield "operator: send it again", again._replace(bad=s.bad or "sent again after a cancel")
        elif "no-retry-beside" in broken:
            yield "operator: send it again", again
        elif not sent:
            yield "operator: send it again", again._replace(amends=dropped.amends)
    beside = s.amends in OPEN or s.amends == "succeeded"
    if not s.cancelled and (not beside or "one-compensation" in broken) and s.amends_effects < 2:
        yield (
            "operator: compensate",
            s._replace(amends="waiting", amends_arriving=False, amends_past=False),
        )


def _again(s: Asked) -> Iterator[Step]:
    """The second sending; how it is claimed and judged is call_model's."""
    if s.call == "ready":
        yield "it starts again", s._replace(call="started", arriving=True, past=False)
        yield "it is refused when it is judged again", s._replace(call="failed")
    if s.call == "started":
        if not s.arriving:
            yield "its answer comes", s._replace(call="succeeded")
        yield "its answer is lost", s._replace(call="unknown")


def _amends(s: Asked, broken: frozenset[str]) -> Iterator[Step]:
    if s.amends == "waiting":
        yield "the compensation is approved", s._replace(amends="ready", amends_approved=True)
        yield "the compensation is rejected", s._replace(amends="ended")
    if s.amends == "ready" or (s.amends == "waiting" and "own-approval" in broken):
        yield "the compensation starts", s._replace(amends="started", amends_arriving=True, amends_past=False)
    if s.amends_arriving and not s.amends_past:
        yield (
            "the compensation arrives",
            s._replace(amends_arriving=False, amends_effects=s.amends_effects + 1),
        )
    if s.amends == "started":
        if not s.amends_arriving:
            yield "the compensation succeeds", _made_good(s)
        elif "success-compensates" in broken:
            yield "the compensation is on its way", s._replace(call="compensated")
        yield "the compensation's answer is lost", s._replace(amends="unknown")
    if s.amends == "unknown":
        if not s.amends_past:
            yield "the compensation can arrive no more", s._replace(amends_past=True)
        if not s.amends_arriving:
            yield "look-up finds the compensation", _made_good(s)
        elif s.amends_past:
            yield "the compensation did not happen", s._replace(amends="ended", amends_arriving=False)


def _made_good(s: Asked) -> Asked:
    """What it makes up for reads compensated, if that is still an open question."""
    return s._replace(amends="succeeded", call="compensated" if s.call == "unknown" else s.call)


def faults(s: Asked) -> Iterator[str]:
    """Broken invariants of one state."""
    if s.bad:
        yield s.bad
    if s.effects > 1:
        yield "duplicate effect"
    if s.effects and s.call == "failed":
        yield "the effect happened but the call reads failed"
    if s.amends_effects > 1:
        yield "compensated twice"
    if s.amends_effects and not s.amends_approved:
        yield "compensated without an approval"
    if s.call == "compensated" and not s.amends_effects:
        yield "the call reads compensated and nothing has made up for it"
    if s.call in ("ready", "started") and s.amends in OPEN:
        yield "sent again beside its compensation"
    if s.call == "failed" and s.amends_effects:
        yield "something was compensated that is said not to have happened"


def word(s: Asked) -> str | None:
    """How the call has ended."""
    return s.call if s.call in FINAL else None


MACHINE = Machine("compensation", (START,), steps, faults, word, BREAKS)
