"""Actions that the conductor runs a program for: conductor actions, and Composer's with branches."""

from __future__ import annotations

import pytest

from tests.kit.actions.things import named, python
from xingqiao.actions.definitions import define_action
from xingqiao.composer import CONDUCTING, Completed, Execution, Limits, Success

TREE = {
    "type": "parallel",
    "components": [
        {"type": "function", "function": {"exec": {"kind": "nodejs:default", "code": "p => p"}}},
        {"type": "action", "name": "/_/a"},
    ],
}
PLAIN = {"type": "sequence", "components": [{"type": "action", "name": "/_/a"}]}


def conductor(annotation):
    return python(annotations=[{"key": "conductor", "value": annotation}])


@pytest.mark.parametrize(
    ("annotation", "conducts"),
    [(True, True), (1, True), ("yes", True), ({}, True), ([], True), (PLAIN, True),
     (False, False), (0, False), ("", False), (None, False)],
)  # fmt: skip
def test_an_action_is_a_conductor_action_when_its_annotation_is_true(annotation, conducts):
    action = conductor(annotation)

    assert (action.program is CONDUCTING) == conducts
    assert action.program_for({}) is action.program
    assert action.programs == []


def test_what_composer_branches_is_joined_by_the_conductor_unless_a_redis_is_named():
    action = conductor(TREE)

    assert action.program_for({"$composer": {"redis": {"uri": "redis://x"}}}) is CONDUCTING
    for params in ({}, {"$composer": {}}, {"$composer": 5}, {"n": 1}):
        assert action.program_for(params) is action.joined
    assert action.joined.actions == ["/guest/a"]
    assert action.programs == [action.joined]
    (function,) = action.joined.functions
    assert action.code_of(function).kind == "nodejs:20"
    assert action.invoker_kind(function) == "nodejs:20"
    assert action.code_of(function) is action.code_of(function)


@pytest.mark.parametrize(("forward", "seen"), [(False, {"b": 2}), (True, {"n": 1, "a": 1, "b": 2})])
def test_a_sequence_forwards_what_was_before_where_its_annotation_asks(forward, seen):
    doc = {
        "exec": {"kind": "sequence", "components": ["a", "b", "c"]},
        "annotations": [{"key": "forward", "value": forward}],
    }
    sequence = define_action(named("s"), doc, None, 1)
    execution, asked = Execution("0" * 32, sequence.program, Limits()), []
    changes = execution.begin({"n": 1}, 0)
    for result in ({"a": 1}, {"b": 2}, {"c": 3}):
        ((fiber, command),) = changes.commands
        asked.append(command.params)
        changes = execution.deliver(fiber, Completed(command.turn, result), 1)

    assert (asked[-1], changes.outcome) == (seen, Success({"c": 3}))
    assert sequence.programs == [sequence.program]


def test_a_tree_that_cannot_be_read_is_left_to_its_code():
    action = conductor({**TREE, "errors": 5, "components": [{"type": "what"}]})

    assert action.joined is None
    assert action.program_for({}) is CONDUCTING
