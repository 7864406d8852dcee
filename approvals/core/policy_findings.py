"""What stands against a policy document by itself: its shape, its words, its conditions (A8, S8). Each refuses it."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import jsonschema_rs

from approvals.core.cel import CelError, compile_bool
from approvals.core.contract_types import Finding
from approvals.core.inside import place_inside
from approvals.core.money import exponent
from approvals.core.policy_cases import case_findings
from approvals.core.policy_names import POLICY_NAMES
from approvals.core.policy_types import moment
from approvals.core.schemas import load
from approvals.core.tiers import tier_findings
from approvals.core.yaml_door import Lines
from audit.core.jsondoor import Json
from audit.core.pointers import pointer
from audit.core.visible import visible

POLICY_SCHEMA: dict[str, Any] = load("policy")
"""The published JSON Schema of the document."""

MAX_FINDINGS = 200
MAX_GROUPS = 20
"""Groups that one call may be asked of: lists of what waits keep them in an index."""
_LONGEST = 300
_PIECE, _AROUND = 500, 16  # characters of a line that are looked at together
_DOCUMENT = jsonschema_rs.Draft202012Validator(POLICY_SCHEMA)


def placed(finding: Finding, lines: Lines) -> Finding:
    """The finding with the line and column of the character that it is about; where that is not exactly known, or it is
    about all that stands there, of its place, or of the nearest place around it that is known."""
    place = finding.path
    start = lines.starts.get(place)
    if finding.inside is not None and start is not None:
        at = place_inside(lines.text, start, *finding.inside)
        if at is not None:
            line = lines[place] + lines.text.count("\n", start, at)
            return replace(finding, line=line, column=at - lines.text.rfind("\n", 0, at))
    while place and place not in lines:
        place = place.rpartition("/")[0]
    return replace(finding, line=lines.get(place, 0), column=lines.columns.get(place, 0))


def source_findings(source: str) -> Iterator[Finding]:
    """Characters that people cannot see, anywhere in the text: a comment misleads whoever reviews it, too (S12)."""
    if source.isascii():
        return
    for number, line in enumerate(source.split("\n"), 1):
        found = None if line.isascii() else _first_hidden(line.removesuffix("\r"))
        if found is not None:
            column, what = found
            message = f"This line holds {what}, which people cannot see. Remove it."
            yield Finding("", "HIDDEN_CHARACTER", message, number, column)


def _first_hidden(line: str) -> tuple[int, str] | None:
    """The column of the first character that does not show, and what it is. Piece by piece, since a line may be long
    and the first one is enough; with what stands around each piece, since an emoji is made of several."""
    for start in range(0, len(line), _PIECE):
        before = max(start - _AROUND, 0)
        part = line[before : start + _PIECE + _AROUND]
        at = before
        for piece in () if part.isascii() else visible(part):
            if piece.kind == "escape" and start <= at < start + _PIECE:
                return at + 1, f"{piece.text} {piece.note}".strip()
            at += 1 if piece.kind == "escape" else len(piece.text)
    return None


def policy_findings(document: Json, lines: Lines) -> Iterator[Finding]:
    """Everything against a policy document by itself; `lines` is where its places stand, as far as that is known."""
    shape = [
        _finding(pointer(list(error.instance_path)), "POLICY_SHAPE", _shape_message(error), lines)
        for error in islice(_DOCUMENT.iter_errors(document), MAX_FINDINGS)
    ]
    if shape or not isinstance(document, dict):
        yield from shape
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
    yield from _too_many_groups(given, lines)
    for found in case_findings(document):
        yield _finding(found.path, found.code, found.message, lines)


def _freeze_findings(freeze: dict[str, Any], place: str, lines: Lines) -> Iterator[Finding]:
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


def _limit_findings(limit: dict[str, Any], place: str, lines: Lines) -> Iterator[Finding]:
    groups = [approver["group"] for approver in limit.get("approvers", [])]
    if limit["over"] == "ask" and not groups:
        yield _finding(place, "NO_APPROVERS", "A limit that asks names who may approve: approvers.", lines)
    if limit["over"] == "deny" and groups:
        yield _finding(f"{place}/approvers", "APPROVERS_UNUSED", "A limit that denies asks nobody.", lines)
    yield from _named_twice(groups, place, lines)
    for currency in limit.get("amount", {}):
        if exponent(currency) is None:
            yield _finding(f"{place}/amount/{currency}", "CURRENCY_UNKNOWN", f"There is no currency {currency}.", lines)
    if "amount" not in limit and "calls" not in limit:
        yield _finding(place, "LIMIT_EMPTY", "A limit says how much: amount, calls, or both.", lines)
    if limit["window"] == "call" and "calls" in limit:
        yield _finding(f"{place}/calls", "CALLS_UNUSED", "One call is one call; calls belong to a window.", lines)
    yield from _hidden(limit, ("message",), place, lines)


def _named_twice(groups: list[str], place: str, lines: Lines) -> Iterator[Finding]:
    for at, group in enumerate(groups):
        if group in groups[:at]:
            yield _finding(f"{place}/approvers/{at}/group", "DUPLICATE_GROUP", f"{group} is named twice.", lines)


def _hidden(item: dict[str, Any], names: tuple[str, ...], place: str, lines: Lines) -> Iterator[Finding]:
    for name in names:
        hidden = next((piece for piece in visible(item.get(name, "")) if piece.kind == "escape"), None)
        if hidden is not None:
            message = f"This text holds {hidden.text} {hidden.note}, which people cannot see. Remove it."
            yield _finding(f"{place}/{name}", "HIDDEN_CHARACTER", message, lines)


def _rule_findings(rule: dict[str, Any], place: str, lines: Lines) -> Iterator[Finding]:
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
            where = f", at character {error.column}" if error.column and error.line == 1 else ""
            if error.column and error.line > 1:
                where = f", at character {error.column} of its line {error.line}"
            message = f"The condition of {rule['id']} cannot be used: {error.problem}{where}."
            yield placed(Finding(f"{place}/when", "EXPRESSION", message, inside=_about(rule["when"], error)), lines)


def _about(when: str, error: CelError) -> tuple[str, int] | None:
    """The character that an error is about, as `Finding.inside` has it; None for one about all of the condition."""
    if not error.column:
        return None
    before = sum(len(line) + 1 for line in when.split("\n")[: error.line - 1])
    return when, before + error.column - 1


def _terms_findings(rule: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(path below the rule, code, message) of what stands against the terms of a rule and of its tiers."""
    parts = [("", rule), *((f"/tiers/{at}", tier) for at, tier in enumerate(rule.get("tiers", [])))]
    for below, part in parts:
        for at, text in enumerate(part.get("reasons", [])):
            if any(piece.kind == "escape" for piece in visible(text)):
                message = "This reason holds characters that people cannot see. Type it again."
                yield f"{below}/reasons/{at}", "HIDDEN_CHARACTER", message


