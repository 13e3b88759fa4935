"""A disk without room for workers: nothing fails by the fault of an action's author, or at all if it may wait."""

from __future__ import annotations

import base64
import errno
import io
import subprocess
import sys
import zipfile

from tests.kit.actions.things import Answers, StandingClock, invocation, python
from xingqiao.actions.runtimes import Sandbox, WorkerPool, WorkerSettings
from xingqiao.composer import Failure, Success

PID = "import os\ndef main(params):\n    return {'pid': os.getpid()}\n"


def zipped(files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, text in files.items():
            file.writestr(name, text)
    return base64.b64encode(packed.getvalue()).decode()


def ask(pool):
    answers = Answers()
    answers.invoke(pool, invocation(python(PID), {}))
    return answers


class FullAtFirst:
    """A sandbox whose disk is full for some starts, and then has room."""

    def __init__(self, starts):
        self._sandbox, self.left = Sandbox(), starts

    def __getattr__(self, name):
        return getattr(self._sandbox, name)

    def start(self, *arguments):
        if self.left:
            self.left -= 1
            raise OSError(errno.ENOSPC, "No space left on device")
        return self._sandbox.start(*arguments)


async def test_when_the_disk_is_full_runs_wait_until_there_is_room(monkeypatch, caplog):
    monkeypatch.setattr("xingqiao.actions.runtimes.pool.AGAIN_S", 0)
    sandbox = FullAtFirst(3)
    async with WorkerPool(sandbox, StandingClock(), WorkerSettings()) as pool:
        for answers in [ask(pool) for _ in range(2)]:
            assert isinstance((await answers.next()).outcome, Success)
    assert sandbox.left == 0
    assert caplog.text.count("No space left on device") == 1


NO_ROOM = """
import resource, sys
from xingqiao.actions.runtimes import worker
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
try:
    worker.unpack(sys.stdin.read(), "main")
except worker.NoRoomError as error:
    print(error)
"""


def unpacked(code, directory):
    """What a worker says of an archive, in a process that may write no large file."""
    command = [sys.executable, "-c", NO_ROOM]
    done = subprocess.run(
        command, input=code, cwd=directory, capture_output=True, text=True, check=True
    )
    return done.stdout


async def test_an_archive_that_finds_no_room_on_the_disk_has_not_begun(tmp_path):
    assert "File too large" in unpacked(zipped({"data": "x" * 300_000}), tmp_path)


FULL = """
import socket, sys
channel = socket.socket(fileno=int(sys.argv[1]))
channel.recv(1 << 16)
channel.sendall(b'{"full": "No space left on device"}\\n')
channel.recv(1)
"""


class FullDisk(Sandbox):
    """A sandbox whose workers find no room for code."""

    def start(self, program, fds, home, outputs):
        command = [sys.executable, "-c", FULL, str(fds[0])]
        return subprocess.Popen(command, pass_fds=fds, start_new_session=True)


async def test_a_full_disk_is_no_mistake_of_an_actions_author(tmp_path):
    settings = WorkerSettings(directory=tmp_path)
    answers = Answers()
    async with WorkerPool(FullDisk(), StandingClock(), settings) as made:
        answers.invoke(made, invocation(python("def main(params): return {}"), {}))
        ended = (await answers.next()).outcome

    text = "The disk has no room for the action's code: No space left on device"
    assert ended == Failure("Unavailable", text)
