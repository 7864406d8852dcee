"""Policy documents: from the source an admin wrote to rules, or to every finding at once (A8).

A document never changes once published; its source is kept as written and its parsed form beside it. Both give the
same `Policy`: `parse_policy` from the source, `load_policy` from the stored form.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import jsonschema_rs

from approvals.core.admission import Names
from approvals.core.cel import CelError, Program, compile_bool
from approvals.core.contract_types import Contract, Finding
from approvals.core.policy_cases import Case, case_findings, cases_of
from approvals.core.policy_names import POLICY_NAMES
from approvals.core.policy_types import Effect as Effect
from approvals.core.policy_types import Freeze, Level, Limit, approvers_of, freeze_of, limit_of, moment
from approvals.core.schemas import load
from approvals.core.terms import NO_TERMS, Terms, policy_terms
from approvals.core.terms import Approver as Approver
from approvals.core.tiers import Tier, tier_findings, tiers_of
from approvals.core.yaml_door import YamlError, open_yaml
from audit.core.canonical import canonical_bytes, sha256_hex
from audit.core.jsondoor import Json, open_json
from audit.core.pointers import pointer
from audit.core.refusal import Invalid, Refusal, TooLarge
from audit.core.visible import visible

type Format = Literal["yaml", "json"]

POLICY_SCHEMA: dict[str, Any] = load("policy")
"""The published JSON Schema of the document."""

AUTHENTICATION_BUILT = ("session",)
"""What a decision is checked for today. A rule that asks for more is refused when it is saved."""

MAX_BYTES = 1_048_576
MAX_FINDINGS = 200
_MEMBERS = 50_000
_DOCUMENT = jsonschema_rs.Draft202012Validator(POLICY_SCHEMA)


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

    @property
    def document(self) -> Any:
        """The parsed form that is stored beside the source; a new copy at each look."""
        return open_json(self.canonical, limit=len(self.canonical) + 1, members=_MEMBERS)


def parse_policy(source: str | bytes, fmt: Format, *, number: int = 0) -> Policy:
    """The policy that a source text says.

    Raises `TooLarge` over 1 MiB, else `Invalid` (POLICY_INVALID) with `detail.findings`, each with path, code, message
    and, for YAML, the line.
    """
    raw = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
    if len(raw) > MAX_BYTES:
        raise TooLarge(f"The policy has {len(raw):,} bytes; at most {MAX_BYTES:,}. Split it or shorten it.")
    document, lines = _read(raw, fmt)
    found = list(policy_findings(document, lines))
    if found:
        raise _invalid(found)
    return load_policy(document, number=number)


def load_policy(document: Any, *, number: int) -> Policy:
    """The policy of a stored document. Raises `Invalid` (POLICY_INVALID) if it is none: a row edited by hand must not
    decide anything."""
    return _load(canonical_bytes(document), number)


@lru_cache(maxsize=128)
def _load(data: bytes, number: int) -> Policy:
    document = open_json(data, limit=len(data) + 1, members=_MEMBERS)
    found = list(policy_findings(document, {}))
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


def _read(raw: bytes, fmt: Format) -> tuple[Json, dict[str, int]]:
    if fmt == "json":
        try:
            return open_json(raw, limit=MAX_BYTES, members=_MEMBERS), {}
        except Refusal as error:
            raise _invalid([Finding(str(error.detail.get("path", "")), error.code, error.message)]) from None
    try:
        return open_yaml(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _invalid([Finding("", "NOT_UTF8", "The text is not UTF-8. Save it as UTF-8.", line)]) from None
    except YamlError as error:
        raise _invalid([Finding("", "YAML", error.message, error.line)]) from None


def _invalid(found: list[Finding]) -> Invalid:
    first = found[0] if found else Finding("", "POLICY_SHAPE", "A policy is an object.")
    where = f"line {first.line}" if first.line else first.path or "the top"
    return Invalid(
        f"The policy cannot be used: {len(found)} findings, the first at {where}: {first.message}",
        code="POLICY_INVALID",
        detail={"findings": [finding.as_dict() for finding in found[:MAX_FINDINGS]]},
    )


def policy_findings(document: Json, lines: Mapping[str, int]) -> Iterator[Finding]:
    """Everything against a policy document by itself; `lines` gives the line of a place, by pointer."""
    shape = [
        _finding(pointer(list(error.instance_path)), "POLICY_SHAPE", f"{str(error.message)[:300]}.", lines)
        for error in _DOCUMENT.iter_errors(document)
    ]
    if shape or not isinstance(document, dict):
        yield from shape[:MAX_FINDINGS]
        return
    given: dict[str, Any] = document
    for part, what, look in (("rules", "Rule", _rule_findings), ("freeze", "Freeze", _freeze_findings),
                             ("limits", "Limit", _limit_findings)):  # fmt: skip
        seen: dict[str, int] = {}
        for index, item in enumerate(given.get(part, [])):
            place = f"/{part}/{index}"
            if item["id"] in seen:
                message = f"{what} {seen[item['id']] + 1} is called {item['id']} too."
                yield _finding(f"{place}/id", "DUPLICATE_ID", message, lines)
            seen.setdefault(item["id"], index)
            yield from look(item, place, lines)
    for found in case_findings(document):
        yield _finding(found.path, found.code, found.message, lines)


def _freeze_findings(freeze: dict[str, Any], place: str, lines: Mapping[str, int]) -> Iterator[Finding]:
    times = []
    for name in ("from", "to"):
        try:
            times.append(moment(freeze[name]))
        except ValueError:
            message = f"{freeze[name]} is no time with its zone; write it like 2026-12-24T18:00:00+11:00, in quotes."
            yield _finding(f"{place}/{name}", "TIME_INVALID", message, lines)
    if len(times) == 2 and times[0] >= times[1]:
        yield _finding(f"{place}/to", "TIME_ORDER", f"{freeze['id']} ends before it begins.", lines)
    yield from _hidden(freeze, ("message",), place, lines)


def _limit_findings(limit: dict[str, Any], place: str, lines: Mapping[str, int]) -> Iterator[Finding]:
    groups = [approver["group"] for approver in limit.get("approvers", [])]
    if limit["over"] == "ask" and not groups:
        yield _finding(place, "NO_APPROVERS", "A limit that asks names who may approve: approvers.", lines)
    if limit["over"] == "deny" and groups:
        yield _finding(f"{place}/approvers", "APPROVERS_UNUSED", "A limit that denies asks nobody.", lines)
    yield from _named_twice(groups, place, lines)
    if "amount" not in limit and "calls" not in limit:
        yield _finding(place, "LIMIT_EMPTY", "A limit says how much: amount, calls, or both.", lines)
    if limit["window"] == "call" and "calls" in limit:
        yield _finding(f"{place}/calls", "CALLS_UNUSED", "One call is one call; calls belong to a window.", lines)
    yield from _hidden(limit, ("message",), place, lines)


def _named_twice(groups: list[str], place: str, lines: Mapping[str, int]) -> Iterator[Finding]:
    for at, group in enumerate(groups):
        if group in groups[:at]:
            yield _finding(f"{place}/approvers/{at}/group", "DUPLICATE_GROUP", f"{group} is named twice.", lines)


def _hidden(item: dict[str, Any], names: tuple[str, ...], place: str, lines: Mapping[str, int]) -> Iterator[Finding]:
    for name in names:
        hidden = next((piece for piece in visible(item.get(name, "")) if piece.kind == "escape"), None)
        if hidden is not None:
            message = f"This text holds {hidden.text} {hidden.note}, which people cannot see. Remove it."
            yield _finding(f"{place}/{name}", "HIDDEN_CHARACTER", message, lines)


def _rule_findings(rule: dict[str, Any], place: str, lines: Mapping[str, int]) -> Iterator[Finding]:
    groups = [approver["group"] for approver in rule.get("approvers", [])]
    if rule["effect"] == "ask" and not groups and not rule.get("tiers"):
        yield _finding(place, "NO_APPROVERS", "A rule that asks names who may approve: approvers.", lines)
    level = rule.get("level", "absolute")
    if "level" in rule and rule["effect"] != "deny":
        yield _finding(f"{place}/level", "LEVEL_UNUSED", "Only a rule that denies has a level.", lines)
    elif level == "overridable" and not groups:
        yield _finding(place, "NO_APPROVERS", "A rule that people may override names them: approvers.", lines)
    if rule["effect"] == "deny" and level != "overridable" and groups:
        yield _finding(f"{place}/approvers", "APPROVERS_UNUSED", "A rule that denies asks nobody.", lines)
    yield from _named_twice(groups, place, lines)
    yield from _hidden(rule, ("when", "message"), place, lines)
    for below, code, message in (*tier_findings(rule), *_terms_findings(rule)):
        yield _finding(f"{place}{below}", code, message, lines)
    for at, tier in enumerate(rule.get("tiers", [])):
        yield from _named_twice([one["group"] for one in tier["approvers"]], f"{place}/tiers/{at}", lines)
    if "when" in rule:
        try:
            compile_bool(rule["when"], POLICY_NAMES)
        except CelError as error:
            message = f"The condition of {rule['id']} cannot be used: {error.problem}."
            yield _finding(f"{place}/when", "EXPRESSION", message, lines)


def _terms_findings(rule: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(path below the rule, code, message) of what stands against the terms of a rule and of its tiers."""
    parts = [("", rule), *((f"/tiers/{at}", tier) for at, tier in enumerate(rule.get("tiers", [])))]
    for below, part in parts:
        asked = part.get("authentication", "session")
        if asked not in AUTHENTICATION_BUILT:
            message = f"authentication: {asked} cannot be asked for yet; calls would be decided with less. Use session."
            yield f"{below}/authentication", "AUTHENTICATION_UNAVAILABLE", message
        for at, text in enumerate(part.get("reasons", [])):
            if any(piece.kind == "escape" for piece in visible(text)):
                message = "This reason holds characters that people cannot see. Type it again."
                yield f"{below}/reasons/{at}", "HIDDEN_CHARACTER", message


