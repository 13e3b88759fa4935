"""A backup of a server that keeps committing: after its end, the executions of the backup end."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import threading

from tests.kit.faults.journeys import MANY, STEPS, Load
from tests.kit.infra.servers import AUTH, XINGQIAO, starting
from xingqiao.actions import ExecutionRow, Query
from xingqiao.infra.stores import SqliteStore

OPTIONS = ("--auth", AUTH, "--isolation", "none")
UNDER_WAY = 30  # journeys


def xingqiao(*arguments):
    done = subprocess.run(
        [XINGQIAO, *arguments], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def executions(directory):
    """The executions in a restored directory, by id: whether each has ended."""

    async def read():
        async with SqliteStore(directory) as store:
            rows = await store.find(ExecutionRow, Query(namespace="guest", limit=MANY))
            return {row.id: row.ended_ms is not None for row in rows}

    return asyncio.run(read())


def keep_sending(load, server, killed):
    """Starts journeys until the server is killed, with at most some of them under way."""
    while not killed.wait(0.005):
        if len(load.lines()) >= len(STEPS) * (len(load.accepted) - UNDER_WAY):
            load.send(server, 8)


def test_what_was_accepted_before_a_backup_ends_after_a_kill_and_a_restore(tmp_path):
    data, new, file = tmp_path / "data", tmp_path / "new", tmp_path / "one.backup"
    load, killed = Load(data, tmp_path / "runs"), threading.Event()
    with starting(data, *OPTIONS) as start:
        server = start()
        load.deploy(server)
        sending = threading.Thread(target=keep_sending, args=(load, server, killed))
        sending.start()
        try:
            load.until_runs(40)
            before = dict(load.accepted)
            xingqiao("backup", file, "--data", data)
            load.until_runs(len(load.lines()) + 10)  # the server goes on
        finally:
            server.stop(signal.SIGKILL)
            killed.set()
            sending.join()

    xingqiao("restore", file, "--data", new, "--key", data / "key")

    restored = executions(new)
    assert before
    assert before.keys() <= restored.keys()
    assert not all(restored.values()), "nothing was under way during the backup"
    load.accepted = {id: n for id, n in load.accepted.items() if id in restored}
    with starting(new, *OPTIONS) as start:
        load.check_ended(start())
