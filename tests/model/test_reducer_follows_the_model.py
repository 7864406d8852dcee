"""The reducer allows what the model does, stands where the model stands, and refuses what the model never does.

Model and reducer are walked together. Two joint states are the same when the model and everything that the reducer
looks at are the same, so walking each joint state once, and folding each step from the same essence once, covers
every history of any length; the plain walk over all histories up to a length says the same without that argument.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest

from runs.core.kinds import FINAL_CALLS, SENT_CALLS, CallState, EffectState
from runs.core.reducer import IllegalTransition, State
from tests.model import follow
from tests.model.call_model import START, STATES, Model, steps

LENGTH = 7


def essence(state: State) -> tuple[Any, ...]:
    """What the reducer's next answers depend on."""
    call = state.calls["c1"]
    held = (call.proposal_id, call.round)
    return call.state, held, call.fence, call.attempt, call.dispatch_id, call.retry_at, call.late > 0, state.phase


def agree(state: State, s: Model, label: str) -> None:
    call = state.calls["c1"]
    assert call.state in follow.expected(s), (label, s)
    assert (state.phase == "stopping") == s.cancel, (label, s)
    if call.state is CallState.SUCCEEDED:
        assert (call.effect, s.effects) == (EffectState.COMMITTED, 1), (label, s)
    elif call.state in FINAL_CALLS:
        assert (call.effect in (None, EffectState.REFUSED), s.effects) == (True, 0), (label, s)


def forbidden(state: State, s: Model) -> Iterator[follow.Kind]:
    """What no history may contain here."""
    call = state.calls["c1"]
    if call.state in SENT_CALLS + FINAL_CALLS:
        if call.state in SENT_CALLS:
            yield follow.resolved(state, "granted")
            yield follow.resolved(state, "rejected")
        yield follow.started(state, s.fence + 1)
        yield follow.refused("refused")
        yield follow.held(state)
    if call.state in (CallState.NEW, CallState.WAITING):
        yield follow.started(state, s.fence + 1)
    if call.state is not CallState.STARTED:
        yield follow.succeeded(state, max(call.fence, 1))
    if call.state is CallState.STARTED:
        yield follow.succeeded(state, call.fence + 1)
        if call.fence > 1:
            yield follow.succeeded(state, call.fence - 1)
    if call.state is CallState.READY:
        yield follow.started(state, max(call.fence, 1)) if call.fence else follow.resolved(state, "granted")
    if call.state is CallState.UNKNOWN and s.past < s.fence - 1:
        yield follow.reconciled("did_not_happen", s)
        yield follow.reconciled("retry", s)
    if call.state is CallState.UNKNOWN and s.cancel:
        yield follow.reconciled("retry", s._replace(past=s.fence))
    if call.state is not CallState.UNKNOWN:
        yield follow.reconciled("happened", s)


class Walk:
    """Folds each step from each essence once; an essence is known by its number."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[Any, ...], int] = {}
        self.states: list[State] = []
        self.folded: dict[tuple[Any, ...], int] = {}

    def number(self, state: State) -> int:
        found = self.numbers.setdefault(essence(state), len(self.states))
        if found == len(self.states):
            self.states.append(state)
        return found

    def after(self, number: int, s: Model, label: str, looked: tuple[Any, ...]) -> int:
        """`looked` is looked_at(s)."""
        key = (number, label, looked)
        if key not in self.folded:
            self.folded[key] = self.number(follow.follow(self.states[number], s, label))
        return self.folded[key]


def looked_at(s: Model) -> tuple[Any, ...]:
    """Everything of the model that `follow` looks at."""
    return s.w0[1], s.w1[1], s.past >= s.fence - 1, s.expired, s.ready, s.permit, s.outbox


class Places:
    """The model's states by number, each with its steps: worked out once, however many of the reducer's states go with
    it."""

    def __init__(self) -> None:
        self.numbers: dict[Model, int] = {}
        self.states: list[Model] = []
        self.steps: dict[int, list[tuple[str, int]]] = {}

    def number(self, s: Model) -> int:
        found = self.numbers.setdefault(s, len(self.states))
        if found == len(self.states):
            self.states.append(s)
        return found

    def after(self, place: int) -> list[tuple[str, int]]:
        if place not in self.steps:
            self.steps[place] = [(label, self.number(after)) for label, after in steps(self.states[place])]
        return self.steps[place]


def test_every_history_of_the_model_is_one_of_the_reducer():
    walk, places = Walk(), Places()
    first = (places.number(START), walk.number(follow.begin()))
    seen = {first}
    queue = deque([first])
    refused: set[tuple[Any, ...]] = set()
    while queue:
        place, number = queue.popleft()
        s = places.states[place]
        pressed = (number, s.past >= s.fence - 1, s.cancel, s.fence)
        if pressed not in refused:
            refused.add(pressed)
            for kind, body in forbidden(walk.states[number], s):
                with pytest.raises(IllegalTransition):
                    follow.tell(walk.states[number], kind, body)
        looked = looked_at(s)
        for label, after in places.after(place):
            joint = (after, walk.after(number, s, label, looked))
            if joint not in seen:
                agree(walk.states[joint[1]], places.states[after], label)
                seen.add(joint)
                queue.append(joint)
    assert len({place for place, _ in seen}) == STATES, "the walk left parts of the model out"
    assert len(refused) > 50


def test_every_history_up_to_a_length_is_one_of_the_reducer():
    """Plainly, without merging anything."""
    walked = 0
    stack = [(START, follow.begin(), 0)]
    while stack:
        s, state, length = stack.pop()
        walked += 1
        if length == LENGTH:
            continue
        for label, after in steps(s):
            next_state = follow.follow(state, s, label)
            agree(next_state, after, label)
            stack.append((after, next_state, length + 1))
    assert walked > 10_000