def catalogue_findings(
    policy: Policy,
    *,
    tools: Mapping[str, Contract],
    groups: Mapping[str, int] | None = None,
    told: Mapping[str, int] | None = None,
) -> list[Finding]:
    """What stands against a policy in one tenant: tools that are not in its catalogue, conditions that name arguments
    or state a tool does not have (they would deny every call), groups that are unknown or smaller than the quorum
    asked of them (S8). `groups` maps a group's name to the number of its active members, `told` that of a group which
    is only told; None skips that part."""
    found: list[Finding] = []
    for index, rule in enumerate(policy.rules):
        place = f"/rules/{index}"
        contract = tools.get(rule.tool)
        if rule.tool != "*" and contract is None:
            found.append(Finding(f"{place}/tool", "TOOL_UNKNOWN", f"There is no tool {rule.tool} in the catalogue."))
        if contract is not None and rule.when:
            found.extend(Names(contract).condition(rule.when, f"{place}/when", POLICY_NAMES))
        if contract is not None and rule.tiers and not contract.money:
            message = f"{rule.tool} moves no money, so the last tier decides every call of it."
            found.append(Finding(f"{place}/tiers", "TIERS_WITHOUT_MONEY", message))
        asked = rule.asked() if groups is not None else ()
        for below, at, approver in ((below, at, one) for below, every in asked for at, one in enumerate(every)):
            members = (groups or {}).get(approver.group)
            if members is None:
                message = f"There is no group {approver.group}."
            elif members < approver.count:
                message = f"{approver.group} has {members} active members; {approver.count} are asked for."
            else:
                continue
            found.append(Finding(f"{place}{below}/{at}/group", "GROUP_TOO_SMALL", message))
        for group in rule.told() if told is not None else ():
            if not (told or {}).get(group):
                message = f"{group} has no active members, so an escalation would tell nobody."
                found.append(Finding(f"{place}/escalate_to", "GROUP_TOO_SMALL", message))
    return found


def _finding(path: str, code: str, message: str, lines: Mapping[str, int]) -> Finding:
    place = path
    while place and place not in lines:
        place = place.rpartition("/")[0]
    return Finding(path, code, message, lines.get(place, 0))
