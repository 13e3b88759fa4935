"""Inline functions: captured as source while composing, run where only that source is."""
# ruff: noqa: F821, FURB110, PLC0208, PLC3002, PLW0108, PLW0603, PTH118, TC003
# (what is captured here is odd on purpose)

from __future__ import annotations

import asyncio
import decimal
import functools
import math
import os.path as paths
import types

import pytest

from xingqiao.composer.dsl.functions import ActionFunction, capture
from xingqiao.composer.errors import CaptureError, CompositionError

RATE = 3
TABLE = {"a": [1, (2, None)], "b": "x'y", "c": math.pi}
main = 7
later: int


class Thing:
    def method(self, params):
        return params

    def __call__(self, params):
        return params


thing = Thing()
globals()["foreign"] = thing  # no statement defines this name


def remade(function):
    """The function, made anew from what was captured of it, and nothing else."""
    runtime = capture(function)
    scope: dict = {}
    exec(compile(runtime["code"], "<captured>", "exec", dont_inherit=True), scope)
    assert runtime["kind"] == "python:3"
    return scope[runtime["main"]]


def kept(function):
    return function


def marked(*_, **__):
    return kept


def wrapped(function):
    @functools.wraps(function)
    def wrapper(params):
        return function(params)

    return wrapper


# --- what is captured --------------------------------------------------------------------------


def plain(params):
    # a comment
    return {"n": params["n"] * RATE}


@kept
@marked(1, lambda x: x)
@marked(
    2,
)
def decorated(params):
    return params["n"] + 1


def recursive(params):
    return 1 if params["n"] < 2 else params["n"] * recursive({"n": params["n"] - 1})


def annotated(params: dict[str, Thing], variables: dict[str, decimal.Decimal]) -> Thing:
    variables["n"]: Thing = params["n"]
    return params


def inner_annotations(params):
    def inner(n: Thing, *rest: Thing) -> Thing:
        return n

    return inner(params["n"])


def with_class(params):
    class Local:
        rate = RATE
        twice = rate * 2
        RATE = 5

        def of(self, n):
            return n * self.twice + RATE

    return Local().of(params["n"]) + Local.RATE


def comprehending(params):
    return [n * RATE for n in range(params["n"])] + [math.floor(m) for m in {2.5}]


def globals_in_nested(params):
    def inner():
        return (lambda: TABLE["a"])()

    return inner()


def own_variable(params):
    count = 0

    def bump():
        nonlocal count
        count += params["n"]

    bump()
    return count


def unpacking(params, *rest):
    return [params, *rest]


def importing(params):
    import json

    return json.dumps(params)


def docstring_only(params):
    """Nothing else."""


@pytest.mark.parametrize(
    ("function", "params"),
    [
        (plain, {"n": 2}),
        (decorated, {"n": 2}),
        (recursive, {"n": 5}),
        (inner_annotations, {"n": 2}),
        (with_class, {"n": 2}),
        (comprehending, {"n": 3}),
        (globals_in_nested, {}),
        (own_variable, {"n": 2}),
        (unpacking, {"n": 2}),
        (importing, {"n": 2}),
        (docstring_only, {}),
        (lambda params: params["n"] + RATE, {"n": 2}),
        (lambda params: TABLE, {}),
        (lambda params: paths.join("a", "b"), {}),
        (lambda params: main, {}),
        (lambda params: [main, sorted(params)], {"b": 1, "a": 2}),
        (lambda *all: list(all), {"n": 1}),
        (lambda params: (lambda main: main + 1)(params["n"]), {"n": 1}),
        (lambda params: "größer" if params["n"] > 1 else "ü", {"n": 2}),
        (lambda params: """a
  b""", {}),
        (lambda params: (
            params["n"]  # one
            + 1
        ), {"n": 1}),
        (lambda params:
            params["n"] if params["n"]
            else None, {"n": 1}),
    ],
)  # fmt: skip
def test_a_function_does_the_same_where_it_is_made_anew(function, params):
    assert remade(function)(params) == function(params)


def test_a_function_can_be_captured_again():
    assert capture(decorated) == capture(decorated)


def test_a_decorator_stays_behind():
    assert capture(decorated)[
        "code"
    ] == "def decorated(params):\n    return params['n'] + 1\n".replace("'n'", '"n"')


def test_what_a_function_refers_to_is_defined_before_it():
    assert capture(plain) == {
        "kind": "python:3",
        "code": (
            'RATE = 3\ndef plain(params):\n    # a comment\n    return {"n": params["n"] * RATE}\n'
        ),
        "main": "plain",
    }


def test_a_module_is_imported_again_by_its_own_name():
    assert capture(lambda _: paths)["code"].startswith(f"import {paths.__name__} as paths\n")


