"""What a PUT makes of packages, bindings, triggers and rules, and of all that has a name."""

from __future__ import annotations

import json

import pytest

from tests.kit.actions.things import named, python
from xingqiao.actions import EntitySettings, InvalidError, TooLargeError
from xingqiao.actions.definitions import (
    MAX_PARAMETER_BYTES,
    define_action,
    define_package,
    define_rule,
    define_trigger,
)
from xingqiao.actions.model import definition_from_json

LINKS = {"trigger": "/_/t", "action": {"path": "guest/p", "name": "a"}}
MEMORY = {
    "condition": {"count": 3},
    "context": {"n": 1},
    "assign": {"n": {"$path": "$.event.data.n"}},
    "transient": True,
}


@pytest.mark.parametrize(
    ("define", "doc"),
    [
        (define_package, {"parameters": [{"key": "a", "value": 1}], "publish": True}),
        (define_package, {"binding": {"namespace": "_", "name": "other"}}),
        (define_package, {"binding": {"name": "other"}}),
        (define_trigger, {"annotations": [{"key": "feed", "value": "/ns/p/f"}]}),
        (define_trigger, {"filter": {"exact": {"type": "order.placed"}}}),
        (define_rule, LINKS),
        (define_rule, {**LINKS, **MEMORY}),
        (define_action, {"exec": {"kind": "python:3", "code": "x"},
                         "annotations": [{"key": "a", "value": [1]}]}),
        (define_action, {"exec": {"kind": "sequence", "components": ["/_/a"]}}),
    ],
)  # fmt: skip
def test_what_is_defined_comes_back_from_the_store(define, doc):
    made = define(named("it"), doc, None, 7)

    assert definition_from_json(made.to_json()) == made
    assert (made.version, made.updated_ms) == ("0.0.1", 7)


def test_an_update_keeps_what_it_does_not_name():
    before = define_rule(named("r"), LINKS, None, 1)
    after = define_rule(named("r"), {"trigger": "other", "action": None, "status": ""}, before, 2)
    package = define_package(named("p"), {"binding": {"name": "b"}}, None, 1)

    assert (after.trigger, after.action) == (named("other"), named("p/a"))
    assert (after.status, after.version) == ("active", "0.0.2")
    assert define_package(named("p"), {"binding": {}}, package, 2).binding == named("b")


@pytest.mark.parametrize(
    ("define", "doc", "why"),
    [
        (define_package, [], "the body must be an object"),
        (define_package, {"binding": "b"}, "'binding' must be an object"),
        (define_package, {"binding": {"name": "a/b/c/d"}}, "'binding': "),
        (define_package, {"publish": "yes"}, "'publish' must be true or false"),
        (define_trigger, {"annotations": [{"key": "feed", "value": "a/b/c/d"}]},
         "Feed name is not valid"),
        (define_trigger, {"filter": {"exact": {"type": 5}}}, "'filter.exact.type' must be a string"),
        (define_trigger, {"filters": []}, "did you mean 'filter'"),
        (define_trigger, {"annotations": [{"key": "feed", "value": 5}]}, "Feed name is not valid"),
        (define_trigger, {"delAnnotations": "x"}, "'delAnnotations' must be a list"),
        (define_rule, {}, "rule requires a valid trigger and a valid action"),
        (define_rule, {**LINKS, "transient": 1}, "'transient' must be true or false"),
        (define_rule, {**LINKS, "condition": {"count": 0}}, "'condition.count' must be an integer"),
        (define_rule, {**LINKS, "context": 5}, "'context' must be an object"),
        (define_rule, {**LINKS, "assign": 5}, "'assign' must be an object"),
        (define_rule, {"trigger": "t"}, "rule requires a valid trigger and a valid action"),
        (define_rule, {**LINKS, "trigger": 5}, "'trigger': "),
        (define_rule, {**LINKS, "action": {"path": "x"}, "trigger": "a b/"}, "'trigger': "),
    ],
)  # fmt: skip
def test_what_is_malformed_is_refused_by_its_name(define, doc, why):
    with pytest.raises(InvalidError, match=why):
        define(named("it"), doc, None, 1)


def test_a_trigger_keeps_its_filter_until_another_is_given_or_null():
    one, other = {"exact": {"type": "a"}}, {"exact": {"type": "b"}}
    first = define_trigger(named("t"), {"filter": one}, None, 1)
    kept = define_trigger(named("t"), {"parameters": []}, first, 2)
    changed = define_trigger(named("t"), {"filter": other}, kept, 3)
    gone = define_trigger(named("t"), {"filter": None}, changed, 4)

    assert first.summary()["filter"] == kept.to_json()["filter"] == one
    assert changed.to_json()["filter"] == other
    assert gone.filter is None
    assert "filter" not in gone.to_json()


def test_a_rule_keeps_when_it_fires_until_that_is_given_or_null():
    first = define_rule(named("r"), {**LINKS, **MEMORY}, None, 1)
    kept = define_rule(named("r"), {**LINKS, "transient": None}, first, 2)
    nothing = dict.fromkeys(("condition", "context", "assign"), None) | {"transient": False}
    plain = define_rule(named("r"), nothing, kept, 3)

    assert {name: kept.to_json()[name] for name in MEMORY} == MEMORY
    assert not MEMORY.keys() & plain.to_json().keys()
    assert plain.condition is plain.assign is None


def test_a_package_may_not_be_called_default():
    with pytest.raises(InvalidError, match="Package name 'default' is reserved"):
        define_package(named("default"), {}, None, 1)


