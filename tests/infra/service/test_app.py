"""How the service is put together: which store it has, and what becomes of it when that is lost."""

from __future__ import annotations

import asyncio
from uuid import UUID

import httpx
import pytest

from tests.kit.infra.servers import AUTH, KEY, USER
from tests.kit.stores.tables import TABLE, client, dynamodb
from xingqiao import composer
from xingqiao.actions import Document, Write
from xingqiao.infra.service.app import open_service
from xingqiao.infra.service.embedded_engine import Embedded
from xingqiao.infra.service.server import serve
from xingqiao.infra.settings import Settings
from xingqiao.infra.stores import DynamoStore, MemoryStore, SealedStore, StoreError


@composer.action
def double(params):
    return {"n": 2 * params["n"]}


@pytest.fixture
def region(monkeypatch):
    """DynamoDB as the SDK finds it by itself."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setattr(
        "xingqiao.infra.stores.dynamodb.store.THREADS", 1
    )  # moto's tables are no threads' friends
    with dynamodb():
        yield


def settings(**given):
    return Settings(**{"data": None, "isolation": "none", "prewarmed": 0, **given})


@pytest.mark.parametrize(
    ("given", "kind"),
    [({}, MemoryStore), ({"data": True}, SealedStore), ({"data": True, "dynamodb": TABLE}, DynamoStore)],
    ids=["memory", "sqlite", "dynamodb"],
)  # fmt: skip
@pytest.mark.usefixtures("region")
async def test_the_store_is_what_the_settings_say(given, kind, tmp_path):
    if "data" in given:
        given = {**given, "data": tmp_path / "data"}
    async with open_service(settings(**given)) as service:
        assert type(service.store) is kind
    assert (tmp_path / "data" / "xingqiao.db").exists() is (kind is SealedStore)


@pytest.mark.usefixtures("region")
async def test_what_is_in_a_table_is_there_for_the_next_server():
    async with open_service(settings(dynamodb=TABLE)) as service:
        xingqiao = Embedded(service.engine)
        await xingqiao.deploy("pipeline", composer.sequence(double, double))
        id, outcome = await xingqiao.run("pipeline", {"n": 3})
        assert outcome.value == {"n": 12}

    async with open_service(settings(dynamodb=TABLE)) as service:
        xingqiao = Embedded(service.engine)
        xingqiao.register(double)
        assert await xingqiao.invoke("pipeline", {"n": 1}) == {"n": 4}
        assert (await xingqiao.history(id))[0]["value"] == {"n": 3}


@pytest.mark.usefixtures("region")
async def test_a_second_server_does_not_start():
    async with open_service(settings(dynamodb=TABLE)):
        with pytest.raises(StoreError, match=f"is using table {TABLE}"):
            await open_service(settings(dynamodb=TABLE)).__aenter__()


@pytest.mark.usefixtures("region")
async def test_a_server_whose_table_is_taken_is_not_healthy_and_acknowledges_nothing():
    async with open_service(settings(dynamodb=TABLE)) as service:
        owner = own_fence("another")
        write = Write(documents=[Document(kind="x", key="k", body=b"{}")])
        async with asyncio.TaskGroup() as tasks:
            committing = tasks.create_task(service.engine.commit(write))
            while service.engine.healthy:
                await asyncio.wait([committing], timeout=0)
            assert not committing.done()
            service.store._lease._lost = False
            own_fence(owner)
    assert committing.done()


@pytest.mark.usefixtures("region")
async def test_a_server_whose_table_is_taken_over_stops_by_itself_and_says_why():
    begun = asyncio.get_running_loop().create_future()
    told = settings(dynamodb=TABLE, port=0, auth=AUTH, operator=f"{UUID(int=1)}:an-operator")
    serving = asyncio.ensure_future(serve(told, lambda url, _: begun.set_result(url)))
    url = await begun
    own_fence("another")

    body = {"exec": {"kind": "python:3", "code": "def main(params): return {}"}}
    async with httpx.AsyncClient(auth=(USER, KEY), timeout=30) as anyone:
        answer = await anyone.put(f"{url}/api/v1/namespaces/_/actions/a", json=body)

    assert answer.status_code == 503
    with pytest.raises(StoreError, match=f"has taken over table {TABLE}"):
        await serving


def own_fence(owner):
    """Makes another the owner of the table. Returns whose it was."""
    was = client().update_item(
        TableName=TABLE,
        Key={"pk": {"S": "lease"}, "sk": {"S": "fence"}},
        UpdateExpression="SET #owner = :owner",
        ExpressionAttributeNames={"#owner": "owner"},
        ExpressionAttributeValues={":owner": {"S": owner}},
        ReturnValues="UPDATED_OLD",
    )
    return was["Attributes"]["owner"]["S"]
