"""The SQLite store as a file: how it is opened, what it refuses, and what outlives a process."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib import resources

import pytest

from xingqiao.actions import ActivationRow, ExecutionRow, FiberRow, Query, Write, parse
from xingqiao.infra.stores import SqliteStore, StoreError
from xingqiao.infra.stores.sqlite import FILE

MIGRATIONS = sorted(
    entry.name
    for entry in resources.files("xingqiao.infra.stores").joinpath("migrations").iterdir()
    if entry.name.endswith(".sql")
)


def execution(id="e1"):
    return ExecutionRow(id, "guest", "hello", "running", 1000, None, b"{}")


def activation(id):
    return ActivationRow(id, "guest", "hello", 1000, 0, None, b"{}")


@pytest.mark.parametrize(("inline_us", "waits"), [(float("inf"), False), (0, True)])
async def test_the_event_loop_waits_for_a_small_commit_only_if_commits_are_quick(
    tmp_path, inline_us, waits
):
    async with SqliteStore(tmp_path / "data", inline_us=inline_us) as store:
        committing = store.commit([Write(executions=[execution()])])
        try:
            committing.send(None)
        except StopIteration:
            waited = False
        else:
            waited = True
            committing.close()

    assert waited is waits


def peek(path, sql):
    """Asks the file itself, with the server away."""
    db = sqlite3.connect(path / FILE)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


async def refusal(path):
    with pytest.raises(StoreError) as caught:
        async with SqliteStore(path):
            pass
    return str(caught.value)


# --- opening -----------------------------------------------------------------------------------


async def test_a_store_is_made_where_there_is_none(tmp_path):
    async with SqliteStore(tmp_path / "deep" / "data") as store:
        await store.commit([Write(executions=[execution()])])

    async with SqliteStore(tmp_path / "deep" / "data") as store:
        assert (await store.load("e1")).execution == execution()


@pytest.mark.parametrize(
    ("given", "synchronous"),
    [({}, 2), ({"synchronous": "FULL"}, 2), ({"synchronous": "NORMAL"}, 1)],
)
async def test_a_commit_is_on_the_disk_unless_speed_is_asked_for(tmp_path, given, synchronous):
    async with SqliteStore(tmp_path, **given) as store:
        assert store._writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert store._writer.execute("PRAGMA synchronous").fetchone() == (synchronous,)


async def test_whoever_reads_cannot_write(tmp_path):
    async with SqliteStore(tmp_path) as store:
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            store._reader.execute("DELETE FROM executions")


async def test_a_closed_store_leaves_no_log_behind(tmp_path):
    async with SqliteStore(tmp_path) as store:
        await store.commit([Write(executions=[execution()])])

    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["lock", "views.db", "xingqiao.commits", FILE]


# --- versions of the schema --------------------------------------------------------------------


async def test_a_new_file_has_the_newest_schema(tmp_path):
    async with SqliteStore(tmp_path):
        pass

    assert peek(tmp_path, "PRAGMA user_version") == [(len(MIGRATIONS),)]


@pytest.mark.parametrize("version", range(len(MIGRATIONS) + 1))
async def test_a_file_of_any_older_version_is_brought_up_to_date(tmp_path, version):
    db = sqlite3.connect(tmp_path / FILE)
    for name in MIGRATIONS[:version]:
        db.executescript(
            resources.files("xingqiao.infra.stores").joinpath("migrations", name).read_text()
        )
    if version:
        row = ("old", "guest", "hello", "running", 1, None, b"{}")
        db.execute("INSERT INTO executions VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    db.execute(f"PRAGMA user_version={version}")
    db.commit()
    db.close()

    async with SqliteStore(tmp_path) as store:
        assert (await store.load("old") is not None) is (version > 0)
        old = Query(namespace="guest", where=parse("status = 'running' and id is null", {}))
        assert await store.count(ExecutionRow, old) == (version > 0)
        assert await store.commit([Write(executions=[execution()])]) == []

    assert peek(tmp_path, "PRAGMA user_version") == [(len(MIGRATIONS),)]


async def test_a_file_of_a_newer_version_is_refused_and_left_alone(tmp_path):
    async with SqliteStore(tmp_path):
        pass
    newer = len(MIGRATIONS) + 1
    peek(tmp_path, f"PRAGMA user_version={newer}")
    before = (tmp_path / FILE).read_bytes()

    text = await refusal(tmp_path)

    assert "was written by a newer version of this program" in text
    assert f"schema {newer}" in text
    assert f"knows {newer - 1}" in text
    assert (tmp_path / FILE).read_bytes() == before


# --- what is refused ---------------------------------------------------------------------------


async def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path):
    text = "These are the notes that I keep in a file of an unlucky name.\n" * 100
    (tmp_path / FILE).write_text(text)

    said = await refusal(tmp_path)

    assert str(tmp_path / FILE) in said
    assert "not a database" in said
    assert (tmp_path / FILE).read_text() == text


def damage(path, *, at, size):
    with (path / FILE).open("r+b") as file:
        file.seek(at)
        file.write(b"\xa5" * size)


async def damaged_executions(path):
    """Leaves a store in which a page in the middle is damaged."""
    async with SqliteStore(path) as store:
        rows = [execution(f"e{n:04}")._replace(status="succeeded") for n in range(2000)]
        await store.commit([Write(executions=rows)])
    page = 4096
    damage(path, at=page * ((path / FILE).stat().st_size // page // 2), size=page)


async def test_a_read_that_meets_a_damaged_page_says_so(tmp_path):
    await damaged_executions(tmp_path)

    async with SqliteStore(tmp_path) as store:
        with pytest.raises(StoreError, match=r"cannot be read: .*malformed") as caught:
            await asyncio.gather(*[store.load(f"e{n:04}") for n in range(2000)])

    assert str(tmp_path) in str(caught.value)


async def test_a_store_that_was_closed_in_order_is_not_read_through(tmp_path, caplog):
    await damaged_executions(tmp_path)

    async with SqliteStore(tmp_path) as store:
        assert await store.load("none") is None

    assert caplog.text == ""


async def test_a_file_that_was_cut_short_is_refused(tmp_path):
    async with SqliteStore(tmp_path) as store:
        await store.commit([Write(executions=[execution(f"e{n}") for n in range(2000)])])

    os.truncate(tmp_path / FILE, (tmp_path / FILE).stat().st_size // 2)

    assert f"{tmp_path / FILE} is damaged" in await refusal(tmp_path)


async def test_what_is_no_directory_is_refused(tmp_path):
    (tmp_path / "data").write_text("")

    said = await refusal(tmp_path / "data")

    assert said.startswith(f"{tmp_path / 'data'} cannot be used: ")


async def test_a_file_that_cannot_be_opened_is_not_called_damaged(tmp_path):
    (tmp_path / FILE).mkdir()

    said = await refusal(tmp_path)

    assert said.startswith(f"{tmp_path / FILE} cannot be opened: ")


async def test_a_refusal_lets_go_of_the_directory(tmp_path):
    (tmp_path / FILE).write_text("no database " * 1000)
    await refusal(tmp_path)
    (tmp_path / FILE).unlink()

    async with SqliteStore(tmp_path) as store:
        assert await store.commit([Write(executions=[execution()])]) == []


# --- other processes ---------------------------------------------------------------------------

OPENS = """
import asyncio
import fcntl, sys
from pathlib import Path
from xingqiao.infra.stores import SqliteStore, StoreError
async def main():
    try:
        async with SqliteStore(Path(sys.argv[1])):
            print("open", flush=True)
            sys.stdin.read()
    except StoreError as error:
        print(error)
