"""The program of conductor actions: OpenWhisk's protocol, answer by answer."""

from __future__ import annotations

import json

import pytest

from xingqiao.composer import CONDUCTING, DIALECTS, timeline
from xingqiao.composer.machine.commands import Invoke
from xingqiao.composer.machine.cursor import Limits
from xingqiao.composer.machine.events import Completed, Failed
from xingqiao.composer.machine.execution import Execution
from xingqiao.composer.machine.program import Program
from xingqiao.composer.values import Failure, Success

ID = "0" * 32


def conducted(params, *, code, actions, limits=None):
    """Runs it: `code` is the conductor action's, `actions` those it names. Returns the outcome.

    And what was asked of whom, in order; and the history.
    """
    program = Program.from_json(json.loads(json.dumps(CONDUCTING.to_json())), DIALECTS)
    execution = Execution(ID, program, limits or Limits())
    asked, entries = [], []
    changes = execution.begin(params, 0)
    while True:
        entries += changes.entries
        if changes.outcome is not None:
            return changes.outcome, asked, entries
        ((fiber, command),) = changes.commands
        assert isinstance(command, Invoke)
        asked.append((command.action, command.params))
        answer = (code if command.action is None else actions[command.action])(command.params)
        made = Failed if isinstance(answer, Failure) else Completed
        changes = execution.deliver(fiber, made(command.turn, answer), 1)


def script(*answers):
    """Code that gives these answers, one after the other."""
    left = list(answers)
    return lambda params: left.pop(0)


def test_it_names_actions_until_it_names_none():
    def code(params):
        if params.get("step", 0) < 2:
            return {"action": "/_/inc", "params": {"n": params["n"]},
                    "state": {"step": params.get("step", 0) + 1, "n0": 5}}  # fmt: skip
        return {"params": {"n": params["n"], "n0": params["n0"]}}

    outcome, asked, _ = conducted(
        {"n": 1}, code=code, actions={"/_/inc": lambda p: {"n": p["n"] + 1}}
    )

    assert outcome == Success({"n": 3, "n0": 5})
    assert asked == [
        (None, {"n": 1}),
        ("/_/inc", {"n": 1}),
        (None, {"n": 2, "step": 1, "n0": 5}),
        ("/_/inc", {"n": 2}),
        (None, {"n": 3, "step": 2, "n0": 5}),
    ]


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ({"params": {"a": 1}, "x": 2}, {"a": 1}),
        ({"params": 5}, {"value": 5}),
        ({"a": 1}, {"a": 1}),
        ({"a": 1, "params": None, "action": None}, {"a": 1, "params": None, "action": None}),
        ({"state": {"s": 1}}, {"state": {"s": 1}}),
        ({}, {}),
        ([1], {"value": [1]}),
    ],
)
def test_an_answer_without_an_action_is_the_result(answer, result):
    assert conducted({}, code=script(answer), actions={})[0] == Success(result)


@pytest.mark.parametrize(
    ("params", "given"),
    [({"a": 1}, {"a": 1}), (5, {"value": 5}), ([1], {"value": [1]}), (None, {})],
)
def test_the_action_is_given_parameters_that_are_an_object(params, given):
    code = script({"action": "/ns/p/a", "params": params}, {})

    _, asked, _ = conducted({"x": 1}, code=code, actions={"/ns/p/a": lambda _: {}})

    assert asked[1] == ("/ns/p/a", given)


@pytest.mark.parametrize(
    ("state", "given"),
    [({"a": 2}, {"a": 2, "b": 1}), (5, {"a": 1, "b": 1, "state": 5}), (None, {"a": 1, "b": 1})],
)
def test_the_state_goes_over_the_result_of_the_action(state, given):
    code = script({"action": "a", "state": state}, {"params": {}})

    _, asked, _ = conducted({}, code=code, actions={"/_/a": lambda _: {"a": 1, "b": 1}})

    assert asked[2] == (None, given)


@pytest.mark.parametrize("name", ["a/b/c/d", "", 5, {"a": 1}, ["x"], True])
def test_what_is_no_name_of_an_action_is_handed_to_the_code(name):
    code = script({"action": name, "state": {"s": 1}}, {"params": {}})

    _, asked, _ = conducted({}, code=code, actions={})

    spelled = json.dumps(name, ensure_ascii=False)
    text = f"Failed to parse action name from json value {spelled} during composition."
    assert asked[1] == (None, {"error": text, "s": 1})


@pytest.mark.parametrize(
    ("answer", "error"),
    [({"error": "no", "more": 1}, "no"), (Failure("Timeout", "late"), "late")],
)
def test_a_failure_of_the_action_is_handed_to_the_code_which_may_handle_it(answer, error):
    code = script({"action": "a", "state": {"s": 1}}, {"params": {"handled": True}})

    outcome, asked, _ = conducted({}, code=code, actions={"/_/a": lambda _: answer})

    assert asked[2] == (None, {"error": error, "s": 1})
    assert outcome == Success({"handled": True})


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        ({"error": "no", "action": "a"}, Failure("ApplicationError", "no")),
        (Failure("Crashed", "gone"), Failure("Crashed", "gone")),
        ({"params": {"error": "no", "x": 1}}, Failure("ApplicationError", "no")),
    ],
)
def test_a_failure_of_the_code_is_the_compositions(answer, failure):
    assert conducted({}, code=script(answer), actions={})[0] == failure


def test_a_state_that_makes_too_much_is_a_failure():
    code = script({"action": "a", "state": {"s": "x" * 900}})
    big = {"/_/a": lambda _: {"r": "x" * 900}}

    outcome, _, _ = conducted({}, code=code, actions=big, limits=Limits(value_bytes=1000))

    assert outcome.code == "LimitExceeded"
    assert "the state makes a value of more than 1000 bytes" in str(outcome.error)


def test_its_history_tells_the_code_from_the_actions():
    code = script({"action": "a"}, {"params": {}})

    _, _, entries = conducted({}, code=code, actions={"/_/a": lambda _: {}})

    lines = timeline([entry.to_json(lambda value: value) for entry in entries])
    assert [line.label for line in lines if line.label in ("conductor action", "a")] == [
        "conductor action", "a", "conductor action",
    ]  # fmt: skip
