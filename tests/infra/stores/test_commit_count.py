"""Commits that are missing are missed: whatever becomes of a database's files, and what is expected."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sqlite3
import subprocess
import sys

import pytest

from xingqiao.actions import ExecutionRow, Query, Write
from xingqiao.infra.stores import SqliteStore, StoreError, marker
from xingqiao.infra.stores.commit_count import failure
from xingqiao.infra.stores.errors import StoreDoubtError
from xingqiao.infra.stores.sqlite import FILE

COMMITS = """
import asyncio, sys
from pathlib import Path
from xingqiao.actions import ExecutionRow, Write
from xingqiao.infra.stores import SqliteStore
async def main():
    async with SqliteStore(Path(sys.argv[1]), synchronous=sys.argv[2]) as store:
        for n in range(int(sys.argv[3])):
            row = ExecutionRow(f"{n:08}", "guest", "hello", "running", n, None, b"x" * 500)
            await store.commit([Write(executions=[row])])
        print("done", flush=True)
        sys.stdin.read()
asyncio.run(main())
"""


def killed(directory, commits=50, synchronous="FULL"):
    """Leaves a directory as a server does that was killed: with a write-ahead log."""
    command = [sys.executable, "-c", COMMITS, str(directory), synchronous, str(commits)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"done\n"
        process.send_signal(signal.SIGKILL)
    assert (directory / f"{FILE}-wal").exists()
    return directory


async def rows(directory, **options):
    async with SqliteStore(directory, **options) as store:
        found = await store.find(ExecutionRow, Query(namespace="guest", limit=10_000))
        return len(found)


async def refused(directory, **options):
    with pytest.raises(StoreError) as error:
        await rows(directory, **options)
    return str(error.value)


async def test_a_killed_server_finds_all_its_commits(tmp_path):
    assert await rows(killed(tmp_path)) == 50
    assert await rows(tmp_path) == 50  # and after it has stopped in order


async def test_a_log_that_is_gone_is_missed(tmp_path):
    (killed(tmp_path) / f"{FILE}-wal").unlink()

    text = await refused(tmp_path)

    assert f"check --data {tmp_path} --accept-loss" in text
    assert "commits" in text


@pytest.mark.parametrize("at", [0.3, 0.6, 0.9])
async def test_a_log_that_is_damaged_is_missed(tmp_path, at):
    log = killed(tmp_path) / f"{FILE}-wal"
    size = log.stat().st_size
    with log.open("r+b") as file:
        file.seek(int(size * at))
        file.write(b"\xa5" * 64)

    assert "write-ahead log" in await refused(tmp_path)


async def test_a_log_that_was_cut_is_missed(tmp_path):
    log = killed(tmp_path) / f"{FILE}-wal"
    os.truncate(log, log.stat().st_size // 2)

    assert "lacks the last" in await refused(tmp_path)


@pytest.mark.parametrize("how", ["empty", "missing"])
async def test_a_database_that_was_emptied_is_missed(tmp_path, how):
    await rows(tmp_path)  # it has stopped in order
    (tmp_path / FILE).unlink()
    if how == "empty":
        (tmp_path / FILE).touch()

    assert f"{tmp_path / FILE} is {how}, but it held 1 commits" in await refused(tmp_path)
    assert not (tmp_path / FILE).exists() or not (tmp_path / FILE).stat().st_size


async def test_an_older_copy_is_missed(tmp_path):
    await rows(tmp_path / "data")
    shutil.copy(tmp_path / "data" / FILE, tmp_path / "copy")
    async with SqliteStore(tmp_path / "data") as store:
        await store.commit([Write(executions=[row("a")])])
    shutil.copy(tmp_path / "copy", tmp_path / "data" / FILE)

    assert "lacks the last 1 of 2 commits" in await refused(tmp_path / "data")


def row(id):
    return ExecutionRow(id, "guest", "hello", "running", 1, None, b"{}")


async def test_a_copy_without_its_marker_opens_and_says_so(tmp_path, caplog):
    source = killed(tmp_path / "data")
    (tmp_path / "copy").mkdir()
    copied = sqlite3.connect(tmp_path / "copy" / FILE)
    live = sqlite3.connect(source / FILE)
    live.backup(copied)
    live.close()
    copied.close()

    assert await rows(tmp_path / "copy") == 50
    assert f"has no file {marker.FILE}" in caplog.text
    caplog.clear()
    assert await rows(tmp_path / "copy") == 50
    assert caplog.text == ""


async def test_another_database_is_taken_for_what_it_is(tmp_path, caplog):
    killed(tmp_path / "one", 50)
    await rows(tmp_path / "two")
    shutil.copy(tmp_path / "one" / marker.FILE, tmp_path / "two" / marker.FILE)

    assert await rows(tmp_path / "two") == 0
    assert "that fits the database" in caplog.text


@pytest.mark.parametrize("text", [b"", b"x" * 5, b"\x00" * 60])
async def test_a_marker_that_is_none_is_made_anew(tmp_path, text):
    await rows(tmp_path)
    (tmp_path / marker.FILE).write_bytes(text)

    assert await rows(tmp_path) == 0
    assert marker.read(tmp_path).number == 1


async def test_with_normal_a_power_failure_may_take_the_last_commits(tmp_path, monkeypatch, caplog):
    (killed(tmp_path, synchronous="NORMAL") / f"{FILE}-wal").unlink()
    async with SqliteStore(tmp_path / "small"):  # its tables, so that it is not an empty file
        pass
    assert "commits" in await refused(tmp_path, synchronous="NORMAL")  # the machine has not stopped


async def test_after_a_power_failure_normal_only_says_what_is_missing(
    tmp_path, monkeypatch, caplog
):
    async with SqliteStore(tmp_path, synchronous="NORMAL") as store:
        await store.commit([Write(executions=[row("a")])])
    shutil.copy(tmp_path / FILE, tmp_path / "older")
    async with SqliteStore(tmp_path, synchronous="NORMAL") as store:
        await store.commit([Write(executions=[row("b")])])
    shutil.copy(tmp_path / "older", tmp_path / FILE)
    monkeypatch.setattr(marker, "boot", lambda: b"another.")

    with caplog.at_level(logging.WARNING):
        assert await rows(tmp_path, synchronous="NORMAL") == 1
    assert "lacks the last 1 commits" in caplog.text


async def test_with_full_a_power_failure_takes_none(tmp_path, monkeypatch):
    (killed(tmp_path) / f"{FILE}-wal").unlink()
    monkeypatch.setattr(marker, "boot", lambda: b"another.")

    assert "commits" in await refused(tmp_path)


async def test_only_its_owner_may_read_the_marker(tmp_path):
    await rows(tmp_path)

    assert (tmp_path / marker.FILE).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("SQLITE_FULL", StoreError, "the disk is full, or a limit is reached"),
        ("SQLITE_IOERR_WRITE", StoreError, "the disk is full, or a limit is reached"),
        ("SQLITE_IOERR_FSYNC", StoreDoubtError, "cannot be written"),
        ("SQLITE_CORRUPT", StoreError, "cannot be written"),
    ],
)
def test_why_a_commit_fails_is_told(tmp_path, name, kind, text):
    error = sqlite3.OperationalError("no")
    error.sqlite_errorname = name

    told = failure(error, tmp_path)

    assert type(told) is kind
    assert text in str(told)
    assert str(tmp_path) in str(told)
