"""An expression: compiled once, then evaluated on states and variables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NoReturn, final

from .bounds import EXHAUSTED, MAX_STEPS, MAX_TEXT, READ, SEEN, OverlongError, QueryError
from .evaluator import Evaluator
from .library import Node, Parser
from .messages import fault, told
from .missing import MISSING
from .paths import plain_path
from .regexes import Regex
from .sizes import json_size
from .values import with_nulls, without_nulls

STATES: Final = "states"
SHORT: Final = 512  # characters
LATER: Final = {"??": "?", "?:": ":"}
_MEMBERS: Final = re.compile(r"\$states(?!\w)(?:\s*\.\s*(\w+))?")
_NAMES: Final = re.compile(r"\$(\w+)")
_NONE: Final[dict[str, Any]] = {}


@final
@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression. `path`, of a plain path only: a variable's name, then names of members."""

    text: str
    tree: Node
    path: tuple[str, ...] | None
    names: frozenset[str]
    members: frozenset[str] | None

    @staticmethod
    def compile(text: str) -> Expression:
        """An expression as JSONata 2.0.6 reads it; the same text is compiled once.

        Raises:
            QueryError: its code, such as S0201, its text and its position, if it is not an expression.
        """
        return (_short if len(text) <= SHORT else _long)(text)


@final
class Bindings:
    """The data that expressions see: `$states`, variables, the time, and chance.

    `chance` draws a number of [0, 1). All expressions together may take `steps`, and have taken
    `spent`. `at_once` is the number of steps that they may take now, None for all. `limit` is the bound in the
    text of the error, if it has one. Values are shared, never changed; they are converted once for all
    expressions that need them.
    """

    def __init__(  # noqa: PLR0913  what they see has as many parts
        self,
        *,
        states: Mapping[str, Any],
        variables: Mapping[str, Any] = _NONE,
        chance: Callable[[], float],
        now_ms: int,
        steps: int = MAX_STEPS,
        at_once: int | None = None,
        limit: int | None = None,
    ) -> None:
        self.states = states
        self.variables = variables
        self.chance = chance
        self.now_ms = now_ms
        self.steps = steps
        self.at_once = at_once
        self.limit = limit
        self.spent = 0
        self._ready: dict[tuple[str, ...], Any] = {}

    def root(self, name: str) -> Any:
        """A variable's JSON value, MISSING if there is none."""
        return self.states if name == STATES else self.variables.get(name, MISSING)

    def named(self, expression: Expression) -> dict[str, Any]:
        """The variables that an expression names, as it needs them."""
        made = {
            name: self._made((name,), self.variables[name])
            for name in expression.names
            if name in self.variables
        }
        if STATES in expression.names:
            made[STATES] = {
                name: self._made((STATES, name), value)
                for name, value in self.states.items()
                if expression.members is None or name in expression.members
            }
        return made

    def look(self, value: Any) -> None:
        """Checks that a copy of a value is within the steps that may be taken now.

        Raises:
            OverlongError: the copy takes more.
        """
        if self.at_once is not None:
            room = SEEN * max(0, self.at_once - self.spent)
            if json_size(value, room) > room:
                raise OverlongError

    def _made(self, key: tuple[str, ...], value: Any) -> Any:
        if key not in self._ready:
            self.look(value)
            self._ready[key] = with_nulls(value)
        return self._ready[key]


def evaluate(expression: Expression, bindings: Bindings) -> Any:
    """The expression's value as plain JSON; MISSING if it is undefined.

    Raises:
        QueryError: it fails, with JSONata's code and text, or exceeds a bound of `bounds`.
        OverlongError: it takes more steps than it may take now.
    """
    if expression.path is not None:
        found = _walked(expression.path, bindings)
        if found is MISSING:
            return found
        if found is not _walked:
            bindings.look(found)
            return without_nulls(found)
    left = max(0, bindings.steps - bindings.spent)
    at_once = None if bindings.at_once is None else bindings.at_once - bindings.spent
    evaluator = Evaluator(bindings.chance, bindings.now_ms, left, at_once)
    try:
        value = evaluator.run(expression.tree, bindings.named(expression))
        bindings.look(value)
        evaluator.budget.spend(evaluator.budget.written(value) // READ)
        return MISSING if value is None else without_nulls(value)
    except OverlongError:
        raise
    except Exception as error:  # noqa: BLE001 - the library raises errors of many kinds
        if bindings.limit is not None and evaluator.budget.left < 0:
            raise QueryError(None, EXHAUSTED.format(limit=bindings.limit)) from None
        raise told(error, expression.text) from None
    finally:
        bindings.spent += left - evaluator.budget.left


def _walked(path: tuple[str, ...], bindings: Bindings) -> Any:
    """The value at a plain path, as the evaluator finds it; this function, where the evaluator must look.

    That is when a list is on the way, or the name may be a function's.
    """
    value = bindings.root(path[0])
    if value is MISSING:
        return _walked
    for name in path[1:]:
        if isinstance(value, list):
            return _walked
        value = value.get(name, MISSING) if isinstance(value, Mapping) else MISSING
    return value


def _compiled(text: str) -> Expression:
    if len(text) > MAX_TEXT:
        raise QueryError(None, f"An expression has at most {MAX_TEXT} characters")
    try:
        tree = _parser().parse(text, _regex)
    except Exception as error:  # noqa: BLE001 - the library raises errors of many kinds
        raise told(error, text) from None
    members = _MEMBERS.findall(text)
    return Expression(
        text=text,
        tree=tree,
        path=plain_path(tree),
        names=frozenset(_NAMES.findall(text)),
        members=frozenset(members) if all(members) and "%" not in text else None,
    )


# A tree takes some hundred times the memory of its text, so few long ones are kept.
_short = lru_cache(maxsize=1024)(_compiled)
_long = lru_cache(maxsize=16)(_compiled)


def _parser() -> Any:
    """A parser of 2.0.6: those of later editions are refused."""
    parser = Parser()
    for sign, read in LATER.items():
        del parser.symbol_table[sign]
        parser.register(_Later(parser, sign, read))
    return parser


class _Later(Parser.Infix):  # type: ignore[misc]  # the library has no types
    """An operator of a later edition; 2.0.6 reads two signs, and the second begins no expression."""

    def __init__(self, parser: Any, sign: str, read: str) -> None:
        super().__init__(parser, sign)
        self.read = read

    def led(self, _left: Any) -> NoReturn:
        raise fault("S0211", self.read, position=self.position)


def _regex(pattern: str, flags: Any) -> Regex:
    return Regex(pattern, ignore_case=flags.case_insensitive, multiline=flags.multiline)
