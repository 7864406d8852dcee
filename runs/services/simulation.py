"""The last guards of a simulated call: would it be a duplicate, does a stop hold it back, what would become of it.

Reads only: nothing is claimed and no call is stored. No target is asked unless the question says `read_now`; then its
state is read as a worker would (runs/services/state_now.py).
"""

from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from access.core.rights import require_admin
from approvals.core.digest import idempotency_key
from approvals.core.policy_names import run_facts
from approvals.selectors.proposals import earlier_rejection
from approvals.selectors.snapshots import executed_before
from approvals.selectors.tool_readers import require_reader
from approvals.services.simulation import OVER, Simulated, Standing, Step, TurnShown, call_simulate
from audit.core.actor import Actor
from audit.core.canonical import canonical_bytes
from audit.core.jsondoor import Json
from audit.core.refusal import NotFound
from audit.services.record import audit_refusals
from runs.core.state import State
from runs.core.turns import open_turn
from runs.models import Call, Run
from runs.selectors.history import RunDamaged, folded
from runs.selectors.run_tools import tools_of
from runs.selectors.runs import run_visible
from runs.selectors.stops import stop_of
from runs.services.state_now import state_now

TITLES = {"repeat": "Idempotency: is it there already", "stop": "Stops", "end": "What would become of it"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is simulated. Without `run_id` it is asked in a new run; `call_id` "" is a new id. `past`: it is the call
    itself that is asked about, so that it is not told to be its own duplicate. `read_now`: the target is asked for its
    state, and `state` is not looked at."""

    tool: str
    given: Json
    agent_id: UUID
    acting_user: str
    state: dict[str, Json] | None
    run_id: UUID | None = None
    call_id: str = ""
    past: bool = False
    session_id: UUID | None = None
    reason: str = ""
    read_now: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """The whole way of a simulated call."""

    simulated: Simulated
    steps: tuple[Step, ...]

    @property
    def end(self) -> Step:
        """What would become of it."""
        return self.steps[-1]


def call_walk(*, actor: Actor, question: Question) -> Walked:
    """Every guard that a call passes, as it would answer now.

    Raises as `call_simulate`; NotFound for a foreign run; and as `state_now` where the target is to be read, which is
    an admin's right and recorded.
    """
    require_reader(actor)
    if question.read_now:
        entry = {"object_type": "tool", "object_id": question.tool, "tool": question.tool}
        with audit_refusals(actor=actor, action="contract.target_asked", **entry):
            require_admin(actor)
    run = run_visible(actor, question.run_id) if question.run_id is not None else None
    state = _state(run)
    key = idempotency_key(str(run.id), question.call_id, question.tool) if run and question.call_id else ""
    simulated = call_simulate(
        actor=actor,
        tool=question.tool,
        given=question.given,
        agent_id=question.agent_id,
        acting_user=question.acting_user,
        state=None if question.read_now else question.state,
        reader=partial(state_now, actor=actor) if question.read_now else None,
        session_id=question.session_id,
        run=_facts(run, question),
        run_tools=None if state is None else tools_of(state),
        turn=_turn(state, question),
        key=key,
    )
    steps = list(simulated.steps)
    over = any(step.standing in OVER for step in steps)
    for step in (_repeat(actor, run, question, simulated), _stop(actor, question)):
        steps.append(Step(step.key, step.title, "not reached", "") if over else step)
        over = over or step.standing in OVER
    steps.append(_end(steps))
    return Walked(simulated=simulated, steps=tuple(steps))


def _facts(run: Run | None, question: Question) -> dict[str, Json]:
    if run is None:
        return run_facts(run_id="", title="", agent_version="", reason=question.reason)
    return run_facts(run_id=run.id, title=run.title, agent_version=run.agent_version, reason=question.reason)


def _state(run: Run | None) -> State | None:
    if run is None:
        return None
    try:
        return folded(run)
    except RunDamaged:
        raise NotFound from None


def _turn(state: State | None, question: Question) -> TurnShown | None:
    """A new call would be asked in the turn that is open; one that is there already was asked in its own."""
    if state is None:
        return None
    if (asked := state.calls.get(question.call_id)) is not None:
        return TurnShown(turn_id=asked.turn, past=True) if asked.turn is not None else None
    turn = open_turn(state)
    return None if turn is None else TurnShown(turn_id=turn.turn_id, tools=turn.tools)


def _repeat(actor: Actor, run: Run | None, question: Question, simulated: Simulated) -> Step:
    title = TITLES["repeat"]
    facts: tuple[tuple[str, str], ...] = ()
    same = executed_before(actor.tenant_id, simulated.digest) if simulated.digest else None
    if same is not None and not question.past:
        facts = (("the same was executed before", f"{same[1]}, asked {same[2]:%Y-%m-%d %H:%M:%S} UTC"),)
    if run is None or not question.call_id:
        return Step("repeat", title, "passes", "A new call id: nothing with its key is there.", facts=facts)
    if not question.past:
        found = Call.objects.filter(run=run, call_id=question.call_id).first()
        if found is not None and found.tool == question.tool and bytes(found.given) == _bytes(question.given):
            text = "This id, tool and arguments are there already: the agent gets that call's row, nothing new happens."
            return Step("repeat", title, "noted", text, code="DUPLICATE", facts=facts)
        if found is not None:
            text = "This id was used in the run for another call, so it would be refused."
            return Step("repeat", title, "refused", text, code="CALL_ID_REUSED", facts=facts)
    rejected = earlier_rejection(run.id, simulated.digest)
    held = simulated.verdict is not None and simulated.verdict.effect == "ask"
    if rejected is not None and held:
        return Step("repeat", title, "refused", "Refused:", said=rejected.message, code=rejected.code, facts=facts)
    text = "It is this very call." if question.past else "Nothing with this id is in the run."
    return Step("repeat", title, "passes", text, facts=facts)


def _bytes(given: Json) -> bytes:
    return canonical_bytes(given)


def _stop(actor: Actor, question: Question) -> Step:
    stop = stop_of(tenant_id=actor.tenant_id, agent_id=question.agent_id, tool=question.tool)
    if stop is None:
        return Step("stop", TITLES["stop"], "passes", "Nothing that covers this call is stopped.")
    since = f"{stop.what} is stopped since {stop.set_at:%Y-%m-%d %H:%M:%S} UTC by {stop.set_by_name}"
    return Step(
        "stop", TITLES["stop"], "held", "It is judged and may be decided, and waits before it is sent:", code="STOPPED",
        said=f"{since}: {stop.reason}",
    )  # fmt: skip


def _end(steps: list[Step]) -> Step:
    found: dict[str, Any] = {step.key: step for step in steps}
    refused = next((step for step in steps if step.standing in OVER), None)
    standing: Standing
    if refused is not None:
        unknown = refused.standing == "unknown" or refused.code == "STATE_NOT_KNOWN"
        text = "Nobody can tell yet" if unknown else "It would be refused"
        standing = "unknown" if unknown else "refused"
        return Step("end", TITLES["end"], standing, f"{text}: {refused.title}.", code=refused.code)
    if found["repeat"].code == "DUPLICATE":
        return Step("end", TITLES["end"], "noted", "Nothing new: the agent gets the row of the call that is there.")
    stopped = " A stop keeps it from being sent until it is lifted." if found["stop"].standing == "held" else ""
    if found["policy"].standing == "held":
        return Step("end", TITLES["end"], "held", f"It would be held for people.{stopped}")
    sent = "It would wait." if stopped else "It would be sent at once, after the same guards once more."
    return Step("end", TITLES["end"], "held" if stopped else "passes", f"{sent}{stopped}")
