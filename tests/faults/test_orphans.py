"""A server that is killed leaves no worker behind, whatever it was doing."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

import pytest

from tests.kit.actions.things import ended, needed
from tests.kit.infra.servers import AUTH, Server
from xingqiao.actions.runtimes.cgroupfs import CgroupError, KernelTree, find_place
from xingqiao.actions.runtimes.cgroups import name_of
from xingqiao.actions.runtimes.groups import end, pids

BUSY = {
    "python:3": "def main(params):\n    while True:\n        pass\n",
    "nodejs:20": "function main(params) { for (;;); }",
}
DEADLINE_S = 15


def working_in(folder):
    """The processes whose current directory lies in a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").readlink().is_relative_to(folder):
                found.append(int(process.name))
    return found


@pytest.mark.parametrize("kind", BUSY)
def test_a_busy_worker_dies_with_its_server(tmp_path, kind):
    if kind == "nodejs:20":
        needed("node")
    environment = {**os.environ, "XINGQIAO_ENVIRONMENTS": str(tmp_path / "modules")}
    server = Server(
        tmp_path / "data", "--auth", AUTH, "--isolation", "process", environment=environment
    )
    with server.client() as client:
        client.put("/actions/busy", json={"exec": {"kind": kind, "code": BUSY[kind]}})
        client.post("/actions/busy", json={})
        waited_for(lambda: working_in(tmp_path / "data" / "workers"), "it has not begun")
        workers = working_in(tmp_path / "data" / "workers")

    server.stop(signal.SIGKILL)

    waited_for(lambda: all(map(ended, workers)), "it is still there")


def group_of(data):
    """The group of the workers of the server that uses a directory."""
    try:
        return find_place().own / name_of(data / "workers")
    except CgroupError as error:
        pytest.skip(str(error))


def waited_for(condition, what):
    until = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.05)


@pytest.mark.parametrize("isolation", ["none", "process"])
def test_the_next_server_ends_groups_that_a_killed_one_has_left(tmp_path, isolation):
    """Even when those are dead, too, that would have ended what is in them."""
    options = ("--auth", AUTH, "--isolation", isolation)
    server = Server(tmp_path / "data", *options)
    group = group_of(tmp_path / "data")
    if not group.exists():
        server.stop()
        pytest.skip("this machine lets the server make no cgroups")
    code = (
        "import os, time\n"
        "def main(params):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        time.sleep(3600)\n"
        "    return {}\n"
    )
    with server.client() as client:
        client.put("/actions/leaves", json={"exec": {"kind": "python:3", "code": code}})
        assert client.post("/actions/leaves?blocking=true", json={}).is_success
    (used,) = [path for path in KernelTree().below(group) if len(pids(KernelTree(), path)) > 1]
    left = pids(KernelTree(), used)
    try:
        for supervisor in parents_outside(used):
            os.kill(supervisor, signal.SIGKILL)
        server.stop(signal.SIGKILL)
        assert not all(map(ended, left))

        again = Server(tmp_path / "data", *options)

        waited_for(lambda: all(map(ended, left)), "it is still there")
        assert not used.exists()
        _, errors = again.stop()
        assert "limits of workers: held by cgroups: " in errors
        assert not group.exists()
    finally:
        end(KernelTree(), group)


def parents_outside(group):
    """The parents of a group's processes that are not in it themselves."""
    inside = set(pids(KernelTree(), group))
    found = {
        int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) for pid in inside
    }
    return found - inside


def test_a_server_without_cgroups_makes_none(tmp_path):
    server = Server(tmp_path / "data", "--auth", AUTH, "--cgroups", "off")
    is_made = group_of(tmp_path / "data").exists()
    _, errors = server.stop()

    assert not is_made
    assert (
        "limits of workers: held by cgroups: nothing; watched from outside: memory, processes, "
        "survivors, disk (the settings turn cgroups off)"
    ) in errors
