"""Policy documents: from the source an admin wrote to rules, or to every finding at once (A8).

A document never changes once published; its source is kept as written and its parsed form beside it. Both give the
same `Policy`: `parse_policy` from the source, `load_policy` from the stored form.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from approvals.core.cel import Program, compile_bool
from approvals.core.contract_types import Finding
from approvals.core.json_spans import json_lines
from approvals.core.policy_cases import Case, cases_of
from approvals.core.policy_findings import MAX_FINDINGS, policy_findings, source_findings
from approvals.core.policy_names import POLICY_NAMES
from approvals.core.policy_types import Effect as Effect
from approvals.core.policy_types import Freeze, Level, Limit, approvers_of, freeze_of, limit_of
from approvals.core.terms import NO_TERMS, Terms, policy_terms
from approvals.core.terms import Approver as Approver
from approvals.core.tiers import Tier, tiers_of
from approvals.core.yaml_door import Lines, YamlError, open_yaml
from audit.core.canonical import canonical_bytes, sha256_hex
from audit.core.jsondoor import Json, open_json
from audit.core.refusal import Invalid, Refusal, TooLarge

type Format = Literal["yaml", "json"]

MAX_BYTES = 1_048_576
_MEMBERS = 50_000


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `program` is None where there is no condition; `expires_in_s` None means the contract's own; `level`
    is how a deny is meant. Where there are tiers, they say who approves, and under which terms."""

    id: str
    tool: str
    effect: Effect
    when: str
    program: Program | None
    message: str
    approvers: tuple[Approver, ...]
    expires_in_s: int | None
    level: Level = "absolute"
    tiers: tuple[Tier, ...] = ()
    terms: Terms = NO_TERMS

    def asked(self) -> tuple[tuple[str, tuple[Approver, ...]], ...]:
        """Everybody whom the rule may ask: (place below the rule, approvers)."""
        own = (("/approvers", self.approvers),) if self.approvers else ()
        return own + tuple((f"/tiers/{at}/approvers", tier.approvers) for at, tier in enumerate(self.tiers))

    def told(self) -> tuple[str, ...]:
        """The groups that the rule's reminders are escalated to."""
        escalated = (self.terms, *(tier.terms for tier in self.tiers))
        return tuple(dict.fromkeys(group for terms in escalated for group in terms.escalate_to))


@dataclass(frozen=True, slots=True)
class Policy:
    """One version of a tenant's policy. `number` is 0 for a draft; `digest` is over the canonical document."""

    number: int
    rules: tuple[Rule, ...]
    digest: str
    canonical: bytes
    tests: tuple[Case, ...] = ()
    freezes: tuple[Freeze, ...] = ()
    limits: tuple[Limit, ...] = ()

    def asked(self) -> tuple[tuple[Approver, ...], ...]:
        """Everybody whom a rule, a tier or a limit may ask, each as they are asked together."""
        by_rules = (approvers for rule in self.rules for _, approvers in rule.asked())
        return (*by_rules, *(limit.approvers for limit in self.limits if limit.approvers))

    @property
    def document(self) -> Any:
        """The parsed form that is stored beside the source; a new copy at each look."""
        return open_json(self.canonical, limit=len(self.canonical) + 1, members=_MEMBERS)


def parse_policy(source: str | bytes, fmt: Format, *, number: int = 0) -> Policy:
    """The policy that a source text says.

    Raises `TooLarge` over 1 MiB, else `Invalid` (POLICY_INVALID) with `detail.findings`, each with path, code, message,
    line and column.
    """
    raw = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
    if len(raw) > MAX_BYTES:
        raise TooLarge(f"The policy has {len(raw):,} bytes; at most {MAX_BYTES:,}. Split it or shorten it.")
    document, lines = _read(raw, fmt)
    found = [*source_findings(raw.decode("utf-8")), *policy_findings(document, lines)]
    if found:
        raise _invalid(found)
    return load_policy(document, number=number)


def places(source: str, fmt: Format) -> Lines:
    """Where each place of a text stands that `parse_policy` took."""
    return open_yaml(source)[1] if fmt == "yaml" else json_lines(source)


def load_policy(document: Any, *, number: int) -> Policy:
    """The policy of a stored document. Raises `Invalid` (POLICY_INVALID) if it is none: a row edited by hand must not
    decide anything."""
    return _load(canonical_bytes(document), number)


@lru_cache(maxsize=128)
def _load(data: bytes, number: int) -> Policy:
    document = open_json(data, limit=len(data) + 1, members=_MEMBERS)
    found = list(policy_findings(document, Lines()))
    if found or not isinstance(document, dict):
        raise _invalid(found)
    given: dict[str, Any] = document
    return Policy(
        number,
        tuple(_rule(rule) for rule in given["rules"]),
        sha256_hex(data),
        data,
        cases_of(given),
        freezes=tuple(freeze_of(item) for item in given.get("freeze", [])),
        limits=tuple(limit_of(item) for item in given.get("limits", [])),
    )


def _rule(rule: dict[str, Any]) -> Rule:
    when = rule.get("when", "")
    return Rule(
        id=rule["id"],
        tool=rule["tool"],
        effect=rule["effect"],
        when=when,
        program=compile_bool(when, POLICY_NAMES) if when else None,
        message=rule.get("message", ""),
        approvers=approvers_of(rule),
        expires_in_s=rule.get("expires_in_s"),
        level=rule.get("level", "absolute"),
        tiers=tiers_of(rule),
        terms=policy_terms(rule),
    )


def _read(raw: bytes, fmt: Format) -> tuple[Json, Lines]:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8", "replace")
        line, column = _place_of(before, len(before))
        raise _invalid([Finding("", "NOT_UTF8", "The text is not UTF-8. Save it as UTF-8.", line, column)]) from None
    if fmt == "yaml":
        try:
            return open_yaml(text)
        except YamlError as error:
            raise _invalid([Finding("", "YAML", error.message, error.line, error.column)]) from None
    try:
        document = open_json(raw, limit=MAX_BYTES, members=_MEMBERS)
    except Refusal as error:
        at = error.detail.get("offset")
        line, column = _place_of(text, at) if type(at) is int else (0, 0)
        path = str(error.detail.get("path", ""))
        raise _invalid([Finding(path, error.code, error.message, line, column)]) from None
    return document, places(text, "json")


def _place_of(text: str, at: int) -> tuple[int, int]:
    """Line and column, from 1, of the character at `at`."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _invalid(found: list[Finding]) -> Invalid:
    first = found[0] if found else Finding("", "POLICY_SHAPE", "A policy is an object.")
    where = f"line {first.line}, column {first.column}" if first.column else first.path or "the top"
    count = "1 finding" if len(found) <= 1 else f"{len(found)} findings, the first"
    return Invalid(
        f"The policy cannot be used: {count} at {where}: {first.message}",
        code="POLICY_INVALID",
        detail={"findings": [finding.as_dict() for finding in found[:MAX_FINDINGS]]},
    )
