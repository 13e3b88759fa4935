"""Files that name the files in which a distributed Map's items are, and listings of objects as items.

Manifests are those of S3 Inventory
(https://docs.aws.amazon.com/AmazonS3/latest/userguide/storage-inventory-location.html) and those that Athena
writes beside what it unloads (https://docs.aws.amazon.com/athena/latest/ug/unload.html).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, final

from ....freezing import frozen
from .items import fail

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....values import JSON

ManifestType: TypeAlias = Literal["S3_INVENTORY", "ATHENA_DATA"]

MAX_FILES: Final = 10_000  # that a manifest may name
MAX_MANIFEST_BYTES: Final = 16 << 20
FLATTEN: Final = "LOAD_AND_FLATTEN"
_TYPES: Final[dict[str, ManifestType]] = {
    "S3_INVENTORY": "S3_INVENTORY",
    "ATHENA_DATA": "ATHENA_DATA",
}
_ARN, _URI = "arn:aws:s3:::", "s3://"


@final
@frozen
class Manifest:
    """The files that hold the items, as buckets and keys, and the ReaderConfig for each of them."""

    files: tuple[tuple[str, str], ...]
    config: dict[str, JSON]


def manifest_type(config: Mapping[str, JSON]) -> ManifestType | None:
    """The type of manifest in a ReaderConfig; None if its file holds the items itself.

    Raises:
        StatesError: States.ItemReaderFailed for an unknown type.
    """
    named = config.get("ManifestType")
    if named is None:
        return "S3_INVENTORY" if config.get("InputType") == "MANIFEST" else None
    known = _TYPES.get(named) if isinstance(named, str) else None
    if known is None:
        fail(f"This server does not know the ManifestType {named!r}.")
    return known


def read_manifest(
    body: bytes, kind: ManifestType, config: Mapping[str, JSON], bucket: str
) -> Manifest:
    """The files that a manifest names, and the ReaderConfig for them. `bucket` is the manifest's own.

    Raises:
        StatesError: States.ItemReaderFailed.
    """
    if len(body) > MAX_MANIFEST_BYTES:
        fail(f"A manifest cannot have more than {MAX_MANIFEST_BYTES} bytes.")
    try:
        text = body.decode("utf-8-sig")
        read = _inventory if kind == "S3_INVENTORY" else _athena
        manifest = read(text, config, bucket)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        fail(f"The manifest is none of the type {kind}.")
    if len(manifest.files) > MAX_FILES:
        fail(f"A manifest cannot name more than {MAX_FILES} files.")
    return manifest


def _inventory(text: str, _config: Mapping[str, JSON], bucket: str) -> Manifest:
    """Rows without a header, whose columns the manifest names."""
    doc: Any = json.loads(text)
    if doc["fileFormat"] != "CSV":
        fail("This server reads S3 Inventory in the format CSV only.")
    columns: list[JSON] = [name.strip() for name in doc["fileSchema"].split(",")]
    where = doc.get("destinationBucket") or bucket
    files = tuple((_text(where).removeprefix(_ARN), _text(file["key"])) for file in doc["files"])
    config: dict[str, JSON] = {
        "InputType": "CSV",
        "CSVHeaderLocation": "GIVEN",
        "CSVHeaders": columns,
    }
    return Manifest(files, config)


def _athena(text: str, config: Mapping[str, JSON], _bucket: str) -> Manifest:
    """One file's address a line."""
    lines = [line.strip().strip('"') for line in text.split("\n")]
    files = tuple(_place(line) for line in lines if line)
    return Manifest(files, {k: v for k, v in config.items() if k != "ManifestType"})


def _place(uri: str) -> tuple[str, str]:
    bucket, _, key = uri.removeprefix(_URI).partition("/")
    if not uri.startswith(_URI) or not bucket or not key:
        raise ValueError(uri)
    return bucket, key


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(value)
    return value


# --- listings ------------------------------------------------------------------------------------


def listed_item(
    *, key: str, etag: str, modified: float, size: int, storage: str
) -> dict[str, JSON]:
    """The item for an object that ListObjectsV2 lists; `modified` is in seconds since the epoch.

    AWS keeps the quotes of the Etag, and spells it like this.
    """
    return {
        "Etag": etag, "Key": key, "LastModified": modified, "Size": size, "StorageClass": storage,
    }  # fmt: skip
