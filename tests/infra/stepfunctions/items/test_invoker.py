"""The actions as the engine has them: their outcomes, their limits, and who may read what."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.kit.actions.things import Answers
from tests.kit.stepfunctions.items import ASKED, PUT, Secrets, asked, opened, outcome
from xingqiao.actions import Limits
from xingqiao.composer import Failure, Success
from xingqiao.infra.stepfunctions.items import (
    READ,
    WRITE,
)

RUN = "arn:aws:states:us-east-1:111111111111:mapRun:m/L:0b3e"


async def test_items_are_read_and_results_are_written(root):
    params = {
        "resource": PUT, "arguments": {"Bucket": "items"}, "mapRun": RUN,
        "executions": [{"Status": "SUCCEEDED", "Input": 1, "Output": 2}],
    }  # fmt: skip
    async with opened(root) as invoker:
        assert await outcome(invoker, ASKED) == Success({"items": [1, 2]})
        written = await outcome(invoker, params, WRITE)
        files = {path.name: path.read_bytes() for path in (root / "items/0b3e").iterdir()}
        again = await outcome(invoker, params, WRITE)

    assert written == again == Success(
        {"MapRunArn": RUN, "ResultWriterDetails": {"Bucket": "items", "Key": "0b3e/manifest.json"}}
    )  # fmt: skip
    assert sorted(files) == ["SUCCEEDED_0.json", "manifest.json"]
    assert files == {path.name: path.read_bytes() for path in (root / "items/0b3e").iterdir()}
    assert json.loads(files["SUCCEEDED_0.json"])[0]["Output"] == "2"


@pytest.mark.parametrize(
    ("name", "error"), [(READ, "States.ItemReaderFailed"), (WRITE, "States.ResultWriterFailed")]
)
async def test_a_failure_is_an_error_of_the_state(root, name, error):
    async with opened(root) as invoker:
        failed = await outcome(invoker, {}, name)

    assert isinstance(failed, Failure)
    assert failed.code == failed.error["Error"] == error
    assert "Resource None" in failed.error["Cause"]


async def test_what_takes_too_long_is_ended():
    class Never:
        async def read(self, *_):
            await asyncio.Event().wait()

    async with opened(on_s3=lambda _: Never(), secrets=Secrets(("guest", "aws"))) as invoker:
        failed = await outcome(invoker, ASKED, limits=Limits(timeout_ms=10))
        answers, running = Answers(), asked(ASKED)
        answers.invoke(invoker, running)
        invoker.cancel("another")
        invoker.cancel(running.activation)
        cancelled = await answers.next()
        answers.invoke(invoker, asked(ASKED))

    assert failed == Failure(
        "States.ItemReaderFailed",
        {"Error": "States.ItemReaderFailed", "Cause": "It took longer than 10 milliseconds."},
    )
    assert cancelled.outcome.code == "Cancelled"
    assert (await answers.next(2)).outcome.code == "Cancelled"  # with the server


async def test_a_mistake_of_ours_is_an_outcome_too(caplog):
    def broken(_):
        raise RuntimeError("oh")

    async with opened(on_s3=broken, secrets=Secrets(("guest", "aws"))) as invoker:
        assert (await outcome(invoker, ASKED)).code == "InternalError"
    assert "unexpected error" in caplog.text