def _finding(path: str, code: str, message: str, lines: Lines) -> Finding:
    return placed(Finding(path, code, message), lines)


def _shape_message(error: jsonschema_rs.ValidationError) -> str:
    limit = getattr(error.kind, "limit", None)
    if limit is not None and error.kind.name in ("maxItems", "maxProperties", "maxLength"):
        # The package's words repeat all of it.
        what = {"maxItems": "items", "maxProperties": "members", "maxLength": "characters"}[error.kind.name]
        return f"There are more than {limit:,} {what} here."
    message = str(error.message)
    return f"{message}." if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"


def _too_many_groups(document: dict[str, Any], lines: Lines) -> Iterator[Finding]:
    """A call is asked of a rule's groups and of those of every limit that it passes."""
    rules = [(rule.get("approvers", []), *(tier["approvers"] for tier in rule.get("tiers", [])))
             for rule in document["rules"]]  # fmt: skip
    widest = max((len(approvers) for parts in rules for approvers in parts), default=0)
    added: dict[str, set[str]] = {}
    for index, limit in enumerate(document.get("limits", [])):
        groups = added.setdefault(limit["tool"], set())
        groups.update(approver["group"] for approver in limit.get("approvers", []))
        if widest + len(groups) > MAX_GROUPS:
            message = f"With a rule's own groups, limits of {limit['tool']} may ask more than {MAX_GROUPS} groups."
            yield _finding(f"/limits/{index}/approvers", "TOO_MANY_GROUPS", message, lines)
