"""One `evaluate()`, at proposal and at dispatch: may this call happen, must people be asked, who (A5, S19, S63, S81).

Order: the contract's own checks, freezes, then the rules of the policy, of which the first that matches decides (an
advisory one is only noted); then the contract's floor and the limits, of which the strictest answer wins. Whatever errs
denies, and nothing matching denies.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from approvals.core.cel import Bindings, CelError, compile_bool, evaluate_bool
from approvals.core.contract_types import Contract
from approvals.core.limits import frozen, passed
from approvals.core.matched import Match as Match
from approvals.core.matched import failed_parts, matched_parts
from approvals.core.policy_advice import catalogue_findings as catalogue_findings
from approvals.core.policy_document import Approver as Approver
from approvals.core.policy_document import Effect, Policy, Rule
from approvals.core.policy_document import load_policy as load_policy
from approvals.core.policy_document import parse_policy as parse_policy
from approvals.core.policy_findings import POLICY_SCHEMA as POLICY_SCHEMA
from approvals.core.policy_names import POLICY_NAMES, policy_bindings
from approvals.core.policy_types import Note as Note
from approvals.core.reached import rules_reached
from approvals.core.terms import NO_TERMS, Terms, all_of, terms_from, terms_hold
from approvals.core.tiers import tier_for
from audit.core.actor import Actor
from audit.core.refusal import Forbidden, Invalid, Refusal

POLICY_ERROR = "policy_error"
NO_RULE = "no_rule"
NO_APPROVERS = "no_approvers"
FROZEN = "frozen"
OVER_LIMIT = "over_limit"
DENIED = "denied"
HELD = "held"
ALLOWED = "allowed"


@dataclass(frozen=True, slots=True)
class Request:
    """What is judged. `arguments` are the effective ones; `state` is what the target said, None if it is not read;
    `principal` is `principal_of` the actor as its rights are now; `run` what `run.…` names; `now` the database's time.

    `exposure` is what was started before this call, without it: {"customer" | "agent" | "tool": {"24h" | "30d":
    {currency: {"amount": minor units, "calls": n}}}}. What is missing is zero; a customer that is None is not known,
    and then nothing that asks for it can be judged."""

    tool: str
    contract: Contract
    arguments: Mapping[str, Any]
    state: Mapping[str, Any] | None
    principal: Mapping[str, Any]
    run: Mapping[str, Any] = field(default_factory=dict)
    exposure: Mapping[str, Any] = field(default_factory=dict)
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement. `code` is allowed, held, denied, no_rule, no_approvers, policy_error or the code of the check that
    failed; `rule_id` names the rule, or `check:<id>`. `approvers`, `expires_in_s` and `terms` matter for an ask."""

    effect: Effect
    code: str
    message: str
    rule_id: str
    policy_number: int
    matched: tuple[Match, ...] = ()
    approvers: tuple[Approver, ...] = ()
    expires_in_s: int = 0
    notes: tuple[Note, ...] = ()
    terms: Terms = NO_TERMS

    def as_dict(self) -> dict[str, Any]:
        """JSON for a stored proposal or event."""
        return {
            "effect": self.effect,
            "code": self.code,
            "message": self.message,
            "rule_id": self.rule_id,
            "policy_number": self.policy_number,
            "matched": [match.as_dict() for match in self.matched],
            "approvers": [{"group": item.group, "count": item.count} for item in self.approvers],
            "expires_in_s": self.expires_in_s,
            "notes": [note.as_dict() for note in self.notes],
            "terms": self.terms.as_dict(),
        }

    def refusal(self) -> Refusal:
        """A deny as the refusal an agent is told (E3): 422 for a check of the call's meaning, 403 for the policy."""
        kind = Invalid if self.rule_id.startswith("check:") and self.code != POLICY_ERROR else Forbidden
        detail = {"rule": self.rule_id, "policy": self.policy_number, "why": [match.text for match in self.matched]}
        return kind(self.message, code=self.code.upper(), detail=detail)


def verdict_from(stored: Mapping[str, Any]) -> Verdict:
    """The verdict that `Verdict.as_dict` wrote. Raises KeyError, TypeError or ValueError for anything else."""
    return Verdict(
        effect=stored["effect"],
        code=str(stored["code"]),
        message=str(stored["message"]),
        rule_id=str(stored["rule_id"]),
        policy_number=int(stored["policy_number"]),
        matched=_matches(stored["matched"]),
        approvers=tuple(Approver(item["group"], item["count"]) for item in stored["approvers"]),
        expires_in_s=int(stored["expires_in_s"]),
        # Verdicts of before there were notes have none.
        notes=tuple(
            Note(item["rule_id"], item["message"], _matches(item["matched"])) for item in stored.get("notes", [])
        ),
        terms=terms_from(stored.get("terms")),
    )


