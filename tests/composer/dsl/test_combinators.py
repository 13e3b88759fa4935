"""The arguments of each combinator; errors name the combinator and the argument."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from xingqiao import composer
from xingqiao.composer import CompositionError, path, var
from xingqiao.composer.testing import Fail, simulate


@composer.action
def double(params):
    return {"n": params["n"] * 2}


A = composer.action("a")
DOC = {"exec": {"kind": "python:3", "code": "def main(p): return p"}}

WRONG = [
    (lambda: composer.sequence(7), "sequence: 'components' must be a composition, the name of an"),
    (lambda: composer.action("a/b/c/d"), "action: 'name' is not an action name"),
    (lambda: composer.action("a", limits={"timeout": 5}), "'limits' needs 'code', 'sequence' or 'function'"),
    (lambda: composer.action("a", code="x", sequence=["b"]), "give either 'code' or 'sequence'"),
    (lambda: composer.action("a", kind="http"), "'kind' needs 'code', 'sequence' or 'function'"),
    (lambda: composer.action("a", function="f"), "'function' needs a 'kind'"),
    (lambda: composer.action("a", code="x", region="r"), "'region' does not go with 'code'"),
    (lambda: composer.action(lambda p: p), "a lambda has no name"),
    (lambda: composer.function("a"), "function: must be a Python function, not 'a'"),
    (lambda: composer.task(7), "task: a part must be a composition"),
    (lambda: composer.literal(float("nan")), "literal: 'value' must be JSON, but nan at \\$ is no"),
    (lambda: composer.literal({1: 2}), "literal: 'value' must be JSON, but the key 1 at"),
    (lambda: composer.select(object()), "select: 'template' is not a template"),
    (lambda: composer.let({}, "a"), "let: 'declarations' must be a dict of variable names"),
    (lambda: composer.let({"1x": 0}, "a"), "let: 'declarations' has '1x', which is not a variable name"),
    (lambda: composer.let({"x": {1}}, "a"), "let: 'declarations' must be JSON, but set at"),
    (composer.assign, "assign: 'values' must name at least one variable"),
    (lambda: composer.repeat(-1, "a"), "repeat: 'count' must be an int >= 0, not -1"),
    (lambda: composer.repeat(True, "a"), "repeat: 'count' must be an int >= 0, not True"),
    (lambda: composer.retry("3", "a"), "retry: 'count' must be an int >= 0, not '3'"),
    (lambda: composer.retry(1, "a", delay=-1), "retry: 'delay' must be a number >= 0 and <= "),
    (lambda: composer.retry(1, "a", backoff=0.5), "retry: 'backoff' must be a number >= 1, not 0.5"),
    (lambda: composer.retry(1, "a", delay=1, jitter=2), "retry: 'jitter' must be a number >= 0 and"),
    (lambda: composer.retry(1, "a", errors=[""]), "retry: 'errors' must be names of failures"),
    (lambda: composer.retry(1, "a", errors=int), "'errors' must be names of failures or classes of"),
    (lambda: composer.retry(1, "a", errors=[BaseException]), "exceptions .subclasses of Exception"),
    (lambda: composer.retry(1, "a", until="yes"), "retry: 'until' must be a predicate such as"),
    (lambda: composer.retry(1, "a", on_exhausted="stop"), "'on_exhausted' must be one of 'raise', 'p"),
    (lambda: composer.retry(1, "a", jitter=0.5), "'backoff', 'max_delay' and 'jitter' need a 'delay'"),
    (lambda: composer.retry(1, "a", delay=5, max_delay=1), r"'max_delay' \(1\) must not be less"),
    (lambda: composer.fallback("a"), "fallback: give at least two parts"),
    (lambda: composer.timeout(0, "a"), "timeout: 'seconds' must be a number > 0"),
    (composer.wait, "wait: give either 'seconds' or 'until'"),
    (lambda: composer.wait(-1), "wait: 'seconds' must be from 0 to a year, not -1"),
    (lambda: composer.wait(1, until="2026-11-21"), "wait: give either 'seconds' or 'until'"),
    (lambda: composer.forward("a", "b"), "forward: 'take' must be a list of fields, a path"),
    (lambda: composer.forward(["a"]), "forward: give at least one part to run on the projection"),
    (lambda: composer.forward(["a"], "b", into="error"), "forward: 'into' must be the name of a field"),
    (lambda: composer.map("a", concurrency=0), "map: 'concurrency' must be an int >= 1, not 0"),
    (lambda: composer.parallel("a", errors="no"), "parallel: 'errors' must be one of"),
    (lambda: composer.graph({}), "graph: 'tasks' must be a dict of names and what runs"),
    (lambda: composer.graph({"error": "a"}), "graph: 'tasks' has 'error': a task's name is a string"),
    (lambda: composer.graph({"x": composer.after("y", "a")}), "has 'x' after 'y', which is not a task: use x"),
    (
        lambda: composer.graph({"x": composer.after("y", "a"), "y": composer.after(["x"], "b")}),
        "graph: 'tasks' has a cycle: ",
    ),
    (lambda: composer.switch("a", 7), "switch: 'cases' must be a dict, or pairs"),
    (lambda: composer.switch("a", [(1, "b"), (1.0, "c")]), "has 1.0 twice: the second can never be"),
    (lambda: composer.sequence(composer.raise_error("No"), "a"), "part 1 can never be reached"),
    (lambda: A.retry(1, dealy=1), "retry: unknown argument 'dealy'; it takes count, components"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "why"), WRONG, ids=[why for _, why in WRONG])
def test_wrong_use_is_refused_with_the_argument_named(build, why):
    with pytest.raises(CompositionError, match=why):
        build()


def test_an_action_may_be_defined_where_it_is_named():
    named = composer.action(
        "hello", code="def main(p): ...", limits={"timeout": 5000}, annotations={"a": 1}
    )
    listed = composer.action("both", sequence=["a", "/whisk.system/utils/echo"])

    assert named.arguments["action"] == {
        "exec": {"kind": "python:3", "code": "def main(p): ..."},
        "limits": {"timeout": 5000},
        "annotations": [{"key": "a", "value": 1}],
    }
    assert listed.arguments["action"]["exec"] == {
        "kind": "sequence", "components": ["/_/a", "/whisk.system/utils/echo"],
    }  # fmt: skip


def test_a_function_marked_as_an_action_goes_by_its_name_or_the_one_it_is_given():
    named = composer.action(lambda params: params, name="echo")
    later = composer.action(name="renamed", limits={"timeout": 100})(double.function)

    assert (double.name, named.name, later.name) == ("double", "echo", "renamed")
    assert composer.sequence(named).arguments["components"][0].arguments["name"] == "/_/echo"


def test_methods_make_what_the_functions_make():
    assert A.then("b", "c") == composer.sequence("a", "b", "c")
    assert A.then("b").then("c") == composer.sequence("a", "b", "c")
    assert A.catch("h", errors="Timeout") == composer.do("a", "h", errors=["Timeout"])
    assert A.ensure("f") == composer.ensure("a", "f")
    assert A.retry(2, delay=1) == composer.retry(2, "a", delay=1)
    assert A.repeat(3) == composer.repeat(3, "a")
    assert A.timeout(5) == composer.timeout(5, "a")
    assert A.forward(["x"], into="y") == composer.forward(["x"], "a", into="y")
    assert A.asynchronous() == composer.asynchronous("a")


def test_other_names_make_the_same():
    assert composer.then("a", "b") == composer.sequence("a", "b")
    assert composer.any("a", "b") == composer.race("a", "b")
    assert composer.value(1) == composer.literal(1)
    test = path("$.n") > 0
    assert composer.while_nosave(test, "a") == composer.loop_nosave(test, "a")


def test_what_may_stand_for_a_part():
    parts = composer.sequence(
        None, "a", A, double, lambda params: params, path("$.n") > 1, path("$.n"), var("x")
    ).arguments["components"]

    assert [part.type for part in parts] == [
        "sequence", "action", "action", "action", "function", "predicate", "select", "select",
    ]  # fmt: skip


@pytest.mark.parametrize("errors", ["Timeout", ["Timeout"], ("Timeout",), {"Timeout"}])
def test_errors_are_one_name_or_several(errors):
    assert composer.do("a", "b", errors=errors).arguments["errors"] == ("Timeout",)


class BusyError(Exception):
    """A failure of the user's own."""


