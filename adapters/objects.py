"""The port of objects in buckets, on S3 or in a directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ..composer import frozen

if TYPE_CHECKING:
    from .port import Fault

MAX_PAGE = 1000  # S3's most


@frozen
class ObjectEntry:
    """An object in a listing; `modified` is in seconds since the epoch."""

    key: str
    etag: str
    modified: float
    size: int
    storage: str = "STANDARD"


@frozen
class ObjectPart:
    """A part of an object, and the size of the whole; `etag` identifies this version of the object."""

    body: bytes
    size: int
    etag: str


@frozen
class Page:
    """A part of a listing. `after` leads to the next one; "" when this is the last."""

    entries: list[ObjectEntry]
    after: str = ""


class Objects(Protocol):
    """Objects as one namespace may see them, until a deadline.

    Laws: a missing or forbidden object is not an exception, but a Fault whose message says
    which; an object is written as a whole or not at all, and later reads see it; a listing is in the
    order of the keys' UTF-8.
    """

    async def read(
        self, bucket: str, key: str, version: str | None, span: tuple[int, int], etag: str
    ) -> ObjectPart | Fault:
        """Bytes of an object, from the first position of `span` up to but not including the second, or to the end.

        With `etag` it must still be the version of that etag.
        """

    async def page(self, bucket: str, prefix: str, after: str, most: int) -> Page | Fault:
        """At most so many objects whose keys begin with `prefix`; `after` is of the page before, or ""."""

    async def write(self, bucket: str, key: str, body: bytes) -> Fault | None:
        """Puts an object in place of the one of the same key."""
