"""Messages as they are stored: read in pages, while others have their turns."""

from __future__ import annotations

import asyncio

import anyio.lowlevel
import pytest

from xingqiao.actions import Document, Write
from xingqiao.composer import InboxChanges, Message
from xingqiao.infra.engine import message_rows
from xingqiao.infra.engine.message_rows import MESSAGE, PAGE, PORTION_BYTES, documents, stored
from xingqiao.infra.stores import MemoryStore

ID = "e" * 32


class CountingStore(MemoryStore):
    """Notes how many documents and values are read at once."""

    def __init__(self):
        super().__init__()
        self.pages, self.portions = [], []

    async def documents(self, kind, prefix="", *, after=None, limit=None):
        count = 0
        async for document in super().documents(kind, prefix, after=after, limit=limit):
            count += 1
            yield document
        self.pages.append(count)

    async def values(self, execution, keys):
        self.portions.append(len(keys))
        return dict.fromkeys(keys, b'"large"')


def row(number, size=1, slot=None):
    message = Message(number, "go", "", number, size)
    [document] = documents(ID, InboxChanges((message,), ()), lambda value: slot or {"v": value})
    return document


async def filled(*rows):
    store = CountingStore()
    await store.commit([Write(documents=[*rows])])
    return store


def numbers(messages):
    return [message.number for message in messages]


async def test_what_was_written_is_read_with_its_size():
    message = Message(7, "go", "m", {"n": 1}, 7)
    store = await filled(*documents(ID, InboxChanges((message,), ()), lambda value: {"v": value}))

    assert await stored(store, ID) == [message]
    assert [document.kind async for document in store.documents(MESSAGE)] == [MESSAGE]


@pytest.mark.parametrize("count", [0, 1, PAGE - 1, PAGE, PAGE + 1])
async def test_all_are_read_in_order_a_page_at_once(count):
    store = await filled(*(row(number) for number in range(2, count + 2)))

    assert numbers(await stored(store, ID)) == [*range(2, count + 2)]
    assert max(store.pages) <= PAGE


@pytest.mark.parametrize(
    ("after", "limit", "expected"),
    [
        (0, 2, [2, 3]),
        (3, 2, [4, 5]),
        (5, 9, [6]),
        (6, 9, []),
        (1 << 62, 9, []),
        (3, None, [4, 5, 6]),
    ],
)
async def test_a_page_reads_no_more_than_it_shows(after, limit, expected):
    store = await filled(*(row(number) for number in range(2, 7)))

    assert numbers(await stored(store, ID, after, limit)) == expected
    assert sum(store.pages) == len(expected)


async def test_large_payloads_are_read_in_portions():
    half = PORTION_BYTES // 2
    rows = [row(number, half, {"r": f"key{number}"}) for number in range(2, 7)]
    store = await filled(*rows, row(7, PORTION_BYTES * 2, {"r": "huge"}), row(8))

    assert numbers(await stored(store, ID)) == [*range(2, 9)]
    assert store.portions == [2, 2, 1, 1]


async def test_others_have_their_turns_meanwhile(monkeypatch):
    monkeypatch.setattr(message_rows, "PAGE", 1)
    store, turns = await filled(*(row(number) for number in range(2, 22))), 0
    reading = asyncio.ensure_future(stored(store, ID))

    while not reading.done():
        turns += 1
        await anyio.lowlevel.checkpoint()

    assert len(reading.result()) == 20
    assert turns >= 20


async def test_what_has_left_the_inbox_is_deleted():
    store = await filled(row(2), row(3))
    await store.commit([Write(documents=documents(ID, InboxChanges((), (2,)), dict))])

    assert numbers(await stored(store, ID)) == [3]
    assert documents(ID, InboxChanges((), (2,)), dict) == [
        Document(kind=MESSAGE, key=f"{ID}/00000002", body=None)
    ]