@pytest.mark.parametrize("errors", [BusyError, [BusyError], {BusyError}, "BusyError"])
def test_a_class_of_exceptions_is_taken_by_its_name(errors):
    assert composer.do("a", "b", errors=errors).arguments["errors"] == ("BusyError",)
    assert composer.retry(1, "a", errors=errors).to_json()["errors"] == ["BusyError"]
    assert A.catch("h", errors=errors) == A.catch("h", errors="BusyError")


def test_a_wait_ends_at_an_instant():
    at = datetime(1970, 1, 1, 0, 2, tzinfo=UTC)

    for until in (at, at.isoformat(), 120, path("$.at")):
        run = simulate(composer.wait(until=until), {"at": "1970-01-01T00:02:00Z"})
        assert run.elapsed == 120


def test_a_field_of_any_name_can_be_forwarded():
    whole = {"it's": 1, "a\\b": 2, "rest": 3}

    run = simulate(
        composer.forward(["it's", "a\\b"], "a"), whole, actions={"a": lambda p: {"got": p}}
    )

    assert run.value == {**whole, "got": {"it's": 1, "a\\b": 2}}


def test_eca_runs_the_action_only_if_the_condition_holds():
    ask = composer.eca("ask", "act", otherwise="not")

    def acted(answer):
        return simulate(ask, actions={"ask": answer, "act": {"did": True}, "not": {"did": False}})

    assert acted({"value": 1}).value == {"did": True}
    assert acted({"any": "object"}).value == {"did": True}
    assert acted({"value": 0}).value == {"did": False}
    assert acted(Fail("No")).value == {"did": False}
    assert simulate(composer.eca(path("$.x") == 1, "act"), {"x": 2}).value == {}


