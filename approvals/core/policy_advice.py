"""What stands against a policy in one tenant, and what looks like a mistake (A8, S8).

Only a group that cannot decide refuses a policy (`approvals.selectors.policy_look.BLOCKING`); everything else denies
calls at the worst and allows none, so it is told. Nothing here is told that is not so.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from approvals.core.admission import Names
from approvals.core.cel_text import CelTextError, Reference, references, tokens
from approvals.core.contract_types import Contract, Finding
from approvals.core.logic import always, never
from approvals.core.policy_document import Policy, Rule
from approvals.core.policy_names import (
    EXPOSURE_FIELDS,
    EXPOSURE_NAMES,
    POLICY_NAMES,
    PRINCIPAL_NAMES,
    RUN_NAMES,
)
from approvals.core.policy_types import Freeze, Limit
from approvals.core.schema_rules import always_there, schema_at
from approvals.core.shared_groups import twice_needed
from approvals.core.terms import Approver
from approvals.core.who_signs import unsigned_findings
from audit.core.pointers import pointer

_BELOW = {"principal": PRINCIPAL_NAMES, "run": RUN_NAMES, "exposure": EXPOSURE_NAMES}


def catalogue_findings(
    policy: Policy,
    *,
    tools: Mapping[str, Contract],
    groups: Mapping[str, int] | None = None,
    told: Mapping[str, int] | None = None,
    people: Mapping[str, frozenset[str]] | None = None,
    signers: Collection[str] | None = None,
    now: datetime | None = None,
) -> list[Finding]:
    """Names that the tenant's catalogue or a tool does not have (they would deny every call), groups that are unknown
    or smaller than the quorum asked of them (S8), rules that decide nothing, freezes that are over at `now`, limits
    that cannot be judged.

    `groups` maps a known group's name to the number of its members who may decide, `told` that of a group which is
    only told; `people` maps each of those who may decide to their groups; `signers` are those of them who
    have a passkey. None skips that part.
    """
    found: list[Finding] = []
    for index, rule in enumerate(policy.rules):
        place = f"/rules/{index}"
        contract = tools.get(rule.tool)
        if rule.tool != "*" and contract is None:
            found.append(_unknown_tool(rule.tool, f"{place}/tool"))
        if rule.when:
            found.extend(_condition(rule, contract, f"{place}/when"))
        if contract is not None and rule.tiers and not contract.money:
            message = f"{rule.tool} moves no money, so the last tier decides every call of it."
            found.append(Finding(f"{place}/tiers", "TIERS_WITHOUT_MONEY", message))
        for below, asked in rule.asked():
            found.extend(_too_small(asked, groups, f"{place}{below}"))
        for group in rule.told() if told is not None else ():
            if not (told or {}).get(group):
                message = f"{group} has no active members, so an escalation would tell nobody."
                if group not in (told or {}):
                    message = _no_group(group)
                found.append(Finding(f"{place}/escalate_to", "GROUP_TOO_SMALL", message))
    found.extend(_decides_nothing(policy))
    found.extend(_no_default(policy, tools))
    for index, freeze in enumerate(policy.freezes):
        found.extend(_freeze(freeze, tools, f"/freeze/{index}", now))
    for index, limit in enumerate(policy.limits):
        found.extend(_limit(limit, tools, f"/limits/{index}"))
        found.extend(_too_small(limit.approvers, groups, f"/limits/{index}/approvers"))
    if people is not None:
        small = {finding.path.rpartition("/approvers/")[0] for finding in found if finding.code == "GROUP_TOO_SMALL"}
        found.extend(one for one in twice_needed(policy, people) if one.path.rpartition("/approvers")[0] not in small)
        found.extend(unsigned_findings(policy, people, signers) if signers is not None else ())
    return found


def _unknown_tool(tool: str, place: str) -> Finding:
    return Finding(place, "TOOL_UNKNOWN", f"There is no tool {tool} in the catalogue.")


def _too_small(asked: tuple[Approver, ...], groups: Mapping[str, int] | None, place: str) -> Iterator[Finding]:
    if groups is None:
        return
    for at, approver in enumerate(asked):
        members = groups.get(approver.group)
        if members is None:
            yield Finding(f"{place}/{at}/group", "GROUP_TOO_SMALL", _no_group(approver.group))
        elif members < approver.count:
            there = "1 active member" if members == 1 else f"{members} active members"
            message = f"{approver.group} has {there} who may decide; {approver.count} asked for."
            yield Finding(f"{place}/{at}/group", "GROUP_TOO_SMALL", message)


def _no_group(group: str) -> str:
    return f"There is no group {group}."


def _condition(rule: Rule, contract: Contract | None, place: str) -> Iterator[Finding]:
    if contract is not None:
        yield from Names(contract).condition(rule.when, place, POLICY_NAMES)
    for reference in _named(rule.when):
        for found in _below(reference, contract, place):
            yield replace(found, inside=(rule.when, reference.start))
    if contract is not None:
        yield from _unguarded(rule.when, contract, place)


def _named(when: str) -> list[Reference]:
    try:
        return references(tokens(when), frozenset(POLICY_NAMES))
    except CelTextError:
        return []  # compiled before, so this does not happen


def _below(reference: Reference, contract: Contract | None, place: str) -> Iterator[Finding]:
    """Names below principal, run and exposure, which are the same for every tool."""
    known = _BELOW.get(reference.path[0])
    if known is None or len(reference.path) < 2:
        return
    shown = ".".join(reference.path)
    if reference.path[1] not in known:
        message = f"There is no {shown}; known below {reference.path[0]} are {', '.join(sorted(known))}."
        yield Finding(place, "NAME_UNKNOWN", message)
    elif reference.path[0] == "exposure":
        field = reference.path[2] if len(reference.path) > 2 else ""
        if field and field not in EXPOSURE_FIELDS:
            yield Finding(place, "NAME_UNKNOWN", f"There is no {shown}; known are amount and calls.")
        if contract is not None and reference.path[1].startswith("customer_") and not contract.customer:
            message = f"The contract of {contract.name} names no customer, so {shown} is not known and denies."
            yield Finding(place, "NO_CUSTOMER", message)
        if contract is not None and field == "amount" and not contract.money:
            message = f"{contract.name} moves no money, so {shown} is not known and denies."
            yield Finding(place, "NO_MONEY", message)


def _unguarded(when: str, contract: Contract, place: str) -> Iterator[Finding]:
    """Arguments that may be absent and are read though nothing asks first whether they are there."""
    parts = tokens(when)
    texts = [token.text for token in parts]
    guarded = {
        reference.path
        for at, text in enumerate(texts)
        if text == "has" and at + 1 < len(texts) and texts[at + 1] == "("
        for reference in references(parts[at + 2 :], frozenset({"args"}))[:1]
    }
    # `"note" in args` asks too; which name it asks for is not worth telling apart.
    if any(text == "in" for text in texts):
        return
    told: set[tuple[str, ...]] = set()
    for reference in references(parts, frozenset({"args"})):
        path = reference.path
        where = pointer(path[1:])
        if len(path) < 2 or path in told or schema_at(contract.input_schema, where) is None:
            continue
        told.add(path)
        asked = any(path[: len(guard)] == guard for guard in guarded)
        if not asked and not always_there(contract.input_schema, where):
            shown = ".".join(path)
            message = f"{shown} may be absent, and then this denies. Ask first: has({shown}) && …"
            yield Finding(place, "OPTIONAL_UNGUARDED", message, inside=(when, reference.start))


def _decides_nothing(policy: Policy) -> Iterator[Finding]:
    """Rules behind one that takes every call, and rules that are never true."""
    takes_all: dict[str, Rule] = {}
    same: dict[tuple[str, str], Rule] = {}
    for index, rule in enumerate(policy.rules):
        place = f"/rules/{index}"
        before = takes_all.get("*") or takes_all.get(rule.tool)
        twin = (same.get(("*", rule.when)) or same.get((rule.tool, rule.when))) if rule.when else None
        if before is not None:
            message = f"{rule.id} is never reached: {before.id} before it takes every call of {_calls(before)}."
            yield Finding(place, "UNREACHABLE", message)
        elif twin is not None:
            message = f"{rule.id} is never reached: {twin.id} before it has the same condition."
            yield Finding(place, "UNREACHABLE", message)
        elif rule.when and (because := never(rule.when)):
            yield Finding(f"{place}/when", "NEVER_MATCHES", f"{rule.id} can never match: {because}.")
        if rule.level == "advisory":
            continue  # judging goes on behind it
        if not rule.when or always(rule.when):
            takes_all.setdefault(rule.tool, rule)
        else:
            same.setdefault((rule.tool, rule.when), rule)


def _calls(rule: Rule) -> str:
    return "any tool" if rule.tool == "*" else rule.tool


def _no_default(policy: Policy, tools: Mapping[str, Contract]) -> Iterator[Finding]:
    last = {rule.tool for rule in policy.rules if rule.level != "advisory" and (not rule.when or always(rule.when))}
    named = {rule.tool for rule in policy.rules}
    for tool, contract in sorted(tools.items()):
        if contract.read_only or last & {tool, "*"}:
            continue
        spoken = "no last rule without a condition" if named & {tool, "*"} else "no rule"
        message = f"There is {spoken} for {tool}, which has effects: what no rule matches is refused without a reason."
        yield Finding("/rules", "NO_DEFAULT", message)


def _freeze(freeze: Freeze, tools: Mapping[str, Contract], place: str, now: datetime | None) -> Iterator[Finding]:
    for at, tool in enumerate(freeze.tools):
        if tool != "*" and tool not in tools:
            yield _unknown_tool(tool, f"{place}/tools/{at}")
    if now is not None and freeze.end <= now:
        message = f"The freeze {freeze.id} was over at {freeze.end:%Y-%m-%d %H:%M} {freeze.end:%:z} and stops nothing."
        yield Finding(f"{place}/to", "FREEZE_PAST", message)


def _limit(limit: Limit, tools: Mapping[str, Contract], place: str) -> Iterator[Finding]:
    contract = tools.get(limit.tool)
    if contract is None:
        yield _unknown_tool(limit.tool, f"{place}/tool")
        return
    if limit.amount and not contract.money:
        message = f"{limit.tool} moves no money, so this limit cannot be judged and every call of it is refused."
        yield Finding(f"{place}/amount", "LIMIT_WITHOUT_MONEY", message)
    if contract.read_only and limit.window != "call":
        message = f"{limit.tool} only reads; what only reads is not counted, so this limit stops nothing."
        yield Finding(f"{place}/tool", "LIMIT_ON_READING", message)
    elif limit.per == "customer" and limit.window != "call" and not contract.customer:
        message = (
            f"The contract of {limit.tool} names no customer, so this limit cannot be judged and every call is refused."
        )
        yield Finding(f"{place}/per", "NO_CUSTOMER", message)
