"""Test cases that stand in a policy: a call, what is known about it, and what the policy must say of it (A8).

They are part of the document, so they are versioned with the rules they guard. `approvals.core.policy_trial` runs them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from approvals.core.contract_types import Finding
from audit.core.jsondoor import Json
from audit.core.visible import visible

MAX_CASES = 200


@dataclass(frozen=True, slots=True)
class Expected:
    """What a case must give. `rule` "" is any rule; `approvers` None is anybody, else exactly these groups."""

    effect: Literal["allow", "ask", "deny"]
    rule: str
    approvers: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Case:
    """One call with its surroundings. `arguments` are as an agent sends them: validation and defaults come on top.
    `now` None means that no time is known, as for a condition that does not ask for it."""

    name: str
    tool: str
    arguments: Mapping[str, Json]
    state: Mapping[str, Json] | None
    principal: Mapping[str, Json]
    run: Mapping[str, Json]
    exposure: Mapping[str, Any]
    now: datetime | None
    expect: Expected


def cases_of(document: Mapping[str, Any]) -> tuple[Case, ...]:
    """The cases of a document that its schema and `case_findings` have nothing against."""
    return tuple(_case(case) for case in document.get("tests", []))


def _case(case: Mapping[str, Any]) -> Case:
    expect = case["expect"]
    groups = expect.get("approvers")
    return Case(
        name=case["name"],
        tool=case["tool"],
        arguments=case.get("arguments", {}),
        state=case.get("state"),
        principal=case.get("principal", {}),
        run=case.get("run", {}),
        exposure=case.get("exposure", {}),
        now=datetime.fromisoformat(case["now"]) if "now" in case else None,
        expect=Expected(expect["effect"], expect.get("rule", ""), None if groups is None else tuple(groups)),
    )


def case_findings(document: Mapping[str, Any]) -> Iterator[Finding]:
    """What the schema cannot say of the cases: names that are there twice or hide something, times without a zone,
    people expected of a call that nobody is asked about. Without lines: the caller knows where places stand."""
    seen: dict[str, int] = {}
    for index, case in enumerate(document.get("tests", [])):
        place = f"/tests/{index}"
        name = case["name"]
        if name in seen:
            yield Finding(f"{place}/name", "DUPLICATE_TEST", f"Test {seen[name] + 1} is called {name} too.")
        seen.setdefault(name, index)
        hidden = next((piece for piece in visible(name, multiline=False) if piece.kind == "escape"), None)
        if hidden is not None:
            message = f"This name holds {hidden.text} {hidden.note}, which people cannot see. Remove it."
            yield Finding(f"{place}/name", "HIDDEN_CHARACTER", message)
        if "now" in case and not _is_moment(case["now"]):
            message = "Write the moment with its zone, such as 2026-12-24T18:00:00+11:00."
            yield Finding(f"{place}/now", "NO_MOMENT", message)
        if "approvers" in case["expect"] and case["expect"]["effect"] != "ask":
            message = "Nobody is asked where the effect is not ask: leave approvers out."
            yield Finding(f"{place}/expect/approvers", "APPROVERS_UNUSED", message)


def _is_moment(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
