"""Bounds on what an expression may cost, judged from its text when it is saved and from its data when it is evaluated.

What the CEL package bounds itself (tried): nesting of an expression at 32, and 10,000 steps of all comprehensions of
one evaluation together. What it does not bound, and what is bounded here:
- `map`, which can double its own result along a chain (`[x].map(a, a + a).map(b, b + b)…`): refused;
- work inside a comprehension that grows with the data (10,000 steps over a text of 1 MB): steps x size is bounded;
- regular expressions whose automaton is large ([ab]*a[ab]{900} took 4.6 s on 1 MB): literal patterns only, counted
  repetition at most 100 in product, size of the data bounded;
- searching one text of the data in another, which is quadratic.
An evaluation over its bound is an error, and an error denies (S63).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from approvals.core.cel_text import CelTextError, Token, literal, tokens

MAX_LENGTH = 2_000
"""Characters an expression may have."""
MAX_COMPREHENSIONS = 8
"""Uses of all, exists, exists_one and filter in one expression."""
MAX_NESTED = 2
"""Comprehensions inside one another."""
MAX_PATTERN = 200
"""Characters of a regular expression."""
MAX_REPEAT = 100
"""Product of the counted repetitions, {n} or {n,m}, of a regular expression."""
MAX_WORK = 32_000_000
"""Characters and items of data that an evaluation may touch, counted at the worst."""
MAX_MATCHED = 100_000_000
"""Characters of data that `matches` may run over, times the size of the pattern with its repetitions written out.
The automaton took 5 ns for each at the worst, so this is half a second."""

_STEPS = 10_000  # the package's own bound for all comprehensions of one evaluation
_COMPREHENSIONS = frozenset({"all", "exists", "exists_one", "filter"})
_SEARCHES = frozenset({"contains"})
_FUNCTIONS = (
    _COMPREHENSIONS
    | _SEARCHES
    | {"has", "size", "startsWith", "endsWith", "matches", "int", "double", "string", "bool", "type", "dyn"}
    | {"timestamp", "duration", "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear"}
    | {"getHours", "getMinutes", "getSeconds", "getMilliseconds"}
)
_REPEAT = re.compile(r"\{([0-9]+)(?:,([0-9]*))?\}")


@dataclass(frozen=True, slots=True)
class Shape:
    """What of an expression's text decides its cost."""

    nested: int
    comprehensions: int
    additions: int
    literal_items: int
    pattern_size: int
    searches: int

    @property
    def cheap(self) -> bool:
        """True if the cost is no more than one look at the data, so that its size need not be counted."""
        return not (self.comprehensions or self.additions or self.pattern_size or self.searches)


def shape_of(expression: str) -> Shape:
    """Read the text's shape. Raises `CelTextError` for what is over a bound or not among our functions."""
    if len(expression) > MAX_LENGTH:
        raise CelTextError(f"the expression has {len(expression):,} characters; at most {MAX_LENGTH:,}", MAX_LENGTH)
    parts = tokens(expression)
    calls: list[str] = []  # what stands before each open bracket, innermost last
    nested = comprehensions = pattern_size = searches = 0
    for at, token in enumerate(parts):
        before = parts[at - 1] if at else None
        if token.text in ("(", "[", "{"):
            called = before.text if token.text == "(" and before is not None and before.kind == "name" else ""
            if called == "in":
                called = ""
            if token.text == "{" and before is not None and before.kind == "name" and before.text != "in":
                raise CelTextError(f"{before.text} {{…}} is not used here", token.start)
            if called:
                _check_function(called, token)
            calls.append(called)
            if called in _COMPREHENSIONS:
                comprehensions += 1
                nested = max(nested, sum(call in _COMPREHENSIONS for call in calls))
            elif called == "matches":
                pattern_size += _pattern_size(parts, at)
            elif called in _SEARCHES and not _is_literal_argument(parts, at):
                searches += 1
        elif token.text in (")", "]", "}") and calls:
            calls.pop()
    if nested > MAX_NESTED:
        raise CelTextError(f"all, exists and filter stand {nested} deep in one another; at most {MAX_NESTED}", 0)
    if comprehensions > MAX_COMPREHENSIONS:
        raise CelTextError(f"{comprehensions} uses of all, exists and filter; at most {MAX_COMPREHENSIONS}", 0)
    signs = [token.text for token in parts]
    return Shape(nested, comprehensions, signs.count("+"), signs.count(","), pattern_size, searches)


def _check_function(name: str, token: Token) -> None:
    if name == "map":
        raise CelTextError("map is not used here, since its result can grow without bound; use exists or all", 0)
    if name not in _FUNCTIONS:
        raise CelTextError(f"there is no function {name} here", token.start - len(name))


def _is_literal_argument(parts: list[Token], at: int) -> bool:
    """True if the bracket at `at` holds exactly one text."""
    return at + 2 < len(parts) and parts[at + 1].kind == "text" and parts[at + 2].text == ")"


def _pattern_size(parts: list[Token], at: int) -> int:
    """The size of the pattern whose bracket stands at `at`, with repetitions written out."""
    if not (_is_literal_argument(parts, at) and at >= 2 and parts[at - 2].text == "."):
        raise CelTextError("write matches as value.matches('pattern'), with the pattern in quotes", parts[at].start)
    pattern = literal(parts[at + 1])
    if len(pattern) > MAX_PATTERN:
        raise CelTextError(f"the pattern has {len(pattern)} characters; at most {MAX_PATTERN}", parts[at].start)
    product = 1
    for low, high in _REPEAT.findall(pattern):
        product *= max(int(low[:6]), int(high[:6] or 0), 1)
    if product > MAX_REPEAT:
        raise CelTextError(f"the pattern's repetitions multiply to {product:,}; at most {MAX_REPEAT}", parts[at].start)
    return (len(pattern) + 1) * product


@dataclass(frozen=True, slots=True)
class Size:
    """How much data there is: `units` counts characters and items, `longest` the items of the longest container."""

    units: int
    longest: int


def size_of(values: Mapping[str, object]) -> Size:
    """Count the data without recursion."""
    units = longest = 0
    left: list[object] = list(values.values())
    while left:
        value = left.pop()
        units += 1
        if isinstance(value, str):
            units += len(value)
        elif isinstance(value, Mapping):
            longest = max(longest, len(value))
            units += sum(map(len, value))
            left.extend(value.values())
        elif isinstance(value, list):
            longest = max(longest, len(value))
            left.extend(value)
    return Size(units, longest)


def over_bound(shape: Shape, size: Size) -> str:
    """ "" if an evaluation stays within its bounds, else a sentence saying which it would break."""
    items = size.longest * (1 + shape.additions) + shape.literal_items + 1
    steps = min(_STEPS, shape.comprehensions * items ** max(shape.nested, 1))
    visits = 1 + steps
    work = size.units * (visits * (1 + shape.additions) + shape.additions)
    work += visits * shape.searches * size.units * size.units // 1_000
    if work > MAX_WORK:
        return f"the data is too large for this expression ({size.units:,} characters and items, {steps:,} steps)"
    if visits * shape.pattern_size * size.units > MAX_MATCHED:
        return f"the data is too large for matches ({size.units:,} characters and items, {steps:,} steps)"
    return ""
