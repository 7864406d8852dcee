"""One thin, safe door to Google's CEL (cel-expr-python): compile with types, evaluate with errors as errors.

The package returns an evaluation error as a *value* whose truth is true. Nothing here lets one out: a result is a
JSON value or a `CelError`, and a condition is `True` or `False` or a `CelError` (S63).
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from cel_expr_python import cel

from approvals.core.cel_cost import Shape, Size, over_bound, shape_of, size_of
from approvals.core.cel_text import CelTextError
from audit.core.jsondoor import SAFE_INTEGER, Json

_WHERE = re.compile(r"<input>:([0-9]+):([0-9]+): ([^\n]*)")
_STATUS = re.compile(r"^[A-Z_]+: ")
_RESULTS = frozenset({"BOOL", "INT", "DOUBLE", "STRING", "DYN"})
_MOMENTS = frozenset({"now"})
"""Variables that are a timestamp; every other one is an object."""

_BOOL = cel.Type.BOOL
_NOT_BOOL = "a condition must be true or false; this gave another value"


class CelError(Exception):
    """An expression that does not compile, or that gives no usable value. The message is a plain sentence."""

    def __init__(self, expression: str, problem: str, *, line: int = 0, column: int = 0) -> None:
        super().__init__(f"{problem} (in: {expression})")
        self.expression = expression
        self.problem = problem
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled expression. `boolean` says that the type checker has proved its result to be BOOL."""

    expression: str
    variables: tuple[str, ...]
    boolean: bool
    shape: Shape
    compiled: cel.Expression = field(repr=False, compare=False)


class Bindings:
    """Values for an expression's variables, each a JSON object, `now` a time; made once and used for many expressions.

    A variable that is None, such as the state of a tool that reads none, is an empty object, so that
    `has(state.left)` is false and `state.left` an error. A time that is None is not known: naming it is an error.
    """

    __slots__ = ("_activations", "_answers", "_size", "values")

    def __init__(self, values: Mapping[str, Mapping[str, Any] | datetime | None]) -> None:
        self.values: dict[str, Any] = {}
        for name, value in values.items():
            if name not in _MOMENTS:
                # Plain dicts, since the package takes no other mapping.
                self.values[name] = dict(value or {})  # type: ignore[arg-type]
            elif value is not None:
                self.values[name] = value
        self._size: Size | None = None
        self._activations: dict[tuple[str, ...], cel.Activation] = {}
        self._answers: dict[tuple[str, tuple[str, ...]], bool | CelError] = {}

    def activation(self, variables: tuple[str, ...]) -> cel.Activation:
        """The values as the package holds them, converted once for all expressions over the same variables: for a large
        object that costs more than most conditions do. Raises TypeError or ValueError for what JSON does not have."""
        found = self._activations.get(variables)
        if found is None:
            given = {name: self.values.get(name, {}) for name in variables if name not in _MOMENTS}
            given |= {name: self.values[name] for name in variables if name in _MOMENTS and name in self.values}
            found = self._activations[variables] = _environment(variables).Activation(given)
        return found

    def answer(self, program: Program) -> bool | CelError:
        """What a condition gives, asked of the package once: two policies that judge the same call share most of their
        conditions."""
        key = (program.expression, program.variables)
        found = self._answers.get(key)
        if found is None:
            try:
                value = _evaluate(program, self)
            except CelError as error:
                found = error
            else:
                found = value if isinstance(value, bool) else CelError(program.expression, _NOT_BOOL)
            self._answers[key] = found
        return found

    @property
    def size(self) -> Size:
        """Counted at first use: most expressions are cheap and never need it."""
        if self._size is None:
            self._size = size_of(self.values)
        return self._size


def compile_bool(expression: str, variables: Sequence[str]) -> Program:
    """Compile a condition over `variables` (each an object of unknown fields, `now` a time).

    Raises `CelError`, also when the type checker cannot prove the result to be true or false: write
    `args.gift == true`, not `args.gift`."""
    program = _compile(expression, tuple(variables))
    if not program.boolean:
        found = program.compiled.return_type().name()
        raise CelError(expression, f"a condition must be true or false; this gives {_type_word(found)}")
    return program


