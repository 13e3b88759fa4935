"""What user code reaches, probe by probe, in each isolation: `docs/reliability.md` shows the table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attack.overuse import (
    DAEMON,
    FORKED,
    LARGE,
    LIMITS,
    SHARED,
    WRITTEN,
    Confined,
    until_it_hangs_up,
    what_is_stopped,
)
from tests.kit.actions.things import needed
from xingqiao.actions.runtimes import SandboxError
from xingqiao.actions.runtimes.launcher import landlock, seccomp
from xingqiao.actions.runtimes.launcher.landlock import SCOPES_SINCE
from xingqiao.infra.service.isolation import open_sandbox
from xingqiao.infra.service.sandbox_probes import PROBES, probe
from xingqiao.infra.settings import Settings

ISOLATIONS = ("none", "process", "bubblewrap")
NETWORK = {"connect", "listen"}  # nobody is kept from that
DEADLINE_S = 240  # after which what should have ended is a failure

# What is reached where everything works. Without isolation the probes show that they are real.
BY_ROOT = {"process": NETWORK, "bubblewrap": NETWORK}
BY_A_USER = {
    "process": NETWORK | {"user", "names", "socket", "mode"},
    "bubblewrap": NETWORK | {"user"},
}
STOPPED = ["memory", "processes", "disk", "file", "left behind"]
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


@pytest.mark.timeout(DEADLINE_S)
@pytest.mark.parametrize("isolation", ISOLATIONS)
async def test_what_user_code_of_a_server_that_is_root_reaches(isolation, figures):
    available(isolation)
    if os.geteuid() != 0:
        pytest.skip("only root can give workers users of their own")

    found = reached(await probe(Settings(isolation=isolation)))
    assert await what_is_stopped(Settings(**LIMITS, isolation=isolation)) == STOPPED

    figures(isolation=f"{isolation}, root", probes=len(PROBES), reached=sorted(found))
    if isolation == "none":
        assert found == set(PROBES) - {"inherited"}
    else:
        assert found == BY_ROOT[isolation]


@pytest.mark.timeout(2 * DEADLINE_S)
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
    assert told["stopped"] == STOPPED
    found = reached(told["reached"])
    figures(isolation=f"{isolation}, user", probes=len(PROBES), reached=sorted(found))
    if isolation == "none":
        assert found >= set(PROBES) - ONLY_ROOTS - {"inherited", "namespace", "kernel"}
    else:
        assert found == BY_A_USER[isolation]


# --- limits, on both sides -----------------------------------------------------------------------

ABORTED = "The action exhausted its memory and was aborted."


@pytest.fixture(params=ISOLATIONS)
def run(request, tmp_path):
    """Runs Python code in an isolation. Returns its outcome."""
    available(request.param)
    return Confined(Settings(**LIMITS, isolation=request.param, data=tmp_path)).run


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
    """What an action forks into a session of its own ends with it, when it is ended from outside."""
    async with until_it_hangs_up() as (port, begun):
        outcome = await run(DAEMON, {"port": port}, begun)

        assert outcome.code == "Cancelled"


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
