"""What takes more than a worker may, and what becomes of it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress

from xingqiao.actions import Invocation, define_action
from xingqiao.actions.runtimes import Bounds, WorkerPool, WorkerSettings
from xingqiao.composer import Name
from xingqiao.infra.clock import SystemClock
from xingqiao.infra.service.isolation import open_places, open_sandbox

DEADLINE_S = 60  # after which what should have ended is a failure
LIMITS = {"worker_processes": 40, "worker_disk_mb": 4}  # of the settings

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


class Confined:
    """Runs Python code as the settings say, each time in a pool of its own."""

    def __init__(self, settings):
        self.settings = settings

    async def run(self, code, params, until=None, **fields):
        """What comes of it; it is ended from outside when `until` is set."""
        document = {"exec": {"kind": "python:3", "code": code}, **fields}
        action = define_action(Name.parse("overuse").within("guest"), document, None, 1)
        asked = Invocation(
            activation="0" * 32, action=action, params=params, namespace="guest", token=""
        )
        done = asyncio.get_running_loop().create_future()
        sandbox = open_sandbox(self.settings)
        with open_places(self.settings, sandbox) as (sandbox, homes):
            settings = WorkerSettings(directory=homes)
            async with WorkerPool(sandbox, SystemClock(), settings, Bounds(size=2)) as pool:
                pool.invoke(asked, done.set_result)
                async with asyncio.timeout(DEADLINE_S):
                    if until is not None:
                        await until.wait()
                        pool.cancel(asked.activation)
                    return (await done).outcome


@asynccontextmanager
async def until_it_hangs_up():
    """A port to connect to, and an event that this sets; in the end whoever has connected must hang up."""
    begun, ended = asyncio.Event(), asyncio.Event()

    async def accept(reader, writer):
        await reader.readexactly(1)
        begun.set()
        with suppress(ConnectionError):
            await reader.read()
        writer.close()
        ended.set()

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1], begun
        async with asyncio.timeout(DEADLINE_S):
            await ended.wait()


async def what_is_stopped(settings):
    """Which kinds of overuse are stopped."""
    run = Confined(settings).run
    stopped = []
    found = await run(SHARED, {"mb": 192}, limits={"memory": 128})
    stopped += ["memory"] * ("exhausted its memory" in str(found.error))
    found = await run(FORKED, {"n": 80})
    told = found.value if hasattr(found, "value") else found.error
    stopped += ["processes"] * (
        "temporarily unavailable" in str(told) or "limit of 40" in str(told)
    )
    found = await run(WRITTEN, {"files": 8, "deleted": False})
    stopped += ["disk"] * ("disk space of 4 megabytes" in str(found.error))
    found = await run(LARGE, {"mb": 5})
    stopped += ["file"] * ("File too large" in str(found.error))
    async with until_it_hangs_up() as (port, begun):
        await run(DAEMON, {"port": port}, begun)
    return [*stopped, "left behind"]
