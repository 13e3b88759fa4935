"""The simulator for users: virtual time, fakes, crashes; and that it is true to itself."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict

import pytest
from hypothesis import HealthCheck, given, settings

from tests.kit.composer.compositions import INPUTS, compositions, plans, shown
from xingqiao import composer
from xingqiao.composer import CompositionError, Limits, path
from xingqiao.composer.testing import Fail, Never, Simulation, SimulationError, Slow, simulate
from xingqiao.composer.values import Failure

WEEK = 7 * 86400


@composer.action
def marked(params):
    return {"doubled": params.get("n", 0) * 2}


def test_a_week_takes_no_time():
    run = simulate(composer.sequence(composer.wait(WEEK), "a"), actions={"a": {"ok": True}})

    assert run.elapsed == WEEK
    assert run.invocations[0].at == WEEK


def test_answers_come_in_turn_after_their_time_or_never():
    part = composer.retry(2, composer.timeout(10, "a"))

    run = simulate(part, actions={"a": [Never(), Slow(3, Fail("Down")), Slow(1, {"n": 3})]})

    assert run.value == {"n": 3}
    assert run.elapsed == 14
    assert run.calls("a") == [{}, {}, {}]


def test_a_fake_computes_raises_or_is_a_composition():
    def flaky(params):
        if params["n"] == 1:
            raise Fail("Down", "down")
        raise ValueError("odd")

    inner = composer.sequence(composer.wait(5), composer.select({"m": path("$.n")}))
    fakes = {"flaky": flaky, "part": inner, "slow": lambda _: Slow(2, {"slow": True})}

    assert simulate(composer.action("flaky"), {"n": 1}, actions=fakes).error == "down"
    assert simulate(composer.action("flaky"), {"n": 2}, actions=fakes).error == "ValueError: odd"
    run = simulate(composer.sequence("part", "slow"), {"n": 3}, actions=fakes)
    assert (run.value, run.elapsed) == ({"slow": True}, 7)


def test_queries_are_asked_at_instants_and_after_the_end():
    part = composer.let({"n": 0}, composer.wait(WEEK), composer.assign(n=1), composer.wait(WEEK))
    asked = [(2 * WEEK + 1, "n"), (0, "n"), (WEEK, "n")]

    run = simulate(composer.queries(part, n=composer.var("n")), queries=asked)

    assert run.answers == [0, 1, 1]
    assert run.elapsed == 2 * WEEK


def test_queries_see_a_run_that_is_cancelled_or_never_ends():
    part = composer.queries(composer.let({"n": 0}, "a"), n=composer.var("n"))

    asked = [(1, "n"), (9, "n")]

    assert simulate(part, actions={"a": Never()}, queries=asked).answers == [0, 0]
    assert simulate(part, actions={"a": Never()}, cancel_at=5, queries=asked).answers == [0, 0]


def test_an_assertion_of_the_test_in_a_fake_is_the_tests():
    def checked(params):
        assert params == {"n": 2}, "as the test says"

    with pytest.raises(AssertionError, match="as the test says"):
        simulate(composer.action("a"), {"n": 1}, actions={"a": checked})


def test_functions_marked_as_actions_need_no_fake_and_may_have_one():
    assert simulate(composer.sequence(marked), {"n": 2}).value == {"doubled": 4}
    assert simulate(composer.sequence(marked), actions={"marked": {"faked": 1}}).value == {
        "faked": 1
    }


def test_an_action_without_a_fake_is_the_tests_mistake():
    with pytest.raises(SimulationError, match="the action /_/a has no fake: give actions="):
        simulate(composer.action("a"))


def test_an_answer_too_few_is_the_tests_mistake():
    with pytest.raises(SimulationError, match="/_/a has 1 answers and is asked for one more"):
        simulate(composer.sequence("a", "a"), actions={"a": [{}]})


def deep(levels):
    value = {}
    for _ in range(levels):
        value = {"d": value}
    return value


def cyclic():
    value = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"n": float("nan")}, "Out of range float values"),
        ({"n": [float("inf")]}, "Out of range float values"),
        ({"n": {1, 2}}, "set is not JSON serializable"),
        (b"bytes", "bytes is not JSON serializable"),
        (object(), "object is not JSON serializable"),
        ({(1, 2): 3}, "keys must be str"),
        ({"n": 1 << 64}, "more than 64 bits"),
        ({"text": "\ud800"}, "not Unicode text"),
        (deep(201), "nests deeper than 200 levels"),
        (cyclic(), "Circular reference"),
    ],
)
@pytest.mark.parametrize("computed", [False, True])
def test_an_answer_that_is_no_json_is_the_tests_mistake(answer, why, computed):
    fake = (lambda _: answer) if computed else answer

    with pytest.raises(
        SimulationError, match=f"/_/a answers with a value that is not JSON: .*{why}"
    ):
        simulate(composer.action("a"), actions={"a": fake})


def test_a_variable_that_is_no_json_is_the_functions_mistake():
    part = composer.function(lambda params, variables: variables.update(x=float("nan")))

    with pytest.raises(
        SimulationError, match=r"function:\w+ answers with a value that is not JSON"
    ):
        simulate(composer.let({"x": 0}, part))


class Rows(list):
    """A list by another name."""


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (Counter("aab"), {"a": 2, "b": 1}),
        (OrderedDict(a=2, b=1), {"a": 2, "b": 1}),
        (defaultdict(list, a=[Counter("x")]), {"a": [{"x": 1}]}),
        ({"rows": Rows([1, (2, 3)])}, {"rows": [1, [2, 3]]}),
        (Rows([1]), {"value": [1]}),
        ((1, 2), {"value": [1, 2]}),
        ({1: "one"}, {"1": "one"}),
        (deep(200), deep(200)),
    ],
)
def test_an_answer_is_taken_as_a_worker_would_write_it(answer, value):
    run = simulate(composer.action("a"), actions={"a": lambda _: answer})

    assert run.value == value
    assert written(run.value) == written(value)


def written(value):
    """As its type says it: True for what is nothing but dicts, lists and scalars of their own."""
    if isinstance(value, dict):
        return type(value), {key: written(member) for key, member in value.items()}
    if isinstance(value, list):
        return type(value), [written(member) for member in value]
    return type(value), value


def test_what_an_inline_function_leaves_is_taken_as_a_worker_would_write_it():
    part = composer.let(
        {"x": 0},
        composer.sequence(
            lambda params, variables: variables.update(x=(1, 2)), lambda p, v: {"seen": v["x"]}
        ),
    )

    assert simulate(part).value == {"seen": [1, 2]}


def test_an_outcome_that_is_not_there_is_told():
    failed = simulate(composer.raise_error("No"))
    done = simulate(composer.literal({}))

    with pytest.raises(AssertionError, match="the execution did not succeed"):
        _ = failed.value
    with pytest.raises(AssertionError, match="the execution did not fail"):
        _ = done.error


def test_what_waits_for_nothing_that_comes_ends_without_an_outcome():
    run = simulate(composer.action("a"), actions={"a": Never()})

    assert run.outcome is None
    assert run.kinds() == ["ExecutionStarted", "StepScheduled"]


def test_a_paused_run_says_so():
    run = simulate(composer.retry(0, "a", on_exhausted="pause"), actions={"a": Fail()})

    assert run.paused


def test_an_operators_word_lets_it_go_on():
    part = composer.retry(0, "a", on_exhausted="pause")
    fakes = {"/_/a": [Fail("Down"), {"ok": True}]}
    for crash in ((), "every"):
        simulation = Simulation(composer.compile(part), fakes, crash, Limits())
        assert simulation.run({}).paused
        assert simulation.resume().value == {"ok": True}


def test_what_is_started_aside_is_a_run_of_its_own():
    run = simulate(composer.asynchronous("a"), {"n": 1}, actions={"a": lambda params: params})

    assert [part.value for part in run.spawned] == [{"n": 1}]


def test_what_is_started_aside_is_started_once_whenever_it_crashes():
    aside = composer.asynchronous("a")
    part = composer.sequence("b", aside, "b", composer.parallel(aside, aside))
    fakes = {"a": lambda params: params, "b": {"n": 1}}
    calm = simulate(part, actions=fakes)
    assert len(calm.spawned) == 3

    for crash in ("every", *([(commit, "after")] for commit in range(calm.commits))):
        assert len(simulate(part, actions=fakes, crash=crash).spawned) == 3


def test_a_chosen_crash_repeats_what_was_under_way_and_nothing_that_was_done():
    part = composer.sequence("a", "b", "c")
    fakes = {"a": {"n": 1}, "b": {"n": 2}, "c": {"n": 3}}

    calm = simulate(part, actions=fakes)
    for commit in range(calm.commits):
        for when in ("before", "after"):
            run = simulate(part, actions=fakes, crash=[(commit, when)])
            assert run.outcome == calm.outcome
            repeated = Counter(call.activation for call in run.invocations)
            assert max(repeated.values()) <= 2
            assert sum(repeated.values()) <= len(calm.invocations) + 1


def test_a_crash_repeats_an_activation_with_the_answer_that_it_had():
    part = composer.retry(3, "a")

    run = simulate(part, actions={"a": [Fail("Down"), {"n": 2}]}, crash="every")

    assert run.value == {"n": 2}


# What runs at once, and for a while, ends in another order when a crash makes some of it begin again.
@given(compositions(errors=()), INPUTS, plans())
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_crashes_at_every_commit_change_no_outcome(composition, params, fakes):
    calm = simulate(composition, params, actions=fakes)

    crashed = simulate(composition, params, actions=fakes, crash="every")

    assert shown(crashed.outcome) == shown(calm.outcome)
    assert crashed.paused == calm.paused


@pytest.mark.parametrize("errors", ["fail", "wait", "collect"])
def test_crashes_at_every_commit_change_no_outcome_of_branches(errors):
    part = composer.parallel(
        composer.sequence(composer.wait(1), "a"),
        composer.do(composer.sequence(composer.wait(2), "b"), composer.literal({"handled": 1})),
        composer.map(composer.sequence(composer.wait(path("$.value")), "a"), items=[3, 1, 2]),
        composer.race(composer.wait(9), composer.sequence(composer.wait(5), "c")),
        errors=errors,
    )
    fakes = {"a": {"is": "a"}, "b": Fail("No"), "c": Fail("Lost")}

    calm = simulate(part, actions=fakes)
    crashed = simulate(part, actions=fakes, crash="every")

    assert crashed.outcome == calm.outcome
    assert crashed.elapsed == calm.elapsed


def test_a_crash_in_a_cancellation_changes_nothing_either():
    part = composer.parallel(composer.ensure("a", "tidy"), composer.wait(60))

    run = simulate(part, actions={"a": Never(), "tidy": {}}, cancel_at=5, crash="every")

    assert run.outcome.code == "Cancelled"
    assert run.elapsed == 5


def test_limits_can_be_set():
    run = simulate(composer.repeat(9, composer.literal({})), limits=Limits(steps=5))

    assert isinstance(run.outcome, Failure)


def test_a_composition_is_checked_before_it_runs():
    with pytest.raises(CompositionError):
        simulate(composer.sequence(7))


def test_what_an_inline_function_has_set_before_it_fails_counts():
    def fail(params, variables):
        variables["n"] += 1
        raise ValueError("no")

    def told(params, variables):
        return {"n": variables["n"], "why": params["error"]}

    run = simulate(composer.let({"n": 1}, composer.do(fail, told)))

    assert run.value == {"n": 2, "why": "ValueError: no"}


def test_an_assertion_in_an_inline_function_is_the_tests_own():
    def check(params):
        raise AssertionError("it is not so")

    with pytest.raises(AssertionError, match="it is not so"):
        simulate(composer.function(check))
