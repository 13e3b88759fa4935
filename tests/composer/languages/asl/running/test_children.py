"""A distributed Map that reads its items, puts them together, and writes its results."""

from __future__ import annotations

import json

import pytest

from tests.kit.asl.machines import events, jsonata, machine, ran, task, types
from xingqiao.composer.testing import Fail

READ, WRITE = "/whisk.system/states/readItems", "/whisk.system/states/writeResults"
GET, PUT = "arn:aws:states:::s3:getObject", "arn:aws:states:::s3:putObject"
PASS = {"Type": "Pass", "End": True}


def distributed(processor=None, **fields):
    config = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
    states = machine({"I": processor or PASS})
    return {"Type": "Map", "ItemProcessor": {"ProcessorConfig": config, **states}, **fields}


def read(*items):
    return {READ: lambda _: {"items": list(items)}}


def test_items_are_read_and_their_number_is_not_known_before():
    reader = {
        "Resource": GET, "Parameters": {"Bucket": "b", "Key.$": "$.key"},
        "ReaderConfig": {"InputType": "JSON", "MaxItemsPath": "$.most"},
    }  # fmt: skip
    run = ran(
        distributed(ItemReader=reader, ItemSelector={"v.$": "$$.Map.Item.Value", "k.$": "$.key"}),
        {"key": "k", "most": 3}, actions=read(1, 2),
    )  # fmt: skip

    assert run.calls(READ) == [{
        "resource": GET, "arguments": {"Bucket": "b", "Key": "k"},
        "config": reader["ReaderConfig"], "maxItems": 3,
    }]  # fmt: skip
    assert run.outcome.value == [{"v": 1, "k": "k"}, {"v": 2, "k": "k"}]
    assert types(run)[1:-1] == [
        "MapStateEntered", "MapStateStarted", "MapRunStarted", "MapRunSucceeded", "MapStateSucceeded",
        "MapStateExited",
    ]  # fmt: skip
    assert events(run)[2][3] == {"length": 0}


def test_what_cannot_be_read_fails_the_run():
    failure = Fail("X", {"Error": "States.ItemReaderFailed", "Cause": "no such key"})
    run = ran(distributed(ItemReader={"Resource": GET}), actions={READ: failure})

    assert run.error == {"Error": "States.ItemReaderFailed", "Cause": "no such key"}
    assert types(run)[-3:] == ["MapRunFailed", "MapStateFailed", "ExecutionFailed"]


def test_a_failure_that_names_nothing_is_a_failed_task():
    run = ran(distributed(ItemReader={"Resource": GET}), actions={READ: Fail("Lost")})

    assert run.error == {"Error": "States.TaskFailed", "Cause": "simulated"}


def test_a_reader_whose_arguments_cannot_be_worked_out_fails():
    run = ran(distributed(ItemReader={"Resource": GET, "Parameters": {"Key.$": "$.no"}}))

    assert run.error["Error"] == "States.Runtime"


def test_a_tolerance_that_is_none_fails_after_the_reading():
    state = distributed(ItemReader={"Resource": GET}, ToleratedFailureCountPath="$.n")
    run = ran(state, {"n": -1}, actions=read(1))

    assert "cannot be negative" in run.error["Cause"]


def test_items_are_put_together():
    batcher = {"BatchInput": {"all.$": "$.x"}, "MaxItemsPerBatch": 2}
    run = ran(
        distributed(
            ItemsPath="$.items", ItemBatcher=batcher, ItemSelector={"v.$": "$$.Map.Item.Value"}
        ),
        {"items": [1, 2, 3], "x": 0},
    )

    assert run.outcome.value == [
        {"BatchInput": {"all": 0}, "Items": [{"v": 1}, {"v": 2}]},
        {"BatchInput": {"all": 0}, "Items": [{"v": 3}]},
    ]


@pytest.mark.parametrize(("most", "sizes"), [("{% 2 %}", [2, 1]), ("{% 4 / 2 %}", [2, 1])])
def test_batches_of_jsonata(most, sizes):
    batcher = {"BatchInput": {"x": "{% $states.input %}"}, "MaxItemsPerBatch": most}
    state = distributed(Items="{% [1, 2, 3] %}", ItemBatcher=batcher, End=True)
    run = ran(jsonata({"A": state}), 7)

    assert [len(batch["Items"]) for batch in run.outcome.value] == sizes
    assert run.outcome.value[0]["BatchInput"] == {"x": 7}


