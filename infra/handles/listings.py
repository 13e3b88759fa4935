"""Lists and histories that are longer than one answer: read page by page while a program goes over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from ...actions import InvalidError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Generator

Item = TypeVar("Item")
ItemT_co = TypeVar("ItemT_co", covariant=True)
Document: TypeAlias = "dict[str, Any]"
"""A document as the HTTP API shows it."""

SHOWN = 30  # documents of a list that is awaited without a limit
PAGE = 200  # documents of one page
WAIT_S = 20.0  # seconds that one request for a history waits for an entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A part of a list, the newest first: after `skip` documents, those not newer than `upto_ms`."""

    limit: int
    skip: int = 0
    upto_ms: int | None = None


class Listing(Generic[ItemT_co]):
    """A list that is read when it is used.

    `async for` goes over all of it; `await` returns documents as the HTTP API shows them.
    """

    def __init__(
        self,
        page: Callable[[], Awaitable[list[Document]]],
        each: Callable[[], AsyncIterator[ItemT_co]],
    ) -> None:
        self._page, self._each = page, each

    def __await__(self) -> Generator[Any, None, list[Document]]:
        return self.page().__await__()

    def __aiter__(self) -> AsyncIterator[ItemT_co]:
        return self._each()

    async def page(self) -> list[Document]:
        """The documents, without waiting for further ones."""
        return await self._page()


Read: TypeAlias = "Callable[[Page], Awaitable[list[Document]]]"
Follow: TypeAlias = "Callable[[int, float], Awaitable[tuple[list[Document], bool]]]"
"""Reads entries after a number, waiting so many seconds for one; True if no further entry can come."""

Seek: TypeAlias = "Callable[[int, str | None], Awaitable[tuple[list[Document], str | None]]]"
"""Reads so many documents after a cursor, and returns the cursor of the next page; None if there is none."""


def sought(
    read: Seek,
    made: Callable[[Document], Item],
    *,
    limit: int | None,
    skip: int = 0,
    shown: int | None = SHOWN,
) -> Listing[Item]:
    """A list of what `read` finds, in the order of its cursors.

    Args:
        read: reads a page.
        made: makes the item of a document.
        limit: the maximum number of items; None for all.
        skip: must be 0, for a cursor says where a page begins.
        shown: documents of a list that is awaited without a limit; None for all.

    Raises:
        InvalidError: `skip` is given.
    """
    if skip:
        raise InvalidError("'skip' does not go with 'where': leave it out.")

    async def page() -> list[Document]:
        return [doc async for doc in _after(read, shown if limit is None else limit)]

    async def each() -> AsyncIterator[Item]:
        async for doc in _after(read, limit):
            yield made(doc)

    return Listing(page, each)


async def _after(read: Seek, limit: int | None) -> AsyncIterator[Document]:
    left, cursor = limit, None
    while left is None or left > 0:
        found, cursor = await read(PAGE if left is None else min(left, PAGE), cursor)
        for doc in found:
            yield doc
        if cursor is None:
            return
        if left is not None:
            left -= len(found)


def listed(
    read: Read, made: Callable[[Document], Item], id: str, *, limit: int | None, skip: int
) -> Listing[Item]:
    """A list of what `read` finds, newest first.

    Args:
        read: reads a page.
        made: makes the item of a document.
        id: the member of a document by which it is known.
        limit: the maximum number of items; None for all.
        skip: the number of items to leave out at the start.
    """

    async def page() -> list[Document]:
        wanted = SHOWN if limit is None else limit
        if 0 < wanted <= PAGE:
            return await read(Page(limit=wanted, skip=skip))
        found: list[Document] = []
        async for doc in _documents(read, id, skip):
            if len(found) >= wanted:
                break
            found.append(doc)
        return found

    async def each() -> AsyncIterator[Item]:
        left = limit
        async for doc in _documents(read, id, skip):
            if left is not None:
                if left <= 0:
                    return
                left -= 1
            yield made(doc)

    return Listing(page, each)


async def _documents(read: Read, id: str, skip: int) -> AsyncIterator[Document]:
    """All documents, each once.

    Pages continue from an instant: a list becomes shorter while a program repairs what it finds.
    """
    page, known = Page(limit=PAGE, skip=skip), set[str]()
    while True:
        found = await read(page)
        for doc in found:
            if doc[id] not in known:
                yield doc
        if len(found) < PAGE:
            return
        last_ms = found[-1]["start"]
        if last_ms == page.upto_ms:  # more than a page in one millisecond
            page = Page(limit=PAGE, skip=page.skip + PAGE, upto_ms=last_ms)
        else:
            known = {doc[id] for doc in found if doc["start"] == last_ms}
            page = Page(limit=PAGE, upto_ms=last_ms)


def history(read: Follow, *, follow: bool) -> Listing[Document]:
    """The entries of a history so far; with `follow` also those to come, until the execution has ended."""

    async def page() -> list[Document]:
        return [entry async for entry in _entries(read, 0.0)]

    return Listing(page, lambda: _entries(read, WAIT_S if follow else 0.0))


async def _entries(read: Follow, wait_s: float) -> AsyncIterator[Document]:
    after = 0
    while True:
        entries, ended = await read(after, wait_s)
        for entry in entries:
            yield entry
        if entries:
            after = entries[-1]["seq"]
        if ended or not (entries or wait_s):
            return
