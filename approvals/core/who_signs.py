"""Who can give an approval that is signed: where a rule asks for that, only people with a passkey count (A9, S8).

A rejection is never signed, and a confirmation within five minutes is given by the password that everybody has: neither
can be out of reach.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from approvals.core.contract_types import Finding
from approvals.core.eligibility import can_be_met
from approvals.core.policy_document import Policy
from approvals.core.terms import Approver, all_of

UNSIGNED = "PASSKEYS_MISSING"

type People = Mapping[str, frozenset[str]]


def who_can_sign(
    people: People,
    *,
    own: Collection[str],
    through: Mapping[str, Sequence[tuple[str, frozenset[str]]]],
    used: Collection[str] = (),
) -> dict[str, frozenset[str]]:
    """Those of `people` (id to groups) whose vote can be signed, with the groups that it counts for then.

    `own` have a passkey. `through` maps a giver to (delegate with a passkey, groups lent; none lent means all): each
    delegate gives one vote, so stands for one giver, and not at all where the vote is their own or is among `used`.
    """
    able = {person: groups for person, groups in people.items() if person in own}
    busy = {*able, *used}
    for giver in sorted(set(people) - set(able)):
        for holder, lent in through.get(giver, ()):
            groups = people[giver] & lent if lent else people[giver]
            if holder not in busy and groups:
                able[giver] = groups
                busy.add(holder)
                break
    return able


def unsigned_findings(policy: Policy, people: People, own: Collection[str]) -> Iterator[Finding]:
    """Where the policy asks for signatures that too few have a passkey for: of a group, of several groups together, or
    of a limit's groups under a rule that is signed. `people` are those who may decide, `own` those with a passkey.

    Says nothing of groups that hold too few people anyway: that is another finding.
    """
    able = {person: groups for person, groups in people.items() if person in own}
    for place, asked, named in _signed(policy):
        if can_be_met(asked, able) or not can_be_met(asked, people):
            continue
        short = [(at, approver) for at, approver in enumerate(asked) if _with(approver, able) < approver.count]
        for at, approver in short:
            if at < named:
                yield Finding(f"{place}/{at}/group", UNSIGNED, _words(approver, _with(approver, able)))
        if not short:
            needs = " and ".join(f"{approver.count} of {approver.group}" for approver in asked)
            message = f"{needs} sign here, and of those with a passkey nobody counts for two groups. {_REMEDY}"
            yield Finding(place, UNSIGNED, message)


_REMEDY = "Members add one under Account, Passkeys and codes; without it nobody can approve this, only reject it."


def _words(approver: Approver, there: int) -> str:
    have = {0: "nobody in it has one", 1: "1 member has one"}.get(there, f"{there} members have one")
    signs = f"{approver.count} of {approver.group} sign an approval by their passkey here"
    return f"{signs}, and {have} that works. {_REMEDY}"


def _with(approver: Approver, able: People) -> int:
    return sum(approver.group in groups for groups in able.values())


def _signed(policy: Policy) -> Iterator[tuple[str, tuple[Approver, ...], int]]:
    """(place, approvers, how many of them stand there) of everything that is decided by signatures."""
    rules = []
    for index, rule in enumerate(policy.rules):
        if rule.approvers and not rule.tiers and rule.terms.authentication == "signed":
            rules.append((rule, f"/rules/{index}/approvers", rule.approvers))
        for at, tier in enumerate(rule.tiers):
            if tier.terms.authentication == "signed":
                rules.append((rule, f"/rules/{index}/tiers/{at}/approvers", tier.approvers))
    for _, place, asked in rules:
        yield place, asked, len(asked)
    for index, limit in enumerate(policy.limits):
        for rule, _, asked in rules if limit.approvers else ():
            if rule.tool in ("*", limit.tool):
                yield f"/limits/{index}/approvers", all_of(limit.approvers, asked), len(limit.approvers)
                break
