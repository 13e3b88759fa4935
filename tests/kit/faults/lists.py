"""Clients that run transactions on lists, and write down what came of each, for `checker`."""

from __future__ import annotations

import random
import threading
import time
from math import inf

import httpx

from tests.kit.faults.checker import Append, Read, Txn
from tests.kit.infra.servers import AUTH
from xingqiao import composer as c
from xingqiao.composer import call, path, transaction

KEYS = 4

LIST = """
def main(message):
    seen = message["state"] or []
    if message["operation"] == "append":
        return {"state": [*seen, message["params"]["value"]]}
    return {"result": {"list": seen}}
"""


def deploy(client, name, document):
    answer = client.put(f"/actions/{name}", params={"overwrite": "true"}, json=document)
    assert answer.status_code == 200, answer.text


def entity(code):
    notes = [{"key": "entity", "value": True}]
    return {"exec": {"kind": "python:3", "code": code}, "annotations": notes}


def composition(part):
    return {"exec": {"kind": "composition", "composition": part.to_json()}}


class Clients:
    """Sends transactions on lists until told to stop, and writes down what came of them."""

    def __init__(self):
        self.url, self.history, self.lock = "", [], threading.Lock()
        self.numbers, self.over = iter(range(100_000)), threading.Event()
        self.chance = random.Random(7)

    def plan(self):
        with self.lock:
            number = next(self.numbers)
            operations = [
                (self.chance.choice(("append", "read")), f"k{self.chance.randrange(KEYS)}")
                for _ in range(self.chance.randint(1, 3))
            ]
        return number, [(verb, key, number * 10 + at) for at, (verb, key) in enumerate(operations)]

    def run(self, _):
        while not self.over.is_set():
            number, operations = self.plan()
            began = time.monotonic_ns()
            params = {f"v{at}": value for at, (_, _, value) in enumerate(operations)}
            shape = "_".join(f"{verb[0]}{key}" for verb, key, _ in operations)
            try:
                with httpx.Client(auth=tuple(AUTH.split(":")), timeout=30) as client:
                    base = f"{self.url}/api/v1/namespaces/_"
                    part = transaction(*map(self.listed, operations, range(9)))
                    if number % 2:
                        kept = [c.merge(self.listed(one, at), c.select({f"r{at}": path("$")}))
                                for at, one in enumerate(operations)]  # fmt: skip
                        part, shape = transaction(c.sequence(*kept)), f"i_{shape}"
                    known = client.put(
                        f"{base}/actions/t_{shape}",
                        params={"overwrite": "true"}, json=composition(part),
                    )  # fmt: skip
                    answer = client.post(
                        f"{base}/actions/t_{shape}", params={"blocking": "true", "result": "true"},
                        json=params,
                    )  # fmt: skip
                    assert known.status_code in (200, 409, 503)
            except httpx.TransportError:
                self.heard(number, operations, None, began)
                time.sleep(0.05)
                continue
            self.heard(number, operations, answer, began)

    @staticmethod
    def listed(operation, at):
        verb, key, _ = operation
        if verb == "append":
            return call("list", key, "append", {"value": path(f"$.v{at}")})
        return call("list", key, "read", {}, read=True)

    def heard(self, number, operations, answer, began):
        ended, status = time.monotonic_ns(), "unknown"
        if answer is not None and answer.status_code == 200:
            status = "committed"
        elif answer is not None and answer.status_code == 502:
            status = "aborted"
        done = []
        for at, (verb, key, value) in enumerate(operations):
            if verb == "append":
                done.append(Append(key, value))
            elif status == "committed":
                results = answer.json().get("value")
                result = results[at] if results is not None else answer.json()[f"r{at}"]
                done.append(Read(key, tuple(result["list"])))
        with self.lock:
            txn = Txn(
                str(number), tuple(done), status, began, inf if status == "unknown" else ended
            )
            self.history.append(txn)


def at_rest(client):
    """Waits until nothing is under way and nothing in doubt."""
    deadline = time.monotonic() + 60
    while True:
        running = client.get("/executions", params={"status": "running", "limit": 1}).json()
        if not running and not client.get("/transactions").json():
            return
        assert time.monotonic() < deadline, running
        time.sleep(0.05)
