"""What is read of which objects, and how much of them."""

from __future__ import annotations

import gzip
import json
import random

import pytest

from xingqiao.adapters import Fault, ObjectEntry, ObjectPart, Page
from xingqiao.composer.languages.asl.running import ReadingBounds, StatesError
from xingqiao.infra.stepfunctions.items.item_reader import read

GET, LIST = "arn:aws:states:::s3:getObject", "arn:aws:states:::s3:listObjectsV2"
JSON, JSONL = {"InputType": "JSON"}, {"InputType": "JSONL"}


FIRST_BYTES = 1024


class Shelf:
    """Objects in memory, which know what of them was read."""

    def __init__(self, page=1000, **objects):
        self.objects = {name.replace("__", "/"): body for name, body in objects.items()}
        self.spans = []
        self.size = page

    async def read(self, bucket, key, version, span, etag):
        self.spans.append((f"{bucket}/{key}", version, span, etag))
        if f"{bucket}/{key}" not in self.objects:
            return Fault.saying("NotFound", f"There is no {key}.", "no")
        body = self.objects[f"{bucket}/{key}"]
        return ObjectPart(body[slice(*span)], len(body), '"e"')

    async def page(self, bucket, prefix, after, most):
        if bucket == "none":
            return Fault.saying("NotFound", "There is no bucket.", "no")
        names = [name.partition("/")[2] for name in self.objects if name.startswith(f"{bucket}/")]
        found = sorted(name for name in names if name.startswith(prefix) and name > after)
        most = min(most, self.size)
        entries = [
            ObjectEntry(k, '"e"', 5, len(self.objects[f"{bucket}/{k}"])) for k in found[:most]
        ]
        return Page(entries, found[most - 1] if len(found) > most else "")


def params(arguments, config=None, resource=GET, most=None):
    asked = {"resource": resource, "arguments": {"Bucket": "b", **arguments}, "maxItems": most}
    return asked if config is None else {**asked, "config": config}


async def items(shelf, *args, bounds=None, **more):
    return (await read(params(*args, **more), shelf, bounds or ReadingBounds(), FIRST_BYTES))[
        "items"
    ]


async def failing(shelf, asked, bounds=None):
    with pytest.raises(StatesError) as caught:
        await read(asked, shelf, bounds or ReadingBounds(), FIRST_BYTES)
    assert caught.value.name == "States.ItemReaderFailed"
    return caught.value.cause


async def test_an_object_is_read_in_its_version():
    shelf = Shelf(b__k=b"[1, 2, 3]")

    assert await items(shelf, {"Key": "k", "VersionId": "v"}, JSON, most=2) == [1, 2]
    assert shelf.spans == [("b/k", "v", (0, FIRST_BYTES), "")]


async def test_members_of_an_object_say_so():
    shelf = Shelf(b__k=b'{"a": 1}')

    assert await read(params({"Key": "k"}), shelf, ReadingBounds(), FIRST_BYTES) == {
        "items": [{"Key": "a", "Value": 1}],
        "keyed": True,
    }


async def test_a_large_object_is_read_on_from_where_it_was():
    body = json.dumps(["x" * 100] * 500).encode()
    shelf = Shelf(b__k=body)

    assert len(await items(shelf, {"Key": "k"}, JSON, most=5)) == 5
    assert shelf.spans[1:] == [("b/k", None, (FIRST_BYTES, len(body)), '"e"')]


@pytest.mark.parametrize("most", [1, 50])
async def test_of_lines_no_more_is_read_than_is_asked_for(most):
    lines = b"".join(b'{"n": %08d}\n' % (n + 10_000_000) for n in range(10_000))
    shelf = Shelf(b__k=lines)
    bounds = ReadingBounds(bytes=3 * FIRST_BYTES)

    found = await items(shelf, {"Key": "k"}, JSONL, most=most, bounds=bounds)

    assert [item["n"] for item in found] == [n + 10_000_000 for n in range(most)]
    assert sum(end - begin for _, _, (begin, end), _ in shelf.spans) == FIRST_BYTES


async def test_of_lines_more_is_read_until_there_are_enough():
    lines = b'"0123456789012"\n' * 1000
    shelf = Shelf(b__k=lines)

    assert len(await items(shelf, {"Key": "k"}, JSONL, most=100)) == 100
    assert [span for _, _, span, _ in shelf.spans] == [
        (0, FIRST_BYTES), (FIRST_BYTES, 8 * FIRST_BYTES),
    ]  # fmt: skip


@pytest.mark.parametrize("most", [None, 10_000_000])
async def test_what_is_more_than_may_be_read_is_refused(most):
    shelf = Shelf(b__k=b"1\n" * FIRST_BYTES)
    bounds = ReadingBounds(bytes=FIRST_BYTES + 5)

    cause = await failing(shelf, params({"Key": "k"}, JSONL, most=most), bounds)

    assert cause == "The object 'k' has 2048 bytes; the limit is 1029 bytes."


async def test_a_packed_object_is_read_as_a_whole():
    noise = random.Random(5).randbytes(FIRST_BYTES).hex().encode()
    packed = gzip.compress(b'"' + noise + b'"\n2\n')
    shelf = Shelf(b__k=packed)

    assert len(packed) > FIRST_BYTES
    assert (await items(shelf, {"Key": "k"}, JSONL, most=2))[1] == 2