def _matches(stored: list[Mapping[str, Any]]) -> tuple[Match, ...]:
    return tuple(Match(item["expression"], item["text"], tuple(item["values"].items())) for item in stored)


def principal_of(actor: Actor) -> dict[str, Any]:
    """What conditions may ask about who calls: `principal.kind`, `id`, `name`, `roles`, `groups`, `scopes`,
    `on_behalf_of` and `chain`."""
    return {
        "kind": actor.kind,
        "id": actor.id,
        "name": actor.name,
        "roles": sorted(actor.roles),
        "groups": sorted(actor.groups),
        "scopes": sorted(actor.scopes),
        "on_behalf_of": actor.on_behalf_of,
        "chain": list(actor.chain),
    }


def bindings_of(request: Request) -> Bindings:
    """The values of one call, for `evaluate`; to be made once where several policies judge the same call."""
    return policy_bindings(
        request.contract,
        arguments=request.arguments,
        state=request.state,
        principal=request.principal,
        run=request.run,
        exposure=request.exposure,
        now=request.now,
    )


def evaluate(policy: Policy, request: Request, bindings: Bindings | None = None) -> Verdict:
    """The verdict of `policy` and of the contract's checks on one call. Never raises for what a rule or a value is.

    `bindings` are those of `bindings_of` the same request, if they were made already."""
    if bindings is None:
        bindings = bindings_of(request)
    failed = _failed_check(policy, request, bindings) or _frozen(policy, request)
    if failed is not None:
        return failed
    notes: list[Note] = []
    for rule in rules_reached(policy, request.tool, bindings):
        try:
            if rule.program is not None and not evaluate_bool(rule.program, bindings):
                continue
        except CelError as error:
            if rule.level == "advisory":  # it neither allows nor denies, so its error does neither
                notes.append(Note(rule.id, f"The rule {rule.id} could not be judged ({error.problem})."))
                continue
            errs = _errs(policy, rule.id, f"The policy's rule {rule.id}", rule.when, error, bindings)
            return replace(errs, notes=tuple(notes))
        if rule.level == "advisory":
            message = rule.message or f"The policy's rule {rule.id} advises against this call."
            notes.append(Note(rule.id, message, _why(rule, bindings)))
            continue
        decided = _decide(policy, rule, request, bindings)
        limited = _within_limits(policy, request, decided)
        return replace(limited, notes=tuple(notes)) if notes else limited
    return Verdict(
        "deny",
        NO_RULE,
        f"No rule of the policy speaks of this call of {request.tool}, so it is refused. Ask an admin for a rule.",
        "",
        policy.number,
        notes=tuple(notes),
    )


def same_or_looser(old: Verdict, new: Verdict) -> bool:
    """True if what was required when it was asked (`old`) still satisfies what is required today (`new`) (A5, S19).

    False, so that votes are void, where today denies, asks where nobody was asked, asks more people of a group, asks
    another group, gives less time, or asks it under stricter terms. A loosening changes nothing: then what was asked
    stays required.
    """
    if new.effect == "deny" or old.effect == "deny":
        return False
    if new.effect == "allow":
        return True
    if old.effect != "ask" or new.expires_in_s < old.expires_in_s or not terms_hold(old.terms, new.terms):
        return False
    asked = {approver.group: approver.count for approver in old.approvers}
    return all(asked.get(approver.group, 0) >= approver.count for approver in new.approvers)


def _failed_check(policy: Policy, request: Request, bindings: Bindings) -> Verdict | None:
    for check in request.contract.checks:
        try:
            # Admission let it name args, state and principal only; over the same names as rules, values are shared.
            if evaluate_bool(compile_bool(check.when, POLICY_NAMES), bindings):
                continue
        except CelError as error:
            return _errs(policy, f"check:{check.id}", f"The tool's check {check.id}", check.when, error, bindings)
        return Verdict(
            "deny",
            check.code,
            check.message,
            f"check:{check.id}",
            policy.number,
            failed_parts(check.when, POLICY_NAMES, bindings),
        )
    return None


def _errs(policy: Policy, rule_id: str, what: str, when: str, error: CelError, bindings: Bindings) -> Verdict:
    return Verdict(
        "deny",
        POLICY_ERROR,
        f"{what} could not be judged ({error.problem}), so the call is refused. Tell an admin.",
        rule_id,
        policy.number,
        failed_parts(when, POLICY_NAMES, bindings),
    )


