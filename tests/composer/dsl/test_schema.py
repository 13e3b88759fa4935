"""The JSON Schema of compositions: it accepts what the parser accepts, and refuses other shapes."""

from __future__ import annotations

import json
import subprocess
import sys
from copy import deepcopy
from importlib.resources import files

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from jsonschema import Draft202012Validator

from tests.composer.dsl.catalog import CATALOG
from tests.kit.composer.compositions import compositions
from xingqiao import composer
from xingqiao.composer import CompositionError, composition_schema
from xingqiao.composer.dsl.composition import ROWS, build

SCHEMA = composition_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
ANY = {"type": "literal", "value": 1}
STEP = {"type": "step", "do": ANY, "undo": ANY}


def is_valid(document):
    return VALIDATOR.is_valid(document)


def is_parsed(document):
    try:
        composer.parse(document)
    except CompositionError:
        return False
    return True


def places(document):
    """Every object and list of a document."""
    if isinstance(document, dict | list):
        yield document
        for below in document.values() if isinstance(document, dict) else document:
            yield from places(below)


# --- laws ------------------------------------------------------------------------------------------


def test_the_schema_is_a_schema_and_json():
    Draft202012Validator.check_schema(SCHEMA)

    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


@pytest.mark.parametrize("name", CATALOG)
def test_every_combinator_with_every_option_is_valid(name):
    assert list(VALIDATOR.iter_errors(CATALOG[name].to_json())) == []


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(compositions(timed=True))
def test_every_composition_is_valid(composition):
    assert is_valid(composition.to_json())


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(compositions(timed=True), st.data())
def test_a_misspelt_member_of_a_combinator_is_refused_as_by_the_parser(composition, data):
    document = deepcopy(composition.to_json())  # its functions are shared
    nodes = [
        place for place in places(document) if isinstance(place, dict) and place.get("type") in ROWS
    ]
    node = data.draw(st.sampled_from(nodes))
    name = data.draw(st.sampled_from(sorted(node)))
    node[f"{name}_"] = node.pop(name)
    assume(not is_parsed(document))

    assert not is_valid(document)


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(compositions(timed=True), st.data())
def test_a_document_that_the_schema_refuses_is_refused_by_the_parser(composition, data):
    """The other way round the schema is lenient: names, paths and whole rules are left to the parser."""
    document = deepcopy(composition.to_json())  # its functions are shared
    place = data.draw(st.sampled_from([place for place in places(document) if place]))
    key = data.draw(
        st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place)))
    )
    place[key] = data.draw(st.sampled_from([None, -1, 1.5, "", "error", True, [5], {"n": 1}]))
    valid, parsed = is_valid(document), is_parsed(document)
    event(f"valid: {valid}, parsed: {parsed}")

    assert valid or not parsed