asyncio.run(main())
"""


def child(script, *arguments):
    """Another process that runs a script; its standard input and output are pipes."""
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        close_fds=False,
    )  # fmt: skip


def finished(script, *arguments):
    """What a process has printed, on both streams."""
    with child(script, *arguments) as process:
        output, errors = process.communicate()
    assert process.returncode == 0, errors
    return output, errors


async def test_a_directory_belongs_to_one_server_at_a_time(tmp_path):
    async with SqliteStore(tmp_path):
        said, _ = finished(OPENS, tmp_path)

    assert said.startswith(f"a server is using {tmp_path}: stop it")
    assert finished(OPENS, tmp_path) == ("open\n", "")


async def test_a_server_that_was_killed_leaves_no_lock(tmp_path):
    with child(OPENS, tmp_path) as other:
        assert other.stdout.readline() == "open\n"
        assert "a server is using" in await refusal(tmp_path)
        other.kill()

    async with SqliteStore(tmp_path) as store:
        assert await store.load("e1") is None


COMMITS = """
import asyncio, sys
from itertools import count
from pathlib import Path
from xingqiao.actions import ActivationRow, ExecutionRow, FiberRow, Write
from xingqiao.infra.stores import SqliteStore
async def main():
    async with SqliteStore(Path(sys.argv[1])) as store:
        for n in count():
            id = f"{n:08}"
            write = Write(
                executions=[ExecutionRow(id, "guest", "hello", "running", n, None, b"{}")],
                fibers=[FiberRow(id, str(i), n, True, b"x" * 100) for i in range(n % 30)],
                activations=[ActivationRow(id, "guest", "hello", n, 0, None, b"{}")],
            )
            await store.commit([write])
            print(id, flush=True)
