"""One call through every guard of approvals, step by step, as it would be judged now. Changes nothing.

Every step is the production function that guards real calls; what stands behind the one that refuses is not reached.
The target's state is given by whoever simulates, is that of a past call, or is read by the caller's `Reader`; nothing
here knows a target.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol
from uuid import UUID

from access.selectors.actors import RequesterFacts, requester_facts
from approvals.core.boundary import boundary_for
from approvals.core.contract import effective_arguments
from approvals.core.contract_types import Contract
from approvals.core.derived import with_derived
from approvals.core.digest import call_bytes, digest
from approvals.core.explained import Explained, Look, explain
from approvals.core.kept_back import looks_kept_back
from approvals.core.policy import Verdict
from approvals.core.present import sentence_text
from approvals.core.template import render_text
from approvals.selectors.catalogue import active_contract
from approvals.selectors.policies import rules_of
from approvals.selectors.shown_tools import not_exposed, not_in_run, not_in_turn, shown_list
from approvals.selectors.tool_readers import require_reader
from approvals.services.judge import request_judged, requester_refused
from approvals.store.rows import active_policy_number
from audit.core.actor import Actor
from audit.core.jsondoor import Json
from audit.core.redact import redact_for_audit
from audit.core.refusal import NotFound, Refusal

type Standing = Literal["passes", "refused", "held", "noted", "unknown", "not reached"]


@dataclass(frozen=True, slots=True)
class Step:
    """One guard. `text` is a sentence of ours, `said` what a contract, a policy or a person wrote ("" for nothing),
    `facts` are further lines, `looks` the parts of a judgement."""

    key: str
    title: str
    standing: Standing
    text: str
    said: str = ""
    code: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    looks: tuple[Look, ...] = ()


OVER: tuple[Standing, ...] = ("refused", "unknown")
"""Behind a step that stands like this no other is reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToRead:
    """Whose state is to be read: the call that is simulated, as the guards before have let it through."""

    contract: Contract
    number: int
    arguments: Mapping[str, Json]
    requester: RequesterFacts
    acting_user: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What came of reading a target. `state` as a worker would have it, None where the tool reads none or `refusal`
    says why it could not be read; then `standing` is *unknown* if a later try might, or if only a simulation may not
    ask, and *refused* otherwise. `at` (database clock; None: nothing was asked), `took_ms`, `facts` are for people."""

    text: str
    standing: Standing = "passes"
    state: Mapping[str, Json] | None = None
    refusal: Refusal | None = None
    at: datetime | None = None
    took_ms: int = 0
    facts: tuple[tuple[str, str], ...] = ()


class Reader(Protocol):
    """Asks the target, as whoever simulates. What goes wrong there is in the answer."""

    def __call__(self, *, wanted: ToRead) -> Reading: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """The steps in the order of the guards. `verdict` is None where the call was refused before it was judged;
    `digest` is that of the canonical bytes, "" where there are none. `reading` is what a `Reader` came back with."""

    contract: Contract
    number: int
    steps: tuple[Step, ...]
    verdict: Verdict | None
    digest: str
    sentence: str
    given: Json
    state: Mapping[str, Json] | None
    reading: Reading | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnShown:
    """The turn of a run that the call is asked in, and the tools that it shows. `past`: the call was asked in it and
    taken, so that what the turn shows is not asked again; `tools` is empty then."""

    turn_id: str
    tools: Collection[str] = ()
    past: bool = False


TITLES = {
    "shape": "Shape",
    "token": "Token and scopes",
    "shown": "Is it shown the tool",
    "state": "The target's state",
    "meaning": "Meaning: the contract's own checks",
    "policy": "Policy",
    "boundary": "Boundary",
}


def call_simulate(
    *,
    actor: Actor,
    tool: str,
    given: Json,
    agent_id: UUID,
    acting_user: str,
    state: Mapping[str, Json] | None,
    session_id: UUID | None = None,
    run: Mapping[str, Json] | None = None,
    run_tools: Collection[str] | None = None,
    turn: TurnShown | None = None,
    key: str = "",
    reader: Reader | None = None,
) -> Simulated:
    """What would become of a call of `agent_id` for `acting_user` ("" for nobody), up to its boundary.

    `given` are the arguments as an agent would send them. `state` is the target's; None: not known, or the tool reads
    none. `reader` reads it instead, where a real call's would be read: behind the guards that need no state, and only
    if they let it through. `session_id` cuts the scopes as its token does; `run`, `run_tools`, `turn` and `key` are
    those of the run that it would be asked in, or of a past call.
    For admins, operators and auditors. Raises Forbidden, NotFound for an unknown or retired tool, and Conflict for
    stored rows that are not what was written.
    """
    require_reader(actor)
    admitted = active_contract(actor.tenant_id, tool)
    if admitted is None:
        raise NotFound
    contract = admitted.contract
    requester = requester_facts(
        tenant_id=actor.tenant_id,
        agent_id=agent_id,
        acting_user_id=acting_user or None,
        token_session_id=session_id,
    )
    made = _Steps(reads=reader is not None)
    known: Mapping[str, Json] | None = None if state is None else with_derived(contract, given, state)
    arguments, canonical = _shape(made, contract, admitted.number, given, acting_user)
    if arguments is not None:
        _token(made, contract, requester, acting_user)
        _shown(made, actor, agent_id, contract, run_tools, turn)
    reading = None
    if arguments is not None and not made.over and reader is not None:
        wanted = ToRead(
            contract=contract,
            number=admitted.number,
            arguments=arguments,
            requester=requester,
            acting_user=acting_user,
            digest=digest(canonical),
        )
        reading = reader(wanted=wanted)
        known = reading.state
        _read(made, reading)
    verdict = None
    if arguments is not None and not made.over:
        verdict = _judge(made, actor, contract, arguments, known, requester, run or {}, key)
    shown = redact_for_audit(arguments if arguments is not None else {}, contract.redaction)
    seen = None if known is None else redact_for_audit(dict(known), contract.redaction)
    return Simulated(
        contract=contract,
        number=admitted.number,
        steps=made.steps(),
        verdict=verdict,
        digest=digest(canonical) if canonical else "",
        sentence=sentence_text(contract, shown, seen) if arguments is not None else "",
        given=given,
        state=known,
        reading=reading,
    )


class _Steps:
    """The steps so far; after a refusal the rest is not reached. `reads`: reading the state is one of them."""

    def __init__(self, *, reads: bool) -> None:
        self._made: list[Step] = []
        self._titles = {key: title for key, title in TITLES.items() if reads or key != "state"}
        self.over = False

    def add(self, key: str, standing: Standing, text: str, **more: Any) -> None:
        self._made.append(Step(key, TITLES[key], standing, text, **more))
        self.over = self.over or standing in OVER

    def refused(self, key: str, refusal: Refusal, **more: Any) -> None:
        self.add(key, "refused", "Refused:", said=refusal.message, code=refusal.code, **more)

    def steps(self) -> tuple[Step, ...]:
        reached = {step.key for step in self._made}
        rest = [Step(key, title, "not reached", "") for key, title in self._titles.items() if key not in reached]
        return (*self._made, *rest)


def _shape(
    made: _Steps, contract: Contract, number: int, given: Json, acting_user: str
) -> tuple[dict[str, Any] | None, bytes]:
    try:
        effective = effective_arguments(contract, given)
        names: dict[str, Json] = {"args": effective}
        target = render_text(contract.target, names)
        render_text(contract.resource, names)
    except Refusal as refusal:
        errors: Any = refusal.detail.get("errors", [])
        made.refused("shape", refusal, facts=tuple((item["path"] or "/", item["message"]) for item in errors))
        return None, b""
    added = sorted(set(effective) - set(given if isinstance(given, dict) else {}))
    text = f"The arguments fit the contract, version {number}."
    if added:
        text += " Filled in by its defaults:"
    made.add("shape", "passes", text, said=", ".join(added))
    canonical = call_bytes(
        tool=contract.name, contract_version=number, target=target, acting_user=acting_user, arguments=effective
    )
    return effective, canonical


def _token(made: _Steps, contract: Contract, requester: RequesterFacts, acting_user: str) -> None:
    refused = requester_refused(contract=contract, requester=requester, policy_number=0, acting_user=acting_user)
    if refused is not None:
        made.add("token", "refused", "Refused:", said=refused.message, code=refused.code.upper())
        return
    user = requester.user
    whom = f", for {user['name']}" if user else ", in its own name"
    facts = (("needs", " ".join(contract.scopes) or "no scope"), ("has", " ".join(sorted(requester.scopes)) or "none"))
    made.add("token", "passes", "It may ask:", said=f"{requester.agent.get('name', '')}{whom}", facts=facts)


def _shown(
    made: _Steps,
    actor: Actor,
    agent_id: UUID,
    contract: Contract,
    run_tools: Collection[str] | None,
    turn: TurnShown | None,
) -> None:
    if made.over:
        return
    listed = shown_list(actor.tenant_id, agent_id)
    if not listed.holds(contract.name):
        made.refused("shown", not_exposed(contract.name))
    elif run_tools is not None and contract.name not in run_tools:
        made.refused("shown", not_in_run(contract.name))
    elif turn is not None and not turn.past and contract.name not in turn.tools:
        made.refused("shown", not_in_turn(contract.name, turn.turn_id))
    else:
        by = "all that its scopes allow" if listed.tools is None else "its list has it"
        text = f"The agent is shown this tool: {by}."
        if turn is not None and turn.past:
            text += " It was asked in a turn that showed it, and that is not judged again:"
        elif turn is not None:
            text += " The turn that is open shows it too:"
        made.add("shown", "passes", text, said=turn.turn_id if turn else "")


def _read(made: _Steps, reading: Reading) -> None:
    said, code = ("", "") if reading.refusal is None else (reading.refusal.message, reading.refusal.code)
    made.add("state", reading.standing, reading.text, said=said, code=code, facts=reading.facts)


def _judge(
    made: _Steps,
    actor: Actor,
    contract: Contract,
    arguments: dict[str, Any],
    state: Mapping[str, Json] | None,
    requester: RequesterFacts,
    run: Mapping[str, Json],
    key: str,
) -> Verdict:
    number = active_policy_number(actor.tenant_id, hold=False)
    policy = rules_of(actor.tenant_id, number)
    request = request_judged(
        tenant_id=actor.tenant_id,
        policy=policy,
        contract=contract,
        arguments=arguments,
        state=state,
        requester=requester,
        run=run,
        key=key,
    )
    explained = looks_kept_back(explain(policy, request), contract.redaction)
    _meaning(made, contract, state, explained)
    if not made.over:
        _policy(made, number, explained)
    if not made.over:
        _boundary(made, contract, explained.verdict)
    return explained.verdict


def _meaning(made: _Steps, contract: Contract, state: Mapping[str, Json] | None, explained: Explained) -> None:
    looks = explained.of("check")
    reading = contract.adapter.read_state
    lacking = () if reading is None else sorted({*reading.state, *reading.also, *reading.derived} - set(state or {}))
    facts = (("the state lacks", ", ".join(lacking)),) if lacking and state is not None else ()
    failed = next((look for look in looks if look.decides), None)
    if failed is not None and state is None and reading is not None:
        text = "Cannot be judged without the target's state. Give it, or take a past call's."
        made.add("meaning", "refused", text, code="STATE_NOT_KNOWN", looks=looks)
    elif failed is not None:
        verdict = explained.verdict
        made.add(
            "meaning", "refused", "Refused:", said=verdict.message, code=verdict.code.upper(), looks=looks, facts=facts
        )
    elif not looks:
        made.add("meaning", "noted", "The contract checks nothing itself.", facts=facts)
    else:
        made.add("meaning", "passes", "Every check holds on this state.", looks=looks, facts=facts)


def _policy(made: _Steps, number: int, explained: Explained) -> None:
    verdict = explained.verdict
    looks = explained.of("freeze", "rule", "limit")
    version = f"version {number} of the policy" if number else "no policy, which allows nothing"
    more = {"said": verdict.message, "code": verdict.code.upper(), "looks": looks}
    if verdict.effect == "deny":
        made.add("policy", "refused", f"Refused by {version}:", **more)
    elif verdict.effect == "ask":
        who = ", ".join(f"{item.count} of {item.group}" for item in verdict.approvers)
        facts = (("must approve", who), ("within", f"{verdict.expires_in_s} s"))
        made.add("policy", "held", f"Held for people by {version}:", facts=facts, **more)
    else:
        made.add("policy", "passes", f"Allowed by {version}.", **more)


def _boundary(made: _Steps, contract: Contract, verdict: Verdict) -> None:
    boundary = boundary_for(contract, verdict.effect)
    standing: Standing = "held" if verdict.effect == "ask" else "passes"
    facts: tuple[tuple[str, str], ...] = ()
    if verdict.effect == "ask":
        after = boundary_for(contract, "allow")
        facts = ((f"after approval: {after.kind}", after.reason),)
    made.add("boundary", standing, f"{boundary.kind.capitalize()}:", said=boundary.reason, facts=facts)
