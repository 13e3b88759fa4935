"""The combinators for messages, and messages in simulated time."""

from __future__ import annotations

import json

import pytest

from xingqiao import composer
from xingqiao.composer import CompositionError, all_of, any_of, path, receive, tell
from xingqiao.composer.machine import instructions
from xingqiao.composer.testing import Slow, Told, simulate

APPROVAL = composer.sequence(
    "ask", receive(any_of("yes", "no"), timeout=3600), composer.select(path("$"))
)


def test_a_timeout_is_a_limit_around_the_wait():
    program = composer.compile(receive("go", timeout=0.5))

    kinds = [type(each) for each in program.instructions]
    assert kinds[:3] == [instructions.Limit, instructions.Hear, instructions.Leave]
    assert program.instructions[0].timeout_ms == 500


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("go", "receive go"),
        (any_of("yes", "no"), "receive (yes or no)"),
        (all_of("a", any_of("b", "c")), "receive (a and (b or c))"),
    ],
)
def test_a_picture_shows_what_is_received(message, words):
    assert words in composer.mermaid(receive(message))
    assert f"{words} within 60 s" in composer.mermaid(receive(message, timeout=60))


def test_it_is_json():
    part = composer.sequence(receive(all_of("a", "b"), early="drop"), tell("x", "go", {"n": 1}))

    assert composer.parse(json.loads(json.dumps(part.to_json()))) == part


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: receive(""), "receive: 'message' must be the name of a message"),
        (lambda: receive("a/b"), "without '/'"),
        (lambda: receive(any_of()), "any_of"),
        (lambda: receive("a", timeout=0), "'timeout' must be a number > 0"),
        (lambda: receive("a", early="late"), "'early' must be one of 'keep', 'drop'"),
        (lambda: tell("x", 7), "tell: 'message' must be the name of a message"),
        (lambda: tell("x", "$a"), "tell: 'message' must be the name of a message"),
    ],
)
def test_wrong_use_is_told(make, text):
    with pytest.raises(CompositionError) as raised:
        make()

    assert text in str(raised.value)


def test_a_message_must_be_told_by_a_step_of_a_saga():
    with pytest.raises(CompositionError, match="step"):
        composer.saga(tell("x", "go"))
    assert composer.saga(receive("go"), composer.step("a", "b"))


# --- simulated ------------------------------------------------------------------------------------


@pytest.mark.parametrize("crash", [(), "every"])
@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([(60, "yes", {"by": "anna"})], {"yes": {"by": "anna"}}),
        ([(90, "yes", 1), (60, "no", 2)], {"no": 2}),
        ([(0, "no", None)], {"no": None}),
        ([(60, "other", 1), (61, "yes", 2)], {"yes": 2}),
    ],
)
def test_messages_come_in_virtual_time(messages, expected, crash):
    run = simulate(APPROVAL, actions={"ask": {}}, messages=messages, crash=crash)

    assert run.value == expected


@pytest.mark.parametrize("crash", [(), "every"])
def test_messages_that_wait_survive_crashes(crash):
    part = composer.sequence("slow", receive("go"), composer.map(receive("go"), items=[1, 2]))
    messages = [(n, "go", n) for n in range(3)]
    fakes = {"slow": Slow(10, {})}

    run = simulate(part, actions=fakes, messages=messages, crash=crash)

    assert run.value == {"value": [{"value": 1}, {"value": 2}]}
    assert run.kinds().count("MessageReceived") == 3


def test_a_wait_times_out_in_virtual_time():
    run = simulate(APPROVAL, actions={"ask": {}}, messages=[(7200, "yes", 1)])

    assert run.error["code"] == "Timeout"
    assert run.elapsed == 3600


def test_without_a_message_it_waits():
    run = simulate(receive("go"))

    assert run.outcome is None


@pytest.mark.parametrize("crash", [(), "every"])
def test_what_it_tells_is_told_once(crash):
    part = composer.sequence("a", tell(path("$.id"), "go", {"n": 1}), "b")

    run = simulate(part, actions={"a": {"id": "x"}, "b": {}}, crash=crash)

    assert run.told == [Told("x", "go", {"n": 1}, 0.0)]
    assert run.calls("b")[0]["executionId"] == "x"