# --- cases -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "document",
    [
        None,
        "a",
        [],
        {},
        {"type": 5},
        {"type": "sequenc"},
        {"type": "sequence", "component": []},
        {"type": "sequence", "components": "a"},
        {"type": "sequence", "components": ""},
        {"type": "sequence", "components": {}},
        {"type": "switch", "on": ANY, "cases": {}},
        {"type": "graph", "tasks": {"a": {"body": ANY, "after": "a"}}},
        {"type": "predicate", "predicate": {"op": "or", "of": ""}},
        {"type": "sequence", "components": ["a"]},
        {"type": "repeat", "components": [ANY]},
        {"type": "repeat", "components": [ANY], "count": -1},
        {"type": "repeat", "components": [ANY], "count": "3"},
        {"type": "repeat", "components": [ANY], "count": 1.5},
        {"type": "timeout", "components": [ANY], "seconds": 0},
        {"type": "timeout", "components": [ANY], "seconds": 366 * 24 * 3600 + 1},
        {"type": "retry", "components": [ANY], "count": 1, "jitter": 1.1},
        {"type": "retry", "components": [ANY], "count": 1, "backoff": 0.9},
        {"type": "retry", "components": [ANY], "count": 1, "errors": [5]},
        {"type": "retry", "components": [ANY], "count": 1, "on_exhausted": "stop"},
        {"type": "retry", "components": [ANY], "count": 1, "until": {"op": "like"}},
        {"type": "let", "declarations": {}, "components": []},
        {"type": "assign", "values": {}},
        {"type": "select", "template": {"$path": 5}},
        {"type": "select", "template": {"$path": "$", "more": 1}},
        {"type": "select", "template": {"$var": "x"}},
        {"type": "select", "template": [{"$literal": 5}]},
        {"type": "predicate", "predicate": {"op": "eq", "left": {"path": "$"}}},
        {"type": "predicate", "predicate": {"op": "eq", "left": {"path": "$"}, "right": {"valu": 1}}},
        {"type": "predicate", "predicate": {"op": "is", "of": {"path": "$"}, "type": "text"}},
        {"type": "predicate", "predicate": {"op": "and", "of": [{"op": "exists"}]}},
        {"type": "predicate", "predicate": {"op": "not", "of": {"op": "exists"}}},
        {"type": "raise", "code": "error"},
        {"type": "raise", "code": ""},
        {"type": "switch", "on": ANY, "cases": [{"equals": 1}]},
        {"type": "graph", "tasks": {"a": {"body": ANY}}},
        {"type": "graph", "tasks": {}},
        {"type": "saga", "components": [], "retry": {"policy": "Times", "attempts": 0}},
        {"type": "saga", "components": [], "retry": {"policy": "ForEach", "into": "n"}},
        {"type": "saga", "components": [], "retry": {"policy": "Always"}},
        {"type": "function", "function": {"exec": {"kind": "python:3"}}},
        {"type": "action", "name": "a", "action": {"code": "x"}},
    ],
    ids=str,
)  # fmt: skip
def test_a_wrong_shape_is_refused_by_the_schema_and_by_the_parser(document):
    assert (is_valid(document), is_parsed(document)) == (False, False)


@pytest.mark.parametrize(
    "document",
    [
        {"$schema": "composition.schema.json", "type": "sequence", "components": [None, ANY]},
        {"type": "sequence", "components": [], "path": ".body"},
        {"type": "timeout", "components": [ANY], "seconds": 366 * 24 * 3600},
        {"type": "retry", "components": [ANY], "count": None, "delay": 1, "jitter": 1, "errors": "Timeout"},
        {"type": "select", "template": {"$literal": {"$path": {"$path": "$"}}}},
        {"type": "select", "template": {"n": [{"$path": "$", "$default": None}]}},
        {"type": "predicate", "predicate": {"op": "eq", "left": {"path": "$"}, "right": {"value": 1}}},
        {"type": "predicate", "predicate": {"op": "lt", "left": {"path": "$"}, "right": {"path": "$"}}},
        {"type": "saga", "components": [STEP], "retry": {"policy": "Times", "attempts": 2}},
    ],
    ids=str,
)  # fmt: skip
def test_a_right_shape_is_accepted_by_the_schema_and_by_the_parser(document):
    assert (is_valid(document), is_parsed(document)) == (True, True)


def test_names_paths_and_rules_between_arguments_are_left_to_the_parser():
    for document in (
        {"type": "action", "name": "a/b/c/d/e"},
        {"type": "select", "template": {"$path": "no path"}},
        {"type": "wait"},
    ):
        assert (is_valid(document), is_parsed(document)) == (True, False)


def test_an_editor_shows_the_texts_of_the_constructors():
    (retry,) = (
        case["then"]
        for case in SCHEMA["$defs"]["composition"]["allOf"]
        if case["if"]["properties"]["type"]["const"] == "retry"
    )

    assert retry["description"].startswith("The parts in sequence, retried")
    assert retry["properties"]["errors"]["description"].startswith("failures to retry, by name")
    assert "empty for all." in retry["properties"]["errors"]["description"]
    assert retry["required"] == ["count"]


def test_a_schema_is_no_argument():
    document = {"$schema": "x", **build(ROWS["sequence"], components=("a",)).to_json()}

    assert composer.parse(document) == composer.sequence("a")


# --- the published file ----------------------------------------------------------------------------


def test_the_published_schema_is_that_of_the_rows():
    """Other tests add combinators to this process. Publish anew: `make schemas`."""
    program = "import json; from xingqiao import composer; print(json.dumps(composer.composition_schema()))"
    made = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    published = files("xingqiao").joinpath("schemas", "composition.json").read_text("utf-8")

    assert json.loads(published) == json.loads(made.stdout)
