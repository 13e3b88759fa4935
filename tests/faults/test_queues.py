"""Workers and servers that are killed: no task is lost, and none is done twice without its action's leave."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.kit.infra.servers import AUTH, DEADLINE_S, XINGQIAO, starting

# Each run writes down its number and its attempt when it begins; it ends when there is a file `go`.
FILE = """
import os, time
from pathlib import Path
from xingqiao import composer

HERE = Path(__file__).parent

def note(params, step):
    with open(HERE / "runs", "a") as file:
        file.write(f"{params['n']} {step.attempt} {step.key}\\n")

@composer.action(queue="gpu", timeout=60)
def once(params, step=None):
    note(params, step)
    while not (HERE / "go").exists() and not step.cancelled:
        time.sleep(0.01)
    return {"attempt": step.attempt, "stopped": step.reason}

@composer.action(queue="gpu", heartbeat=0.6, attempts=2)
def again(params, step=None):
    note(params, step)
    while not (HERE / "go").exists():
        time.sleep(0.01)
    return {"attempt": step.attempt}
"""


class Farm:
    """Workers on a file, as processes."""

    def __init__(self, folder):
        self.folder, self.file, self._workers = folder, folder / "farm.py", []
        self.file.write_text(FILE)

    def run(self, server, *command):
        environment = {**os.environ, "XINGQIAO_URL": server.url, "XINGQIAO_AUTH": AUTH}
        ended = subprocess.run(
            [XINGQIAO, *command], env=environment, capture_output=True, text=True, timeout=DEADLINE_S,
            check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def worker(self, server, *options):
        environment = {**os.environ, "XINGQIAO_URL": server.url, "XINGQIAO_AUTH": AUTH}
        process = subprocess.Popen(
            [XINGQIAO, "worker", self.file, *options], env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self._workers.append(process)
        assert "takes tasks from the queue gpu" in process.stdout.readline()
        return process

    def program(self, server, text):
        """A program of a user's, which says when its worker is at work."""
        environment = {**os.environ, "XINGQIAO_URL": server.url, "XINGQIAO_AUTH": AUTH}
        process = subprocess.Popen(
            [sys.executable, "-c", text], env=environment, cwd=self.folder,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self._workers.append(process)
        assert process.stdout.readline() == "at work\n"
        return process

    def runs(self, count):
        """What the runs have written down, as soon as there are so many."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            path = self.folder / "runs"
            lines = path.read_text().splitlines() if path.exists() else []
            if len(lines) >= count:
                return [line.split() for line in lines]
            assert time.monotonic() < deadline, lines
            time.sleep(0.02)

    def go(self):
        (self.folder / "go").touch()

    def end(self):
        for process in self._workers:
            process.kill()
            process.communicate()


@pytest.fixture
def farm(tmp_path):
    made = Farm(tmp_path)
    yield made
    made.end()


@pytest.fixture
def start(tmp_path):
    with starting(tmp_path / "data", "--auth", AUTH, "--isolation", "none") as start_one:
        yield start_one


def started(client, name, n):
    answer = client.post(f"/actions/{name}", json={"n": n})
    assert answer.status_code == 202, answer.text
    return answer.json()["activationId"]


def result(client, id):
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        answer = client.get(f"/activations/{id}", params={"wait": 20_000})
        if answer.status_code == 200:
            return answer.json()["response"]["result"]
    raise AssertionError(f"{id} has not ended: {answer.text}")


def test_a_task_of_a_killed_worker_is_done_by_another_with_the_same_key(start, farm):
    server = start()
    farm.run(server, "deploy", str(farm.file))
    with server.client() as client:
        first = farm.worker(server)
        id = started(client, "again", 1)
        farm.runs(1)
        first.kill()
        farm.worker(server)
        (_, one, key), (_, two, same) = farm.runs(2)
        farm.go()

        assert (one, two, key) == ("1", "2", same)
        assert result(client, id) == {"attempt": 2}


def test_a_task_that_may_be_done_once_is_not_done_again(start, farm):
    server = start()
    farm.run(server, "deploy", str(farm.file))
    with server.client() as client:
        first = farm.worker(server)
        started(client, "once", 1)
        farm.runs(1)
        first.kill()
        farm.worker(server)
        other = started(client, "again", 2)
        farm.go()
        result(client, other)

        assert [n for n, _, _ in farm.runs(2)] == ["1", "2"]
        assert client.get("/queues/gpu").json()["underWay"] == 1


def test_a_killed_server_gets_the_answers_of_tasks_that_were_taken_before(start, farm):
    server = start()
    farm.run(server, "deploy", str(farm.file))
    with server.client() as client:
        farm.worker(server, "--slots", "2")
        ids = [started(client, "once", n) for n in range(4)]
        farm.runs(2)
    port = server.url.rpartition(":")[2]
    server.stop(signal.SIGKILL)
    with starting(
        farm.folder / "data", "--auth", AUTH, "--isolation", "none", "--port", port
    ) as again:
        server = again()
        farm.go()
        with server.client() as client:
            for id in ids:
                assert result(client, id) == {"attempt": 1, "stopped": ""}

    assert sorted(n for n, _, _ in farm.runs(4)) == ["0", "1", "2", "3"]  # each once


def test_a_worker_that_is_told_to_stop_ends_its_tasks_and_takes_no_more(start, farm):
    server = start()
    farm.run(server, "deploy", str(farm.file))
    with server.client() as client:
        worker = farm.worker(server, "--slots", "1")
        ids = [started(client, "once", n) for n in range(2)]
        farm.runs(1)
        worker.send_signal(signal.SIGTERM)
        output, _ = worker.communicate(timeout=DEADLINE_S)

        assert worker.returncode == 0, output
        assert result(client, ids[0]) == {"attempt": 1, "stopped": "the worker stops"}
        assert client.get("/queues/gpu").json()["backlog"] == 1
        assert "gpu" in farm.run(server, "queue", "list")


def test_an_operator_limits_a_queue_by_the_command_line(start, farm):
    server = start()
    farm.run(server, "deploy", str(farm.file))
    farm.run(server, "queue", "set", "gpu", "--concurrent", "2", "--weight", "acme", "3")

    assert '"acme": 3' in farm.run(server, "queue", "get", "gpu", "--json").replace("\n", "")
    farm.run(server, "queue", "unset", "gpu")
    assert "acme" not in farm.run(server, "queue", "get", "gpu")


ASYNCHRONOUS = """
import asyncio
from farm import again
from xingqiao.client import connect

async def main():
    async with connect() as x, x.worker("gpu", [again], slots=2) as worker:
        print("at work", flush=True)
        await worker.wait()

asyncio.run(main())
"""
SYNCHRONOUS = """
import signal
from farm import again
from xingqiao.client import connect

with connect() as x, x.worker("gpu", [again]) as worker:
    signal.signal(signal.SIGTERM, lambda *_: worker.stop())
    print("at work", flush=True)
    worker.wait()
print(worker.running, "left", flush=True)
"""


def test_a_task_of_a_killed_program_is_done_by_another_program(start, farm):
    server = start()
    farm.run(server, "deploy", str(farm.file))
    with server.client() as client:
        first = farm.program(server, ASYNCHRONOUS)
        id = started(client, "again", 1)
        ((_, attempt, key),) = farm.runs(1)
        first.kill()
        second = farm.program(server, SYNCHRONOUS)
        runs = farm.runs(2)
        farm.go()
        assert result(client, id) == {"attempt": 2}

    assert attempt == "1"
    assert runs[1] == ["1", "2", key]
    second.terminate()
    assert second.communicate(timeout=DEADLINE_S)[0] == "0 left\n"
    assert second.returncode == 0
