"""Reads the items of a distributed Map: `/whisk.system/states/readItems`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from ....adapters import Fault
from ....composer.languages.asl.running import (
    FLATTEN,
    ITEM_READER_FAILED,
    LINES,
    Items,
    StatesError,
    listed_item,
    manifest_type,
    most_items,
    read_items,
    read_manifest,
)
from .failures import message_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from ....adapters import ObjectEntry, ObjectPart, Objects
    from ....composer import JSON
    from ....composer.languages.asl.running import Manifest, ReadingBounds

GET, LIST = "s3:getObject", "s3:listObjectsV2"
FIRST_BYTES = 1 << 20
GROWTH = 8  # the factor by which each further part grows, if some items are enough
AHEAD = 16  # objects whose first parts are read at the same time
GZIP = b"\x1f\x8b"
ENTRY_VALUES, ENTRY_BYTES = 6, 150  # size of an object as an item, without its key


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """The checked parameters of the action."""

    operation: str
    bucket: str
    arguments: dict[str, JSON]
    config: dict[str, JSON]
    max_items: int | None

    @classmethod
    def from_json(cls, params: Mapping[str, Any]) -> ReadRequest:
        """Checks the action's parameters.

        Raises:
            StatesError: States.ItemReaderFailed: a parameter is malformed.
        """
        resource, arguments = params.get("resource"), params.get("arguments")
        config, most = params.get("config") or {}, params.get("maxItems")
        operation = ":".join(str(resource).split(":")[-2:])
        if operation not in (GET, LIST):
            _fail(f"Items cannot be read with the Resource {resource!r}.")
        if not isinstance(arguments, dict) or not isinstance(config, dict):
            _fail("The arguments and the ReaderConfig of an ItemReader must be objects.")
        if type(most) not in (int, type(None)):
            _fail("MaxItems must be a whole number.")
        return cls(operation, _text(arguments, "Bucket"), arguments, config, most)


@dataclass(frozen=True, slots=True)
class _File:
    """An object that holds items."""

    bucket: str
    key: str
    version: str | None = None


async def read(
    params: Mapping[str, Any],
    objects: Objects,
    bounds: ReadingBounds,
    first_bytes: int = FIRST_BYTES,
) -> dict[str, Any]:
    """Reads items: `{"items": [...]}`, with `"keyed": true` for the members of an object.

    Args:
        params: the action's parameters.
        objects: the place that objects are read from.
        bounds: limits of the items.
        first_bytes: size of the part of an object that is read first.

    Raises:
        StatesError: States.ItemReaderFailed.
    """
    request = ReadRequest.from_json(params)
    reader = _Reader(objects, request.config, most_items(request.max_items), bounds, first_bytes)
    if request.operation == GET:
        found = await reader.object(_file_of(request))
    else:
        found = await reader.listing(request.bucket, _text(request.arguments, "Prefix", ""))
    return {"items": found.values, **({"keyed": True} if found.keyed else {})}


def _file_of(request: ReadRequest) -> _File:
    version = request.arguments.get("VersionId")
    if version is not None and not isinstance(version, str):
        _fail("The VersionId must be a text.")
    return _File(request.bucket, _text(request.arguments, "Key"), version)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads at most `most` items for one Map, within bounds."""

    objects: Objects
    config: dict[str, JSON]
    most: int
    bounds: ReadingBounds
    first_bytes: int

    async def object(self, file: _File) -> Items:
        """The items of an object; of a manifest the items of its files."""
        kind = manifest_type(self.config)
        first = await self._first(file)
        if kind is None:
            return await self._items(file, first, self.config, self.most, self.bounds)
        rest = await self._rest(file, first, len(first.body), first.size)
        manifest: Manifest = await asyncio.to_thread(
            read_manifest, first.body + rest, kind, self.config, file.bucket
        )
        return await self._together([_File(*place) for place in manifest.files], manifest.config)

    async def listing(self, bucket: str, prefix: str) -> Items:
        """Objects as items; with FLATTEN the items in the objects."""
        if self.config.get("Transformation") == FLATTEN:
            entries = [entry async for entry in self._entries(bucket, prefix)]
            files = [_File(bucket, entry.key) for entry in entries if not _is_folder(entry)]
            return await self._together(files, self.config)
        listed = self._entries(bucket, prefix, self.most)
        return Items([_item(entry) async for entry in listed], self.bounds)

    async def _entries(
        self, bucket: str, prefix: str, most: int | None = None
    ) -> AsyncIterator[ObjectEntry]:
        after, size, count = "", 0, 0
        room = self.bounds.values // ENTRY_VALUES
        while True:
            left = room + 1 - count if most is None else min(most, room + 1) - count
            page = await self.objects.page(bucket, prefix, after, left)
            if isinstance(page, Fault):
                _fail(message_of(page))
            for entry in page.entries:
                size, count = size + len(entry.key) + ENTRY_BYTES, count + 1
                if count > room or size > self.bounds.bytes:
                    _fail(
                        f"The list of objects is too long: at most {count - 1} fit. Use a longer Prefix."
                    )
                yield entry
            if not page.after or count == most:
                return
            after = page.after

    async def _together(self, files: Sequence[_File], config: dict[str, JSON]) -> Items:
        """The items of several objects, in order."""
        values: list[JSON] = []
        bounds = self.bounds
        for at in range(0, len(files), AHEAD):
            some = files[at : at + AHEAD]
            parts = (self._read(file, (0, self.first_bytes), "") for file in some)
            firsts = await asyncio.gather(*parts)  # they return faults
            for file, first in zip(some, firsts, strict=True):
                left = self.most - len(values)
                if not left:
                    return Items(values, bounds)
                begun = _checked(file, (0, self.first_bytes), first)
                found = await self._items(file, begun, config, left, bounds)
                values += found.values
                bounds = found.left
        return Items(values, bounds)

    async def _items(
        self,
        file: _File,
        first: ObjectPart,
        config: dict[str, JSON],
        most: int,
        bounds: ReadingBounds,
    ) -> Items:
        """The items of an object whose first part is read; of a large object at most `most`."""
        body = first.body
        limited = self.most < most_items(None)
        some_do = limited and config.get("InputType") in LINES and not body.startswith(GZIP)
        reading = partial(read_items, config=config, max_items=most, bounds=bounds)
        while len(body) < first.size:
            upto = first.size
            if some_do:
                found = await asyncio.to_thread(reading, body, whole=False)
                if len(found.values) == most:
                    return found
                upto = min(upto, GROWTH * len(body), max(self.bounds.bytes, len(body) + 1))
            body += await self._rest(file, first, len(body), upto)
        return await asyncio.to_thread(reading, body)

    async def _first(self, file: _File) -> ObjectPart:
        return await self._part(file, (0, self.first_bytes), "")

    async def _rest(self, file: _File, first: ObjectPart, at: int, upto: int) -> bytes:
        """The bytes of an object between two places."""
        if upto > self.bounds.bytes:
            size, most = first.size, self.bounds.bytes
            _fail(f"The object '{file.key}' has {size} bytes; the limit is {most} bytes.")
        return (await self._part(file, (at, upto), first.etag)).body if at < upto else b""

    async def _part(self, file: _File, span: tuple[int, int], etag: str) -> ObjectPart:
        return _checked(file, span, await self._read(file, span, etag))

    async def _read(self, file: _File, span: tuple[int, int], etag: str) -> ObjectPart | Fault:
        return await self.objects.read(file.bucket, file.key, file.version, span, etag)


def _checked(file: _File, span: tuple[int, int], part: ObjectPart | Fault) -> ObjectPart:
    if isinstance(part, Fault):
        _fail(message_of(part))
    if len(part.body) != max(0, min(span[1], part.size) - span[0]):
        _fail(f"The object '{file.key}' was cut off while it was read.")
    return part


def _is_folder(entry: ObjectEntry) -> bool:
    """True if an object only stands for a folder, as consoles create them."""
    return entry.key.endswith("/") and entry.size == 0


def _item(entry: ObjectEntry) -> dict[str, JSON]:
    return listed_item(
        key=entry.key, etag=entry.etag, modified=entry.modified, size=entry.size,
        storage=entry.storage,
    )  # fmt: skip


def _text(arguments: dict[str, JSON], name: str, default: str | None = None) -> str:
    text = arguments.get(name, default)
    if not isinstance(text, str) or (not text and default is None):
        _fail(f"The ItemReader needs a {name}, a text.")
    return text


def _fail(cause: str) -> NoReturn:
    raise StatesError(ITEM_READER_FAILED, cause)
