"""What a run page answers at any time beside who and where (R16), as far as there is something to say yet."""

from collections.abc import Sequence
from dataclasses import dataclass

from approvals.core.contract_types import Contract
from approvals.selectors.catalogue import contracts_of
from runs.core.kinds import FINAL_CALLS, CallState
from runs.core.standing import call_told
from runs.core.state import CallMachine
from runs.selectors.rows import CallRow
from runs.selectors.runs import RunRead
from runs.selectors.timeline import EventShown

MOST = 4
"""So many next actions and tools are told one by one."""

_REPEATED = {
    "read": "Only reads: may be asked again after any error.",
    "never": "Never sent again by a machine.",
    "before_effect": "Sent again by a machine only while it is certain that nothing was done.",
    "safe": "Sent again by a machine after any error: the same however often it is sent.",
}
_BOUNDARY = {
    "direct": "Only reads, in the worker's own process.",
    "gateway": "Sent by a worker through the gateway, after the last check of approval, stops and deadline.",
}


@dataclass(frozen=True, slots=True)
class NextAction:
    """A call that could still be sent: its payload by digest, and what authorises it (`policy_number` 0: nothing)."""

    call: CallRow
    word: str
    rule_id: str
    policy_number: int


@dataclass(frozen=True, slots=True)
class ToolTerms:
    """What holds for the run's calls of one tool: which retries are safe and who enforces that one key has one effect,
    which limits apply. `limits` are sentences."""

    tool: str
    version: int
    repeated: str
    enforced: str
    limits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunContract:
    """The panel. `last` is the last accepted event, None where the page does not hold it."""

    agent: str
    reducer: int
    last: EventShown | None
    next: list[NextAction]
    next_more: int
    tools: list[ToolTerms]
    tools_more: int


def run_contract(read: RunRead, calls: Sequence[CallRow], last: EventShown | None) -> RunContract:
    """The panel of a run; `calls` are those that its page shows. One query, and no target is asked."""
    open_calls = [call for call in calls if call.state not in FINAL_CALLS]
    pairs = list(dict.fromkeys((call.tool, call.contract_version) for call in calls))
    contracts = contracts_of(read.run.tenant_id, set(pairs[:MOST]))
    version = f" v{read.run.agent_version}" if read.run.agent_version else ""
    return RunContract(
        agent=f"{read.run.agent_name}{version}",
        reducer=read.reducer_version,
        last=last,
        next=[_next(call, read.state.calls.get(call.call_id)) for call in open_calls[:MOST]],
        next_more=max(0, len(open_calls) - MOST),
        tools=[_terms(tool, version, contracts.get((tool, version))) for tool, version in pairs[:MOST]],
        tools_more=max(0, len(pairs) - MOST),
    )


def _next(call: CallRow, machine: CallMachine | None) -> NextAction:
    return NextAction(
        call=call,
        word=call_told(call.state)[0],
        rule_id=(machine.rule_id or "") if machine else "",
        policy_number=(machine.policy_number or 0) if machine and call.state != CallState.NEW else 0,
    )


def _terms(tool: str, version: int, contract: Contract | None) -> ToolTerms:
    if contract is None:
        return ToolTerms(tool, version, "Its contract cannot be read, so nothing is sent by it.", "", ())
    hosts = ", ".join(contract.adapter.allowed_hosts)
    credential = contract.adapter.credential
    return ToolTerms(
        tool=tool,
        version=version,
        repeated=_REPEATED["read" if contract.read_only else contract.retry.retry_class],
        enforced=_enforced(contract),
        limits=(
            _BOUNDARY["direct" if contract.read_only else "gateway"],
            f"Network: {hosts} and nothing else. Files: none.",
            f"Credential: {credential}, kept by the server; the agent never has it."
            if credential
            else "No credential.",
            f"An answer is awaited for {contract.timeout_ms / 1000:g} s and read up to "
            f"{contract.output_cap_bytes // 1024} kB.",
            "No sandbox is used." if contract.sandbox_profile is None else f"Sandbox: {contract.sandbox_profile}.",
        ),
    )


def _enforced(contract: Contract) -> str:
    if contract.read_only:
        return ""
    if contract.enforced_by_target:
        return "The target recognises the key, so a second request has no second effect."
    return (
        "The target does not check the key: it is sent once under our claim, and the target is asked by the key before "
        "anything is sent again."
    )
