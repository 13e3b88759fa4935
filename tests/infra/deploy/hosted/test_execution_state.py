"""A hosted execution that goes on, by its own program, with a state that can be written."""

from __future__ import annotations

import json

from tests.kit.deploy.hosted_actions import ACTIONS, count
from tests.kit.deploy.hosts import Host
from xingqiao import composer
from xingqiao.composer import path, var


def test_an_execution_goes_on_by_the_program_that_it_began_with():
    before = composer.let({"n": 1}, "a", composer.wait(10), composer.asynchronous("b"), count)
    host = Host(before, ACTIONS).begin()

    host.deploy(composer.sequence("c", "c", "c"))
    seen = host.follow()

    assert seen["result"]["n"] == 2
    assert (len(host.calls("b")), len(host.calls("c"))) == (1, 0)
    assert host.look(host.program.hash[:32]) is None, "a program is no execution"


def test_a_state_that_cannot_be_written_ends_it():
    keep = [composer.sequence("a", composer.assign(**{name: path("$")})) for name in "xyz"]
    composition = composer.let({"x": 0, "y": 0, "z": 0}, *keep, "b")
    host = Host(composition, {**ACTIONS, "a": lambda params: {"v": "x" * 140_000}})

    seen = host.run()

    assert seen["status"] == "failed"
    assert "the state of a branch takes more" in seen["result"]["error"]["message"]


def test_a_result_that_cannot_be_written_ends_it():
    many = composer.sequence("a", composer.select({"v": [path("$.v")] * 6}))
    host = Host(many, {**ACTIONS, "a": lambda params: {"v": "\u00e9" * 20_000}})

    seen = host.run()

    assert seen["status"] == "failed"
    assert "the result takes more" in seen["result"]["error"]["message"]


def test_what_an_inline_function_has_set_before_it_raised_counts():
    def fail(params, variables):
        variables["n"] = 2
        raise ValueError("why")

    host = Host(
        composer.let({"n": 1}, composer.do(fail, composer.select({"n": var("n")}))), ACTIONS
    )

    assert host.run()["result"] == {"n": 2}


def test_an_inline_function_that_cannot_be_taken_in_has_failed():
    document = composer.sequence("a", count).to_json()
    text = json.dumps(document).replace(
        "def count(params, variables)", "def other(params, variables)"
    )
    host = Host(composer.let({"n": 1}, composer.parse(json.loads(text))), ACTIONS)

    assert "has no function 'count'" in host.run()["result"]["error"]


def test_a_result_that_is_too_large_is_the_steps_failure():
    host = Host(composer.do("large", "d"), {**ACTIONS, "large": lambda p: {"v": "x" * 200_000}})

    assert "exceeded the allowed length" in host.run()["result"]["error"]
