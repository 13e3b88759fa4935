"""The pages of a store are checked after a stop that was not in order, beside its work."""

from __future__ import annotations

import logging
import shutil

import pytest

from xingqiao.actions import ExecutionRow, Write
from xingqiao.infra.stores import FILE, SqliteStore
from xingqiao.infra.stores.page_check import PageCheck, stopped_in_order

ROWS = [ExecutionRow(f"e{n:04}", "guest", "a", "done", n, n, b"{}") for n in range(2000)]
PAGE = 4096


@pytest.fixture
async def closed(tmp_path):
    """A store that was closed in order."""
    async with SqliteStore(tmp_path / "data") as store:
        await store.commit([Write(executions=ROWS)])
    return tmp_path / "data"


def damage(path):
    with path.open("r+b") as file:
        file.seek(PAGE * (path.stat().st_size // PAGE // 2))
        file.write(b"\xa5" * PAGE)


async def test_a_sound_file_has_no_fault(closed):
    async with PageCheck(closed / FILE) as check:
        assert await check.fault == ""


async def test_the_first_fault_is_logged(closed, caplog):
    damage(closed / FILE)

    async with PageCheck(closed / FILE) as check:
        fault = await check.fault

    assert fault
    assert f"{closed / FILE} is damaged: {fault}" in caplog.text
    assert "xingqiao restore" in caplog.text


async def test_a_check_that_is_not_over_is_stopped(closed):
    async with PageCheck(closed / FILE) as check:
        pass

    assert check.fault.result() == ""


async def test_a_store_that_was_killed_is_checked(tmp_path, caplog):
    async with SqliteStore(tmp_path / "data") as store:
        await store.commit([Write(executions=ROWS)])
        assert not stopped_in_order(tmp_path / "data" / FILE)
        shutil.copytree(tmp_path / "data", tmp_path / "killed")
    assert stopped_in_order(tmp_path / "data" / FILE)

    with caplog.at_level(logging.INFO):
        async with SqliteStore(tmp_path / "killed") as store:
            assert await store.load("e0001") is not None
            await store.page_check.fault

    assert "has no damaged page" in caplog.text


def test_a_store_that_is_not_there_was_not_killed(tmp_path):
    assert stopped_in_order(tmp_path / FILE)
