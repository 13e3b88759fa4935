r"""Intrinsic functions: `States.Format('Hello {}', $.name)`, parsed once, with the kinds of their arguments.

An argument is a path, a text in single quotes, a number, true, false, null, or a call. In a text, `\'`,
`\\`, `\{` and `\}` stand for the second character; any other backslash is refused (recorded on AWS).
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from ....errors import ExpressionError
from ....expressions.bounds import Budget, BudgetExceededError
from ....expressions.nodes import MISSING, Missing
from ....freezing import changed, frozen
from ....values import measured
from ..state_errors import RUNTIME, StatesError
from .functions import FUNCTIONS, FunctionError
from .paths import MAX_VISITS, NoArrayError, Path, PathNotFoundError, too_much
from .reading import Reader
from .texts import MAX_TEXT, json_text

if TYPE_CHECKING:
    from ....values import JSON
    from .functions import Chance
    from .paths import Scope

MAX_EXPRESSION = 10_000  # characters of one expression, by AWS' documentation
MAX_CALLS = 10  # calls inside each other, by AWS' documentation
BYTES = 64  # of its arguments cost a call as much as one visit of a path

# What these do takes no longer for larger arguments.
_CHEAP = {f"States.{name}" for name in ("Array", "ArrayGetItem", "ArrayLength", "MathAdd", "UUID")}
_FUNCTION = re.compile(r"States\.[A-Za-z0-9]+")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?(?![\w.])")
_WORD = re.compile(r"[A-Za-z]+")
_TEXT = re.compile(r"'((?:[^'\\]|\\['\\{}])*)'")
_ESCAPE = re.compile(r"\\(['\\{}])")
_PATH = re.compile(r"(?:\(\)|[^\s,()\[\]'\"])*")
_INSIDE = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^'\"\[\]]+|", re.DOTALL)
_WORDS = {"true": True, "false": False, "null": None}


@frozen
class Literal:
    """A value; `escaped` is a text as it is written, with escaped braces still marked."""

    value: JSON
    escaped: str | None = None


@frozen
class Call:
    """A function and its arguments; `at` is its place in the expression, from 0."""

    name: str
    arguments: tuple[Argument, ...]
    at: int


Argument: TypeAlias = Path | Literal | Call


class Intrinsic:
    """One compiled expression. `Intrinsic.compile` caches: equal texts share one."""

    __slots__ = ("call", "text")

    def __init__(self, text: str) -> None:
        reader = Reader("intrinsic function", text)
        if len(text) > MAX_EXPRESSION:
            reader.fail(f"an expression has at most {MAX_EXPRESSION} characters: too many, counted")
        self.text = text
        self.call = _call(reader, 1)
        if not reader.ended:
            reader.fail("expected the end")

    def __repr__(self) -> str:
        return f"Intrinsic({self.text!r})"

    @staticmethod
    def compile(text: JSON) -> Intrinsic:
        """The expression that `text` spells.

        Raises:
            ExpressionError: the text is not a call; it has the place of the mistake.
        """
        if type(text) is not str:
            raise ExpressionError(f"an intrinsic function must be a string, not {text!r:.100}")
        return _compiled(text)

    def evaluate(self, scope: Scope, chance: Chance) -> JSON:
        """The value of the expression.

        Raises:
            StatesError: States.Runtime if an argument's path finds nothing; States.IntrinsicFailure
                if a function refuses its arguments; States.DataLimitExceeded for too large a text.
        """
        try:
            budget = scope.budget or Budget(MAX_VISITS)
            return self._value(self.call, changed(scope, budget=budget), budget, chance)
        except FunctionError as error:
            raise self._error("States.IntrinsicFailure", str(error)) from error
        except NoArrayError as error:
            raise self._error(RUNTIME, str(error)) from error
        except BudgetExceededError as error:
            raise too_much(f"The function '{self.text:.200}'") from error

    def _value(self, argument: Argument, scope: Scope, budget: Budget, chance: Chance) -> JSON:
        if isinstance(argument, Literal):
            return argument.value
        if isinstance(argument, Path):
            return self._found(argument, scope)
        values = [self._value(inner, scope, budget, chance) for inner in argument.arguments]
        first = argument.arguments[0] if argument.arguments else None
        if (
            argument.name == "States.Format"
            and isinstance(first, Literal)
            and first.escaped is not None
        ):
            values[0] = first.escaped
        cheap = argument.name in _CHEAP
        budget.spend(1 if cheap else 1 + measured(values, MAX_TEXT) // BYTES)
        return FUNCTIONS[argument.name](values, chance)

    def _found(self, path: Path, scope: Scope) -> JSON:
        found: JSON | Missing = MISSING
        with suppress(PathNotFoundError):
            found = path.find(scope)
        if isinstance(found, Missing):
            raise self._error(
                RUNTIME,
                f"The JsonPath argument for the field '{path.inner}' could not be found in the input "
                f"'{json_text(scope.input)}'",
            )
        return found

    def _error(self, name: str, why: str) -> StatesError:
        return StatesError(name, f"The function '{self.text}' had the following error: {why}")


_compiled = lru_cache(maxsize=4096)(Intrinsic)


def _call(reader: Reader, level: int) -> Call:
    at = reader.at
    name = reader.take(_FUNCTION)
    if name not in FUNCTIONS:
        reader.at = at
        reader.fail(f"there is no function {name!r}" if name else "expected a function")
    if level > MAX_CALLS:
        reader.fail(f"calls nest more than {MAX_CALLS} deep")
    reader.expects("(")
    reader.skip_space()
    arguments: list[Argument] = []
    while not reader.accepts(")"):
        if arguments:
            reader.expects(",")
            reader.skip_space()
        arguments.append(_argument(reader, level))
        reader.skip_space()
    return Call(name, tuple(arguments), at)


def _argument(reader: Reader, level: int) -> Argument:
    if reader.sees("$"):
        return _path(reader)
    if reader.sees("'"):
        return _text(reader)
    if reader.sees("States."):
        return _call(reader, level + 1)
    if number := reader.take(_NUMBER):
        return Literal(json.loads(number))
    word = reader.take(_WORD)
    if word not in _WORDS:
        reader.fail(
            "expected a path, a text in single quotes, a number, true, false, null or a call"
        )
    return Literal(_WORDS[word])


def _text(reader: Reader) -> Literal:
    quoted = reader.take(_TEXT)
    if not quoted:
        reader.fail(r"a text must end with ' and may only have the escapes \' \\ \{ \}:")
    escaped = quoted[1:-1]
    return Literal(_ESCAPE.sub(r"\1", escaped), escaped)


def _path(reader: Reader) -> Path:
    start = reader.at
    while reader.take(_PATH) or reader.sees("["):
        if reader.sees("["):
            _skip_brackets(reader)
    try:
        return Path.compile(reader.text[start : reader.at])
    except ExpressionError as error:
        reader.at = start
        raise ExpressionError(f"{error}, in the intrinsic function {reader.text!r:.200}") from error


def _skip_brackets(reader: Reader) -> None:
    """Skips from `[` to its `]`; brackets in quotes do not count."""
    level = 0
    while True:
        if reader.accepts("["):
            level += 1
        elif reader.accepts("]"):
            level -= 1
            if not level:
                return
        elif not reader.take(_INSIDE):
            reader.fail("expected ']'")
