"""What a new version of the policy changed for a call that waits: whether it did, and in words (A5, S19)."""

from dataclasses import replace

from approvals.core.policy import Verdict, same_or_looser
from approvals.core.policy_document import Policy, Rule
from approvals.core.policy_types import Limit
from approvals.core.terms import AUTHENTICATIONS

_SIGNED_IN = {"session": "a session", "fresh": "a password that was given again just now", "signed": "a passkey"}


def what_changed(asked: Verdict, today: Verdict) -> str:
    """`Policy 9 asks 2 of finance, 8 asked 1 of finance (rule refund)`: a sentence without its full stop.

    `asked` is what the votes were given under, `today` what is required now and does not deny. Names what is stricter;
    where nothing of that can be named, the rule.
    """
    before = f"{asked.policy_number}" if asked.policy_number != today.policy_number else "it"
    said = [*_people(asked, today, before), *_time(asked, today, before), *_terms(asked, today)]
    rule = f"rule {today.rule_id}"
    if not said:
        return f"Policy {today.policy_number} asks for more by its {rule}"
    return f"Policy {today.policy_number} {'; it '.join(said)} ({rule})"


def moved_by_itself(*, was: Policy, before: Verdict, now: Policy, today: Verdict) -> bool:
    """True if it is not the policy that asks more of a call than when it was asked, but what the policy looks at: the
    sums of what was started, the hour, the agent's groups.

    `was` is the version that it was asked under, `now` the one in force; `before` and `today` are what the two say of
    the call at this moment. They must agree, by the same rule and the same limits, other than in name and message: then
    an edit between them is unrelated to this very call.
    """
    if before.effect != today.effect or before.code != today.code:
        return False
    agree = today.effect == "deny" or same_or_looser(before, today)
    return agree and _decided_by(was, before) == _decided_by(now, today)


def _decided_by(policy: Policy, verdict: Verdict) -> tuple[list[Rule], list[Limit]]:
    """The rule and the limits behind a verdict, without what they are called and say."""
    passed = {match.expression for match in verdict.matched}
    rules = [replace(rule, id="", message="") for rule in policy.rules if rule.id == verdict.rule_id]
    limits = [
        replace(limit, id="", message="")
        for limit in policy.limits
        if f"limit:{limit.id}" == verdict.rule_id or limit.id in passed
    ]
    return rules, limits


def spoken(seconds: int) -> str:
    """`15 minutes`, `2 hours`, `90 seconds`."""
    for size, word in ((3600, "hour"), (60, "minute"), (1, "second")):
        if seconds % size == 0 and seconds >= size:
            count = seconds // size
            return f"{count} {word}{'' if count == 1 else 's'}"
    return f"{seconds} seconds"


def _people(asked: Verdict, today: Verdict, before: str) -> list[str]:
    had = {approver.group: approver.count for approver in asked.approvers}
    more = [approver for approver in today.approvers if approver.count > had.get(approver.group, 0)]
    if not more:
        return []
    now = " and ".join(f"{approver.count} of {approver.group}" for approver in today.approvers)
    then = " and ".join(f"{count} of {group}" for group, count in had.items()) or "nobody"
    return [f"asks {now}, {before} asked {then}"]


def _time(asked: Verdict, today: Verdict, before: str) -> list[str]:
    if today.expires_in_s >= asked.expires_in_s or today.effect != "ask":
        return []
    return [f"gives {spoken(today.expires_in_s)} to decide, {before} gave {spoken(asked.expires_in_s)}"]


def _terms(asked: Verdict, today: Verdict) -> list[str]:
    before, now = asked.terms, today.terms
    if today.effect != "ask":
        return []
    said = []
    if AUTHENTICATIONS.index(now.authentication) > AUTHENTICATIONS.index(before.authentication):
        said.append(f"asks for {_SIGNED_IN[now.authentication]}")
    if now.reason_to_approve and not before.reason_to_approve:
        said.append("asks for a reason to approve")
    if now.rejections < before.rejections:
        people = "one rejection rejects" if now.rejections == 1 else f"{now.rejections} rejections reject"
        said.append(f"says that {people}, before it took {before.rejections}")
    return said
