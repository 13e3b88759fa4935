"""The laws of the `Objects` port, for S3 and for directories."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest

from tests.kit.actions.things import StandingClock
from tests.kit.adapters.aws_world import request
from tests.rigs.s3 import s3
from xingqiao.adapters import Egress, Fault, Rules, objects_on_s3
from xingqiao.infra.stepfunctions.items import DirectoryObjects

ALL = (0, 1 << 20)


class Directory:
    def __init__(self, folder):
        (folder / "items").mkdir()
        self.folder = folder

    @asynccontextmanager
    async def opened(self):
        yield DirectoryObjects(self.folder)


class OnS3:
    def __init__(self, cloud):
        cloud.client.create_bucket(Bucket="items")
        self.cloud = cloud

    @asynccontextmanager
    async def opened(self):
        clock = StandingClock()
        async with Egress(Rules(), clock) as egress:
            yield objects_on_s3(egress, clock, 1 << 20, self.cloud.url)(request(clock=clock))


@pytest.fixture(scope="module")
def cloud():
    with s3() as cloud:
        yield cloud


@pytest.fixture(params=["directory", "s3"])
async def objects(request, tmp_path):
    if request.param == "directory":
        world = Directory(tmp_path)
    else:
        cloud = request.getfixturevalue("cloud")
        for entry in cloud.client.list_buckets()["Buckets"]:
            for found in cloud.client.list_objects_v2(Bucket=entry["Name"]).get("Contents", ()):
                cloud.client.delete_object(Bucket=entry["Name"], Key=found["Key"])
            cloud.client.delete_bucket(Bucket=entry["Name"])
        world = OnS3(cloud)
    async with world.opened() as found:
        yield found


async def body(objects, key, span=ALL, etag=""):
    part = await objects.read("items", key, None, span, etag)
    return part if isinstance(part, Fault) else part.body


@pytest.mark.parametrize("key", ["a", "a/b/c.json", "sp ace/ü+&=?#%~.json", "a..b/.c", "日本"])
async def test_what_was_written_is_read(objects, key):
    assert await objects.write("items", key, b"one") is None
    assert await objects.write("items", key, b"two") is None

    assert await body(objects, key) == b"two"
    page = await objects.page("items", "", "", 10)
    assert [(entry.key, entry.size) for entry in page.entries] == [(key, 3)]
    assert (page.entries[0].storage, page.after) == ("STANDARD", "")
    assert page.entries[0].etag.startswith('"')
    assert page.entries[0].modified > 1_000_000_000


async def test_parts_are_read_and_say_how_much_there_is(objects):
    await objects.write("items", "k", b"0123456789")

    first = await objects.read("items", "k", None, (0, 4), "")
    rest = await objects.read("items", "k", None, (4, 100), first.etag)

    assert (first.body, first.size) == (b"0123", 10)
    assert (rest.body, rest.size, rest.etag) == (b"456789", 10, first.etag)


async def test_an_object_may_be_empty_and_a_large_one_is_whole(objects):
    await objects.write("items", "empty", b"")
    await objects.write("items", "large", b"x" * 1_000_000)

    empty = await objects.read("items", "empty", None, ALL, "")
    assert (empty.body, empty.size) == (b"", 0)
    assert await body(objects, "large") == b"x" * 1_000_000


async def test_what_has_changed_is_not_read_on(objects):
    await objects.write("items", "k", b"before")
    first = await objects.read("items", "k", None, (0, 3), "")
    await objects.write("items", "k", b"after it")

    assert isinstance(await objects.read("items", "k", None, (3, 6), first.etag), Fault)


async def test_a_listing_is_in_order_and_comes_in_pages(objects):
    keys = ["a", "a/b", "a/b/c", "ab", "b/1", "b/2", "é", "z"]
    for key in keys:
        if key not in ("a", "a/b"):  # in a directory these are folders
            await objects.write("items", key, b"")
    there = sorted(set(keys) - {"a", "a/b"}, key=str.encode)

    found, after, pages = [], "", 0
    while pages == 0 or after:
        page = await objects.page("items", "", after, 4)
        found += [entry.key for entry in page.entries]
        after, pages = page.after, pages + 1

    assert (found, pages) == (there, 2)
    for prefix in ("a", "a/", "a/b/", "b/1", "é", "none", "no/such/folder"):
        page = await objects.page("items", prefix, "", 100)
        assert [entry.key for entry in page.entries] == [k for k in there if k.startswith(prefix)]


async def test_what_is_not_there_is_told(objects):
    faults = [
        await objects.read("items", "none", None, ALL, ""),
        await objects.read("none", "none", None, ALL, ""),
        await objects.page("none", "", "", 10),
        await objects.write("none", "k", b""),
    ]

    assert [fault.code for fault in faults] == ["NotFound"] * 4
    assert not any(fault.transient for fault in faults)
    assert all(fault.error["message"] for fault in faults)


@pytest.mark.parametrize("key", ["", "../items/k", "a/../k", "./k", "a/.", ".."])
async def test_no_key_leads_elsewhere(objects, key):
    for fault in (
        await objects.read("items", key, None, ALL, ""), await objects.write("items", key, b""),
    ):  # fmt: skip
        assert fault.code == "InvalidRequest"


@pytest.mark.parametrize("bucket", ["..", ".", "", "a/b", "/", "/etc", "../items", "a\0b"])
async def test_no_bucket_leads_elsewhere(objects, bucket):
    for fault in (
        await objects.read(bucket, "k", None, ALL, ""),
        await objects.page(bucket, "", "", 10),
        await objects.write(bucket, "k", b""),
    ):
        assert fault.code == "InvalidRequest"