asyncio.run(main())
"""


@pytest.mark.parametrize("commits", [1, 25, 200])
async def test_what_was_committed_outlives_a_killed_process(tmp_path, commits):
    with child(COMMITS, tmp_path) as other:
        acknowledged = [other.stdout.readline().strip() for _ in range(commits)]
        other.kill()
        acknowledged += other.stdout.read().splitlines()
    assert other.returncode == -signal.SIGKILL

    async with SqliteStore(tmp_path) as store:
        query = Query(namespace="guest", limit=1_000_000)
        executions = {row.id for row in await store.find(ExecutionRow, query)}
        activations = {row.id for row in await store.find(ActivationRow, query)}
        assert {id for id in acknowledged if len(id) == 8} <= executions
        assert len(executions) - len(acknowledged) <= 1  # one was committed and not yet said
        assert activations == executions
        for id in executions:
            assert len((await store.load(id)).fibers) == int(id) % 30


FILLS = """
import asyncio, resource, sys
from itertools import count
from pathlib import Path
from xingqiao.actions import ExecutionRow, Write
from xingqiao.infra.stores import SqliteStore
async def main():
    async with SqliteStore(Path(sys.argv[1])) as store:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
        rows = [ExecutionRow("x", "guest", "hello", "running", 1, None, b"x" * 10_000)]
        failures = 0
        for n in count():
            try:
                await store.commit([Write(executions=[r._replace(id=str(n)) for r in rows])])
                print(n)
            except Exception as error:
                failures += 1
                print("failed", type(error).__name__, error, file=sys.stderr)
                if failures == 3:
                    break
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        await store.commit([Write(executions=[r._replace(id="at last") for r in rows])])
asyncio.run(main())
"""


async def test_a_full_disk_loses_nothing_and_room_heals_it(tmp_path):
    output, errors = finished(FILLS, tmp_path)
    assert errors.count("failed StoreError the disk is full") == 3
    acknowledged = set(output.split())
    assert acknowledged

    async with SqliteStore(tmp_path) as store:
        query = Query(namespace="guest", limit=1_000_000)
        stored = {row.id for row in await store.find(ExecutionRow, query)}
    assert stored == acknowledged | {"at last"}


REWRITES = """
import asyncio, resource, sys
from pathlib import Path
from xingqiao.actions import ExecutionRow, Write
from xingqiao.infra.stores import SqliteStore, StoreError
async def main():
    async with SqliteStore(Path(sys.argv[1])) as store:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
        for n in range(100):
            row = ExecutionRow("x", "guest", "hello", "running", n, None, b"x" * 10_000)
            while True:
                try:
                    await store.commit([Write(executions=[row])])
                    break
                except StoreError:
                    print("full")
                    await asyncio.sleep(0.01)
        print("done")
asyncio.run(main())
"""


async def test_a_log_that_has_filled_the_disk_makes_room_for_the_next_commits(tmp_path):
    output, _ = finished(REWRITES, tmp_path)

    assert output.startswith("full")  # the log alone would have needed more room
    assert output.endswith("done\n")


async def test_the_lock_is_not_given_to_children(tmp_path):
    async with SqliteStore(tmp_path):
        other = child("import sys; print(1, flush=True); sys.stdin.read()")
        assert other.stdout.readline() == "1\n"

    with other, (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        other.kill()


async def test_fibers_stand_again_after_a_start(tmp_path):
    async with SqliteStore(tmp_path) as store:
        await store.commit(
            [Write(executions=[execution()], fibers=[FiberRow("e1", "0", 5, True, b"{}")])]
        )

    async with SqliteStore(tmp_path) as store:
        standing = await store.standing()

    assert (standing.active, standing.timers) == (["e1"], [(5, "e1", "0")])


@pytest.mark.parametrize("beside", [0, 40], ids=["small", "large"])
async def test_a_commit_that_fails_in_the_middle_leaves_nothing(tmp_path, beside):
    good = Write(executions=[execution()], fibers=[FiberRow("e1", str(n), None, False, b"")
                                                   for n in range(beside)])  # fmt: skip
    async with SqliteStore(tmp_path) as store:
        with pytest.raises(TypeError, match="surrogates"):
            await store.commit([good, Write(activations=[activation("\ud800")])])

        assert await store.load("e1") is None
        assert await store.commit([good]) == []
        assert (await store.load("e1")).execution == execution()


async def test_nobody_else_may_look_into_the_directory(tmp_path):
    async with SqliteStore(tmp_path / "new"):
        assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


async def test_a_store_of_the_first_schema_is_brought_up_to_date(tmp_path):
    """Its actions become entities; its activations have no kind of their own."""
    first = (
        resources.files("xingqiao.infra.stores")
        .joinpath("migrations", "0001.sql")
        .read_text("utf-8")
    )
    with closing(sqlite3.connect(tmp_path / FILE)) as db:
        db.executescript(f"{first} PRAGMA user_version=1;")
        db.execute("INSERT INTO documents VALUES ('action', '/guest/a', 3, x'7b7d')")
        db.execute("INSERT INTO activations VALUES ('a1', 'guest', 'a', 1, 0, NULL, x'7b7d')")
        db.commit()

    async with SqliteStore(tmp_path) as store:
        (document,) = [d async for d in store.documents("entity")]
        (row,) = await store.find(ActivationRow, Query(namespace="guest"))

    assert (document.key, document.version) == ("/guest/a", 3)
    assert (row.id, row.kind) == ("a1", "")


async def test_a_lock_that_is_let_go_at_once_is_waited_for(tmp_path):
    async with SqliteStore(tmp_path):
        pass
    with (tmp_path / "lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        asyncio.get_running_loop().call_later(0.05, fcntl.flock, other, fcntl.LOCK_UN)

        async with SqliteStore(tmp_path) as store:
            assert await store.load("0" * 32) is None
