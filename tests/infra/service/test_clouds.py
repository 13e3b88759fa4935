"""Functions on clouds, put together: what is missing is said, and queues are listened to if that is asked for."""

from __future__ import annotations

import pytest

from tests.kit.adapters.aws_world import environment, live_in
from xingqiao.actions import LAMBDA, STATES, Call, Remote
from xingqiao.adapters import SecretError
from xingqiao.composer import Name
from xingqiao.infra.service.app import open_service
from xingqiao.infra.settings import Settings

TEXT = "this server has no botocore: pip install 'xingqiao[aws]', or in a checkout pip install -e '.[aws]'"
QUEUE = "http://127.0.0.1:9/1/q"


@pytest.fixture
def without_botocore(monkeypatch):
    monkeypatch.setattr("xingqiao.adapters.clouds.find_spec", lambda name: None)


@pytest.mark.usefixtures("without_botocore")
async def test_without_botocore_the_kinds_of_aws_are_missing_and_that_is_said():
    async with open_service(Settings(data=None)) as service:
        found = await service.clouds.check(Remote(LAMBDA, "hello"), "guest")

        assert service.clouds.missing == {LAMBDA: TEXT, STATES: TEXT}
        assert (found.code, found.error["message"]) == ("Unavailable", TEXT)
        assert LAMBDA not in service.clouds.invoker.kinds


@pytest.mark.usefixtures("without_botocore")
async def test_without_botocore_no_queue_can_be_listened_to():
    with pytest.raises(SecretError, match="has no botocore"):
        async with open_service(Settings(data=None, aws_completions=QUEUE)):
            pass


@pytest.mark.usefixtures("without_botocore")
async def test_without_botocore_items_are_not_read_from_s3_and_that_is_said():
    asked = {"resource": "arn:aws:states:::s3:getObject", "arguments": {"Bucket": "b", "Key": "k"}}
    async with open_service(Settings(data=None)) as service:
        call = Call(
            name=Name("whisk.system", "states", "readItems"), params=asked, namespace="guest"
        )
        ended = await service.engine.invoke(call, wait_s=20)

    assert ended.ended.outcome.error == {"Error": "States.ItemReaderFailed", "Cause": TEXT}


async def test_a_queue_is_listened_to_only_if_that_is_asked_for(monkeypatch):
    live_in(monkeypatch, **environment("http://127.0.0.1:9"))
    async with open_service(Settings(data=None)) as service:
        assert service.completions is None
        assert service.clouds.missing == {}
    async with open_service(Settings(data=None, aws_completions=QUEUE)) as service:
        assert service.completions is not None