def test_a_bound_of_jsonata_is_a_whole_number():
    batcher = {"MaxItemsPerBatch": "{% 1.5 %}"}
    run = ran(jsonata({"A": distributed(Items=[1], ItemBatcher=batcher, End=True)}))

    assert run.error["Error"] == "States.QueryEvaluationError"
    assert "MaxItemsPerBatch field is not a valid integer: 1.5" in run.error["Cause"]


def test_batches_without_an_input_of_their_own():
    run = ran(distributed(ItemBatcher={"MaxInputBytesPerBatch": 10}), [1, 2])

    assert run.outcome.value == [{"Items": [1, 2]}]


def test_results_are_written_with_what_is_known_of_each_child():
    writer = {"Resource": PUT, "Parameters": {"Bucket": "b", "Prefix.$": "$.p"}}
    state = distributed(
        task(End=True), ItemsPath="$.items", ResultWriter=writer, ToleratedFailureCount=1, Label="L"
    )
    failing = Fail("X", {"Error": "Mine", "Cause": "why"})
    run = ran(
        state, {"items": [1, 2], "p": "p"},
        actions={"/_/fn": lambda n: failing if n == 2 else n, WRITE: lambda _: {"MapRunArn": "m"}},
    )  # fmt: skip

    assert run.outcome.value == {"MapRunArn": "m"}
    (asked,) = run.calls(WRITE)
    assert (asked["resource"], asked["arguments"]) == (PUT, {"Bucket": "b", "Prefix": "p"})
    one, two = asked["executions"]
    assert (one["Status"], one["Input"], one["Output"]) == ("SUCCEEDED", 1, 1)
    assert (two["Status"], two["Error"], two["Cause"]) == ("FAILED", "Mine", "why")
    assert one["ExecutionArn"].rpartition("/")[2] == f"L:{one['Name']}"
    assert types(run)[-5:-1] == [
        "MapRunStarted", "MapRunSucceeded", "MapStateSucceeded", "MapStateExited",
    ]  # fmt: skip


def test_results_without_a_place_are_put_into_their_form():
    writer = {"WriterConfig": {"Transformation": "FLATTEN", "OutputType": "JSON"}}
    run = ran(distributed(ResultWriter=writer), [[1], [2, 3]])

    assert run.outcome.value == [1, 2, 3]
    assert types(run)[-4:-2] == ["MapRunSucceeded", "MapStateSucceeded"]


def test_results_that_cannot_be_written_fail_the_run():
    failure = Fail("X", {"Error": "States.ResultWriterFailed", "Cause": "no bucket"})
    run = ran(
        distributed(ResultWriter={"Resource": PUT, "Parameters": {"Bucket": "b"}}),
        [1],
        actions={WRITE: failure},
    )

    assert run.error["Error"] == "States.ResultWriterFailed"
    assert "MapRunFailed" in types(run)


def test_a_writer_whose_arguments_cannot_be_worked_out_fails():
    writer = {"Resource": PUT, "Parameters": {"Bucket.$": "$.no"}}
    run = ran(distributed(ItemsPath="$.items", ResultWriter=writer), {"items": [1]})

    assert run.error["Error"] == "States.Runtime"


def test_all_of_it_is_the_same_when_it_is_killed_at_each_commit():
    state = distributed(
        ItemReader={"Resource": GET},
        ItemBatcher={"MaxItemsPerBatch": 1},
        ResultWriter={"Resource": PUT, "Parameters": {"Bucket": "b"}},
    )
    actions = {**read(1, 2), WRITE: lambda asked: json.loads(json.dumps(asked))}

    whole, killed = ran(state, actions=actions), ran(state, actions=actions, crash="every")

    assert killed.outcome == whole.outcome
    assert [event[:3] for event in events(killed)] == [event[:3] for event in events(whole)]


def test_arguments_of_jsonata_are_worked_out():
    reader = {"Resource": GET, "Arguments": {"Bucket": "b", "Key": "{% $states.input.k %}"}}
    state = distributed(ItemReader=reader, End=True)
    run = ran(jsonata({"A": state}), {"k": "key"}, actions=read(1))

    assert run.calls(READ)[0]["arguments"] == {"Bucket": "b", "Key": "key"}


@pytest.mark.parametrize("reader", [{}, {"ItemReader": {"Resource": GET}}])
def test_results_are_of_the_run_that_was_started(reader):
    state = distributed(**reader, ResultWriter={"Resource": PUT, "Parameters": {"Bucket": "b"}})
    run = ran(state, [1], actions={**read(1), WRITE: lambda asked: {"is": asked["mapRun"]}})

    (started,) = [event[3] for event in events(run) if event[2] == "MapRunStarted"]
    assert started == {"mapRunArn": run.outcome.value["is"]}
