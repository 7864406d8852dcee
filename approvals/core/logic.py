"""What can be proven of a condition from its text alone: that it is always true, or never.

Only simple comparisons of one value with constants are looked at, joined by && and ||; whatever else stands there
proves nothing. So nothing is said of a condition that is not so.
"""

from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache

from approvals.core.cel import Bindings, CelError, compile_bool, evaluate_bool
from approvals.core.cel_text import CelTextError, Token, literal, references, split_parts, tokens
from approvals.core.policy_names import POLICY_NAMES

type Constant = tuple[str, str | bool | Decimal]
"""Its kind (text, truth, number) and its value: values of two kinds are never equal."""

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_ROOTS = frozenset(POLICY_NAMES)
_DEPTH = 8


@lru_cache(maxsize=2_048)
def always(expression: str) -> bool:
    """True if the condition is true whatever the values are."""
    return _constant(expression) is True


@lru_cache(maxsize=2_048)
def never(expression: str) -> str:
    """Why the condition can never be true, as the second half of a sentence; "" where that is not proven."""
    try:
        return _never(expression, _DEPTH)
    except CelTextError:
        return ""


def _never(expression: str, depth: int) -> str:
    joined, parts = split_parts(expression)
    if depth == 0:
        return ""
    if joined == "any":
        reasons = [_never(part, depth - 1) for part in parts]
        return "; ".join(dict.fromkeys(reasons)) if all(reasons) else ""
    if joined == "one":
        return f"{expression.strip()} is false" if _constant(parts[0]) is False else ""
    values: dict[tuple[str, ...], _Range] = {}
    for part in _flat(parts, depth):
        if because := _never(part, depth - 1):
            return because
        compared = _comparison(part)
        if compared is None:
            continue
        path, sign, constant = compared
        seen = values.setdefault(path, _Range())
        seen.take(sign, constant, " ".join(part.split()))
        if seen.empty:
            return f"{' and '.join(seen.parts)} exclude each other"
    return ""


def _flat(parts: list[str], depth: int) -> list[str]:
    """The parts with brackets around further && undone."""
    found: list[str] = []
    for part in parts:
        joined, inner = split_parts(part)
        found.extend(_flat(inner, depth - 1) if joined == "all" and depth > 0 else [part])
    return found


def _constant(expression: str) -> bool | None:
    """The value of a condition that names nothing; None where it names something or cannot be judged."""
    try:
        if any(token.kind == "name" and token.text not in ("true", "false") for token in tokens(expression)):
            return None
        return evaluate_bool(compile_bool(expression, ()), Bindings({}))
    except (CelError, CelTextError):
        return None


def _comparison(part: str) -> tuple[tuple[str, ...], str, Constant] | None:
    """`args.amount > 5` as (path, sign, constant), the value always on the left; None for anything else."""
    found = tokens(part)
    named = references(found, _ROOTS)
    if len(named) != 1 or len(named[0].path) < 2:
        return None
    left = [token for token in found if token.end <= named[0].start]
    right = [token for token in found if token.start >= named[0].end]
    if not left and right and right[0].text in _MIRRORED:
        constant = _literal(right[1:])
        return None if constant is None else (named[0].path, right[0].text, constant)
    if not right and left and left[-1].text in _MIRRORED:
        constant = _literal(left[:-1])
        return None if constant is None else (named[0].path, _MIRRORED[left[-1].text], constant)
    return None


def _literal(found: list[Token]) -> Constant | None:
    if len(found) == 1 and found[0].kind == "text":
        return "text", literal(found[0])
    if len(found) == 1 and found[0].text in ("true", "false"):
        return "truth", found[0].text == "true"
    minus = len(found) == 2 and found[0].text == "-"
    if (minus or len(found) == 1) and found[-1].kind == "number":
        digits = found[-1].text
        if digits[-1] in "uU" or digits[:2] in ("0x", "0X"):
            return None
        return "number", -Decimal(digits) if minus else Decimal(digits)
    return None


@dataclass(slots=True)
class _Range:
    """What one value may still be after some comparisons, each of which must hold."""

    equal: Constant | None = None
    other: list[Constant] = field(default_factory=list)
    low: tuple[Decimal, bool] | None = None
    high: tuple[Decimal, bool] | None = None
    parts: list[str] = field(default_factory=list)
    empty: bool = False

    def take(self, sign: str, constant: Constant, part: str) -> None:
        """One more comparison."""
        self.parts.append(part)
        kind, value = constant
        if sign == "==":
            self.empty = self.empty or (self.equal is not None and self.equal != constant)
            self.equal = constant
        elif sign == "!=":
            self.other.append(constant)
        elif kind == "number" and isinstance(value, Decimal):
            self._bound(sign, value)
        self.empty = self.empty or self._excluded()

    def _bound(self, sign: str, value: Decimal) -> None:
        open_end = sign in ("<", ">")
        if sign in (">", ">="):
            if self.low is None or (value, open_end) > self.low:
                self.low = (value, open_end)
        elif self.high is None or value < self.high[0] or (value == self.high[0] and open_end):
            self.high = (value, open_end)

    def _excluded(self) -> bool:
        if self.equal is not None:
            if self.equal in self.other:
                return True
            if isinstance(self.equal[1], Decimal):
                return not self._inside(self.equal[1])
        if self.low is None or self.high is None:
            return False
        return self.low[0] > self.high[0] or (self.low[0] == self.high[0] and (self.low[1] or self.high[1]))

    def _inside(self, value: Decimal) -> bool:
        above = self.low is None or value > self.low[0] or (value == self.low[0] and not self.low[1])
        below = self.high is None or value < self.high[0] or (value == self.high[0] and not self.high[1])
        return above and below
