"""Queries of a composition: what they see, now and after the end, and that they change nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kit.composer.compositions import INPUTS, compositions, plans
from xingqiao import composer
from xingqiao.composer import DIALECTS, Fiber, Limits, Program, QueryState, path, query_answer, var
from xingqiao.composer.machine.frames import Remembered, Variables
from xingqiao.composer.testing import Fail, Never, SimulationError, Slow, simulate

LEFT = {"left": var("left"), "at": path("$.n", default=0)}
COUNTED = composer.queries(
    composer.let(
        {"left": 2},
        "a",
        composer.assign(left=1),
        "b",
        composer.assign(left=0),
    ),
    progress=LEFT,
)
SLOW = {"a": Slow(10, {"n": 5}), "b": Slow(10, {"n": 6})}


def answers(composition, *asked, actions=SLOW, **options):
    return simulate(composition, {"n": 1}, actions=actions, queries=asked, **options).answers


def test_a_query_sees_the_variables_and_the_value_of_the_main_line():
    asked = [(at, "progress") for at in (0, 5, 15, 20, 1000)]

    assert answers(COUNTED, *asked) == [
        {"left": 2, "at": 1},
        {"left": 2, "at": 1},
        {"left": 1, "at": 5},
        {"left": 0, "at": 6},
        {"left": 0, "at": 6},
    ]


def test_after_crashes_at_every_commit_it_sees_the_same():
    assert answers(COUNTED, (1000, "progress"), crash="every") == [{"left": 0, "at": 6}]


def test_a_variable_keeps_its_last_value_when_its_scope_has_ended():
    part = composer.sequence(composer.let({"n": 1}, "a", composer.assign(n=7)), "b")
    part = composer.queries(part, n=var("n"), other=var("never", default="none"))

    assert answers(part, (15, "n"), (15, "other")) == [7, "none"]


def test_before_its_scope_begins_a_variable_is_null_or_the_default():
    part = composer.sequence("a", composer.let({"n": {"k": [1]}}, "b"))
    part = composer.queries(
        part, n=var("n", "$.k"), many=var("n", "$.k[*]"), known=var("n", default=3)
    )

    early, late = ([(at, name) for name in ("n", "many", "known")] for at in (5, 15))

    assert answers(part, *early, *late) == [None, [], 3, [1], [1], {"k": [1]}]


def test_the_inner_of_two_variables_of_one_name_is_seen_and_then_the_outer():
    part = composer.let({"n": 1}, composer.let({"n": 2}, "a"), "b")
    part = composer.queries(part, n=var("n"))

    assert answers(part, (5, "n"), (15, "n"), (99, "n")) == [2, 1, 1]


@pytest.mark.parametrize(
    "ends",
    [
        {"actions": {**SLOW, "b": Slow(10, Fail("Down", "no luck"))}},
        {"actions": {**SLOW, "b": Never()}, "cancel_at": 15},
        {"limits": Limits(steps=1)},
    ],
)
def test_a_run_that_has_failed_answers_from_where_it_failed(ends):
    ((error, left),) = (
        answers(
            composer.queries(COUNTED, both=[path("$.error"), var("left")]), (99, "both"), **ends
        ),
    )[0]

    assert error is not None
    assert left == 1


def test_a_run_that_is_terminated_answers_from_where_it_was():
    program = composer.compile(COUNTED)
    execution = composer.Execution("e", program, Limits())
    execution.begin({"n": 1}, 0)

    execution.terminate(5)

    assert execution.last == QueryState(
        {"error": {"code": "Cancelled", "message": "terminated"}}, {"left": 2}
    )
    assert query_answer(program, "progress", execution.seen, 100) == {"left": 2, "at": 0}


def test_a_run_without_queries_leaves_nothing():
    execution = composer.Execution("e", composer.compile(composer.sequence("a")), Limits())
    execution.begin({}, 0)

    execution.terminate(5)

    assert (execution.last, execution.seen) == (None, None)


def test_a_run_that_has_not_begun_is_terminated_without_answers():
    assert composer.Execution("e", composer.compile(COUNTED), Limits()).terminate(5).stale


def test_a_branch_has_variables_of_its_own():
    part = composer.let(
        {"n": 1}, composer.parallel(composer.sequence(composer.assign(n=2), "a"), "b")
    )
    part = composer.queries(part, n=var("n"), value=path("$"))

    assert answers(part, (5, "n"), (5, "value"), (99, "n")) == [1, {"n": 1}, 1]


def test_a_part_that_nobody_waits_for_answers_for_itself():
    detached = composer.let({"n": 4}, composer.asynchronous(composer.assign(n=5)), "a")

    run = simulate(composer.queries(detached, n=var("n")), {}, actions=SLOW, queries=[(99, "n")])

    assert run.answers == [4]
    assert run.spawned[0].outcome is not None


def test_every_run_answers_with_its_variables():
    part = composer.let({"n": 1}, composer.mask("a"), composer.let({"m": 2}, "b"))

    assert answers(part, (5, "$variables"), (15, "$variables")) == [{}, {"n": 1, "m": 2}]


def test_a_name_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(SimulationError, match=r"no query 'state': there are progress, \$variables"):
        answers(COUNTED, (1, "state"))


def test_an_answer_has_the_bound_of_every_value():
    part = composer.queries(composer.let({"x": "x" * 400}, "a"), big=[var("x"), var("x"), var("x")])

    ((answer),) = answers(part, (5, "big"), limits=Limits(value_bytes=1000))

    assert answer["error"]["code"] == "LimitExceeded"


def test_a_program_without_queries_is_stored_as_before():
    assert "queries" not in composer.compile(composer.sequence("a")).to_json()
    assert (
        composer.compile(COUNTED).hash != composer.compile(COUNTED.arguments["components"][0]).hash
    )


def test_a_program_with_queries_is_read_as_it_was_written():
    program = composer.compile(COUNTED)
    again = Program.from_json(json.loads(json.dumps(program.to_json())), DIALECTS)

    assert again == program
    assert query_answer(again, "progress", QueryState({"n": 1}, {}), 100) == {"left": None, "at": 1}


@pytest.mark.parametrize("queries", [7, {"n": {"$path": 1}}, {"n": {"$path": "$", "x": 1}}])
def test_a_program_whose_queries_are_malformed_is_refused(queries):
    doc = {**composer.compile(COUNTED).to_json(), "queries": queries}

    with pytest.raises(composer.ProgramError, match="'queries' are templates by name, not"):
        Program.from_json(doc, DIALECTS)


def test_what_is_remembered_is_stored_with_the_fiber():
    frames = (Remembered({"n": [1]}), Variables({"m": 2}))
    fiber = Fiber(id="0", pc=1, value={}, frames=frames)

    doc = json.loads(json.dumps(fiber.to_json(lambda value: {"v": value})))

    assert Fiber.from_json(doc, lambda slot: slot["v"], DIALECTS.frame) == fiber
    assert list(fiber.values()) == [{}, [1], 2]


ALL = {"x": var("x"), "value": path("$")}
DRAWN = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@given(compositions(), INPUTS, plans(), st.lists(st.integers(0, 40), max_size=4))
@settings(max_examples=100, **DRAWN)
def test_queries_change_nothing(part, params, fakes, instants):
    asked = [(at / 2 + 0.1, "all") for at in instants]

    plain = simulate(part, params, actions=fakes)
    open = simulate(composer.queries(part, all=ALL), params, actions=fakes, queries=asked)

    assert open.outcome == plain.outcome
    assert open.commits == plain.commits
    assert [(e.kind, e.fiber, e.turn, e.value) for e in open.history] == [
        (e.kind, e.fiber, e.turn, e.value) for e in plain.history
    ]


@given(compositions(errors=()), INPUTS, plans())
@settings(max_examples=60, **DRAWN)
def test_crashes_at_every_commit_change_no_last_answer(part, params, fakes):
    part, asked = composer.queries(part, all=ALL), [(1e9, "all")]

    calm = simulate(part, params, actions=fakes, queries=asked)
    crashed = simulate(part, params, actions=fakes, queries=asked, crash="every")

    assert crashed.answers == calm.answers
