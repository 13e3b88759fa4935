"""A compiled program, and how it is run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .budget import MEMBER_BYTES, Budget
from .compiler import Compiler
from .errors import JqError, ProgramError
from .machine import Context, Env, Frame, Run, results
from .parser import Parser
from .scopes import Scope
from .values import finite

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping


class Program:
    """A compiled jq program. It holds nothing of an evaluation, and may run any number of times.

    `variables` are the names, without `$`, of the global variables that it reads.
    """

    __slots__ = ("_code", "text", "variables")

    def __init__(self, text: str, variables: Collection[str] | None = None) -> None:
        known = None if variables is None else frozenset(variables)
        compiler = Compiler(text, known)
        self.text = text
        try:
            self._code = compiler.part(Parser(text).program(), Scope())
        except RecursionError:
            raise ProgramError(
                "The program has too many parts inside each other", text, len(text), "fewer"
            ) from None
        self.variables = frozenset(compiler.variables)

    def results(
        self,
        value: Any,
        variables: Mapping[str, Any] | None = None,
        budget: Budget | None = None,
        now: float | None = None,
    ) -> Iterator[Any]:
        """The results on a JSON value, each computed when it is asked for.

        The value and the variables are not changed; results may share parts with them. `now` is
        what the function `now` returns, in seconds since 1970; without it that function fails. NaN
        and infinite numbers can be results; `tojson` writes them as jq does.

        Raises:
            EvaluationError: the program failed on this input.
            BudgetError: it went over a bound.
            JqError: a variable that the program reads is not given.
        """
        spent = budget or Budget()
        env = self._env(variables, spent, now)
        return results(_first(self._code.many, value, env), spent, env[1].tails)

    def evaluate(
        self,
        value: Any,
        variables: Mapping[str, Any] | None = None,
        budget: Budget | None = None,
        now: float | None = None,
    ) -> list[Any]:
        """All results as JSON, whose size and depth are within the budget too. See `results`.

        NaN becomes null and an infinite number the largest double, as jq prints them.
        """
        spent = budget or Budget()
        if self._code.single:  # one result, and no frames
            spent.spend(1)
            only = self._code.run(value, self._env(variables, spent, now))
            spent.walked(only)
            return [finite(only)]
        found = []
        for result in self.results(value, variables, spent, now):
            spent.walked(result)
            found.append(finite(result))
            spent.held(len(found) * MEMBER_BYTES)
        return found

    def _env(self, variables: Mapping[str, Any] | None, budget: Budget, now: float | None) -> Env:
        given = variables or {}
        for name in self.variables:
            if name not in given:
                raise JqError(f"The expression reads ${name}, which is not given")
        return (budget, Context(now, given))


def _first(run: Run, value: Any, env: Env) -> Frame:
    """The first frame: what a program does first may fail already."""
    return run(value, env)
    yield


def compile(text: str, variables: Collection[str] | None = None) -> Program:
    """Compiles a program.

    If `variables` is given, the program may read no other global variables.

    Raises:
        ProgramError: the text is not a program that may run here; `position` says where.
    """
    return Program(text, variables)
