"""The frames of the parts of a program that loop, choose or catch. Each serves values and paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .code import Code, multiple, single
from .errors import EvaluationError
from .machine import END, BreakError, Env, Frame, Frames, catching, release
from .numbers import reckoned
from .operators import subtract
from .values import truthy

Of = Callable[[Any], Any]  # the value of what a part passes on: itself, or the second of a pair
Bind = Callable[[Env, Any], Env]  # what an item binds: itself, or (`spread`) each of its members


def piped(left: Code, right: Code) -> Code:
    first, second = left.run, right.run
    if left.single:  # then the right part is in tail position
        return Code(lambda value, env: second(first(value, env), env), right.single)
    if right.single:

        def mapped(value: Any, env: Env) -> Frame:
            inner = first(value, env)
            while (result := (yield inner)) is not END:
                yield second(result, env)

        return multiple(mapped)

    def frame(value: Any, env: Env) -> Frame:
        outer = first(value, env)
        while (result := (yield outer)) is not END:
            inner = second(result, env)
            while (last := (yield inner)) is not END:
                yield last

    return multiple(frame)


def sequence(codes: list[Code]) -> Code:
    """`a, b, c`: the last is in tail position."""
    *before, last = codes
    if not before:
        return last
    steps = [(code.run, code.single) for code in before]
    end = last.many

    def frame(value: Any, env: Env) -> Frame:
        for run, is_single in steps:
            if is_single:
                yield run(value, env)
                continue
            inner = run(value, env)
            while (result := (yield inner)) is not END:
                yield result
        return end(value, env)

    return multiple(frame)


def each(items: Callable[[Any], Any], target: Code) -> Code:
    """`target[]`."""
    run = target.run
    if target.single:

        def flat(value: Any, env: Env) -> Frame:
            yield from items(run(value, env))

        return multiple(flat)

    def frame(value: Any, env: Env) -> Frame:
        inner = run(value, env)
        while (result := (yield inner)) is not END:
            yield from items(result)

    return multiple(frame)


def collected(body: Code) -> Code:
    """`[body]`."""
    run = body.run

    def frame(value: Any, env: Env) -> Frame:
        found: list[Any] = []
        limit = env[0].size // 8
        inner = run(value, env)
        while (result := (yield inner)) is not END:
            found.append(result)
            if len(found) > limit:
                env[0].members(len(found))
        yield found

    return multiple(frame)


def chosen(condition: Code, body: Code, otherwise: Code) -> Code:
    """`if`: a single condition has its arms in tail position."""
    test = condition.run
    if condition.single and body.single and otherwise.single:
        yes, no = body.run, otherwise.run
        return single(lambda value, env: (yes if truthy(test(value, env)) else no)(value, env))
    yes, no = body.many, otherwise.many
    if condition.single:
        return multiple(lambda value, env: (yes if truthy(test(value, env)) else no)(value, env))

    def frame(value: Any, env: Env) -> Frame:
        conditions = test(value, env)
        while (result := (yield conditions)) is not END:
            inner = (yes if truthy(result) else no)(value, env)
            while (last := (yield inner)) is not END:
                yield last

    return multiple(frame)


def either(left: Code, right: Code, of: Of) -> Code:
    """`left // right`: the true results of the left, or all of the right if there are none."""
    first, second = left.run, right.run
    if left.single and right.single:

        def choose(value: Any, env: Env) -> Any:
            result = first(value, env)
            return result if truthy(of(result)) else second(value, env)

        return single(choose)
    before, after = left.many, right.many

    def frame(value: Any, env: Env) -> Frame:
        found = False
        inner = before(value, env)
        while (result := (yield inner)) is not END:
            if truthy(of(result)):
                found = True
                yield result
        return None if found else after(value, env)

    return multiple(frame)


def logic(sign: str, left: Code, right: Code) -> Code:
    """`and`, `or`: the right is not run if the left decides."""
    first, second = left.run, right.run
    decides = sign == "or"
    if left.single and right.single:
        if decides:
            return single(
                lambda value, env: truthy(first(value, env)) or truthy(second(value, env))
            )
        return single(lambda value, env: truthy(first(value, env)) and truthy(second(value, env)))
    before, after = left.many, right.many

    def frame(value: Any, env: Env) -> Frame:
        outer = before(value, env)
        while (result := (yield outer)) is not END:
            if truthy(result) is decides:
                yield decides
                continue
            inner = after(value, env)
            while (last := (yield inner)) is not END:
                yield truthy(last)

    return multiple(frame)


def attempted(body: Code, handler: Code | None, thrown: Of) -> Code:
    """`try body catch handler`; `thrown` makes of an error's value what the handler gets."""
    run = body.many
    catch = handler.many if handler else None

    @catching
    def frame(value: Any, env: Env) -> Frame:
        try:
            inner = run(value, env)
            while (result := (yield inner)) is not END:
                yield result
        except EvaluationError as error:
            caught = error.value
        else:
            return None
        return catch(thrown(caught), env) if catch else None

    return multiple(frame)


def labelled(body: Code) -> Code:
    run = body.many

    @catching
    def frame(value: Any, env: Env) -> Frame:
        mark = object()
        try:
            inner = run(value, (*env, mark))
            while (result := (yield inner)) is not END:
                yield result
        except BreakError as error:
            if error.mark is not mark:
                raise

    return multiple(frame)


def broken(place: int) -> Code:
    def frame(_: Any, env: Env) -> Frame:
        raise BreakError(env[place])
        yield

    return multiple(frame)


def alone(env: Env, item: Any) -> Env:
    return (*env, item)


