"""Frames that take values apart: `source as [$a, {b: $c}] ?// $d`, also in `reduce` and `foreach`.

Where there are several patterns, an error tries the next one: an error of the pattern, or of what is
done with its variables. Unlike in libjq, a `break` does not (so `first(...)` has one result), and
neither does an error after the expression.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .code import Code, multiple
from .errors import EvaluationError
from .frames import Bind, alone, bound, no_results, spread
from .machine import END, Env, Frame, catching


@dataclass(frozen=True, slots=True)
class Taking:
    """Items, and for each pattern the way to take an item apart; no way if the pattern is a variable.

    A way finds the item at the end of its environment. Each of its results is an array with the
    values of the variables of all patterns.
    """

    source: Code
    ways: tuple[Code, ...] = ()

    @property
    def items(self) -> Code:
        """What `bind` binds, if there is at most one way."""
        return bound(self.source, self.ways[0]) if self.ways else self.source

    @property
    def bind(self) -> Bind:
        return spread if self.ways else alone


def destructured(taking: Taking, body: Code) -> Code:
    """`source as pattern ?// pattern | body`: more than one pattern."""
    values, ways, run = taking.source.many, [way.many for way in taking.ways], body.many

    @catching
    def frame(value: Any, env: Env) -> Frame:
        items = values(value, env)
        while (item := (yield items)) is not END:
            at = 0
            while True:
                try:
                    takes = ways[at](value, (*env, item))
                    while (taken := (yield takes)) is not END:
                        results = run(value, (*env, *taken))
                        while (result := (yield results)) is not END:
                            yield result
                except EvaluationError:
                    at += 1
                    if at == len(ways):
                        raise
                else:
                    break

    return multiple(frame)


def stepped(place: int, update: Code, extract: Code | None, nothing: Any) -> Code:
    """One step of `reduce` (without an extract) or `foreach`: the state is in a list at that place.

    `nothing` is the state after an update without a result. It is there as long as an update has
    the state, so it is what the next pattern finds after an update that failed.
    """
    updated = update.many
    extracted = extract.many if extract else no_results

    def frame(_: Any, env: Env) -> Frame:
        states = env[place]
        updates = updated(states[0], env)
        states[0] = nothing
        while (result := (yield updates)) is not END:
            states[0] = result
            extracts = extracted(result, env)
            while (last := (yield extracts)) is not END:
                yield last

    return multiple(frame)


def folded_apart(start: Code, steps: Code, tell: bool) -> Code:
    """`reduce` (which tells its last state) and `foreach` with more than one pattern."""
    starts, stepping = start.many, steps.many

    def frame(value: Any, env: Env) -> Frame:
        outer = starts(value, env)
        while (state := (yield outer)) is not END:
            states = [state]
            inner = stepping(value, (*env, states))
            while (result := (yield inner)) is not END:
                yield result
            if tell:
                yield states[0]

    return multiple(frame)
