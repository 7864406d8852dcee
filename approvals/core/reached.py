"""The rules of a policy that have to be looked at one by one for a call: those that are not false together.

Most rules of a long policy do not hold for a call. `a || b || …` is false in CEL only if each part is false and none
errs, so one evaluation sets a whole row of them aside; where it is anything else, each is asked by itself as ever.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from approvals.core.cel import Bindings, CelError, Program, compile_bool
from approvals.core.policy_document import Policy, Rule
from approvals.core.policy_names import POLICY_NAMES

TOGETHER = 16
"""So many conditions are asked in one: more of them and a call that one of them holds for costs too much twice."""
AT_LEAST = 4
OFTEN = 20
"""Only a policy that has judged so many calls of a tool is worth it: to compile costs as much as a hundred calls.
Then one row is compiled at each call, so that no call waits for all of them."""


@dataclass(frozen=True, slots=True)
class _Of:
    """A policy's rules for one tool, told apart by the document's digest."""

    digest: str
    tool: str
    policy: Policy = field(compare=False, repr=False)


@dataclass(slots=True)
class _Row:
    """Rules behind each other. `together` is None where they cannot be asked in one, or were not compiled yet."""

    rules: tuple[Rule, ...]
    compiled: bool
    together: Program | None = None


@dataclass(slots=True)
class _Rows:
    rows: tuple[_Row, ...]
    asked: int = 0


def rules_reached(policy: Policy, tool: str, bindings: Bindings) -> Iterator[Rule]:
    """The rules for `tool` in their order, without some of those whose condition is false for these values."""
    found = _rows(_Of(policy.digest, tool, policy))
    found.asked += 1
    may_compile = found.asked > OFTEN
    for row in found.rows:
        if may_compile and not row.compiled:
            row.together, row.compiled, may_compile = _together(row.rules), True, False
        if row.together is None or bindings.answer(row.together) is not False:
            yield from row.rules


@lru_cache(maxsize=512)
def _rows(of: _Of) -> _Rows:
    rows: list[_Row] = []
    row: list[Rule] = []

    def end() -> None:
        if row:
            rows.append(_Row(tuple(row), compiled=len(row) < AT_LEAST))
            row.clear()

    for rule in of.policy.rules:
        if rule.tool not in ("*", of.tool):
            continue
        if rule.program is None or not rule.program.shape.cheap:
            end()
            rows.append(_Row((rule,), compiled=True))
            continue
        row.append(rule)
        if len(row) == TOGETHER:
            end()
    end()
    return _Rows(tuple(rows))


def _together(rules: tuple[Rule, ...]) -> Program | None:
    try:
        found = compile_bool(" || ".join(f"({rule.when}\n)" for rule in rules), POLICY_NAMES)
    except CelError:
        return None
    return found if found.shape.cheap else None
