"""The forms that the parts of a program are compiled to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from .budget import Budget
from .machine import END, Env, Frame, Frames, Run, once

Combine: TypeAlias = Callable[[Budget, Any, list[Any]], Any]


@dataclass(frozen=True, slots=True)
class Code:
    """A compiled part: `run(value, env)` is its one result if it is `single`, else a frame of them.

    Where paths are asked for, the value and the results are pairs: (path or None, value).
    """

    run: Run
    single: bool

    @property
    def many(self) -> Run:
        """Makes a frame, whether the part is single or not."""
        return once(self.run) if self.single else self.run


def single(run: Run) -> Code:
    return Code(run, single=True)


def multiple(run: Run) -> Code:
    return Code(run, single=False)


def charged(code: Code) -> Code:
    """The code, which costs a step if it is single: a frame is counted where it runs."""
    if not code.single:
        return code
    run = code.run

    def counted(value: Any, env: Env) -> Any:
        budget = env[0]
        budget.left -= 1
        if budget.left < 0:
            raise budget.overlong()
        return run(value, env)

    return single(counted)


def on_value(code: Code) -> Code:
    """The code for a pair of path and value, of which it reads the value only."""
    run = code.run
    return Code(lambda thing, env: run(thing[1], env), code.single)


def outside(code: Code) -> Code:
    """The code where paths are asked for: its results are not parts of the input."""
    run = code.run
    if code.single:
        return single(lambda thing, env: (None, run(thing[1], env)))

    def frame(thing: Any, env: Env) -> Frame:
        inner = run(thing[1], env)
        while (value := (yield inner)) is not END:
            yield None, value

    return multiple(frame)


def product(codes: list[Code], combine: Combine, first_outermost: bool = False) -> Code:
    """Combines one result of each code, for all combinations.

    The last code is the outermost loop, as in jq's operators; `first_outermost` turns that around.
    """
    if all(code.single for code in codes):
        return single(_product_of_singles([code.run for code in codes], combine))
    count = len(codes)
    turns = list(range(count)) if first_outermost else list(range(count - 1, -1, -1))
    runs = [codes[turn].many for turn in turns]

    def frame(value: Any, env: Env) -> Frame:
        budget = env[0]
        open_frames = Frames([None] * count)
        results = [None] * count
        level = 0
        open_frames[0] = runs[0](value, env)
        while level >= 0:
            result = yield open_frames[level]
            if result is END:
                level -= 1
                continue
            results[turns[level]] = result
            if level + 1 == count:
                yield combine(budget, value, results)
            else:
                level += 1
                open_frames[level] = runs[level](value, env)

    return multiple(frame)


def _product_of_singles(runs: list[Run], combine: Combine) -> Run:
    if len(runs) == 1:
        (only,) = runs
        return lambda value, env: combine(env[0], value, [only(value, env)])
    if len(runs) == 2:  # noqa: PLR2004 - operators have two
        one, other = runs
        return lambda value, env: combine(env[0], value, [one(value, env), other(value, env)])
    return lambda value, env: combine(env[0], value, [run(value, env) for run in runs])