async def test_a_host_that_gives_less_than_it_says_is_not_believed():
    class Short(Shelf):
        async def read(self, *asked):
            part = await super().read(*asked)
            return ObjectPart(part.body[:3], part.size, part.etag)

    cause = await failing(Short(b__k=b"[1, 2]"), params({"Key": "k"}))

    assert cause == "The object 'k' was cut off while it was read."


async def test_what_an_inventory_lists():
    manifest = {
        "fileFormat": "CSV", "fileSchema": "Bucket, Key", "destinationBucket": "arn:aws:s3:::c",
        "files": [{"key": "1.gz"}, {"key": "2.gz"}],
    }  # fmt: skip
    shelf = Shelf(b__m=json.dumps(manifest).encode())
    shelf.objects["c/1.gz"] = gzip.compress(b'"x","one"\n"x","two"\n')
    shelf.objects["c/2.gz"] = gzip.compress(b'"x","three"\n')

    found = await items(shelf, {"Key": "m"}, {"InputType": "MANIFEST"})

    assert found == [{"Bucket": "x", "Key": key} for key in ("one", "two", "three")]


async def test_what_athena_has_unloaded():
    shelf = Shelf(b__m=b"s3://c/1\ns3://b/2\n", c__1=b"1\n2\n", b__2=b"3\n4\n")
    config = {**JSONL, "ManifestType": "ATHENA_DATA"}

    assert await items(shelf, {"Key": "m"}, config) == [1, 2, 3, 4]
    assert await items(shelf, {"Key": "m"}, config, most=3) == [1, 2, 3]


async def test_a_manifest_may_be_long():
    shelf = Shelf(b__m=b"\n" * 2 * FIRST_BYTES + b"s3://b/1\n", b__1=b"1\n")

    assert await items(shelf, {"Key": "m"}, {**JSONL, "ManifestType": "ATHENA_DATA"}) == [1]


async def test_objects_are_items():
    shelf = Shelf(page=2, b__a=b"1", b__p__1=b"12", b__p__2=b"", b__p__3=b"", b__q=b"")

    found = await items(shelf, {"Prefix": "p/"}, resource=LIST)

    assert found[0] == {
        "Etag": '"e"', "Key": "p/1", "LastModified": 5, "Size": 2, "StorageClass": "STANDARD",
    }  # fmt: skip
    assert [item["Key"] for item in found] == ["p/1", "p/2", "p/3"]
    assert [item["Key"] for item in await items(shelf, {}, resource=LIST, most=3)] == [
        "a",
        "p/1",
        "p/2",
    ]
    assert [item["Key"] for item in await items(shelf, {}, resource=LIST, most=4)][-1] == "p/3"
    assert await items(shelf, {"Prefix": "none"}, resource=LIST) == []


async def test_what_is_in_objects_is_flattened():
    files = {f"b__{n:03}": b"%d\n%d\n" % (n, n) for n in range(40)}
    shelf = Shelf(b__a__=b"", **files)
    config = {**JSONL, "Transformation": "LOAD_AND_FLATTEN"}

    assert await items(shelf, {}, config, LIST) == [n for n in range(40) for _ in "ab"]
    shelf.spans.clear()
    assert await items(shelf, {}, config, LIST, most=3) == [0, 0, 1]
    assert len(shelf.spans) == 16
    assert "may be read" in await failing(
        Shelf(b__1=b"[1,2,3]\n" * 5, b__2=b"[1]\n"),
        params({}, config, LIST),
        ReadingBounds(values=20),
    )


async def test_more_objects_than_may_be_listed_are_refused():
    shelf = Shelf(**{f"b__{n}": b"" for n in range(9)})

    for bounds in (ReadingBounds(values=50), ReadingBounds(bytes=8 * 151)):
        cause = await failing(shelf, params({}, resource=LIST), bounds)
        assert cause == "The list of objects is too long: at most 8 fit. Use a longer Prefix."
    assert len(await items(shelf, {}, resource=LIST, most=8, bounds=ReadingBounds(values=50))) == 8


async def test_what_is_not_there_is_told():
    shelf = Shelf(b__m=b"s3://c/1\n")

    assert await failing(shelf, params({"Key": "k"})) == "There is no k."
    config = {**JSONL, "ManifestType": "ATHENA_DATA"}
    assert await failing(shelf, params({"Key": "m"}, config)) == "There is no 1."
    asked = params({"Bucket": "none"}, resource=LIST)
    assert await failing(shelf, asked) == "There is no bucket."


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "Resource None"),
        (params({"Key": "k"}, resource="arn:aws:states:::s3:putObject"), "Resource"),
        ({"resource": GET}, "must be objects"),
        (params({"Key": "k"}, [5]), "must be objects"),
        (params({"Key": "k"}, most="2"), "whole number"),
        (params({"Key": "k"}, most=True), "whole number"),
        (params({"Key": "k"}, most=-1), "field MaxItems must be positive"),
        (params({"Key": "k", "Bucket": ""}), "needs a Bucket"),
        (params({}), "needs a Key"),
        (params({"Key": 5}), "needs a Key"),
        (params({"Key": "k", "VersionId": 5}), "VersionId"),
        (params({"Prefix": 5}, resource=LIST), "needs a Prefix"),
    ],
)
async def test_what_makes_no_sense_is_refused(asked, said):
    assert said in await failing(Shelf(b__k=b"[]"), asked)