def spread(env: Env, item: Any) -> Env:
    return (*env, *item)


def bound(source: Code, body: Code, bind: Bind = alone) -> Code:
    """`source as $x | body`."""
    values, run = source.run, body.run
    if source.single:
        return Code(lambda value, env: run(value, bind(env, values(value, env))), body.single)
    if body.single:

        def mapped(value: Any, env: Env) -> Frame:
            inner = values(value, env)
            while (result := (yield inner)) is not END:
                yield run(value, bind(env, result))

        return multiple(mapped)

    def frame(value: Any, env: Env) -> Frame:
        outer = values(value, env)
        while (result := (yield outer)) is not END:
            inner = run(value, bind(env, result))
            while (last := (yield inner)) is not END:
                yield last

    return multiple(frame)


def reduced(source: Code, start: Code, update: Code, nothing: Any, bind: Bind = alone) -> Code:
    """`reduce`: the last result of the update counts; `nothing` stands for none."""
    values, starts = source.many, start.many
    run = update.run
    is_single = update.single

    def frame(value: Any, env: Env) -> Frame:
        outer = starts(value, env)
        while (state := (yield outer)) is not END:
            inner = values(value, env)
            while (item := (yield inner)) is not END:
                if is_single:
                    state = run(state, bind(env, item))
                    continue
                updates = run(state, bind(env, item))
                state = nothing
                while (result := (yield updates)) is not END:
                    state = result
            yield state

    return multiple(frame)


def folded(source: Code, start: Code, update: Code, extract: Code, bind: Bind = alone) -> Code:
    """`foreach`."""
    values, starts, updated, extracted = source.many, start.many, update.many, extract.many

    def frame(value: Any, env: Env) -> Frame:
        outer = starts(value, env)
        while (state := (yield outer)) is not END:
            inner = values(value, env)
            while (item := (yield inner)) is not END:
                inside = bind(env, item)
                updates = updated(state, inside)
                while (result := (yield updates)) is not END:
                    state = result
                    extracts = extracted(state, inside)
                    while (last := (yield extracts)) is not END:
                        yield last

    return multiple(frame)


# --- loops of the library ------------------------------------------------------------------------


def unfolded(step: Code, going: Code | None = None) -> Code:
    """`recurse` and `while`: a value, then all that the step makes of it, and so on.

    `going` says whether a value is taken: a condition with several results needs a true one.
    """
    run = step.run
    is_single = step.single
    test = going.many if going else None

    def frame(value: Any, env: Env) -> Frame:
        levels = Frames()
        while True:
            taken: Any = True
            if test:
                env[0].spend(1)
                tests = test(value, env)
                while (taken := (yield tests)) is not END:
                    if truthy(taken):
                        break
                release(tests, env[1].tails)
            if taken is not END:
                yield value
                if is_single:
                    value = run(value, env)
                    continue
                levels.append(run(value, env))
            while levels:
                value = yield levels[-1]
                if value is not END:
                    break
                levels.pop()
            else:
                return

    return multiple(frame)


def repeated(body: Code) -> Code:
    """`repeat(body)`: the results of the body on the same input, again and again."""
    run = body.many

    def frame(value: Any, env: Env) -> Frame:
        while True:
            inner = run(value, env)
            while (result := (yield inner)) is not END:
                yield result

    return multiple(frame)


def until(condition: Code, step: Code) -> Code:
    """`until(condition; step)`."""
    tests, steps = condition.many, step.many

    def frame(value: Any, env: Env) -> Frame:
        levels = Frames([_itself(value)])
        while levels:
            current = yield levels[-1]
            if current is END:
                levels.pop()
                continue
            env[0].spend(2)
            conditions = tests(current, env)
            while (result := (yield conditions)) is not END:
                if truthy(result):
                    yield current
                else:
                    levels.append(steps(current, env))
                    break
            release(conditions, env[1].tails)

    return multiple(frame)


def _itself(value: Any) -> Frame:
    yield value


def first(body: Code) -> Code:
    """`first(body)`."""
    if body.single:
        return body
    run = body.run

    def frame(value: Any, env: Env) -> Frame:
        inner = run(value, env)
        result = yield inner
        release(inner, env[1].tails)
        if result is not END:
            yield result

    return multiple(frame)


def last(body: Code) -> Code:
    """`last(body)`."""
    if body.single:
        return body
    run = body.run

    def frame(value: Any, env: Env) -> Frame:
        inner = run(value, env)
        found: Any = END
        while (result := (yield inner)) is not END:
            found = result
        if found is not END:
            yield found

    return multiple(frame)


def limited(count: Code, body: Code) -> Code:
    """`limit(count; body)` for a count above 0, or for what is no number: that fails at a result."""
    number, run = count.run, body.many

    def frame(value: Any, env: Env) -> Frame:
        left, going = number(value, env), True
        inner = run(value, env)
        while going and (result := (yield inner)) is not END:
            left = subtract(left, 1, env[0])
            going = left > 0
            if not going:
                release(inner, env[1].tails)
            yield result

    return multiple(frame)


def no_results(_: Any, __: Env) -> Frame:
    """`empty`."""
    return
    yield


def ranged(bounds: Code) -> Code:
    """`range`: counts for each `[from, to, by]`."""
    run = bounds.many

    def frame(value: Any, env: Env) -> Frame:
        inner = run(value, env)
        while (found := (yield inner)) is not END:
            at, end, step = found
            while (step > 0 and at < end) or (step < 0 and at > end):
                yield reckoned(at)
                at += step

    return multiple(frame)
