"""Templates: a JSON value with selectors in it, filled in from a scope."""

from __future__ import annotations

import collections
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.composer.errors import ExpressionError
from xingqiao.composer.expressions import Scope, Template, path, var
from xingqiao.composer.values import EXPRESSION_ERROR, LIMIT_EXCEEDED, MADE_DEPTH, MAX_DEPTH

SCOPE = Scope({"a": 1, "list": [1, 2], "null": None}, {"v": {"b": 2}})


def nested(levels, inner=0):
    for _ in range(levels):
        inner = [inner]
    return inner


@pytest.mark.parametrize(
    ("template", "value"),
    [
        (5, 5),
        (None, None),
        ([], []),
        ({}, {}),
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}),
        (path("$.a"), 1),
        (path("$.null"), None),
        (path("$"), SCOPE.value),
        (path("$.list[*]"), [1, 2]),
        (path("$.x", default={"$path": "$.a"}), {"$path": "$.a"}),
        (var("v", "$.b"), 2),
        ({"a": path("$.a"), "rest": [var("v"), "x"]}, {"a": 1, "rest": [{"b": 2}, "x"]}),
        ([[path("$.a")], (path("$.a"), 2)], [[1], [1, 2]]),
        ({"$path": path("$.a")}, {"$path": 1}),
        ({"$path": "$.a"}, {"$path": "$.a"}),
    ],
)
def test_a_template_is_filled_from_the_scope(template, value):
    filled = Template.of(template).fill(SCOPE)

    assert filled == value
    assert Template.from_json(Template.of(template).to_json()).fill(SCOPE) == value


@pytest.mark.parametrize(
    ("template", "complaint"),
    [
        (path("$.x"), "path('$.x'): selects nothing"),
        ({"a": [1, path("$.x")]}, "path('$.x'): selects nothing"),
        ([{"a": var("v", "$.x")}], "var('v', '$.x'): selects nothing"),
        ({"a": 1, "b": var("w")}, "var('w'): no enclosing let declares 'w'"),
        ([path("$.x"), var("w")], "path('$.x'): selects nothing"),
    ],
)
def test_a_place_with_nothing_in_it_is_a_failure_that_names_it(template, complaint):
    failed = Template.of(template).fill(SCOPE)

    assert failed.code == EXPRESSION_ERROR
    assert failed.error["message"] == complaint


def test_a_template_that_doubles_its_data_is_bounded():
    twice = Template.of([path("$"), path("$")])
    value = "x" * 400

    fitting = twice.fill(Scope(value, {}, 1000))
    failed = twice.fill(Scope(fitting, {}, 1000))

    assert fitting == [value, value]
    assert failed.code == LIMIT_EXCEEDED
    assert "the template makes a value of more than 1000 bytes" in failed.error["message"]


def test_a_plural_path_is_bounded_and_a_singular_one_takes_what_is_there():
    scope = Scope(["x" * 100], {}, 10)

    assert Template.of(path("$[*]")).fill(scope).code == LIMIT_EXCEEDED
    assert Template.of(path("$")).fill(scope) == ["x" * 100]
    assert Template.of("y" * 100).fill(scope) == "y" * 100


def test_a_template_that_wraps_its_data_again_and_again_is_bounded():
    wrap = Template.of({"a": path("$")})
    value = {}
    for _ in range(MADE_DEPTH):
        value = wrap.fill(Scope(value, {}))

    assert wrap.fill(Scope(value, {})).code == LIMIT_EXCEEDED


def test_only_a_selector_alone_is_one():
    assert Template.of(path("$.a")).selector.path.text == "$.a"
    assert Template.of([path("$.a")]).selector is None
    assert Template.literal(5).selector is None


# --- JSON --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "doc"),
    [
        (path("$.a"), {"$path": "$.a"}),
        (var("v", "$.a", default=[]), {"$path": "$.a", "$var": "v", "$default": []}),
        ({"a": [path("$")]}, {"a": [{"$path": "$"}]}),
        ({"$path": "$.a"}, {"$literal": {"$path": "$.a"}}),
        ({"$literal": 1}, {"$literal": {"$literal": 1}}),
        ({"$literal": {"a": 1}}, {"$literal": {"$literal": {"a": 1}}}),
        ({"$var": path("$")}, {"$literal": {"$var": {"$path": "$"}}}),
        ([{"$default": {"$path": 1}}], [{"$literal": {"$default": {"$literal": {"$path": 1}}}}]),
        ({"path": "$.a", "var": 1, "$paths": 2}, {"path": "$.a", "var": 1, "$paths": 2}),
    ],
)
def test_a_selector_is_marked_and_what_only_looks_like_one_is_a_literal(template, doc):
    assert Template.of(template).to_json() == doc
    assert Template.from_json(doc).to_json() == doc


