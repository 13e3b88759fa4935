"""Predicates and paths of compositions mean in JSONata what they mean here."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xingqiao.composer import path, var
from xingqiao.composer.expressions import MISSING, Scope, Template
from xingqiao.composer.expressions.predicates import Every, Some
from xingqiao.composer.languages.asl.export.expressions import (
    InexpressibleError,
    condition,
    filled,
    selected,
)
from xingqiao.composer.languages.asl.running.evaluation import evaluate_field
from xingqiao.composer.languages.jsonata import MISSING as UNDEFINED
from xingqiao.composer.languages.jsonata import Bindings, Expression, evaluate

SCALARS = [
    None,
    True,
    False,
    0,
    1,
    1.0,
    -2,
    2.5,
    "",
    "a",
    "b/c",
    "a*b\n",
    [],
    [1],
    [[1], 2],
    {},
    {"k": 1},
]
PLACES = [
    path("$.x"), path("$.y"), path("$.x", default=1), path("$['a b']"), path("$['`']"), path("$.in"), path("$.o.k"),
    path("$.l[0]"), path("$.l[-1]"), var("v"), var("o", "$.k"),
]  # fmt: skip
COMPARED = ["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"]
PATTERNS = ["a", "*", "a*", "*c", "b/*", r"a\*b*", "a*b\n", "\r[.]"]


def bindings(value, variables):
    return Bindings(states={"input": value}, variables=variables, chance=lambda: 0.5, now_ms=0)


def same(name):
    return name


values = st.sampled_from(SCALARS)
places = st.sampled_from(PLACES)
leaves = st.one_of(
    st.builds(lambda p, op, q: getattr(p, op)(q), places, st.sampled_from(COMPARED), places | values),
    st.builds(lambda p: p.exists(), places),
    st.builds(lambda p: p.is_true(), places),
    st.builds(lambda p, t: p.is_a(t), places, st.sampled_from(["null", "boolean", "number", "string", "array", "object"])),
    st.builds(lambda p, t: p.matches(t), places, st.sampled_from(PATTERNS)),
    st.sampled_from([Every(()), Some(())]),
)  # fmt: skip
predicates = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda one, other: one & other, inner, inner),
        st.builds(lambda one, other: one | other, inner, inner),
        st.builds(lambda one: ~one, inner),
    ),
    max_leaves=4,
)
# What a path leads through is what it takes it for: see the module's docstring.
inner = st.sampled_from([{}, {"k": 1}, {"k": [2]}, {"k": {"k": None}}])
lists = st.lists(st.sampled_from([None, 1, "a", {"k": 1}]))
objects = st.builds(
    lambda plain, listed, known: {**plain, "l": listed, "o": known},
    st.dictionaries(st.sampled_from(["x", "y", "a b", "`", "in"]), values), lists, inner,
)  # fmt: skip
variables = st.builds(lambda v, o: {"v": v, "o": o}, values, inner)


@given(predicates, objects, variables)
@settings(max_examples=500, deadline=None)
def test_a_predicate_holds_in_jsonata_when_it_does_here(predicate, value, known):
    held = evaluate(Expression.compile(condition(predicate, same)), bindings(value, known))

    assert held is predicate.holds(Scope(value, known))


@given(places, objects, variables)
@settings(max_examples=300, deadline=None)
def test_a_place_holds_in_jsonata_what_it_does_here(place, value, known):
    found = evaluate(Expression.compile(selected(place, same)), bindings(value, known))

    expected = place.select(Scope(value, known))
    assert (found is UNDEFINED) == (expected is MISSING)
    assert found is UNDEFINED or found == expected


@pytest.mark.parametrize(
    "value",
    [
        {"a": path("$.x"), "b": [var("v", "$.k"), "{% no %}", "{%"], "$path": 1, "c": {"$literal": {}}},
        {"$var": path("$.x"), "d": {"$default": path("$.x")}},
        [path("$.x"), path("$.none", default={"$path": "$"})],
    ],
)  # fmt: skip
def test_a_template_is_filled_by_a_state_as_it_is_here(value):
    template, data, known = Template.of(value), {"x": [1, {"z": None}]}, {"v": {"k": "v"}}
    field = filled(template, same)

    made = evaluate_field(field, "Output", bindings(data, known))
    assert made == template.fill(Scope(data, known))


@pytest.mark.parametrize("text", ["$.*", "$..x", "$.x[?@.k]", "$.x[0:2]", "$['x','y']"])
def test_a_path_to_several_places_cannot_be_said(text):
    with pytest.raises(InexpressibleError, match="several places"):
        condition(path(text).exists(), same)
