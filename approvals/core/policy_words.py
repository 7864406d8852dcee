"""The parts of a policy in words that an admin reads: rules, freezes, limits (W3)."""

from collections.abc import Iterable
from dataclasses import dataclass

from approvals.core.money import money_text
from approvals.core.policy_document import Policy, Rule
from approvals.core.policy_types import Freeze, Limit
from approvals.core.terms import Approver

TONES = {"allow": "good", "ask": "wait", "deny": "bad", "note": "still"}
"""How each effect is marked on a page."""


@dataclass(frozen=True, slots=True)
class Said:
    """One part of a policy. `part` and `index` are its place in the document; `effect` is what it does, in a word or
    two; `tone` how that is marked; `when` is the condition as written; `words` the rest, a line each."""

    part: str
    index: int
    id: str
    effect: str
    tone: str
    about: str
    when: str
    words: tuple[str, ...]

    @property
    def text(self) -> str:
        """All of it in one text, to compare by."""
        return "\n".join((self.effect, self.about, self.when, *self.words))


def policy_said(policy: Policy) -> list[Said]:
    """Everything that decides, in the order in which it is asked: freezes, rules, limits."""
    return [
        *(_freeze(index, freeze) for index, freeze in enumerate(policy.freezes)),
        *(_rule(index, rule) for index, rule in enumerate(policy.rules)),
        *(_limit(index, limit) for index, limit in enumerate(policy.limits)),
    ]


def time_words(seconds: int) -> str:
    """`15 min`, `2 h`, `90 s`, `3 days`."""
    for size, word in ((86_400, "day"), (3600, "h"), (60, "min")):
        if seconds >= size and seconds % size == 0:
            count = seconds // size
            return f"{count} {word}{'s' if word == 'day' and count > 1 else ''}"
    return f"{seconds} s"


def people_words(approvers: Iterable[Approver]) -> str:
    """`1 of finance and 2 of leads`."""
    return " and ".join(f"{approver.count} of {approver.group}" for approver in approvers)


def _rule(index: int, rule: Rule) -> Said:
    about = "every call of any tool" if rule.tool == "*" else f"every call of {rule.tool}"
    if rule.when:
        about = "calls of any tool" if rule.tool == "*" else f"calls of {rule.tool}"
    effect, tone = _effect(rule)
    words = [*_tiers(rule)]
    if rule.effect == "allow" and rule.approvers:
        words.append(f"where the tool itself asks: {people_words(rule.approvers)}")
    if rule.expires_in_s is not None:
        words.append(f"time to decide {time_words(rule.expires_in_s)}")
    words += _terms(rule)
    if rule.message:
        words.append(f"says: {rule.message}")
    return Said("rules", index, rule.id, effect, tone, about, rule.when, tuple(words))


def _effect(rule: Rule) -> tuple[str, str]:
    if rule.effect == "deny" and rule.level == "overridable":
        return f"deny, unless {people_words(rule.approvers)} override it", TONES["ask"]
    if rule.effect == "deny" and rule.level == "advisory":
        return "note", TONES["note"]
    if rule.effect == "ask":
        return "ask by amount" if rule.tiers else f"ask {people_words(rule.approvers)}", TONES["ask"]
    return rule.effect, TONES[rule.effect]


def _tiers(rule: Rule) -> list[str]:
    lines = []
    for tier in rule.tiers:
        bound = "above" if tier.up_to is None and len(rule.tiers) > 1 else "any amount"
        if tier.up_to is not None:
            bound = "up to " + " or ".join(money_text(amount, code) for code, amount in tier.up_to.items())
        time = "" if tier.expires_in_s in (None, rule.expires_in_s) else f", {time_words(tier.expires_in_s or 0)}"
        strong = "" if tier.terms.authentication == "session" else f", {_AUTHENTICATION[tier.terms.authentication]}"
        lines.append(f"{bound}: {people_words(tier.approvers)}{time}{strong}")
    return lines


_AUTHENTICATION = {"fresh": "after confirming who they are", "signed": "with a passkey's signature"}


def _terms(rule: Rule) -> list[str]:
    terms = rule.terms
    found = []
    if terms.rejections > 1:
        found.append(f"{terms.rejections} rejections reject")
    if terms.authentication != "session":
        found.append(f"decided {_AUTHENTICATION[terms.authentication]}")
    if terms.reasons:
        found.append("reasons offered: " + " / ".join(terms.reasons))
    if terms.question_clock == "stops":
        found.append("a question to the agent stops the clock")
    if terms.escalate_to:
        found.append(f"{', '.join(terms.escalate_to)} told after {terms.remind_at_percent}% of the time")
    if not terms.editable:
        found.append("cannot be edited")
    return found


def _freeze(index: int, freeze: Freeze) -> Said:
    about = "every tool that changes something" if "*" in freeze.tools else ", ".join(freeze.tools)
    words = [f"from {freeze.start:%Y-%m-%d %H:%M %z} until {freeze.end:%Y-%m-%d %H:%M %z}"]
    if freeze.message:
        words.append(f"says: {freeze.message}")
    return Said("freeze", index, freeze.id, "deny", TONES["deny"], about, "", tuple(words))


_WINDOWS = {"call": "in one call", "24h": "in 24 hours", "30d": "in 30 days"}


def _limit(index: int, limit: Limit) -> Said:
    much = [money_text(amount, code) for code, amount in limit.amount]
    much += [f"{limit.calls} call{'s' if limit.calls != 1 else ''}"] if limit.calls is not None else []
    for_whom = "" if limit.per == "tool" or limit.window == "call" else f" for one {limit.per}"
    effect = "deny" if limit.over == "deny" else f"ask {people_words(limit.approvers)}"
    about = f"calls of {limit.tool} over {' or '.join(much)}{for_whom} {_WINDOWS[limit.window]}"
    words = (f"says: {limit.message}",) if limit.message else ()
    return Said("limits", index, limit.id, effect, TONES[limit.over], about, "", words)
