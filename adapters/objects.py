"""Objects in buckets: what may be asked of where they are, S3 or a directory, and what comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ..composer import frozen

if TYPE_CHECKING:
    from .port import Fault

MAX_PAGE = 1000  # S3's most


@frozen
class ObjectEntry:
    """An object as a listing tells of it; `modified` is in seconds since the epoch."""

    key: str
    etag: str
    modified: float
    size: int
    storage: str = "STANDARD"


@frozen
class ObjectPart:
    """A part of an object, and how large it is as a whole; `etag` tells this object from what it is later."""

    body: bytes
    size: int
    etag: str


@frozen
class Page:
    """A part of a listing. `after` leads to the next one; "" when this is the last."""

    entries: list[ObjectEntry]
    after: str = ""


class Objects(Protocol):
    """Where objects are, as one namespace may see them, until a deadline.

    Laws: nothing is raised for what is not there, or may not be seen, but told as a Fault whose message says
    which; an object is written as a whole or not at all, and what was written is read; a listing is in the
    order of the keys' UTF-8.
    """

    async def read(
        self, bucket: str, key: str, version: str | None, span: tuple[int, int], etag: str
    ) -> ObjectPart | Fault:
        """Bytes of an object, from the first of `span` on and before the second, as far as there are any.

        With `etag` it must still be the object that had that.
        """

    async def page(self, bucket: str, prefix: str, after: str, most: int) -> Page | Fault:
        """Objects whose keys begin with `prefix`, at most so many; `after` is of the page before, or ""."""

    async def write(self, bucket: str, key: str, body: bytes) -> Fault | None:
        """Puts an object in place of what it was."""