def test_annotations_may_name_what_cannot_travel():
    assert remade(annotated)({"n": 1}, {}) == {"n": 1}


def test_an_async_function_is_awaited_where_it_runs():
    async def waiting(params):
        return await asyncio.wait_for(asyncio.gather(), 1) or params

    assert asyncio.run(remade(waiting)({"n": 1})) == {"n": 1}


def test_a_function_that_closes_over_literals_and_modules_takes_them_along():
    rate, module = 4, math

    def inner(params):
        text = """kept
  as it
is"""
        return [params["n"] * rate, module.floor(2.5), text]

    one_line = lambda params: params["n"] * rate

    assert remade(inner)({"n": 2}) == inner({"n": 2})
    assert remade(one_line)({"n": 2}) == 8


def test_a_nested_function_may_call_itself():
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    def short(n): return 1 if n < 2 else n * short(n - 1)  # fmt: skip

    assert remade(factorial)(5) == remade(short)(5) == 120


def test_a_function_indented_with_tabs_is_captured():
    scope = module_of("if True:\n\tdef f(p):\n\t\treturn '''x\n y'''\n")

    assert remade(scope["f"])({}) == "x\n y"


def module_of(text):
    """The names that a module of this text defines, with its source to be found."""
    import linecache

    name = f"<module {abs(hash(text))}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict = {"__name__": "made"}
    exec(compile(text, name, "exec", dont_inherit=True), scope)
    return scope


# --- several on a line -------------------------------------------------------------------------

SEVERAL = [lambda p: 1, lambda p: 2, lambda p: None, lambda p: "ü", lambda p: p, lambda q: [q]]
ALIKE = [lambda p: p, lambda p: p]
NESTED = [lambda p: lambda q: q, lambda p: (lambda q: 3)(p), lambda p: [lambda q: 3, lambda q: 4]]


@pytest.mark.parametrize("at", range(len(SEVERAL)))
def test_of_several_lambdas_on_a_line_the_right_one_is_captured(at):
    assert remade(SEVERAL[at])("in") == SEVERAL[at]("in")


def test_lambdas_that_are_alike_may_stand_on_one_line():
    assert [remade(function)(5) for function in ALIKE] == [5, 5]


def test_a_lambda_inside_another_is_told_from_it():
    assert remade(NESTED[0])(1)(2) == 2
    assert remade(NESTED[0](1))(2) == 2
    assert remade(NESTED[1])(1) == 3
    assert [inner(0) for inner in remade(NESTED[2])(1)] == [3, 4]
    assert [remade(inner)(0) for inner in NESTED[2](1)] == [3, 4]


def test_a_lambda_is_found_without_columns_in_its_code():
    """As under `python -X no_debug_ranges`."""
    n = 3
    functions = [lambda p: p + n, lambda p: p - n, lambda p: n]
    for function in functions:
        code = function.__code__
        bare = b"".join(bytes((0x80 | 13 << 3 | size - 1, 0)) for size in _sizes(code))
        function.__code__ = code.replace(co_linetable=bare)

    assert {column for place in functions[0].__code__.co_positions() for column in place[2:]} == {
        None
    }
    assert [remade(function)(5) for function in functions] == [8, 2, 3]


def _sizes(code):
    """Code units in chunks, as a line table has them (Objects/locations.md): 13 is "no columns"."""
    units = len(code.co_code) // 2
    return [min(8, units - start) for start in range(0, units, 8)]


# --- refusals ----------------------------------------------------------------------------------

counter = 0


def assigning(params):
    global counter
    counter += 1


def deleting(params):
    global counter
    del counter


def assigning_in_nested(params):
    def inner():
        global counter
        counter = 1

    inner()


def generating(params):
    yield params


async def generating_later(params):
    yield params


def with_default(params, n=1):
    return n


def with_named_default(params, *, n=1):
    return n


def with_named(params, *, n):
    return n


def with_three(params, variables, more):
    return more


def nothing_defined(params):
    return undefined_name


def in_a_class_body(params):
    class Local:
        foreign = foreign

    return Local


