"""Lists that are read page by page, while what they show changes."""

from __future__ import annotations

import pytest

from xingqiao.actions import InvalidError
from xingqiao.infra.handles import Page, history, listed, sought
from xingqiao.infra.handles.listings import PAGE, SHOWN


class Rows:
    """Documents, the newest first, as a server lists them."""

    def __init__(self, starts):
        self.rows = [{"id": f"{n}", "start": start} for n, start in enumerate(starts)]
        self.pages = []

    async def read(self, page):
        self.pages.append(page)
        shown = [row for row in self.rows if page.upto_ms is None or row["start"] <= page.upto_ms]
        return shown[page.skip : page.skip + page.limit]

    def list(self, limit=None, skip=0):
        return listed(self.read, lambda doc: doc["id"], "id", limit=limit, skip=skip)


def ids(count, first=0):
    return [f"{n}" for n in range(first, first + count)]


@pytest.mark.parametrize("count", [0, 1, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE])
async def test_every_item_comes_once(count):
    rows = Rows(range(count, 0, -1))

    assert [id async for id in rows.list()] == ids(count)


@pytest.mark.parametrize("starts", [[7] * 1000, [9] * 10 + [7] * 500 + [3] * 300])
async def test_more_than_a_page_in_one_millisecond_is_read_to_the_end(starts):
    assert [id async for id in Rows(starts).list()] == ids(len(starts))


async def test_items_that_leave_the_list_hide_no_others():
    rows, seen = Rows(range(1000, 0, -1)), []

    async for id in rows.list():
        seen.append(id)
        rows.rows = [row for row in rows.rows if row["id"] != id]

    assert seen == ids(1000)


async def test_items_that_are_added_come_not_twice():
    rows, seen = Rows(range(500, 0, -1)), []

    async for id in rows.list():
        seen.append(id)
        rows.rows.insert(0, {"id": f"new {len(seen)}", "start": 1000})

    assert seen == ids(500)


@pytest.mark.parametrize("limit", [0, 1, PAGE, PAGE + 1, 700])
async def test_a_limit_and_a_beginning(limit):
    rows = Rows(range(600, 0, -1))

    wanted = ids(min(limit, 590), 10)
    assert [id async for id in rows.list(limit, 10)] == wanted
    assert [doc["id"] for doc in await rows.list(limit, 10)] == wanted


async def test_a_list_that_is_awaited_is_short():
    rows = Rows(range(600, 0, -1))

    assert len(await rows.list()) == SHOWN
    assert rows.pages == [Page(limit=SHOWN)]


async def test_a_history_is_followed_until_it_has_ended():
    pages = [([{"seq": 1}], False), ([], False), ([{"seq": 2}, {"seq": 3}], True)]
    asked = []

    async def read(after, wait_s):
        asked.append((after, wait_s > 0))
        return pages[len(asked) - 1]

    entries = [entry["seq"] async for entry in history(read, follow=True)]

    assert entries == [1, 2, 3]
    assert asked == [(0, True), (1, True), (1, True)]


async def test_a_history_so_far_does_not_wait():
    pages = [([{"seq": 1}], False), ([], False)]

    async def read(after, wait_s):
        assert wait_s == 0
        return pages[after]

    assert await history(read, follow=False) == [{"seq": 1}]


# --- cursors -------------------------------------------------------------------------------------


class Found:
    """Documents as a filter finds them; a cursor is the number of the document after which a page begins."""

    def __init__(self, count):
        self.count, self.limits = count, []

    async def read(self, limit, after):
        self.limits.append(limit)
        first = int(after or 0)
        end = min(first + limit, self.count)
        return [{"id": id} for id in ids(end - first, first)], str(
            end
        ) if end < self.count else None

    def list(self, **options):
        return sought(self.read, lambda doc: doc["id"], **options)


@pytest.mark.parametrize("count", [0, 1, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE])
async def test_every_document_that_is_found_comes_once(count):
    found = Found(count)

    assert [id async for id in found.list(limit=None)] == ids(count)
    assert len(found.limits) == max(1, -(-count // PAGE))


@pytest.mark.parametrize("limit", [0, 1, SHOWN, PAGE, PAGE + 1, 2 * PAGE])
async def test_no_more_is_sought_than_the_limit(limit):
    found = Found(1000)

    assert [id async for id in found.list(limit=limit)] == ids(limit)
    assert sum(found.limits) == limit
    assert [doc["id"] for doc in await found.list(limit=limit)] == ids(limit)


async def test_a_list_that_is_sought_shows_some_or_all():
    assert len(await Found(1000).list(limit=None)) == SHOWN
    assert len(await Found(1000).list(limit=None, shown=None)) == 1000
    with pytest.raises(InvalidError, match="'skip' does not go with 'where'"):
        Found(1).list(limit=None, skip=1)
