"""What user code reaches, probe by probe, in each isolation: `docs/reliability.md` shows the table."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from things import Answers, StandingClock, invocation, needed, python

from actions.runtimes import Bounds, Room, SandboxError, WorkerPool, WorkerSettings
from actions.runtimes.launcher import landlock, seccomp
from actions.runtimes.launcher.landlock import SCOPES_SINCE
from infra.isolation import open_sandbox
from infra.probing import PROBES, probe
from infra.settings import Settings

ISOLATIONS = ("none", "process", "bubblewrap")
NETWORK = {"connect", "listen"}  # nobody is kept from that
DEADLINE_S = 60  # after which what should have ended is a failure

# What is reached where everything works. Without isolation the probes show that they are real.
BY_ROOT = {"process": NETWORK, "bubblewrap": NETWORK}
BY_A_USER = {
    "process": NETWORK | {"user", "names", "socket"},
    "bubblewrap": NETWORK | {"user"},
}
ONLY_ROOTS = {"shadow", "mount", "rights"}


def available(isolation):
    """Skips a test of an isolation that this kernel does not have."""
    if isolation == "bubblewrap":
        needed("bwrap")
        try:
            open_sandbox(Settings(isolation="bubblewrap"))
        except SandboxError as error:
            pytest.skip(str(error))
    if isolation != "none" and landlock.edition() < SCOPES_SINCE:
        pytest.skip(f"this kernel has Landlock {landlock.edition()}, not {SCOPES_SINCE}")
    if isolation != "none" and seccomp.machine() is None:
        pytest.skip("this kernel has no filters of system calls")


def reached(found):
    return {name for name, there in found.items() if there}


@pytest.mark.parametrize("isolation", ISOLATIONS)
async def test_what_user_code_of_a_server_that_is_root_reaches(isolation, figures):
    available(isolation)
    if os.geteuid() != 0:
        pytest.skip("only root can give workers users of their own")

    found = reached(await probe(Settings(isolation=isolation)))

    figures(isolation=f"{isolation}, root", probes=len(PROBES), reached=sorted(found))
    if isolation == "none":
        assert found == set(PROBES) - {"inherited"}
    else:
        assert found == BY_ROOT[isolation]


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_what_user_code_of_a_server_without_privileges_reaches(isolation, figures):
    available(isolation)

    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("unprivileged.py"), isolation],
        capture_output=True, text=True, check=False, timeout=DEADLINE_S,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    if told["name"] != isolation:
        pytest.skip(f"a user without privileges has no {isolation} here")
    found = reached(told["reached"])
    figures(isolation=f"{isolation}, user", probes=len(PROBES), reached=sorted(found))
    if isolation == "none":
        assert found >= set(PROBES) - ONLY_ROOTS - {"inherited", "namespace", "kernel"}
    else:
        assert found == BY_A_USER[isolation]


# --- limits, on both sides -----------------------------------------------------------------------

HOLD = "        while True:\n            time.sleep(0.01)\n"
SHARED = (
    "import mmap, time\n"
    "def main(params):\n"
    "    held = mmap.mmap(-1, params['mb'] << 20)\n"
    "    for at in range(0, len(held), 4096):\n        held[at] = 1\n"
    "    if params['mb'] > 128:\n" + HOLD + "    return {'mb': params['mb']}\n"
)
FORKED = (
    "import os, time\n"
    "def main(params):\n"
    "    children = []\n"
    "    try:\n"
    "        for _ in range(params['n']):\n"
    "            child = os.fork()\n"
    "            if child == 0:\n                time.sleep(60)\n                os._exit(0)\n"
    "            children.append(child)\n"
    "    except OSError as error:\n        return {'error': error.strerror}\n"
    "    if params['n'] > 40:\n" + HOLD + "    return {'n': len(children)}\n"
)
WRITTEN = (
    "import os, time\n"
    "def main(params):\n"
    "    files = []\n"
    "    for n in range(params['files']):\n"
    "        file = open(str(n), 'wb')\n"
    "        file.write(os.urandom(1 << 20))\n"
    "        file.flush()\n"
    "        if params['deleted']:\n            os.unlink(str(n))\n"
    "        files.append(file)\n"
    "    if params['files'] > 4:\n" + HOLD + "    return {'files': len(files)}\n"
)
LARGE = "def main(params): open('x', 'wb').write(bytes(params['mb'] << 20)); return {}\n"
DAEMON = (
    "import os, socket, time\n"
    "def main(params):\n"
    "    if os.fork() == 0:\n"
    "        os.setsid()\n"
    "        if os.fork() == 0:\n"
    "            held = socket.create_connection(('127.0.0.1', params['port']))\n"
    "            held.sendall(b'x')\n"
    "            time.sleep(3600)\n"
    "        os._exit(0)\n"
    "    while True:\n        time.sleep(0.01)\n"
)
ABORTED = "The action exhausted its memory and was aborted."


@pytest.fixture(params=ISOLATIONS)
def run(request, tmp_path):
    """Runs Python code in an isolation. Returns its outcome."""
    available(request.param)
    settings = Settings(isolation=request.param, data=tmp_path, workers=2)
    settings_of_limits = {"worker_processes": 40, "worker_disk_mb": 4}
    sandbox = open_sandbox(Settings(**{
        "isolation": settings.isolation, "data": settings.data, "workers": 2, **settings_of_limits,
    }))  # fmt: skip
    assert sandbox.room == Room(processes=40, disk_mb=4)

    async def ran(code, params, **fields):
        answers = Answers()
        async with WorkerPool(sandbox, StandingClock(), WorkerSettings(), Bounds(size=2)) as pool:
            answers.invoke(pool, invocation(python(code, **fields), params))
            async with asyncio.timeout(DEADLINE_S):
                return (await answers.next()).outcome

    return ran


async def test_memory_that_is_shared_counts_too(run):
    limits = {"memory": 128}

    assert (await run(SHARED, {"mb": 64}, limits=limits)).value == {"mb": 64}
    failed = await run(SHARED, {"mb": 192}, limits=limits)

    assert (failed.code, failed.error) == ("Crashed", ABORTED)


async def test_processes_are_limited(run):
    assert (await run(FORKED, {"n": 20})).value == {"n": 20}
    over = await run(FORKED, {"n": 80})

    refused = {"error": "Resource temporarily unavailable"}  # where the kernel counts by user
    ended = "The action exceeded its limit of 40 processes and was aborted."
    assert (
        over.value in (refused, {"code": "Crashed", "message": ended}, ended) or over.error == ended
    )


@pytest.mark.parametrize("deleted", [False, True])
async def test_the_disk_is_limited(run, deleted):
    assert (await run(WRITTEN, {"files": 2, "deleted": deleted})).value == {"files": 2}
    over = await run(WRITTEN, {"files": 8, "deleted": deleted})

    text = "The action exceeded its disk space of 4 megabytes and was aborted."
    assert (over.code, over.error) == ("Crashed", text)


async def test_one_file_is_limited(run):
    assert (await run(LARGE, {"mb": 3})).value == {}
    assert "File too large" in (await run(LARGE, {"mb": 5})).error


async def test_nothing_outlives_its_worker(run):
    """What an action forks into a session of its own ends with it, when its time is over."""
    ended = asyncio.Event()

    async def accept(reader, writer):
        assert await reader.read() == b"x"
        writer.close()
        ended.set()

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        outcome = await run(DAEMON, {"port": port}, limits={"timeout": 2000})

        assert outcome.code == "Timeout"
        async with asyncio.timeout(DEADLINE_S):
            await ended.wait()


USUAL = (
    "import asyncio, os, socket, ssl, subprocess, tempfile, threading, urllib.request\n"
    "def double(n):\n    return 2 * n\n"
    "def main(params):\n"
    "    with tempfile.NamedTemporaryFile() as file:\n        file.write(b'x')\n"
    "    thread = threading.Thread(target=double, args=(1,))\n"
    "    thread.start()\n    thread.join()\n"
    "    with open('/dev/stdout', 'w') as out:\n        out.write('hi')\n"
    "    with open('/dev/null', 'w') as out:\n        out.write('hi')\n"
    "    ssl.create_default_context()\n"
    "    return {\n"
    "        'home': os.environ['HOME'] == os.getcwd(), 'random': len(os.urandom(8)),\n"
    "        'loop': asyncio.run(asyncio.sleep(0, 'done')), 'address': socket.gethostbyname('localhost'),\n"
    "        'program': subprocess.run(['sh', '-c', 'echo $((1 + 1)) | cat'],\n"
    "                                  capture_output=True, text=True).stdout,\n"
    "    }\n"
)


async def test_what_user_code_usually_does_works(run):
    assert (await run(USUAL, {})).value == {
        "home": True, "random": 8, "loop": "done", "address": "127.0.0.1", "program": "2\n",
    }  # fmt: skip
