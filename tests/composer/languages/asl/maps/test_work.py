"""The work of a Map, as the values of fibers hold it."""

from __future__ import annotations

import pytest

from xingqiao.composer.errors import ProgramError
from xingqiao.composer.languages.asl.maps.work import (
    READ,
    MapWork,
    ReadRequest,
    ServerRequest,
    WriteRequest,
    read_values,
)

STORED = [
    (MapWork([1, {"a": 2}], 0, 3), {"items": [1, {"a": 2}], "concurrency": 0, "tolerated": 3}),
    (ServerRequest(READ, {"config": {}}), {"action": READ, "params": {"config": {}}}),
]


@pytest.mark.parametrize(("record", "stored"), STORED)
def test_a_record_is_read_as_it_was_written(record, stored):
    assert record.to_json() == stored
    assert list(record.to_json()) == list(stored)
    assert type(record).from_json(stored) == record


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (MapWork.from_json, None),
        (MapWork.from_json, {"items": {}, "concurrency": 0, "tolerated": 0}),
        (MapWork.from_json, {"items": [], "concurrency": 0}),
        (ServerRequest.from_json, {"action": READ}),
        (ServerRequest.from_json, {"action": 1, "params": {}}),
        (read_values, {"items": "a"}),
    ],
)
def test_another_value_is_refused(read, value):
    with pytest.raises(ProgramError):
        read(value)


def test_the_result_of_a_reader_has_its_items():
    assert read_values({"items": [1], "keyed": True}) == [1]


def test_requests_have_the_parameters_of_the_servers_actions():
    read = ReadRequest("arn", {"Bucket": "b"}, {"InputType": "CSV"}, None)
    assert read.to_json() == {
        "resource": "arn",
        "arguments": {"Bucket": "b"},
        "config": {"InputType": "CSV"},
        "maxItems": None,
    }
    write = WriteRequest("arn", {}, {}, "run", [{"Status": "SUCCEEDED"}])
    assert list(write.to_json()) == ["resource", "arguments", "config", "mapRun", "executions"]
    assert write.to_json()["executions"] == [{"Status": "SUCCEEDED"}]
