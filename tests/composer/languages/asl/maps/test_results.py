"""What a distributed Map makes of the ends of its executions.

The shapes are AWS' documentation's; that a pending one has three members only, and that files of lines end in `.jsonl`
and their last line in a newline, is what stackd's tests have recorded there.
"""

from __future__ import annotations

import json

import pytest

from xingqiao.composer.languages.asl.maps.results import inline_results, result_files, writer_config
from xingqiao.composer.languages.asl.state_errors import RESULT_WRITER_FAILED, StatesError

ARN = "arn:aws:states:us-east-1:111111111111"
RUN = f"{ARN}:mapRun:machine/Map:6dbfba93-bcff-410b-9b5c-abf41ae9eddb"
FOLDER = "6dbfba93-bcff-410b-9b5c-abf41ae9eddb"
NOT_AGAIN = "Execution is SUCCEEDED and cannot be redriven"


def execution(name, status, **more):
    return {
        "ExecutionArn": f"{ARN}:execution:machine/Map:{name}", "Name": name, "Status": status,
        "StateMachineArn": f"{ARN}:stateMachine:machine/Map", "Input": {"n": name},
        "StartDate": "2026-11-21T14:00:00.123Z", "StopDate": "2026-11-21T14:00:01.123Z", **more,
    }  # fmt: skip


A = execution("a", "SUCCEEDED", Output=[1, "é"])
B = execution("b", "FAILED", Error="Custom", Cause="why")
C = execution("c", "SUCCEEDED", Output={"x": 1})
D = execution("d", "TIMED_OUT", Error="States.Timeout")
E = execution("e", "ABORTED", RedriveCount=2)
F = {"Input": 5, "Status": "PENDING"}


def record(of, **more):
    texts = {"Input": f'{{"n":"{of["Name"]}"}}', "InputDetails": {"Included": True}}
    return {**of, **texts, "RedriveCount": 0, "RedriveStatus": "REDRIVABLE_BY_MAP_RUN", **more}


RECORD_A = record(
    A, Output='[1,"é"]', OutputDetails={"Included": True}, RedriveStatus="NOT_REDRIVABLE",
    RedriveStatusReason=NOT_AGAIN,
)  # fmt: skip
RECORD_F = {"Input": "5", "InputDetails": {"Included": True}, "Status": "PENDING"}


def config(transformation="NONE", kind="JSON"):
    return writer_config({"Transformation": transformation, "OutputType": kind})


def test_inline_results_stand_in_the_order_of_their_items():
    assert inline_results([A, B, C], config("COMPACT")) == [[1, "é"], record(B), {"x": 1}]
    assert inline_results([A, B, C], config("FLATTEN")) == [1, "é", record(B), {"x": 1}]
    assert inline_results([A], config()) == [RECORD_A]
    assert inline_results([execution("g", "SUCCEEDED")], config("COMPACT")) == [None]


def test_inline_results_may_be_lines():
    assert inline_results([A, C], config("FLATTEN", "JSONL")) == '1\n"é"\n{"x":1}\n'


def test_files_have_what_ended_alike_and_the_manifest_names_them():
    made = result_files([A, B, C, D, E, F], config(), {"Bucket": "results", "Prefix": "runs"}, RUN)

    files = {name: json.loads(text) for name, text in made.files}
    base = f"runs/{FOLDER}"
    assert [name for name, _ in made.files] == [
        f"{base}/{name}" for name in ("FAILED_0.json", "PENDING_0.json", "SUCCEEDED_0.json", "manifest.json")
    ]  # fmt: skip
    assert files[f"{base}/FAILED_0.json"] == [record(B), record(D), record(E, RedriveCount=2)]
    assert files[f"{base}/PENDING_0.json"] == [RECORD_F]
    assert files[f"{base}/SUCCEEDED_0.json"][0] == RECORD_A
    assert list(files[f"{base}/SUCCEEDED_0.json"][0]) == sorted(RECORD_A)
    sizes = {name: len(text) for name, text in made.files}
    listed = files[f"{base}/manifest.json"]
    assert listed == {
        "DestinationBucket": "results",
        "MapRunArn": RUN,
        "ResultFiles": {
            status: [{"Key": f"{base}/{status}_0.json", "Size": sizes[f"{base}/{status}_0.json"]}]
            for status in ("FAILED", "PENDING", "SUCCEEDED")
        },
    }
    assert made.result == {
        "MapRunArn": RUN,
        "ResultWriterDetails": {"Bucket": "results", "Key": f"{base}/manifest.json"},
    }


def test_there_is_no_file_of_what_there_is_none_of():
    made = result_files([A], config("COMPACT", "JSONL"), {"Bucket": "b", "Prefix": "p/"}, RUN)

    assert [name for name, _ in made.files] == [
        f"p/{FOLDER}/SUCCEEDED_0.jsonl", f"p/{FOLDER}/manifest.json",
    ]  # fmt: skip
    assert made.files[0][1] == '[1,"é"]\n'.encode()
    assert json.loads(made.files[1][1])["ResultFiles"]["FAILED"] == []
    assert result_files([], config(), {"Bucket": "b"}, RUN).files[0][0] == f"{FOLDER}/manifest.json"


def test_the_same_executions_make_the_same_files():
    made = [result_files([A, B, F], config(), {"Bucket": "b"}, RUN) for _ in range(2)]

    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (None, "Bucket"), ({}, "Bucket"), ({"Bucket": ""}, "Bucket"), ({"Bucket": 5}, "Bucket"),
        ({"Bucket": "b", "Prefix": 5}, "Prefix"),
    ],
)  # fmt: skip
def test_a_destination_that_is_none_is_refused(arguments, said):
    with pytest.raises(StatesError, match=f"{RESULT_WRITER_FAILED}: .*{said}"):
        result_files([], config(), arguments, RUN)


def test_a_writers_config_that_is_not_known_is_refused():
    assert writer_config({}) == config()
    for wrong in ({"Transformation": "OTHER"}, {"OutputType": "XML"}):
        with pytest.raises(StatesError, match=r"ResultWriterFailed: This server does not know"):
            writer_config(wrong)
