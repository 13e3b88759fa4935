"""What is seen of a worker from outside: memory, disk and processes of all that it has started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys

import pytest

from tests.kit.actions.things import until
from xingqiao.actions.runtimes import watch
from xingqiao.actions.runtimes.homes import make_home
from xingqiao.actions.runtimes.watch import Watch, measure

MB = 1 << 20
# One write, so that two processes do not mix their lines.
READY = "import os, sys; os.write(1, b'ready\\n'); sys.stdin.read()"


@contextlib.contextmanager
def child(code):
    """A process that has run code and then waits, below one of this test's own."""
    parent = (
        "import subprocess, sys\n"
        "made = subprocess.Popen([sys.executable, '-c', sys.argv[1]], stdin=0)\n"
        "sys.exit(made.wait())"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", parent, f"{code}\n{READY}"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout.readline() == "ready\n"
        yield process.pid
    finally:
        process.communicate()


@pytest.fixture
def home(tmp_path):
    return make_home(tmp_path, None, private=True)


@pytest.mark.parametrize(
    "code",
    [
        "held = bytearray(b'x' * (64 << 20))",
        "import mmap; held = mmap.mmap(-1, 64 << 20); held[:] = bytes(len(held))",
        "import os; fd = os.memfd_create('x'); os.write(fd, bytes(64 << 20))",
    ],
    ids=["private", "shared", "file in memory"],
)
def test_memory_of_every_kind_counts(home, code):
    with child("") as nothing:
        least = measure(nothing, home).memory
    with child(code) as pid:
        seen = measure(pid, home).memory

    assert seen - least + 4 * MB >= 64 * MB
    assert seen < 64 * MB + 64 * MB


def test_memory_that_forks_share_counts_once(home):
    code = "import os; held = bytes(64 << 20); held = bytearray(b'x' * (64 << 20)); os.fork()"
    process = subprocess.Popen(
        [sys.executable, "-c", f"import os, sys\nif os.fork():\n    os.wait()\nelse:\n    {code}\n    {READY}"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert [process.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
        use = measure(process.pid, home)
    finally:
        process.communicate()

    assert 64 * MB <= use.memory < 112 * MB
    assert use.processes == 2


def test_threads_count_as_processes(home):
    code = (
        "import threading; gate = threading.Event()\n"
        "for _ in range(5): threading.Thread(target=gate.wait, daemon=True).start()"
    )
    with child(code) as pid:
        assert measure(pid, home).processes == 6


def test_files_count_once_wherever_they_lie(home):
    (home.work / "deep" / "er").mkdir(parents=True)
    (home.work / "deep" / "er" / "file").write_bytes(os.urandom(MB))
    os.link(home.work / "deep" / "er" / "file", home.work / "again")
    (home.private["/tmp"] / "file").write_bytes(os.urandom(MB))
    (home.work / "out").symlink_to("/usr")

    assert 2 * MB <= measure(os.getpid(), home).disk < 3 * MB


def test_a_locked_directory_is_looked_into(home):
    locked = home.work / "locked"
    locked.mkdir()
    (locked / "file").write_bytes(os.urandom(MB))
    locked.chmod(0)

    assert MB <= measure(os.getpid(), home).disk < 2 * MB


def test_a_file_without_a_name_still_takes_its_place(home):
    file = home.work / "file"
    code = (
        f"import os; held = open({str(file)!r}, 'wb'); held.write(os.urandom(1 << 20))\n"
        f"held.flush(); os.unlink({str(file)!r})"
    )
    with child(code) as pid:
        assert MB <= measure(pid, home).disk < 2 * MB


def test_nothing_is_seen_of_what_has_ended(home):
    with child("") as pid:
        pass

    assert measure(pid, home).memory == 0


async def test_one_that_is_idle_is_looked_at_less_often(home, monkeypatch):
    monkeypatch.setattr(watch, "EVERY_S", 0)
    monkeypatch.setattr(watch, "SHARE", 0)
    seen, busy = [], [False]
    looks = asyncio.Event()

    def look():
        looks.set()
        return busy[0]

    watching = Watch(os.getpid(), home, look, seen.append)
    await looks.wait()
    await until(lambda: len(seen) >= 1)
    busy[0] = True
    await until(lambda: len(seen) >= 3)
    watching.end()
    watching.end()
    told = len(seen)
    await until(lambda: True)

    assert len(seen) == told
