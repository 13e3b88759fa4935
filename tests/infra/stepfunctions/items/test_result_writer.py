"""Where results are written, in which order, and what is told when they cannot be."""

from __future__ import annotations

import pytest

from xingqiao.adapters import Fault
from xingqiao.composer.languages.asl.running import StatesError
from xingqiao.infra.stepfunctions.items.result_writer import write

RUN = "arn:aws:states:us-east-1:111111111111:mapRun:m/L:0b3e"
GOOD = {
    "resource": "arn:aws:states:::s3:putObject",
    "arguments": {"Bucket": "b", "Prefix": "p"},
    "mapRun": RUN,
    "executions": [{"Status": "SUCCEEDED", "Input": 1, "Output": 2}, {"Status": "PENDING", "Input": 3}],
}  # fmt: skip


class Shelf:
    def __init__(self, full=""):
        self.written, self.full = [], full

    async def write(self, bucket, key, body):
        if key.endswith(self.full or "\n"):
            return Fault.saying("Unavailable", "No space left.", "no")
        self.written.append((bucket, key))
        return None


async def test_the_manifest_is_written_last_and_is_the_result():
    shelf = Shelf()

    result = await write(GOOD, shelf)

    assert shelf.written == [
        ("b", f"p/0b3e/{name}") for name in ("PENDING_0.json", "SUCCEEDED_0.json", "manifest.json")
    ]
    assert result == {
        "MapRunArn": RUN,
        "ResultWriterDetails": {"Bucket": "b", "Key": "p/0b3e/manifest.json"},
    }


async def test_what_cannot_be_written_is_told():
    shelf = Shelf(full="SUCCEEDED_0.json")

    with pytest.raises(StatesError) as caught:
        await write(GOOD, shelf)

    assert caught.value.name == "States.ResultWriterFailed"
    assert caught.value.cause == (
        "'p/0b3e/SUCCEEDED_0.json' cannot be written into the bucket 'b': No space left."
    )
    assert len(shelf.written) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"resource": "arn:aws:states:::s3:getObject"}, {"config": [5]}, {"mapRun": None},
        {"executions": None}, {"executions": [5]}, {"executions": [{}]}, {"arguments": {}},
        {"config": {"OutputType": "XML"}},
    ],
)  # fmt: skip
async def test_what_makes_no_sense_is_refused(change):
    with pytest.raises(StatesError, match=r"States\.ResultWriterFailed"):
        await write({**GOOD, **change}, Shelf())