def compile_value(expression: str, variables: Sequence[str]) -> Program:
    """Compile an expression that gives a number, a text, true or false. Raises `CelError`."""
    program = _compile(expression, tuple(variables))
    found = program.compiled.return_type().name()
    if found not in _RESULTS:
        raise CelError(expression, f"a value must be a number, a text, true or false; this gives {_type_word(found)}")
    return program


def evaluate(program: Program, bindings: Bindings) -> Json:
    """The value of `program`: a JSON scalar, whole numbers as int. Raises `CelError` for everything else."""
    value = _evaluate(program, bindings)
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, float) and math.isfinite(value):
        if not value.is_integer():
            return value
        value = int(value)
    if isinstance(value, int) and -SAFE_INTEGER <= value <= SAFE_INTEGER:
        return value
    raise CelError(program.expression, "the result is not a number, a text, true or false that JSON can keep exactly")


def evaluate_bool(program: Program, bindings: Bindings) -> bool:
    """True or False. Raises `CelError` for an error value and for any result that is neither."""
    found = bindings.answer(program)
    if isinstance(found, CelError):
        raise found
    return found


def _evaluate(program: Program, bindings: Bindings) -> object:
    if not program.shape.cheap and (problem := over_bound(program.shape, bindings.size)):
        raise CelError(program.expression, problem)
    try:
        result = program.compiled.eval(activation=bindings.activation(program.variables))
    except (RuntimeError, TypeError, ValueError) as error:  # the last two for values that JSON does not have
        raise CelError(program.expression, _plain(str(error))) from None
    kind = result.type()
    if kind != _BOOL and (kind == cel.Type.ERROR or kind == cel.Type.UNKNOWN):
        raise CelError(program.expression, _plain(str(result.value())))
    return result.plain_value()


@lru_cache(maxsize=2_048)
def _compile(expression: str, variables: tuple[str, ...]) -> Program:
    if not expression.strip():
        raise CelError(expression, "the expression is empty")
    try:
        shape = shape_of(expression)
    except CelTextError as error:
        line = expression.count("\n", 0, error.position) + 1
        column = error.position - (expression.rfind("\n", 0, error.position) + 1) + 1
        raise CelError(expression, error.message, line=line, column=column) from None
    try:
        compiled = _environment(variables).compile(expression)
    except RuntimeError as error:
        where = _WHERE.search(str(error))
        if where is None:
            raise CelError(expression, _plain(str(error))) from None
        line, column, problem = int(where.group(1)), int(where.group(2)), where.group(3)
        raise CelError(expression, _plain(problem), line=max(line, 0), column=max(column, 0)) from None
    return Program(expression, variables, compiled.return_type() == cel.Type.BOOL, shape, compiled)


@lru_cache(maxsize=64)
def _environment(variables: tuple[str, ...]) -> cel.Env:
    an_object = cel.Type.Map(cel.Type.STRING, cel.Type.DYN)
    return cel.NewEnv(variables={name: cel.Type.TIMESTAMP if name in _MOMENTS else an_object for name in variables})


def _plain(problem: str) -> str:
    """The package's message as the second half of a sentence."""
    text = _STATUS.sub("", problem).removesuffix("[INTERNAL]").strip()
    if text.startswith("Key not found in map : "):
        return f"there is no {text.removeprefix('Key not found in map : ')} in the data"
    if text.startswith('No value with name "'):
        return f"{text.split('"')[1]} is not known here"
    if text.startswith("No matching overloads found : "):
        return f"the values do not fit the operation {text.removeprefix('No matching overloads found : ')}"
    text = text.removesuffix(" (in container '')")
    return text[:1].lower() + text[1:]


def _type_word(name: str) -> str:
    return "a value of a type that is only known when it is evaluated" if name == "DYN" else name.lower()
