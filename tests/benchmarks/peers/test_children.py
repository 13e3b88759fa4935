"""Processes of a benchmark end with it, with all that they have started."""

from __future__ import annotations

import os
import select
import signal
import sys

import pytest

from benchmarks.peers.children import ChildError, Children
from benchmarks.peers.served import free_ports

PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"


@pytest.fixture
def children(tmp_path):
    return Children(tmp_path / "log")


async def test_a_process_ends_with_what_it_has_started(children):
    async with children:
        process = await children.start(sys.executable, "-c", PARENT, piped=True)
        grandchild = int(await process.stdout.readline())
        handle = os.pidfd_open(grandchild)

    assert process.returncode == -signal.SIGTERM
    ended, _, _ = select.select([handle], [], [], 60)
    os.close(handle)
    assert ended


async def test_a_process_that_ignores_the_signal_is_killed(children, monkeypatch):
    monkeypatch.setattr("benchmarks.peers.children.GRACE_S", 0.05)
    async with children:
        process = await children.start(sys.executable, "-c", DEAF, piped=True)
        await process.stdout.readline()

    assert process.returncode == -signal.SIGKILL


async def test_an_error_ends_them_too(children):
    started = []

    async def fail():
        async with children:
            started.append(await children.start(sys.executable, "-c", PARENT))
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await fail()

    assert started[0].returncode is not None


async def test_a_kill_is_for_all_and_others_may_follow(children):
    async with children:
        first = await children.start(sys.executable, "-c", PARENT)
        await children.kill()
        children.check()
        second = await children.start(sys.executable, "-c", PARENT)
        children.check()

    assert first.returncode == -signal.SIGKILL
    assert second.returncode is not None


async def test_a_process_that_ended_is_named_with_the_end_of_its_output(children):
    program = "import os, sys; sys.exit(os.environ['WHY'])"
    async with children:
        process = await children.start(sys.executable, "-c", program, env={"WHY": "no disk"})
        await process.wait()

        with pytest.raises(ChildError, match="a process ended with 1: no disk"):
            await children.answering(free_ports(1)[0])


async def test_a_port_is_waited_for(children):
    (port,) = free_ports(1)
    async with children:
        await children.start(
            sys.executable, "-c",
            f"import socket, time; socket.create_server(('127.0.0.1', {port})); time.sleep(600)",
        )  # fmt: skip
        with pytest.raises(ChildError, match=f"port {port} takes no connection after 0 s"):
            await children.answering(port, within_s=0)


async def test_a_port_that_takes_connections_is_found(children):
    (port,) = free_ports(1)
    async with children:
        await children.start(sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1")

        await children.answering(port)


def test_free_ports_differ():
    assert len(set(free_ports(8))) == 8


def test_a_process_that_wrote_nothing(children):
    assert children.said() == "it wrote nothing"
