"""A disk that is full while a server is under load: 503 soon, nothing half done, and on when there is room."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.kit.infra.servers import AUTH, running
from xingqiao import composer

DEADLINE_S = 90  # after which a server that hangs is a failure
ANSWER_S = 30  # in which every call is answered, on a machine that does much else; 2 s are promised
SENDERS = 4
STEPS = ("first", "left", "right", "last")
STEP = """
import os

def main(params):
    file = os.open(params["file"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{os.environ['__OW_ACTIVATION_ID']} {params['n']} NAME\\n".encode())
    os.close(file)
    return params
"""
JOURNEY = composer.sequence(
    "first",
    composer.wait(0.05),
    composer.parallel("left", "right"),
    composer.select({"n": composer.path("$.value[0].n"), "file": composer.path("$.value[0].file")}),
    "last",
)


class Limit:
    """A disk that is full for one process: no file of its may be written behind its first page."""

    def __init__(self, folder):
        self.data = folder / "data"
        self.environment = None
        self.process = None

    def fill(self):
        self._limit(4096)

    def free(self):
        self._limit(resource.RLIM_INFINITY)

    def _limit(self, soft):
        limits = (soft, resource.RLIM_INFINITY)
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, limits)


class Disk:
    """A small disk that the data lies on, and the folders of workers."""

    def __init__(self, folder):
        self.data, self._ballast = folder / "data", folder / "ballast"
        self.environment = {**os.environ, "TMPDIR": str(folder)}
        self.process = None

    def fill(self):
        with self._ballast.open("wb", buffering=0) as file:
            for size in (1 << 20, 4096):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(b"x" * size)

    def free(self):
        self._ballast.unlink()


@contextlib.contextmanager
def small_disk(folder):
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128m", "tmpfs", folder]
    done = subprocess.run(mount, capture_output=True, check=False)
    if done.returncode:
        pytest.skip("only root may mount a disk; the limit of a process stands for one")
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.fixture(params=["limit", "disk"])
def disk(request, tmp_path):
    if request.param == "limit":
        yield Limit(tmp_path)
    else:
        with small_disk(tmp_path / "disk") as made:
            yield made


class Load:
    """Calls journeys, some of them waited for, and keeps what each was answered."""

    def __init__(self, server, runs):
        self._server, self._runs = server, runs
        self._numbers = iter(range(1_000_000))
        self._lock, self.stop = threading.Lock(), threading.Event()
        self.accepted, self.refused, self.doubtful = {}, set(), {}
        self.answers, self.longest_s, self.problem = Counter(), 0.0, None

    def send(self):
        with self._server.client() as client:
            while not self.stop.is_set():
                try:
                    self._one(client)
                except BaseException as error:
                    self.problem = error
                    raise

    def _one(self, client):
        with self._lock:
            n = next(self._numbers)
        query = {"blocking": "true", "timeout": "1000"} if n % 2 else {}
        params = {"n": n, "file": str(self._runs)}
        began = time.monotonic()
        answer = client.post("/actions/journey", json=params, params=query, timeout=ANSWER_S)
        with self._lock:
            self.longest_s = max(self.longest_s, time.monotonic() - began)
            self.answers[answer.status_code] += 1
            if answer.status_code in (200, 202):
                self.accepted[n] = answer.headers["x-openwhisk-activation-id"]
            else:
                assert answer.status_code == 503, answer.text
                assert answer.headers["retry-after"]
                about = answer.json().get("activationId")
                if about is None:
                    self.refused.add(n)
                else:
                    self.doubtful[n] = about
        if answer.status_code == 503:
            time.sleep(0.05)


def until(condition):
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def deploy(client):
    documents = {name: {"kind": "python:3", "code": STEP.replace("NAME", name)} for name in STEPS}
    documents["journey"] = {"kind": "composition", "composition": JOURNEY.to_json()}
    for name, document in documents.items():
        answer = client.put(f"/actions/{name}", json={"exec": document})
        assert answer.status_code == 200, answer.text


def test_a_full_disk_refuses_calls_and_loses_and_fails_none(disk, tmp_path, scale, figures):
    runs = tmp_path / "runs"
    options = ("--auth", AUTH, "--workers", "4", "--isolation", "none")
    with running(disk.data, *options, environment=disk.environment) as server:
        disk.process = server.process
        with server.client() as client, ThreadPoolExecutor(SENDERS) as pool:
            deploy(client)
            load = Load(server, runs)
            senders = [pool.submit(load.send) for _ in range(SENDERS)]
            try:
                for _ in range(scale):
                    rounds(disk, server, client, load)
            finally:
                load.stop.set()
            for sender in senders:
                sender.result()
            until(lambda: len(ended(client, load.accepted)) == len(load.accepted))
            statuses = Counter(ended(client, load.accepted).values())
            maybe = Counter(ended(client, load.doubtful).values())
        code, errors = server.stop()
    assert statuses == {"succeeded": len(load.accepted)}
    assert set(maybe) <= {"succeeded"}
    ran = Counter(tuple(line.split()[1:]) for line in runs.read_text().splitlines())
    for n in load.accepted:
        assert [ran[str(n), step] for step in STEPS] == [1, 1, 1, 1]
    assert not load.refused & {int(n) for n, _ in ran}, "a call that was refused has run"
    assert load.refused
    assert (code, "Traceback" in errors) == (0, False), errors
    figures(
        disk=type(disk).__name__, answers=dict(load.answers), longest_s=round(load.longest_s, 2),
        failed=0, lost=0, twice=0, doubtful=len(load.doubtful),
    )  # fmt: skip


def rounds(disk, server, client, load):
    """Fills the disk under load, looks what can still be done, and makes room again."""
    before = len(load.accepted)
    until(lambda: load.problem or len(load.accepted) > before + 10)
    disk.fill()
    refused = len(load.refused)
    until(lambda: load.problem or len(load.refused) > refused + 20)
    assert load.problem is None
    health = httpx.get(f"{server.url}/health", timeout=ANSWER_S)
    assert health.status_code == 503
    answer = client.put("/actions/new", json={"exec": {"kind": "python:3", "code": "x"}})
    assert answer.status_code == 503, answer.text
    assert client.get("/actions/journey").status_code == 200
    assert client.get("/activations").status_code == 200
    disk.free()
    accepted = len(load.accepted)
    until(lambda: load.problem or len(load.accepted) > accepted + 10)
    assert load.problem is None
    assert httpx.get(f"{server.url}/health", timeout=ANSWER_S).status_code == 200


def ended(client, ids):
    """How those executions have ended that have, by their number."""
    found = {}
    for n, id in ids.items():
        answer = client.get(f"/executions/{id}")
        if answer.status_code == 200 and "end" in answer.json():
            found[n] = answer.json()["status"]
    return found
