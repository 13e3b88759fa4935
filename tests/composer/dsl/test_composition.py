"""Compositions as trees and as JSON: what is written is read again, and nothing else is."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kit.composer.compositions import compositions
from xingqiao import composer
from xingqiao.composer import DIALECTS, CompositionError, Program, parse, path
from xingqiao.composer.dsl.composition import MAX_NESTING, ROWS, build

SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@given(compositions(timed=True))
@SETTINGS
def test_a_composition_goes_through_json_and_stays_the_same(composition):
    doc = json.loads(json.dumps(composition.to_json()))

    again = parse(doc)

    assert again == composition
    assert again.to_json() == composition.to_json()
    assert composer.compile(again).hash == composer.compile(composition).hash


@given(compositions(timed=True))
@SETTINGS
def test_a_program_goes_through_json_and_stays_the_same(composition):
    program = composer.compile(composition)

    again = Program.from_json(json.loads(json.dumps(program.to_json())), DIALECTS)

    assert again == program
    assert again.to_json() == program.to_json()


@pytest.mark.parametrize(
    "part",
    [
        composer.graph({"x": "a", "y": composer.after("x", "b")}),
        composer.switch(path("$.n"), {"x": "a"}, default="b"),
        composer.retry(3, "a", delay=1, backoff=2, max_delay=9, jitter=0.5, errors="Timeout",
                       until=path("$.ok").is_true(), on_exhausted="pause"),
        composer.forward(["a"], "b", carry=path("$.c"), into="d"),
        composer.action("a", code="x", limits={"timeout": 100}, annotations={"k": [1]}),
        composer.wait(until="2026-11-21T00:00:00Z"),
        composer.map("a", items=path("$.x"), concurrency=2, errors="collect"),
        composer.eca("a", "b", otherwise="c"),
        composer.dynamic(),
        composer.assign(x=path("$.y")),
    ],
)  # fmt: skip
def test_every_argument_is_written_and_read(part):
    assert parse(json.loads(json.dumps(part.to_json()))).to_json() == part.to_json()


def test_an_undo_that_is_tried_without_end_stays_one():
    part = composer.step("a", "b", undo_retries=None)

    assert parse(json.loads(json.dumps(part.to_json()))).arguments["undo_retries"] is None


def test_what_composer_writes_is_read():
    doc = {
        "type": "sequence",
        "components": [
            {"type": "action", "name": "/_/authenticate", "path": ".sequence[0]"},
            {"type": "empty"},
        ],
    }
    with pytest.raises(CompositionError, match="the combinator 'empty' does not exist"):
        parse(doc)
    doc["components"][1] = {"type": "sequence", "components": []}
    assert parse(doc) == composer.sequence("authenticate", None)


@pytest.mark.parametrize(
    ("doc", "why"),
    [
        (None, "a composition is an object with a 'type', not None"),
        ([], "a composition is an object with a 'type'"),
        ({"type": 7}, "a composition is an object with a 'type'"),
        ({"type": "goto"}, "the combinator 'goto' does not exist"),
        ({"type": "action"}, "action: 'name' is missing"),
        ({"type": "action", "name": "a", "x": 1}, "action: unknown argument 'x'"),
        ({"type": "sequence", "components": 7}, "sequence: 'components' cannot be read"),
        ({"type": "retry", "components": [], "count": "x"}, "retry: 'count' must be an int"),
        ({"type": "switch", "on": None, "cases": [1]}, "switch: 'cases' cannot be read"),
        ({"type": "graph", "tasks": {"x": {}}}, "graph: 'tasks' cannot be read"),
        (
            {"type": "function", "function": {"exec": {"kind": 1}}},
            "function: 'function' must be {'e",
        ),
        ({"type": "action", "name": "a", "action": {}}, "action: 'action' must be an action: "),
        ({"type": "select", "template": {"$path": "$["}}, "select: 'template' cannot be read"),
        ({"type": "literal", "value": float("inf")}, "a composition is JSON, but inf at"),
        ({"type": "parallel", "components": [], "errors": []}, "parallel: 'errors' must be one of"),
    ],
)
def test_what_is_no_composition_is_refused(doc, why):
    with pytest.raises(CompositionError, match=why):
        parse(doc)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["a", "sequence", "$.x"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["type", "components", "body", "test", "name", "count", "items", "tasks"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ),
    st.sampled_from(sorted(ROWS)),
)
@SETTINGS
def test_no_document_does_worse_than_to_be_refused(doc, type):
    if isinstance(doc, dict):
        doc["type"] = type
    with suppress(CompositionError):
        parse(doc)


def test_compositions_nest_so_deep_and_no_deeper():
    part = composer.action("a")
    for _ in range(MAX_NESTING - 1):
        part = (
            composer.task(composer.retain(part))
            if part.depth < MAX_NESTING - 2
            else part.catch("b")
        )
        if part.depth == MAX_NESTING:
            break
    assert part.depth == MAX_NESTING
    composer.compile(part)

    with pytest.raises(CompositionError, match=f"nest at most {MAX_NESTING} levels deep"):
        part.catch("b")


def test_values_that_cannot_be_written_together_are_refused():
    deep = value = {}
    for _ in range(198):
        value["x"] = value = {}

    part = composer.literal(deep)
    for _ in range(MAX_NESTING - 2):
        part = composer.retain(part)
    composer.compile(part)  # a program is flat, however deep its composition is

    with pytest.raises(CompositionError, match="nests deeper than"):
        parse(part.to_json())


def test_a_document_may_hold_one_value_too_deep_for_a_program():
    deep = value = {}
    for _ in range(199):
        value["x"] = value = {}
    nested = composer.let({"x": deep}, "a")

    composer.compile(nested)


def test_a_part_that_stands_for_nothing_is_left_out():
    assert "default" not in composer.switch("on", {"x": "a"}).to_json()
    assert composer.eca("c", "a").to_json().keys() == {"type", "condition", "body"}


@pytest.mark.parametrize("components", [7, "ab", None])
def test_components_are_a_list(components):
    with pytest.raises(CompositionError, match="sequence: 'components'"):
        build(ROWS["sequence"], components=components)


def test_equal_compositions_are_equal_and_have_no_hash():
    assert composer.sequence("a") == composer.sequence("a")
    assert composer.sequence("a") != composer.sequence("b")
    assert composer.sequence("a") != "a"
    with pytest.raises(TypeError):
        hash(composer.sequence("a"))


def test_a_composition_shows_what_it_is():
    assert repr(composer.action("pkg/a")) == "<composition action /_/pkg/a>"
    assert repr(composer.sequence("a")) == "<composition sequence>"


def test_walking_meets_parents_before_their_parts():
    part = composer.when("test", composer.graph({"x": "a", "y": composer.after("x", "b")}),
                         composer.switch("on", [(1, "c")]))  # fmt: skip

    types = [node.type for node in part.walk()]
    names = [node.arguments["name"] for node in part.walk() if node.type == "action"]

    assert types[0] == "if"
    assert names == ["/_/test", "/_/a", "/_/b", "/_/on", "/_/c"]


A = composer.action("a")


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