def test_a_literal_needs_no_selector_to_be_escaped():
    value = {"$path": {"$literal": [{"$var": "x"}]}}

    assert Template.from_json(Template.literal(value).to_json()).fill(SCOPE) == value


def test_a_literal_marker_around_what_needs_none_is_taken_off():
    assert Template.from_json({"$literal": {"a": {"$path": "$.a"}}}).fill(SCOPE) == {"a": 1}


keys = st.sampled_from(["a", "$path", "$var", "$default", "$literal", "path", "$"])
selectors = st.sampled_from(
    [path("$.a"), path("$.x"), path("$.list[*]"), var("v"), path("$.x", default={"$literal": {}})]
)
templates = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text("$a", max_size=2) | selectors,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)


@given(templates)
def test_a_template_that_is_written_reads_as_one_that_fills_the_same(template):
    made = Template.of(template)

    read = Template.from_json(json.loads(json.dumps(made.to_json())))

    assert read.to_json() == made.to_json()
    assert read.fill(SCOPE) == made.fill(SCOPE)


def test_what_a_caller_changes_afterwards_changes_nothing():
    value = {"a": [1], "b": path("$.a")}
    template = Template.of(value)

    value["a"].append(2)
    template.to_json()["a"].append(3)
    doc = template.to_json()
    read = Template.from_json(doc)
    doc["a"].append(4)

    assert template.fill(SCOPE) == read.fill(SCOPE) == {"a": [1], "b": 1}


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({"a": {"b": {1}}}, "path() and var() in it, but set at $.a.b is not a JSON type"),
        ([1, float("nan")], "nan at $[1] is not a JSON number"),
        ({"a": {1: 2}}, "the key 1 at $.a is not a string"),
        ([path("$") == 1], "Comparison at $[0] is not a JSON type"),
        (nested(MAX_DEPTH + 1, path("$")), f"nests deeper than {MAX_DEPTH} levels"),
        (collections.OrderedDict(a=1), "OrderedDict at $ is not a JSON type"),
        (Template.of(1), "Template at $ is not a JSON type"),
    ],
)
def test_what_is_neither_json_nor_a_selector_is_refused_with_its_place(value, complaint):
    with pytest.raises(ExpressionError) as refusal:
        Template.of(value)

    assert complaint in str(refusal.value)


@pytest.mark.parametrize(
    ("doc", "complaint"),
    [
        ({"$literal": 5}, "a template has an object with $literal: a selector is '$path'"),
        ({"$var": "n"}, "an object with $var: a selector"),
        ({"$path": "$.a", "b": 1}, "an object with $path, b: a selector"),
        ({"$path": "$.a", "var": "n"}, "an object with $path, var: a selector"),
        ({"$path": "$.a", "$literal": {}}, "an object with $path, $literal: a selector"),
        ({"a": [{"$default": 1}]}, "an object with $default: a selector"),
        ({"$path": "a"}, "path 'a': it must start with '$'"),
        ({"$path": 5}, "a path must be a string"),
        ({"$path": "$", "$var": []}, "var: 'name' must be the name of a variable, not []"),
        ({1: 2}, "a template is JSON, but the key 1 at $"),
        (nested(MADE_DEPTH + 1), f"a template is JSON, but it nests deeper than {MADE_DEPTH}"),
    ],
)
def test_what_is_no_template_is_refused(doc, complaint):
    with pytest.raises(ExpressionError) as refusal:
        Template.from_json(doc)

    assert complaint in str(refusal.value)


def test_a_template_nests_as_deep_as_a_value():
    template = Template.of(nested(MAX_DEPTH, path("$.a")))

    assert template.fill(SCOPE) == nested(MAX_DEPTH, 1)
