"""The actions as the engine has them: their outcomes, their limits, and who may read what."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from tests.kit.actions.things import Answers, StandingClock, invocation
from xingqiao.actions import Action, Inline, Limits
from xingqiao.adapters import SecretError
from xingqiao.composer import Failure, Name, Success
from xingqiao.composer.languages.asl.running import ReadingBounds
from xingqiao.infra.stepfunctions.items import (
    ITEMS,
    READ,
    WRITE,
    DirectoryObjects,
    ItemsInvoker,
    Places,
)

GET, PUT = "arn:aws:states:::s3:getObject", "arn:aws:states:::s3:putObject"
RUN = "arn:aws:states:us-east-1:111111111111:mapRun:m/L:0b3e"
ASKED = {"resource": GET, "arguments": {"Bucket": "items", "Key": "k"}, "config": {}}


class Secrets:
    def __init__(self, *named):
        self.named = named

    def find(self, namespace, name):
        return {"type": "aws"} if (namespace, name) in self.named else None

    def ambient(self, namespace):
        return namespace == "guest"


class Authorizers:
    def __init__(self, secrets):
        self._secrets = secrets

    def on_aws(self, namespace):
        if self._secrets.find(namespace, "aws") is None:
            raise SecretError(f"namespace '{namespace}' may not use this server's own credentials")
        return "aws"


def asked(params, name=READ, namespace="guest", limits=None):
    action = Action(
        Name("whisk.system", "states", name), Inline(None, ITEMS), limits=limits or Limits()
    )
    return replace(invocation(action, params), namespace=namespace)


@asynccontextmanager
async def opened(root=None, on_s3=None, secrets=None, clock=None):
    directory = None if root is None else DirectoryObjects(root)
    secrets = secrets or Secrets()
    places = Places(directory, on_s3, Authorizers(secrets), secrets)
    async with ItemsInvoker(places, clock or StandingClock(), ReadingBounds()) as invoker:
        yield invoker


async def outcome(invoker, *args, **more):
    answers = Answers()
    answers.invoke(invoker, asked(*args, **more))
    return (await answers.next()).outcome


@pytest.fixture
def root(tmp_path):
    (tmp_path / "items").mkdir()
    (tmp_path / "items" / "k").write_text("[1, 2]")
    return tmp_path


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


async def test_directories_are_for_those_who_may_use_what_is_the_servers_own(root):
    async with opened(root, on_s3=lambda _: None) as invoker:
        failed = await outcome(invoker, ASKED, namespace="other")

    assert failed.error["Cause"] == "namespace 'other' may not use this server's own credentials"


async def test_who_has_a_secret_is_asked_for_with_it(root):
    seen = []

    class Held:
        async def read(self, bucket, key, *_):
            raise LookupError

    def on_s3(request):
        seen.append((request.authorizer, request.deadline_ms, request.key))
        return Held()

    async with opened(root, on_s3, Secrets(("other", "aws"))) as invoker:
        await outcome(invoker, ASKED, namespace="other")

    assert seen[0][0] == "aws"
    assert seen[0][1] == StandingClock().now_ms() + 60_000


async def test_what_is_of_others_is_given_nobodys_secrets(root):
    async with opened(root, on_s3=lambda _: None, secrets=Secrets(("guest", "aws"))) as invoker:
        answers = Answers()
        answers.invoke(invoker, replace(asked(ASKED), owner="other"))
        failed = (await answers.next()).outcome

    assert failed.error["Cause"] == (
        "an action of the namespace 'other' that 'guest' runs gets the secrets of neither"
    )
