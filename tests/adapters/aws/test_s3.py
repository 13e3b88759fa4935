"""S3's own ways: where buckets are, what it refuses, and when it is asked again."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
from werkzeug.wrappers import Response

from tests.kit.actions.things import StandingClock
from tests.kit.adapters.aws_world import FromKeys, environment, live_in, request
from tests.rigs.s3 import KEYS, refused, s3
from xingqiao.adapters import Egress, Fault, Rules, objects_on_s3

ALL = (0, 1 << 20)


@pytest.fixture
def cloud():
    with s3() as cloud:
        cloud.client.create_bucket(Bucket="items")
        cloud.client.put_object(Bucket="items", Key="k", Body=b"there")
        cloud.seen.clear()
        yield cloud


@asynccontextmanager
async def objects_at(url, clock=None, **fields):
    clock = clock or StandingClock()
    async with Egress(Rules(), clock) as egress:
        yield objects_on_s3(egress, clock, 1000, url)(request(clock=clock, **fields))


async def read(cloud, **fields):
    async with objects_at(cloud.url, **fields) as objects:
        return await objects.read("items", "k", None, ALL, "")


def said(fault):
    return fault.error["message"]


async def test_what_is_busy_is_asked_again(cloud):
    cloud.faults = [refused(503, "SlowDown", "Reduce your request rate."), Response("", 500)]

    assert (await read(cloud)).body == b"there"
    assert len(cloud.seen) == 3


async def test_what_stays_busy_is_given_up(cloud):
    cloud.faults = [refused(503, "SlowDown", "Please reduce your request rate.") for _ in range(9)]

    fault = await read(cloud)

    assert fault.code == "Throttled"
    assert said(fault) == (
        "Please reduce your request rate. (Service: S3, Status Code: 503, Error Code: SlowDown)"
    )
    assert len(cloud.seen) == 4


async def test_nothing_is_asked_again_after_the_deadline(cloud):
    class Passing(StandingClock):
        """By this clock the first request takes almost all of the time, however quick the machine is."""

        def now_ms(self):
            return self.ms + (19_999 if cloud.seen else 0)

    cloud.faults = [Response("", 500)]

    fault = await read(cloud, clock=Passing(), left_ms=20_000)

    assert said(fault) == "S3 refuses the request. (Service: S3, Status Code: 500)"
    assert len(cloud.seen) == 1


@pytest.mark.parametrize("keys", [("AKIAOTHER00000000000", "x"), (KEYS[0], "another")])
async def test_a_refusal_shows_nothing_of_keys(cloud, keys):
    fault = await read(cloud, authorizer=FromKeys(keys))

    assert fault.code == "Permission"
    assert "S3 refuses the request. (Service: S3, Status Code: 403" in said(fault)
    assert "AKIA" not in said(fault)
    assert KEYS[1] not in said(fault)


async def test_keys_that_were_refused_are_had_anew_once(cloud):
    class Renewed(FromKeys):
        def refused(self):
            self._keys = FromKeys()._keys
            return True

    assert (await read(cloud, authorizer=Renewed((KEYS[0], "old")))).body == b"there"
    cloud.faults = [refused(403, "AccessDenied", "Access Denied") for _ in range(5)]
    assert (await read(cloud, authorizer=Renewed())).code == "Permission"
    assert len(cloud.seen) == 4


async def test_a_bucket_is_asked_for_in_the_region_that_it_is_in(cloud, monkeypatch):
    live_in(monkeypatch, **environment(cloud.url, region="eu-west-1"))
    cloud.region = "ap-south-1"

    async with objects_at("") as objects:
        first = await objects.read("items", "k", None, ALL, "")
        second = await objects.read("items", "k", None, ALL, "")

    assert (first.body, second.body) == (b"there", b"there")
    assert len(cloud.seen) == 3  # it is known from then on


async def test_a_bucket_that_is_nowhere_is_not_looked_for_for_ever(cloud, monkeypatch):
    live_in(monkeypatch, **environment(cloud.url, region="eu-west-1"))
    cloud.faults = [
        refused(301, "PermanentRedirect", "Elsewhere.", {"x-amz-bucket-region": region})
        for region in ("eu-west-2", "eu-west-3")
    ]
    cloud.region = "eu-west-1"

    async with objects_at("") as objects:
        assert isinstance(await objects.read("items", "k", None, ALL, ""), Fault)
    cloud.region = "not/a.region"
    async with objects_at("") as objects:
        assert isinstance(await objects.read("items", "k", None, ALL, ""), Fault)


async def test_without_a_region_that_is_said(monkeypatch):
    live_in(monkeypatch, **environment(region=None))

    async with objects_at("") as objects:
        assert "set AWS_REGION" in said(await objects.page("items", "", "", 10))


async def test_a_version_is_read(cloud):
    cloud.client.put_bucket_versioning(
        Bucket="items", VersioningConfiguration={"Status": "Enabled"}
    )
    old = cloud.client.put_object(Bucket="items", Key="v", Body=b"old")["VersionId"]
    cloud.client.put_object(Bucket="items", Key="v", Body=b"new")

    async with objects_at(cloud.url) as objects:
        assert (await objects.read("items", "v", old, ALL, "")).body == b"old"
        assert (await objects.read("items", "v", None, ALL, "")).body == b"new"


async def test_a_host_that_knows_no_ranges_gives_all(cloud):
    cloud.faults = [Response(b"all of it", 200)]

    async with objects_at(cloud.url) as objects:
        part = await objects.read("items", "k", None, (2, 5), "")

    assert (part.body, part.size) == (b"l o", 9)


LISTED = "<Contents><Key>{0}</Key><ETag>e</ETag><Size>{1}</Size><LastModified>{2}</LastModified></Contents>"
WHEN = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    "body",
    [
        "no xml", "<!DOCTYPE a [<!ENTITY b 'c'>]><ListBucketResult>&b;</ListBucketResult>",
        "<L><Contents/></L>", f"<L>{LISTED.format('k', 'many', WHEN)}</L>",
        f"<L>{LISTED.format('k', 1, 'today')}</L>", "",
    ],
)  # fmt: skip
async def test_what_is_no_listing_is_refused(cloud, body):
    cloud.faults = [Response(body, 200)]

    async with objects_at(cloud.url) as objects:
        fault = await objects.page("items", "", "", 10)

    assert (fault.code, said(fault)) == (
        "BadResponse",
        "the response of S3 is not a list of objects",
    )


async def test_a_listing_is_read_whatever_its_namespace(cloud):
    cloud.faults = [
        Response(f"<x:L xmlns:x='urn:x'>{LISTED.format('a%20b%2B', 1, WHEN)}</x:L>", 200)
    ]

    async with objects_at(cloud.url) as objects:
        page = await objects.page("items", "", "", 10)

    assert [(e.key, e.modified, e.storage) for e in page.entries] == [
        ("a b+", 1767225600.0, "STANDARD")
    ]
