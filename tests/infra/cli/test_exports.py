"""`xingqiao export`."""

from __future__ import annotations

import pytest

PROGRAM = """
from xingqiao import composer

charge = composer.retry(3, "shop/charge", delay=1, backoff=2)
local = composer.sequence("a", lambda params: params, composer.map(composer.ensure("b", "c")))
"""


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    return file


def task(definition):
    (branch,) = definition["States"]["Retry"]["Branches"]
    return branch["States"]["charge"]["Resource"]


def test_a_composition_is_written_as_a_state_machine(command, program):
    ended = command("export", program, "--to", "asl", "--name", "charge")

    assert ended.code == 0, ended.err
    assert task(ended.json) == "shop/charge"
    assert ended.json["States"]["Retry"]["Retry"] == [
        {"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 3, "BackoffRate": 2.0}
    ]


def test_its_actions_are_named_as_asked(command, program):
    arn = "arn:aws:lambda:us-east-1:111111111111:function:{name}"
    ended = command("export", program, "--to", "asl", "--name", "charge", "--resource", arn)

    assert ended.code == 0, ended.err
    assert task(ended.json) == "arn:aws:lambda:us-east-1:111111111111:function:charge"


def test_what_has_no_counterpart_is_listed(command, program):
    ended = command("export", program, "--to", "asl")

    assert (ended.code, ended.out) == (1, "")
    assert "components[1]: an inline function is code" in ended.err
    assert "; components[2].components[0]: a state machine that is stopped" in ended.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--to", "cncf"], "'cncf' is not"),
        (["--to", "asl", "--resource", "arn:x"], "must contain {name}"),
    ],
)
def test_wrong_options_are_refused(command, program, options, said):
    ended = command("export", program, *options)

    assert ended.code == 2
    assert said in ended.err
