"""Actions and functions as parts: where they are defined, and what they are called."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.composer import CompositionError, path


@composer.action
def double(params):
    return {"n": params["n"] * 2}


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


WRONG = [
    (lambda: composer.action("a/b/c/d"), "action: 'name' is not an action name"),
    (lambda: composer.action("a", limits={"timeout": 5}), "'limits' needs 'code', 'sequence', 'function' or 'queue'"),
    (lambda: composer.action("a", code="x", sequence=["b"]), "give either 'code' or 'sequence'"),
    (lambda: composer.action("a", kind="http"), "'kind' needs 'code', 'sequence', 'function' or 'queue'"),
    (lambda: composer.action("a", function="f"), "'function' needs a 'kind'"),
    (lambda: composer.action("a", code="x", region="r"), "'region' does not go with 'code'"),
    (lambda: composer.action(lambda p: p), "a lambda has no name"),
    (lambda: composer.function("a"), "function: must be a Python function, not 'a'"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "why"), WRONG, ids=[why for _, why in WRONG])
def test_wrong_use_is_refused_with_the_argument_named(build, why):
    with pytest.raises(CompositionError, match=why):
        build()
