"""Files that name files, and listings as items."""

from __future__ import annotations

import json

import pytest

from xingqiao.composer.languages.asl.maps.manifests import (
    Manifest,
    listed_item,
    manifest_type,
    read_manifest,
)
from xingqiao.composer.languages.asl.state_errors import StatesError

INVENTORY = {
    "sourceBucket": "from", "destinationBucket": "arn:aws:s3:::reports", "version": "2016-11-30",
    "fileFormat": "CSV", "fileSchema": "Bucket, Key, Size, LastModifiedDate",
    "files": [{"key": "from/list/data/1.csv.gz", "size": 5, "MD5checksum": "0"}],
}  # fmt: skip
COLUMNS = ["Bucket", "Key", "Size", "LastModifiedDate"]
ATHENA = {"InputType": "JSONL", "ManifestType": "ATHENA_DATA"}


def inventory(**changes):
    doc = {k: v for k, v in {**INVENTORY, **changes}.items() if v is not None}
    return read_manifest(json.dumps(doc).encode(), "S3_INVENTORY", {}, "here")


def test_an_inventory_names_its_files_and_their_columns():
    assert inventory() == Manifest(
        (("reports", "from/list/data/1.csv.gz"),),
        {"InputType": "CSV", "CSVHeaderLocation": "GIVEN", "CSVHeaders": COLUMNS},
    )


def test_an_inventory_that_names_no_bucket_is_in_its_own():
    assert inventory(destinationBucket=None).files[0][0] == "here"


@pytest.mark.parametrize(
    "changes",
    [
        {"fileFormat": None}, {"files": None}, {"files": 5}, {"files": [5]}, {"files": [{}]},
        {"files": [{"key": ""}]}, {"files": [{"key": 5}]}, {"fileSchema": 5}, {"destinationBucket": 5},
    ],
)  # fmt: skip
def test_what_is_no_inventory_is_refused(changes):
    with pytest.raises(StatesError, match=r"ItemReaderFailed: The manifest is none of the type"):
        inventory(**changes)


def test_an_inventory_in_another_format_is_refused():
    with pytest.raises(StatesError, match="CSV only"):
        inventory(fileFormat="ORC")


def test_what_athena_has_unloaded_is_an_address_a_line():
    body = b's3://data/a/1.gz\r\n"s3://data/a/2.gz"\n\n'

    assert read_manifest(body, "ATHENA_DATA", ATHENA, "here") == Manifest(
        (("data", "a/1.gz"), ("data", "a/2.gz")), {"InputType": "JSONL"}
    )


@pytest.mark.parametrize("body", [b"data/a", b"s3://data", b"s3:///a", b"s3://data/", b"\xff"])
def test_what_is_no_address_is_refused(body):
    with pytest.raises(StatesError, match="none of the type ATHENA_DATA"):
        read_manifest(body, "ATHENA_DATA", ATHENA, "here")


def test_a_manifest_is_bounded():
    with pytest.raises(StatesError, match="more than 16777216 bytes"):
        read_manifest(b" " * ((16 << 20) + 1), "ATHENA_DATA", ATHENA, "here")
    with pytest.raises(StatesError, match="more than 10000 files"):
        read_manifest(b"s3://b/k\n" * 10_001, "ATHENA_DATA", ATHENA, "here")
    with pytest.raises(StatesError, match="none of the type"):
        read_manifest(b"[" * 100_000, "S3_INVENTORY", {}, "here")


def test_which_manifest_a_file_is():
    assert manifest_type({"InputType": "CSV"}) is None
    assert manifest_type({"InputType": "MANIFEST"}) == "S3_INVENTORY"
    assert manifest_type({"InputType": "CSV", "ManifestType": "S3_INVENTORY"}) == "S3_INVENTORY"
    assert manifest_type(ATHENA) == "ATHENA_DATA"
    with pytest.raises(StatesError, match="ManifestType 'OTHER'"):
        manifest_type({"ManifestType": "OTHER"})


def test_an_object_is_the_item_that_was_recorded():
    entry = listed_item(
        key="file_0.txt", etag='"401b30e3"', modified=1789180622.0, size=12, storage="STANDARD"
    )

    assert entry == {
        "Etag": '"401b30e3"', "Key": "file_0.txt", "LastModified": 1.789180622e9, "Size": 12,
        "StorageClass": "STANDARD",
    }  # fmt: skip
