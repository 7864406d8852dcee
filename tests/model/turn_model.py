"""The turns of an agent's loop and one call of a tool with effects: what a model was shown, and what of it is sent.

The agent opens turns with a choice of tools or with all that its run has; an admin takes the tool from the agent's list
and gives it back; requests come late, twice, and with the id of a turn that is over. What is promised (docs/tools.md,
"In one turn"): a call is taken only in the turn that is open, if that shows its tool; this is judged once, so that what
was taken is judged, approved, sent and repeated whatever turn is open then. What else stops a call is `call_model`'s.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tests.model.explore import NOTHING, Machine

BREAKS = {
    "turn-shows": "a call is taken though the open turn does not show its tool",
    "named-is-open": "a call that names a turn that is over is judged by the one that is open",
    "unnamed-in-open": "a call that names no turn is held to none",
    "opened-once": "a request that comes late opens an earlier turn again",
    "same-id-same-tools": "the open turn's id with other tools changes what that shows",
    "chosen-when-opened": "a turn without a choice shows what its run gets later",
    "only-narrows": "a turn may be opened with a tool that its run does not have",
    "taken-away-at-once": "what an admin took away is taken in a turn that showed it",
    "judged-once": "a call is judged by the open turn again when it starts",
    "repeat-is-taken": "a call that was taken is judged by the open turn again when it is repeated",
}
FINAL = {"succeeded", "withdrawn", "rejected", "cancelled", "refused", "never"}
CHOICES = ("refund", "other", "all")
MOST_TURNS = 3
NOT_OPEN = "a turn that is over"


class Turn(NamedTuple):
    """A turn: what its agent chose, whether its model was `shown` the tool, whether it `lets` calls of it pass now."""

    choice: str
    shown: bool
    lets: bool


class Loop(NamedTuple):
    """One run. `turns` in order, `open` is the number of the one that is, 0 without any; `listed`: the agent is shown
    the tool; `limited`: the run was opened without it; `stopped`: it was cancelled. `call`: none, new, waiting, ready,
    started or one of FINAL (*never*: its run takes none any more); `asked` is the turn that it was taken in."""

    turns: tuple[Turn, ...] = ()
    open: int = 0
    listed: bool = True
    limited: bool = False
    stopped: bool = False
    call: str = "none"
    asked: int = 0
    wrong: str = ""
    bad: str = ""


Step = tuple[str, Loop]
STARTS = (Loop(), Loop(limited=True))


def steps(s: Loop, broken: frozenset[str] = NOTHING) -> list[Step]:
    """All (label, next state) of `s`. What is refused is a label too, after which everything is as it was."""
    return [*_people(s), *_turns(s, broken), *_asks(s, broken), *_call(s, broken)]


def _people(s: Loop) -> Iterator[Step]:
    if s.call in FINAL:
        return
    if s.listed:
        yield "an admin takes the tool away", s._replace(listed=False)
    else:
        yield "an admin gives the tool back", s._replace(listed=True)
    if not s.stopped:
        ends = {"none": "never", "started": "started"}.get(s.call, "cancelled")
        yield "cancel", s._replace(stopped=True, call=ends)


def _turns(s: Loop, broken: frozenset[str]) -> Iterator[Step]:
    has = s.listed and not s.limited
    number = len(s.turns) + 1
    if s.stopped:
        yield "opens the next turn, the run takes none", s
        return
    if number <= MOST_TURNS and s.call not in FINAL:
        for choice in CHOICES:
            if choice == "refund" and not has and "only-narrows" not in broken:
                yield "opens the next turn with refund, which the run does not have", s
                continue
            shows = choice == "refund" or (choice == "all" and has)
            wider = "a turn shows more than its run has" if choice == "refund" and not has else ""
            turns = (*s.turns, Turn(choice, shows, shows))
            yield f"opens the next turn with {choice}", s._replace(turns=turns, open=number, bad=s.bad or wider)
    if s.open:
        yield "opens the open turn again", s
        now = s.turns[s.open - 1]
        other = "all" if now.choice == "other" else "other"
        changed = s
        if "same-id-same-tools" in broken:
            turn = now._replace(lets=other == "all" and has)
            changed = s._replace(turns=(*s.turns[: s.open - 1], turn, *s.turns[s.open :]))
        yield f"opens the open turn with {other}", changed
    if s.open > 1:
        yield "the first turn's request comes late", s._replace(open=1) if "opened-once" in broken else s


def _asks(s: Loop, broken: frozenset[str]) -> Iterator[Step]:
    if s.call == "never":
        yield "asks, the run takes none", s
        return
    named = [("no turn", s.open), ("a turn that was never opened", -1)]
    if s.open:
        named.append(("the open turn", s.open))
    if s.open > 1:
        named.append((NOT_OPEN, 1))
    for name, turn in named:
        if s.call == "none":
            yield f"asks in {name}", _taken(s, name, turn, broken)
        else:
            bad = ""
            if "repeat-is-taken" in broken and refusal(s, name, turn, broken) == "turn":
                bad = "a call that was taken was refused when it was repeated"
            yield f"asks again in {name}", s._replace(bad=s.bad or bad)


def refusal(s: Loop, name: str, turn: int, broken: frozenset[str] = NOTHING) -> str:
    """By what a new call is refused: list (of the agent or the run), turn, or "" when it is taken."""
    if s.limited or not (s.listed or "taken-away-at-once" in broken):
        return "list"
    if turn != s.open and not (name == NOT_OPEN and "named-is-open" in broken):
        return "turn"
    if not s.open or (name == "no turn" and "unnamed-in-open" in broken):
        return ""
    lets = s.turns[s.open - 1].lets
    if "chosen-when-opened" in broken and s.turns[s.open - 1].choice == "all":
        lets = s.listed
    return "" if lets or "turn-shows" in broken else "turn"


def _taken(s: Loop, name: str, turn: int, broken: frozenset[str]) -> Loop:
    if refusal(s, name, turn, broken):
        return s
    wrong = bad = ""
    if not s.listed:
        bad = "a call was taken of a tool that its agent is not shown any more"
    if turn != s.open:
        wrong = "a call started that was chosen in a turn that was over"
    elif s.open and not s.turns[s.open - 1].shown:
        wrong = "a call started whose tool its turn did not show"
    return s._replace(call="new", asked=s.open, wrong=wrong, bad=s.bad or bad)


def _call(s: Loop, broken: frozenset[str]) -> Iterator[Step]:
    if s.call in ("new", "waiting", "ready"):
        yield "the agent withdraws it", s._replace(call="withdrawn")
    if s.call == "new":
        yield "is judged", s._replace(call="waiting")
    elif s.call == "waiting":
        yield "is approved", s._replace(call="ready")
        yield "is rejected", s._replace(call="rejected")
    elif s.call == "ready":
        if "judged-once" in broken and s.open and not s.turns[s.open - 1].lets:
            over = "a call that was taken ended because its turn is over"
            yield "is refused for its turn", s._replace(call="refused", bad=s.bad or over)
        else:
            yield "starts", s._replace(call="started", bad=s.bad or s.wrong)
    elif s.call == "started":
        yield "succeeds", s._replace(call="succeeded")


def faults(s: Loop) -> Iterator[str]:
    """Broken invariants of one state."""
    if s.bad:
        yield s.bad
    if s.open != len(s.turns):
        yield "an earlier turn is open again"


def word(s: Loop) -> str | None:
    """How the call has ended, or that there will be none."""
    return s.call if s.call in FINAL else None


MACHINE = Machine("turns", STARTS, steps, faults, word, BREAKS)
