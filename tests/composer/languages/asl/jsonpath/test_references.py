"""Reference paths, which lead to one place."""

from __future__ import annotations

import pytest

from xingqiao.composer.errors import ExpressionError
from xingqiao.composer.expressions import MISSING
from xingqiao.composer.languages.asl.jsonpath.paths import Scope
from xingqiao.composer.languages.asl.jsonpath.references import ReferencePath
from xingqiao.composer.languages.asl.state_errors import StatesError

DOCUMENT = {"a": {"b": [1, {"c": None}]}, "s": "text"}


def reference(text):
    return ReferencePath.compile(text)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$", DOCUMENT),
        ("$.a.b[0]", 1),
        ("$.a.b[-1].c", None),
        ("$.a['b'][1]", {"c": None}),
        ("$.a.b[2]", MISSING),
        ("$.a.x.y", MISSING),
        ("$.s[0]", MISSING),
        ("$$.run", 7),
        ("$v.w", 8),
        ("$nothing", MISSING),
    ],
)
def test_it_finds_what_stands_there(path, expected):
    scope = Scope(DOCUMENT, {"run": 7}, {"v": {"w": 8}})

    assert reference(path).find(scope) == expected
    if expected is not MISSING:
        assert reference(path).get(scope) == expected


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("a", "Reference path didn't start with '$'"),
        (None, "Reference path didn't start with '$'"),
        ("States.Array(1)", "Reference path didn't start with '$'"),
        ("$.a[*]", "may only have names and single indexes"),
        ("$.a[0,1]", "may only have names and single indexes"),
        ("$['a','b']", "may only have names and single indexes"),
        ("$..a", "may only have names and single indexes"),
        ("$..[0]", "may only have names and single indexes"),
        ("$.a[", "expected a name in quotes"),
    ],
)
def test_any_other_path_is_refused(path, why):
    with pytest.raises(ExpressionError) as caught:
        reference(path)
    assert str(caught.value).startswith("Value is not a Reference Path: ")
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("path", "document", "expected"),
    [
        ("$", {"a": 1}, "new"),
        ("$.b", {"a": 1}, {"a": 1, "b": "new"}),
        ("$.a", {"a": 1}, {"a": "new"}),
        ("$.a.x", {"a": {"y": 1}}, {"a": {"y": 1, "x": "new"}}),
        ("$.p['q r'].s", {}, {"p": {"q r": {"s": "new"}}}),
        ("$.l[1]", {"l": [1, 2, 3]}, {"l": [1, "new", 3]}),
        ("$.l[-1].x", {"l": [1, {}]}, {"l": [1, {"x": "new"}]}),
        ("$[0]", [1], ["new"]),
        ("$", None, "new"),
    ],
)
def test_a_value_is_put_there_in_a_copy(path, document, expected):
    before = repr(document)

    assert reference(path).put(document, "new") == expected
    assert repr(document) == before


@pytest.mark.parametrize(
    ("path", "document", "why"),
    [
        ("$.x", [1, 2], 'Unable to apply step "x" to input [1,2]'),
        ("$.x", "input1", 'Unable to apply ReferencePath $.x to input "input1"'),
        ("$.x", None, "Unable to apply ReferencePath $.x to input null"),
        ("$.a.x", {"a": 1}, 'Unable to apply step "x" to input {"a":1}'),
        ("$.a.x", {"a": None}, 'Unable to apply step "x" to input {"a":null}'),
        ("$.l[2]", {"l": [1, 2]}, 'Unable to apply step "2" to input {"l":[1,2]}'),
        ("$.l[0]", {}, 'Unable to apply step "0" to input {}'),
    ],
)
def test_where_it_cannot_be_put_is_a_conflict(path, document, why):
    with pytest.raises(StatesError) as caught:
        reference(path).put(document, "new")
    assert caught.value.name == "States.ReferencePathConflict"
    assert caught.value.cause == why


def test_what_must_be_there_and_is_not_is_a_conflict():
    with pytest.raises(StatesError) as caught:
        reference("$.discovery.objects").get(Scope({"discovery": {"statusCode": 500}}))
    assert caught.value.name == "States.ReferencePathConflict"
    assert caught.value.cause == (
        'Unable to apply step "objects" to input {"discovery":{"statusCode":500}}'
    )
    assert repr(reference("$.a")) == "ReferencePath('$.a')"
    assert str(caught.value) == f"{caught.value.name}: {caught.value.cause}"