@pytest.mark.parametrize("field", ["parameters", "annotations"])
def test_parameters_and_annotations_are_so_large_and_no_larger(field):
    fits = "x" * (MAX_PARAMETER_BYTES - len('{"k": ""}'))
    define_trigger(named("t"), {field: [{"key": "k", "value": fits}]}, None, 1)

    with pytest.raises(TooLargeError, match="larger than allowed: 1048577 > 1048576 bytes"):
        define_trigger(named("t"), {field: [{"key": "k", "value": fits + "x"}]}, None, 1)


def test_a_sequence_shows_its_components_as_a_parameter_that_is_none():
    doc = {"exec": {"kind": "sequence", "components": ["/_/a"]},
           "parameters": [{"key": "_actions", "value": ["/_/b"]}, {"key": "x", "value": 1}]}  # fmt: skip
    made = define_action(named("s"), doc, None, 1)

    assert made.parameters == {"x": 1}
    assert made.to_json()["parameters"][-1] == {"key": "_actions", "value": ["/guest/a"]}
    assert python().components == []


# --- entity types --------------------------------------------------------------------------------


def entity(annotation, **fields):
    doc = {"exec": {"kind": "python:3", "code": "x"}, **fields}
    return define_action(
        named("it"), {**doc, "annotations": [{"key": "entity", "value": annotation}]}, None, 1
    )


def test_an_action_is_an_entity_type_by_annotation():
    assert entity(True).entity == EntitySettings(1, 1 << 16)
    assert entity({"version": 3, "bytes": 100}).entity == EntitySettings(3, 100)
    assert entity({"bytes": 1 << 20}).entity == EntitySettings(1, 1 << 20)
    for none in (False, None, 0, ""):
        assert entity(none).entity is None
    assert python("plain").entity is None


@pytest.mark.parametrize(
    ("annotation", "why"),
    [
        ("yes", "must be true or"),
        ({"size": 1}, "must be true or"),
        ({"version": 0}, "entity.version' must be a whole number, 1 or more"),
        ({"version": True}, "entity.version'"),
        ({"bytes": 0}, "entity.bytes' must be 1 to 1048576"),
        ({"bytes": (1 << 20) + 1}, "entity.bytes'"),
    ],
)
def test_an_entity_type_says_what_it_may(annotation, why):
    with pytest.raises(InvalidError, match=why):
        entity(annotation)


def test_only_code_is_an_entity_type():
    sequence = {"exec": {"kind": "sequence", "components": ["/_/a"]}}
    with pytest.raises(InvalidError, match="an entity is code"):
        entity(True, **sequence)
    plain = define_action(named("it"), sequence, None, 1)
    assert plain.entity is None


# --- fields that do not exist --------------------------------------------------------------------

EXEC = {"exec": {"kind": "python:3", "code": "x"}}


@pytest.mark.parametrize(
    ("define", "doc", "told"),
    [
        (define_action, {**EXEC, "parametres": []}, "'parametres' does not exist: did you mean 'para"),
        (define_action, {**EXEC, "timeout": 5}, "'timeout' does not exist: did you mean 'limits.timeout'?"),
        (define_action, {**EXEC, "limits": {"memry": 256}},
         "'limits.memry' does not exist: did you mean 'memory'?"),
        (define_action, {**EXEC, "params": []}, "did you mean 'parameters'?"),
        (define_action, {"Exec": EXEC["exec"]}, "did you mean 'exec'?"),
        (define_package, {"bindings": {}}, "did you mean 'binding'?"),
        (define_trigger, {"annotation": []}, "did you mean 'annotations'?"),
        (define_rule, {**LINKS, "triger": "t"}, "did you mean 'trigger'?"),
    ],
)  # fmt: skip
def test_a_field_that_does_not_exist_is_refused(define, doc, told):
    with pytest.raises(InvalidError, match="malformed:\nthe field ") as refused:
        define(named("it"), doc, None, 7)

    assert told in str(refused.value)


def test_fields_that_clients_send_back_are_accepted():
    """Wsk (openwhisk-client-go) sends the structs that it reads; their fields say nothing in a PUT."""
    shown = {"namespace": "_", "name": "it", "version": "0.0.1", "updated": 1, "publish": False}
    limits = {"limits": {"timeout": 500, "codeSize": 1, "instances": 2}}

    define_action(named("it"), {**shown, **EXEC, **limits, "error": "", "code": 0}, None, 7)
    define_package(named("it"), {**shown, "actions": [], "feeds": [], "binding": {}}, None, 7)
    define_trigger(named("it"), {**shown, "rules": {}, "limits": {}, "activationId": ""}, None, 7)
    define_trigger(named("it"), {**shown, "lastUpdated": 1, "subject": "me"}, None, 7)
    define_rule(named("it"), {**shown, **LINKS, "status": ""}, None, 7)


def test_a_field_that_is_like_none_is_ignored():
    assert (
        define_action(named(), {**EXEC, "xyz": 1, "somethingElse": 2}, None, 1).version == "0.0.1"
    )


def test_a_machine_that_is_too_large_is_refused():
    count = 12_500  # Tasks, of 4 instructions each
    task = {"Type": "Task", "Resource": "a"}
    states = {f"{n}": {**task, "Next": f"{n + 1}"} for n in range(count)}
    states[f"{count}"] = {"Type": "Succeed"}
    definition = json.dumps({"StartAt": "0", "States": states})

    with pytest.raises(InvalidError, match="more than 50000 instructions"):
        define_action(named(), {"exec": {"kind": "states", "definition": definition}}, None, 1)


def test_limits_that_wait_are_for_code():
    doc = {
        "exec": {"kind": "sequence", "components": ["/_/a"]},
        "limits": {"concurrent": 1},
    }

    with pytest.raises(InvalidError, match="put the call of any other action into a 'limit'"):
        define_action(named("s"), doc, None, 1)
