"""Inline functions of compositions, in real workers: what they return, set and say."""

from __future__ import annotations

import re

from tests.kit.actions.things import composed
from tests.kit.actions.workers import LIMIT, logged, run
from xingqiao.composer import Failure, Success


async def inlined(pool, function, params=None, variables=None, **fields):
    action = composed(function, **fields)
    (hash,) = action.program.functions
    return await run(pool, action, params, function=hash, variables=variables or {})


async def test_an_inline_function_returns_what_it_likes(pool):
    completion = await inlined(pool, lambda params: params["n"] + 1, {"n": 1})

    assert (completion.outcome, completion.variables) == (Success(2), None)


async def test_an_inline_function_that_returns_nothing_hands_its_value_on(pool):
    completion = await inlined(pool, lambda params: None, {"n": 1})

    assert completion.outcome == Success({"n": 1})


async def test_an_inline_function_without_parameters_is_called_without(pool):
    assert (await inlined(pool, lambda: {"n": 7}, {"n": 1})).outcome == Success({"n": 7})


async def test_what_an_inline_function_has_set_before_it_fails_counts(pool):
    def count(params, variables):
        variables["n"] += 1
        raise ValueError("no")

    def spoil(params, variables):
        variables["n"] = {1, 2}
        raise ValueError("no")

    completion = await inlined(pool, count, {}, {"n": 1})
    spoilt = await inlined(pool, spoil, {}, {"n": 1})

    assert (
        completion.outcome
        == spoilt.outcome
        == Failure("ApplicationError", "no", ("ValueError", "Exception"))
    )
    assert (completion.variables, spoilt.variables) == ({"n": 2}, None)


async def test_an_inline_function_reads_and_sets_variables(pool):
    def count(params, variables):
        variables["n"] += 1
        return {"seen": variables["n"]}

    completion = await inlined(pool, count, {}, {"n": 1, "m": [1]})

    assert completion.outcome == Success({"seen": 2})
    assert completion.variables == {"n": 2, "m": [1]}


async def test_an_inline_function_takes_any_number(pool):
    completion = await inlined(pool, lambda *given: {"given": list(given)}, {"a": 1}, {"v": 2})

    assert completion.outcome == Success({"given": [{"a": 1}, {"v": 2}]})


async def test_a_variable_that_nobody_declared_is_for_the_conductor_to_refuse(pool):
    def stray(params, variables):
        variables["stray"] = 1

    completion = await inlined(pool, stray, {}, {"n": 1})

    assert completion.variables == {"n": 1, "stray": 1}


async def test_variables_are_so_long_and_no_longer(pool):
    def grow(params, variables):
        variables["v"] = "x" * params["n"]
        return {}

    fits = LIMIT - len('{"v":""}')

    assert (await inlined(pool, grow, {"n": fits}, {"v": ""})).variables == {"v": "x" * fits}
    found = (await inlined(pool, grow, {"n": fits + 1}, {"v": ""})).outcome
    assert found.code == "PayloadTooLarge"


async def test_the_traceback_of_an_inline_function_shows_its_own_line(pool):
    completion = await inlined(pool, lambda params: params["missing"])

    raised = ("KeyError", "LookupError", "Exception")
    assert completion.outcome == Failure("ApplicationError", "'missing'", raised)
    lines = [text for _, text in logged(completion)]
    assert re.fullmatch(r'  File "function-[0-9a-f]{8}\.py", line 1, in <lambda>', lines[1])
    assert 'params["missing"]' in lines[2]