def test_a_switch_takes_the_case_that_the_value_equals():
    choose = composer.switch(path("$.n"), {"x": "a"}, default="c")
    pairs = composer.switch("kind", [(None, "a"), ([1], "b")])
    fakes = {"a": {"is": "a"}, "b": {"is": "b"}, "c": {"is": "c"}}

    assert simulate(choose, {"n": "x"}, actions=fakes).value == {"is": "a"}
    assert simulate(choose, {"n": "y"}, actions=fakes).value == {"is": "c"}
    assert simulate(pairs, actions={**fakes, "kind": {"value": [1]}}).value == {"is": "b"}
    assert simulate(pairs, actions={**fakes, "kind": {"value": 3}}).error["code"] == "NoChoice"


def test_what_fails_falls_back_on_the_next_with_the_same_input():
    patient = composer.fallback("a", "b", "c")
    fakes = {"a": Fail("Down"), "b": Fail("Busy"), "c": lambda params: {"c": params}}

    assert simulate(patient, {"n": 1}, actions=fakes).value == {"c": {"n": 1}}
    assert simulate(patient, {"n": 1}, actions={**fakes, "a": {"ok": 1}}).value == {"ok": 1}
    assert simulate(patient, {"n": 1}, actions={**fakes, "c": Fail("Gone")}).error["code"] == "Gone"


def test_only_named_failures_fall_back():
    picky = composer.fallback("a", "b", errors="Down")

    assert simulate(picky, actions={"a": Fail("Down"), "b": {"b": 1}}).value == {"b": 1}
    assert simulate(picky, actions={"a": Fail("Other"), "b": {"b": 1}}).error["code"] == "Other"


def test_an_action_that_runs_elsewhere_says_where():
    charge = composer.action(
        "charge", kind="http", function="https://example.com/{id}", body={"all": path("$")}
    )

    assert dict(charge.definitions()) == {
        "/_/charge": {
            "exec": {
                "kind": "http",
                "function": "https://example.com/{id}",
                "body": {"all": {"$path": "$"}},
            }
        }
    }


def test_a_name_that_does_not_exist_names_similar_ones():
    with pytest.raises(AttributeError, match=r"'sequnce': did you mean 'sequence'"):
        _ = composer.sequnce
    with pytest.raises(AttributeError, match=r"'while_': did you mean 'loop'"):
        _ = composer.while_
    with pytest.raises(AttributeError, match=r"has no attribute '__path_hook__'$"):
        _ = composer.__path_hook__
