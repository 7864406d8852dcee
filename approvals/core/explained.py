"""Why a verdict is what it is, part by part: every check, freeze, rule and limit with what it found.

Made of the same functions as `evaluate`, over the same values; the verdict itself is `evaluate`'s. What stands behind
the part that decided was not reached and is told as such.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from approvals.core.cel import Bindings, CelError, compile_bool, evaluate_bool
from approvals.core.limits import frozen, passed
from approvals.core.matched import Match, failed_parts, matched_parts
from approvals.core.policy import Request, Verdict, bindings_of, evaluate
from approvals.core.policy_document import Policy, Rule
from approvals.core.policy_names import POLICY_NAMES

type Part = Literal["check", "freeze", "rule", "limit"]
type Found = Literal["holds", "fails", "matches", "no match", "another tool", "notes", "errs", "not reached"]


@dataclass(frozen=True, slots=True)
class Look:
    """One part of the judgement. `decides`: the verdict is this part's; `matched` are its conditions with their values;
    `text` says in our words what was found, `condition` is the policy's or the contract's own."""

    part: Part
    id: str
    found: Found
    text: str
    condition: str = ""
    effect: str = ""
    decides: bool = False
    matched: tuple[Match, ...] = ()


@dataclass(frozen=True, slots=True)
class Explained:
    """The verdict and how it came about, in the order of judging."""

    verdict: Verdict
    looks: tuple[Look, ...]

    def of(self, *parts: Part) -> tuple[Look, ...]:
        """The looks at these parts."""
        return tuple(look for look in self.looks if look.part in parts)


def explain(policy: Policy, request: Request) -> Explained:
    """The verdict of `evaluate` with every look that led to it."""
    bindings = bindings_of(request)
    verdict = evaluate(policy, request, bindings)
    return Explained(verdict, tuple(_looks(policy, request, bindings, verdict)))


def _looks(policy: Policy, request: Request, bindings: Bindings, verdict: Verdict) -> Iterator[Look]:
    decided: Look | None = None
    for look in (*_checks(request, bindings), *_freezes(policy, request), *_rules(policy, request, bindings)):
        yield look if decided is None else _not_reached(look)
        if look.decides and decided is None:
            decided = look
    # The limits are asked where a rule has decided and has not itself refused.
    refused = verdict.effect == "deny" and decided is not None and verdict.rule_id == decided.id
    reached = decided is not None and decided.part == "rule" and not refused
    for look in _limits(policy, request):
        yield look if reached else _not_reached(look)


def _not_reached(look: Look) -> Look:
    return Look(look.part, look.id, "not reached", "Not reached.", look.condition, look.effect)


def _checks(request: Request, bindings: Bindings) -> Iterator[Look]:
    for check in request.contract.checks:
        try:
            holds = evaluate_bool(compile_bool(check.when, POLICY_NAMES), bindings)
        except CelError as error:
            text = f"Could not be judged: {error.problem}. The call is refused."
            values = failed_parts(check.when, POLICY_NAMES, bindings)
            yield Look("check", check.id, "errs", text, check.when, "deny", decides=True, matched=values)
            continue
        parts = (matched_parts if holds else failed_parts)(check.when, POLICY_NAMES, bindings)
        if holds:
            yield Look("check", check.id, "holds", "Holds.", check.when, matched=parts)
        else:
            yield Look("check", check.id, "fails", "Does not hold.", check.when, "deny", decides=True, matched=parts)


def _freezes(policy: Policy, request: Request) -> Iterator[Look]:
    for freeze in policy.freezes:
        found = frozen((freeze,), request.contract, request.now)
        if found is None:
            yield Look("freeze", freeze.id, "no match", "Does not hold now, or not for this tool.", effect="deny")
            continue
        text = f"Could not be judged: {found.problem}." if found.problem else "Holds now."
        word: Found = "errs" if found.problem else "matches"
        yield Look("freeze", freeze.id, word, text, effect="deny", decides=True, matched=found.matched)


def _rules(policy: Policy, request: Request, bindings: Bindings) -> Iterator[Look]:
    decided = False
    for rule in policy.rules:
        # Behind the one that decides nothing is evaluated, however many rules there are.
        look = Look("rule", rule.id, "not reached", "", rule.when, rule.effect)
        if not decided:
            look = _rule(rule, request, bindings)
        decided = decided or look.decides
        yield look


def _rule(rule: Rule, request: Request, bindings: Bindings) -> Look:
    if rule.tool not in ("*", request.tool):
        return Look("rule", rule.id, "another tool", "Speaks of another tool.", rule.when, rule.effect)
    advisory = rule.level == "advisory"
    if rule.program is None:
        whole = (Match("", "every call of any tool" if rule.tool == "*" else "every call of this tool", ()),)
        found: Found = "notes" if advisory else "matches"
        text = "Matches and is only noted." if advisory else "Matches, as it does every call."
        return Look("rule", rule.id, found, text, "", rule.effect, decides=not advisory, matched=whole)
    try:
        matches = evaluate_bool(rule.program, bindings)
    except CelError as error:
        values = failed_parts(rule.when, POLICY_NAMES, bindings)
        end = "It is only advice, so judging goes on." if advisory else "The call is refused."
        text = f"Could not be judged: {error.problem}. {end}"
        return Look("rule", rule.id, "errs", text, rule.when, rule.effect, decides=not advisory, matched=values)
    if not matches:
        values = failed_parts(rule.when, POLICY_NAMES, bindings)
        return Look("rule", rule.id, "no match", "Does not match.", rule.when, rule.effect, matched=values)
    values = matched_parts(rule.when, POLICY_NAMES, bindings)
    if advisory:
        return Look("rule", rule.id, "notes", "Matches and is only noted.", rule.when, rule.effect, matched=values)
    return Look("rule", rule.id, "matches", "Matches.", rule.when, rule.effect, decides=True, matched=values)


def _limits(policy: Policy, request: Request) -> Iterator[Look]:
    for limit in policy.limits:
        if limit.tool != request.tool:
            continue
        found = next(passed((limit,), request.contract, request.arguments, request.exposure), None)
        if found is None:
            yield Look("limit", limit.id, "holds", "Would not be passed.", effect=limit.over)
        elif found.problem:
            text = f"Could not be judged: {found.problem}. The call is refused."
            yield Look("limit", limit.id, "errs", text, effect="deny", decides=True)
        else:
            yield Look("limit", limit.id, "matches", "Would be passed.", "", limit.over, True, found.matched)
