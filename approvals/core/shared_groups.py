"""Groups that hold enough people each, but not together: one person would have to stand for two of them (S8)."""

from collections.abc import Iterator, Mapping

from approvals.core.contract_types import Finding
from approvals.core.eligibility import can_be_met
from approvals.core.policy_document import Policy
from approvals.core.terms import Approver, all_of

SHARED = "GROUPS_SHARED"

type People = Mapping[str, frozenset[str]]


def twice_needed(policy: Policy, people: People) -> Iterator[Finding]:
    """What a rule, a tier or a limit asks of several groups that `people` (id to groups: those who may decide) cannot
    give, each of them counted once; and what a limit asks together with a rule that holds the same call.

    Says nothing of a group that is too small by itself: that is another finding. Who asked for a call may not decide it
    and is not known here, so a policy that passes may still ask in vain of those who are left.
    """
    known: dict[tuple[Approver, ...], bool] = {}

    def met(asked: tuple[Approver, ...]) -> bool:
        if asked not in known:
            groups = {approver.group for approver in asked}
            some = {person: of & groups for person, of in people.items() if of & groups}
            known[asked] = len(asked) < 2 or can_be_met(asked, some)
        return known[asked]

    rules = [(rule, f"/rules/{index}{below}", asked) for index, rule in enumerate(policy.rules)
             for below, asked in rule.asked()]  # fmt: skip
    for _, place, asked in rules:
        if not met(asked):
            yield _finding(place, asked)
    for index, limit in enumerate(policy.limits):
        place = f"/limits/{index}/approvers"
        if limit.approvers and not met(limit.approvers):
            yield _finding(place, limit.approvers)
            continue
        for rule, _, asked in rules if limit.approvers else ():
            both = all_of(asked, limit.approvers)
            if rule.tool in ("*", limit.tool) and met(asked) and not met(both):
                yield _finding(place, both, f"Together with the rule {rule.id}, ")
                break


def _finding(place: str, asked: tuple[Approver, ...], begin: str = "") -> Finding:
    needs = [f"{approver.count} of {approver.group}" for approver in asked]
    listed = f"{', '.join(needs[:-1])} and {needs[-1]}"
    message = (
        f"{begin}{listed} are asked for, and these groups share their members: there are not enough different people, "
        "since nobody counts for two groups. Add people to one of them, or ask fewer."
    )
    return Finding(place, SHARED, message[:1].upper() + message[1:])