def _frozen(policy: Policy, request: Request) -> Verdict | None:
    found = frozen(policy.freezes, request.contract, request.now)
    if found is None:
        return None
    named = f"freeze:{found.freeze.id}"
    if found.problem:
        return _unjudged(policy, named, f"The policy's freeze {found.freeze.id}", found.problem)
    message = found.freeze.message or (
        f"{request.tool} is frozen ({found.freeze.id}): {found.matched[0].text}. Ask again after that."
    )
    return Verdict("deny", FROZEN, message, named, policy.number, found.matched)


def is_frozen(verdict: Verdict) -> bool:
    """True if it is a freeze that denies the call: it may not be started now, and may be when that is over."""
    return verdict.effect == "deny" and verdict.code == FROZEN and verdict.rule_id.startswith("freeze:")


def _within_limits(policy: Policy, request: Request, decided: Verdict) -> Verdict:
    """The stricter of the rule's verdict and of the limits that the call would pass; where both ask, all are asked."""
    if decided.effect == "deny":
        return decided
    over = list(passed(policy.limits, request.contract, request.arguments, request.exposure))
    for found in sorted(over, key=lambda found: found.limit.over == "ask" and not found.problem):
        limit, named = found.limit, f"limit:{found.limit.id}"
        if found.problem:
            return _unjudged(policy, named, f"The policy's limit {limit.id}", found.problem)
        words = "; ".join(match.text for match in found.matched)
        if limit.over == "deny":
            message = limit.message or f"The policy's limit {limit.id} refuses this call: {words}."
            return Verdict("deny", OVER_LIMIT, message, named, policy.number, found.matched)
        message = limit.message or f"The policy's limit {limit.id} holds this call: {words}."
        if decided.effect == "allow":
            matched = (*decided.matched, *found.matched)
            expires = request.contract.expires_in_s
            decided = Verdict("ask", HELD, message, named, policy.number, matched, limit.approvers, expires)
        else:
            decided = replace(
                decided,
                message=f"{decided.message} {message}",
                matched=(*decided.matched, *found.matched),
                approvers=all_of(decided.approvers, limit.approvers),
            )
    return decided


def _unjudged(policy: Policy, rule_id: str, what: str, problem: str) -> Verdict:
    message = f"{what} could not be judged ({problem}), so the call is refused. Tell an admin."
    return Verdict("deny", POLICY_ERROR, message, rule_id, policy.number)


def _decide(policy: Policy, rule: Rule, request: Request, bindings: Bindings) -> Verdict:
    matched = _why(rule, bindings)
    if rule.effect == "deny" and rule.level == "overridable":
        return _overridable(policy, rule, request, matched)
    if rule.effect == "deny":
        message = rule.message or f"The policy's rule {rule.id} refuses this call."
        return Verdict("deny", DENIED, message, rule.id, policy.number, matched)
    raised = rule.effect == "allow" and request.contract.approval == "always"
    if rule.effect == "allow" and not raised:
        return Verdict("allow", ALLOWED, rule.message, rule.id, policy.number, matched)
    tiered = tier_for(rule.tiers, request.contract, request.arguments)
    if tiered is not None:
        tier, because = tiered
        matched = (*matched, because)
        approvers, expires_in_s, terms = tier.approvers, tier.expires_in_s, tier.terms
    else:
        approvers, expires_in_s, terms = rule.approvers, rule.expires_in_s, rule.terms
    if not approvers:
        return Verdict(
            "deny",
            NO_APPROVERS,
            f"{request.tool} is always held for people, and the policy's rule {rule.id} names nobody who may approve. "
            "Ask an admin to add approvers to the rule.",
            rule.id,
            policy.number,
            matched,
        )
    message = rule.message or (
        f"{request.tool} is always held for people." if raised else f"The policy's rule {rule.id} holds this call."
    )
    expires = request.contract.expires_in_s if expires_in_s is None else expires_in_s
    return Verdict("ask", HELD, message, rule.id, policy.number, matched, approvers, expires, terms=terms)


def _overridable(policy: Policy, rule: Rule, request: Request, matched: tuple[Match, ...]) -> Verdict:
    """Refused unless the people named override it; whoever does says why."""
    message = rule.message or f"The policy's rule {rule.id} refuses this call unless people override it."
    expires = request.contract.expires_in_s if rule.expires_in_s is None else rule.expires_in_s
    terms = replace(rule.terms, reason_to_approve=True)
    return Verdict("ask", HELD, message, rule.id, policy.number, matched, rule.approvers, expires, terms=terms)


def _why(rule: Rule, bindings: Bindings) -> tuple[Match, ...]:
    if not rule.when:
        return (Match("", "every call of any tool" if rule.tool == "*" else f"every call of {rule.tool}", ()),)
    return matched_parts(rule.when, POLICY_NAMES, bindings)
