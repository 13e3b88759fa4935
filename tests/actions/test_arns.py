"""What is here, called as on AWS."""

from __future__ import annotations

import pytest

from xingqiao.actions import (
    ActivityArn,
    Arns,
    ExecutionArn,
    ExpressArn,
    MachineArn,
    MapRunArn,
    parsed_arn,
)

PREFIX = "arn:aws:states:us-east-1:111111111111:"
SPELLED = {
    "stateMachine:m": MachineArn("m"),
    "stateMachine:m:7": MachineArn("m", 7),
    "stateMachine:m:live": MachineArn("m", "live"),
    "execution:m:run-1": ExecutionArn("m", "run-1"),
    "execution:m/label:run-1": ExecutionArn("m/label", "run-1"),
    "express:m:run-1:0a-1b": ExpressArn("m", "run-1", "0a-1b"),
    "activity:work": ActivityArn("work"),
    "mapRun:m/label:0a-1b": MapRunArn("m", "label", "0a-1b"),
}


@pytest.mark.parametrize(("text", "arn"), SPELLED.items(), ids=str)
def test_a_name_is_read_as_it_is_spelled(text, arn):
    assert Arns().spelled(arn) == PREFIX + text
    assert parsed_arn(PREFIX + text) == arn


def test_each_kind_has_a_speller():
    arns = Arns("eu-west-1", "000000000042")

    assert [
        arns.machine("m"),
        arns.machine("m", 3),
        arns.execution("m", "e"),
        arns.express("m", "e", "u"),
        arns.activity("a"),
        arns.map_run("m", "l", "u"),
    ] == [
        f"arn:aws:states:eu-west-1:000000000042:{resource}"
        for resource in (
            "stateMachine:m",
            "stateMachine:m:3",
            "execution:m:e",
            "express:m:e:u",
            "activity:a",
            "mapRun:m/l:u",
        )
    ]


@pytest.mark.parametrize(
    "prefix",
    ["arn:aws:states:eu-central-2:000000000000:", "arn:aws-us-gov:states:us-gov-west-1:123456789012:"],
)  # fmt: skip
def test_region_account_and_partition_are_not_compared(prefix):
    assert parsed_arn(prefix + "stateMachine:m") == MachineArn("m")


@pytest.mark.parametrize(
    "text",
    ["", "m", "arn", PREFIX, PREFIX + "stateMachine", PREFIX + "stateMachine:", PREFIX + "stateMachine:m:",
     PREFIX + "stateMachine:m:1:2", PREFIX + "execution:m", PREFIX + "execution:m:e:u", PREFIX + "execution::e",
     PREFIX + "express:m:e", PREFIX + "activity:a:b", PREFIX + "mapRun:m:u", PREFIX + "mapRun:/l:u",
     PREFIX + "mapRun:m/:u", PREFIX + "machine:m", "arn:aws:lambda:us-east-1:111111111111:function:f",
     "arn:aws:states:us-east-1:x:stateMachine:m", "arn:aws:states:us-east-1::stateMachine:m",
     "arn:aws:states::111111111111:stateMachine:m", " " + PREFIX + "stateMachine:m"],
)  # fmt: skip
def test_what_is_no_name_stands_for_nothing(text):
    assert parsed_arn(text) is None


@pytest.mark.parametrize("text", ["0", "01", "1234567890", "1a", "-1"])
def test_a_qualifier_that_is_no_number_of_a_version_is_an_alias(text):
    assert parsed_arn(f"{PREFIX}stateMachine:m:{text}") == MachineArn("m", text)
