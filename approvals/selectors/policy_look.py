"""A policy's text looked at in its organisation, without changing anything: findings, rules, and how its tests go."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from access.selectors.actors import group_members
from access.selectors.names import group_names
from access.selectors.signers import passkey_holders
from approvals.core.contract_types import Contract, Finding
from approvals.core.eligibility import REVIEWER
from approvals.core.policy import Policy, catalogue_findings, parse_policy
from approvals.core.policy_document import places
from approvals.core.policy_edit import format_of
from approvals.core.policy_findings import placed as in_place
from approvals.core.policy_trial import CaseResult, run_cases
from approvals.core.shared_groups import SHARED
from approvals.selectors.catalogue import active_contracts
from audit.core.refusal import Invalid, TooLarge
from audit.store import clock

BLOCKING = frozenset({"GROUP_TOO_SMALL", SHARED})
"""Findings about the tenant that refuse a policy. A tool that is not in the catalogue yet, or a condition that names
something a tool does not have, denies calls and allows none; they are told and do not block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a text comes to. `policy` is None where it is none yet; `blocking` are the findings that keep it from being
    published, `notes` the others; `tests` are its own cases with how they went."""

    policy: Policy | None
    blocking: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    tests: tuple[CaseResult, ...] = ()

    @property
    def failed(self) -> tuple[CaseResult, ...]:
        """The tests that do not pass."""
        return tuple(result for result in self.tests if not result.passed)

    @property
    def publishable(self) -> bool:
        """True if nothing of the text itself keeps it from being published."""
        return self.policy is not None and not self.blocking and not self.failed


def policy_look(tenant_id: UUID | str, source: str) -> Look:
    """Look at a text as publishing it would. Never raises for what the text is."""
    try:
        policy = parse_source(source)
    except TooLarge as refusal:
        return Look(policy=None, blocking=(Finding("", refusal.code, refusal.message),), notes=())
    except Invalid as refusal:
        return Look(policy=None, blocking=tuple(Finding(**found) for found in refusal.detail["findings"]), notes=())
    found = placed(findings_in(tenant_id, policy), source)
    return Look(
        policy=policy,
        blocking=tuple(finding for finding in found if finding.code in BLOCKING),
        notes=tuple(finding for finding in found if finding.code not in BLOCKING),
        tests=tests_in(tenant_id, policy),
    )


def parse_source(source: str) -> Policy:
    """The policy that a text says. Raises TooLarge and Invalid (POLICY_INVALID) like `parse_policy`."""
    return parse_policy(source, format_of(source))


def findings_in(tenant_id: UUID | str, policy: Policy) -> list[Finding]:
    """What stands against a policy in this organisation: its tools, its groups and who is in them (S8)."""
    named = {approver.group for asked in policy.asked() for approver in asked}
    # Members who are reviewers: a group of people who may not decide would block every call (S8).
    there = {slug for slug, _ in group_names(tenant_id)}
    groups: dict[str, int] = {}
    people: dict[str, frozenset[str]] = {}
    for slug in sorted(named & there):
        members = group_members(tenant_id, slug, role=REVIEWER)
        groups[slug] = len(members)
        people |= {person: people.get(person, frozenset()) | {slug} for person, _ in members}
    escalated = {slug for rule in policy.rules for slug in rule.told()}
    told = {slug: len(group_members(tenant_id, slug)) for slug in sorted(escalated & there)}
    tools = _tools(tenant_id)
    return catalogue_findings(
        policy, tools=tools, groups=groups, told=told, people=people, signers=passkey_holders(people), now=clock.now()
    )


def tests_in(tenant_id: UUID | str, policy: Policy) -> tuple[CaseResult, ...]:
    """How a policy's own tests go, by today's contracts."""
    return run_cases(policy, _tools(tenant_id)) if policy.tests else ()


def placed(found: Iterable[Finding], source: str) -> list[Finding]:
    """Findings with the line and column of their places in a text that is a policy."""
    found = list(found)
    if all(finding.line for finding in found):
        return found
    lines = places(source, format_of(source))
    return [finding if finding.line else in_place(finding, lines) for finding in found]


def _tools(tenant_id: UUID | str) -> dict[str, Contract]:
    return {found.contract.name: found.contract for found in active_contracts(tenant_id)}
