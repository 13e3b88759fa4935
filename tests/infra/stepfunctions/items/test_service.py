"""Items and results through the engine: wherever they are, however many, and also when the server dies."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.kit.infra.servers import AUTH, running
from tests.rigs.s3 import KEYS, s3
from xingqiao import composer
from xingqiao.actions import Quotas
from xingqiao.infra.service.app import open_service
from xingqiao.infra.service.embedded_engine import Embedded
from xingqiao.infra.settings import Settings

READ, WRITE = "/whisk.system/states/readItems", "/whisk.system/states/writeResults"
GET = "arn:aws:states:::s3:getObject"
RUN = "arn:aws:states:us-east-1:111111111111:mapRun:m/L:0b3e"
ASKED = {"resource": GET, "arguments": {"Bucket": "items", "Key": "k"}}
MANY = 2_000


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "buckets" / "items"
    folder.mkdir(parents=True)
    (folder / "k").write_text(json.dumps([{"n": n, "text": "x" * 1000} for n in range(MANY)]))
    return folder.parent


def settings(**given):
    return Settings(**{"data": None, "isolation": "none", "prewarmed": 0, **given})


@composer.action
def count(params):
    return {"count": len(params["items"]), "sum": sum(item["n"] for item in params["items"])}


async def test_a_bucket_is_a_directory_or_on_s3(root, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS[0])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEYS[1])
    listed = {"resource": "arn:aws:states:::s3:listObjectsV2", "arguments": {"Bucket": "cloud"}}
    written = {
        "resource": "arn:aws:states:::s3:putObject", "arguments": {"Bucket": "cloud"},
        "mapRun": RUN, "executions": [{"Status": "SUCCEEDED", "Input": 1, "Output": 2}],
    }  # fmt: skip
    with s3() as cloud:
        cloud.client.create_bucket(Bucket="cloud")
        for n in range(3):
            cloud.client.put_object(Bucket="cloud", Key=f"in/{n}", Body=b"%d" % n)
        async with open_service(settings(items_dir=root, items_url=cloud.url)) as service:
            xingqiao = Embedded(service.engine)
            await xingqiao.deploy("list", composer.sequence(READ))
            await xingqiao.deploy("write", composer.sequence(WRITE))
            found = await xingqiao.invoke("list", listed)
            read = await xingqiao.invoke("list", {**ASKED, "maxItems": 1})
            result = await xingqiao.invoke("write", written)
        at = result["ResultWriterDetails"]
        manifest = json.loads(cloud.client.get_object(**at)["Body"].read())

    assert [item["Key"] for item in found["items"]] == ["in/0", "in/1", "in/2"]
    assert read == {"items": [{"n": 0, "text": "x" * 1000}]}
    assert manifest["ResultFiles"]["SUCCEEDED"][0]["Key"] == "0b3e/SUCCEEDED_0.json"


async def test_items_are_more_than_other_results_may_be(root):
    async with open_service(settings(items_dir=root)) as service:
        xingqiao = Embedded(service.engine)
        await xingqiao.deploy("counted", composer.sequence(READ, count))

        assert (root / "items" / "k").stat().st_size > Quotas().payload_bytes
        assert await xingqiao.invoke("counted", ASKED) == {
            "count": MANY,
            "sum": MANY * (MANY - 1) // 2,
        }


async def test_but_not_more_than_is_set(root):
    async with open_service(settings(items_dir=root, items_bytes=1 << 20)) as service:
        xingqiao = Embedded(service.engine)
        await xingqiao.deploy("read", composer.sequence(READ))
        _, outcome = await xingqiao.run("read", ASKED)

    assert outcome.code == "States.ItemReaderFailed"
    assert "the limit is 1048576 bytes" in outcome.error["Cause"]


COUNT = "def main(params):\n    return {'count': len(params['items'])}\n"


def test_items_that_were_read_are_there_after_a_crash(root, tmp_path):
    environment = {**os.environ, "XINGQIAO_AUTH": AUTH, "XINGQIAO_ITEMS_DIR": str(root)}
    data, journey = tmp_path / "data", composer.sequence(READ, composer.wait(2), "count")
    with running(data, environment=environment) as server, server.client() as client:
        code = {"exec": {"kind": "python:3", "code": COUNT}}
        document = {"exec": {"kind": "composition", "composition": journey.to_json()}}
        assert client.put("/actions/count", json=code).status_code == 200
        assert client.put("/actions/journey", json=document).status_code == 200
        id = client.post("/actions/journey", json=ASKED).json()["activationId"]
        while not client.get("/activations", params={"name": "states/readItems"}).json():
            pass  # it has not been read
        server.stop(signal.SIGKILL)
    (root / "items" / "k").unlink()
    with running(data, environment=environment) as server, server.client() as client:
        while (answer := client.get(f"/activations/{id}")).status_code != 200:
            pass  # it waits for its time

    assert answer.json()["response"]["result"] == {"count": MANY}
