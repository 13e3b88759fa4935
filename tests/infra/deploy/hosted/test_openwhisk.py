"""A composition as a conductor action of OpenWhisk conducts as the server does."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kit.composer.compositions import ACTIONS, INPUTS, PLAIN, Grower, plans
from xingqiao import composer
from xingqiao.composer import Completed, Execution, Failure, Limits, path, var
from xingqiao.composer.testing import Fail
from xingqiao.infra.deploy.hosted.functions import Functions
from xingqiao.infra.deploy.hosted.openwhisk import (
    MAX_PAYLOAD_BYTES,
    STATE,
    UNKNOWN_STATE,
    Conductor,
)

KEY = b"a key for tests"
TOO_MANY = 1000


def conductor(composition, key=KEY):
    program = composer.compile(composition)
    return Conductor(program, Functions(program), key, lambda: 0, lambda: "0" * 32)


def conducted(composition, params, fakes):
    """What OpenWhisk makes of it: its controller's loop, with every answer through JSON."""
    ask = conductor(composition)
    for _ in range(TOO_MANY):
        answer = json.loads(json.dumps(ask(params)))
        if "action" not in answer:
            return answer
        fake = fakes[answer["action"].removeprefix("/_/")]
        result = fake(answer["params"])
        boxed = result if isinstance(result, dict) else {"value": result}
        params = {**boxed, **answer["state"]}
    raise AssertionError("it does not end")


def ran(composition, params, fakes):
    """What the machine makes of it without OpenWhisk: nothing is written down between two steps."""
    program = composer.compile(composition)
    functions = Functions(program)
    execution = Execution("0" * 32, program, Limits())
    changes = execution.begin(params, 0)
    while changes.outcome is None:
        ((fiber, command),) = changes.commands
        if command.function is not None:
            event = functions.run(command)
        else:
            fake = fakes[command.action.removeprefix("/_/")]
            event = Completed(command.turn, fake(command.params))
        changes = execution.deliver(fiber, event, 0)
    failed = isinstance(changes.outcome, Failure)
    return changes.outcome.value if failed else {"params": changes.outcome.value}


@st.composite
def bundled(draw):
    """Compositions of all that a conductor action can do."""
    grower = Grower(draw, PLAIN[:-1], ())  # the last one begins another execution
    grower.depth = 4
    return composer.let({"x": 0}, grower.part())


def spoken(plan):
    """A fake whose failures are what OpenWhisk hands on of one: an error, without its code."""

    def fake(params):
        answer = plan(params)
        return {"error": answer.error} if isinstance(answer, Fail) else answer

    return fake


@given(bundled(), INPUTS, plans())
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_its_result_is_that_of_the_composition_itself(composition, params, plans):
    fakes = {name: spoken(plans[name]) for name in ACTIONS}

    result = conducted(composition, params, fakes)

    assert result == ran(composition, params, fakes)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The action exceeded its time limits of 60000 milliseconds.", "Timeout"),
        ("The action did not produce a valid response and exited unexpectedly.", "Crashed"),
        ("The action produced a response that exceeded the allowed length: 5 > 4 bytes.",
         "PayloadTooLarge"),
        ("Failed to resolve action with name 'guest/x' during composition.", "NotFound"),
        ("Too many actions in the composition.", "LimitExceeded"),
        ("Nothing that OpenWhisk says.", "ApplicationError"),
    ],
)  # fmt: skip
def test_a_handler_by_code_takes_what_openwhisk_says_in_words(text, code):
    part = composer.do("a", composer.literal({"handled": True}), errors=code)

    assert conducted(part, {}, {"a": lambda _: {"error": text}}) == {"params": {"handled": True}}


def test_what_a_function_sets_counts_even_if_it_fails_then():
    def fails(_, variables):
        variables["n"] += 1
        raise ValueError("no")

    composition = composer.let({"n": 0}, composer.do(fails, composer.select({"n": var("n")})))

    assert conducted(composition, {}, {}) == {"params": {"n": 1}}


def test_a_function_that_ends_its_process_has_only_failed():
    def leaves(_):
        raise SystemExit(3)

    part = composer.do(leaves, composer.literal({"handled": True}), errors="Crashed")

    assert conducted(part, {}, {}) == {"params": {"handled": True}}


def test_a_function_changes_no_value_but_its_own():
    def spoils(params, variables):
        params["list"].append(1)
        variables["kept"]["n"] = 5
        raise ValueError("no")

    composition = composer.let(
        {"kept": {"n": 0}},
        composer.retain(composer.do(spoils, composer.literal({}))),
        composer.select({"p": path("$.params")}),
    )

    assert conducted(composition, {"list": []}, {}) == {"params": {"p": {"list": []}}}


def test_numbers_come_back_as_they_were():
    composition = composer.let(
        {"n": 1.0, "big": 2**60}, "a", composer.select({"n": var("n"), "big": var("big")})
    )

    result = conducted(composition, {}, {"a": lambda _: {}})["params"]

    assert json.dumps(result) == '{"n": 1.0, "big": 1152921504606846976}'


def test_the_value_that_a_component_is_given_is_not_carried_too():
    answer = conductor(composer.sequence("a", "b"))({"long": "x" * 100_000})

    assert len(json.dumps(answer["state"])) < 1000


@pytest.mark.parametrize(
    "forge",
    [
        lambda state: {**state, "text": state["text"].replace('"pc":1', '"pc":2')},
        lambda state: {**state, "signature": "0" * 64},
        lambda state: {**state, "signature": "\u00e9"},
        lambda state: {"text": state["text"]},
        lambda _: {},
        lambda state: state["text"],
        lambda _: None,
    ],
)
def test_a_state_that_it_has_not_written_is_refused(forge):
    ask = conductor(composer.sequence("check_who_asks", "pay"))
    state = ask({})["state"][STATE]

    assert ask({STATE: forge(state)}) == {"error": UNKNOWN_STATE}
    assert ask({STATE: state})["action"] == "/_/pay"


def test_a_state_of_another_deployment_is_refused():
    composition = composer.sequence("a", "b")
    state = conductor(composition, b"another key")({})["state"]

    assert conductor(composition)(state) == {"error": UNKNOWN_STATE}


def test_what_is_too_large_for_openwhisk_fails_and_can_be_handled():
    composition = composer.do("a", composer.select({"said": path("$.error")}))

    result = conducted(composition, {"x": "x" * MAX_PAYLOAD_BYTES}, {})["params"]["said"]

    assert result["code"] == "LimitExceeded"
    assert "/_/a cannot be invoked" in result["message"]
    assert f"OpenWhisk allows {MAX_PAYLOAD_BYTES}" in result["message"]


def test_a_delay_that_a_failure_asks_for_is_left_out():
    answers = iter([{"error": {"retry_after": 3600}}, {"ok": 1}])

    made = conducted(composer.retry(1, "a"), {}, {"a": lambda _: next(answers)})

    assert made == {"params": {"ok": 1}}