@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        (len, "'len' is built in and has no Python source: wrap it, as in lambda params: ..."),
        (str.upper, "'upper' is built in and has no Python source"),
        (
            thing.method,
            "is not a plain function: use a def or a lambda (a method or an object with",
        ),
        (thing, "is not a plain function: use a def or a lambda"),
        (Thing, "is not a plain function: use a def or a lambda"),
        (functools.partial(plain), "is not a plain function: use a def or a lambda"),
        (None, "None is not a plain function"),
        (generating, "the function 'generating' ("),
        (generating, "is a generator: a function of a composition returns its result"),
        (generating_later, "is a generator"),
        (lambda params: (yield), "is a generator"),
        (
            with_default,
            "has default values, which are not sent to a worker: put them inside the function",
        ),
        (with_named_default, "has default values, which are not sent to a worker"),
        (lambda p, n=RATE: n, "or declare them with composer.let"),
        (with_named, "takes params, n: a function of a composition takes the value, or the value"),
        (with_three, "takes params, variables, more: a function of a composition"),
        (assigning, "assigns 'counter', which is defined outside, and only the worker would see"),
        (deleting, "assigns 'counter', which is defined outside"),
        (assigning_in_nested, "set it through the second argument"),
        (nothing_defined, "uses 'undefined_name', which is not defined here"),
        (lambda p: later, "lambda params, variables: variables['later']"),
        (lambda p: foreign, "refers to 'foreign', a Thing, which cannot be sent to a worker: move"),
        (lambda p: [foreign for _ in p], "refers to 'foreign', a Thing"),
        (in_a_class_body, "refers to 'foreign', a Thing"),
        (wrapped(plain), "refers to 'function', a function"),
    ],
)
def test_what_cannot_travel_is_refused_with_what_would_do(function, complaint):
    with pytest.raises(CaptureError) as refusal:
        capture(function)

    assert complaint in str(refusal.value)


def test_a_refusal_says_where_the_function_stands():
    line = generating.__code__.co_firstlineno

    with pytest.raises(
        CaptureError, match=rf"the function 'generating' \(.*test_functions.py:{line}"
    ):
        capture(generating)


def test_a_refusal_is_one_of_the_composition():
    assert issubclass(CaptureError, CompositionError)


@pytest.mark.parametrize("value", [float("nan"), {1: 2}, {1, 2}, b"x", object(), [thing], 2**70])
def test_only_json_travels_along(value):
    with pytest.raises(CaptureError, match=r"refers to 'value', an? .*, which cannot be sent"):
        capture(lambda params: value)


def test_a_variable_that_another_function_owns_cannot_be_assigned():
    total = 0

    def add(params):
        nonlocal total
        total += params["n"]

    def add_in_nested(params):
        def inner():
            nonlocal total
            total += 1

        inner()

    def forget(params):
        nonlocal total
        del total

    for function in (add, add_in_nested, forget):
        with pytest.raises(CaptureError, match="assigns 'total', which is defined outside"):
            capture(function)
    assert total == 0


def test_a_nested_variable_of_the_same_name_is_its_own():
    n = 1

    def outer(params):
        def middle():
            n = 5

            def inner():
                nonlocal n
                n += 1
                return n

            return inner()

        return [n, middle()]

    assert remade(outer)({}) == [1, 6]


def test_a_variable_without_a_value_yet_is_refused():
    def early(params):
        return late

    with pytest.raises(CaptureError, match="closes over 'late', which has no value yet"):
        capture(early)
    late = 1
    assert remade(early)({}) == late


@pytest.mark.parametrize("text", ["lambda p: p", "[lambda p: 1, lambda p: 2][1]"])
def test_a_function_without_a_file_is_refused(text):
    with pytest.raises(
        CaptureError, match=r"the source of the function '<lambda>' .* cannot be read"
    ):
        capture(eval(text))


@pytest.mark.parametrize("text", ["def (", "x = 1\n" * 99, "f = lambda p: 3, lambda p: 4\n"])
def test_a_function_whose_file_has_changed_beyond_recognition_is_refused(text):
    scope = module_of("f, g = lambda p: 1, lambda p: 2\n")
    import linecache

    name = scope["g"].__code__.co_filename
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)

    with pytest.raises(CaptureError, match="cannot be read: define it in a file"):
        capture(types.FunctionType(scope["g"].__code__, {}))


# --- actions -----------------------------------------------------------------------------------


def test_an_action_function_is_still_a_function():
    assert ActionFunction("double", lambda n, by=2: n * by)(4, by=3) == 12


def test_an_action_function_is_defined_by_its_source_its_limits_and_its_annotations():
    function = ActionFunction("plain", plain, {"timeout": 5}, {"web-export": True, "note": "x"})

    assert function.definition() == {
        "exec": capture(plain),
        "limits": {"timeout": 5},
        "annotations": [{"key": "web-export", "value": True}, {"key": "note", "value": "x"}],
    }
    assert ActionFunction("plain", plain).definition() == {"exec": capture(plain)}


def test_an_action_function_that_cannot_travel_is_refused_when_it_is_deployed():
    with pytest.raises(CaptureError, match="refers to 'foreign'"):
        ActionFunction("plain", lambda params: foreign).definition()
