"""Requests that cost much to check, beside a bystander who asks for something cheap all the time.

Each bomb is one request that a namespace's key may send. What is measured is how long the bystander, of
the same server, has waited for an answer at worst. No bound on time is asserted but one that only catches
a server that stands still: `docs/reliability.md` has the figures.
"""

from __future__ import annotations

import base64
import http.client
import io
import json
import threading
import time
import zipfile
from urllib.parse import urlsplit

import pytest

from tests.kit.infra.servers import KEY, USER, running

DEADLINE_S = 15  # the longest that anybody may wait, however busy the machine is; unbounded, bombs take longer
ANSWER_S = 120  # that a bomb may take itself
API = "/api/v1/namespaces/_"
BASIC = "Basic " + base64.b64encode(f"{USER}:{KEY}".encode()).decode()
ACTION = {"type": "action", "name": "/_/one"}


class Asker:
    """One connection to the server."""

    def __init__(self, url):
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=ANSWER_S)
        self._headers = {"Authorization": BASIC, "Content-Type": "application/json"}

    def ask(self, method, path, content=b""):
        """The status and the text of an answer."""
        self._connection.request(method, path, content, self._headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def close(self):
        self._connection.close()


class Bystander:
    """Asks again and again, on a thread; `longest_s` is how long it has waited at worst."""

    def __init__(self, url):
        self._asker = Asker(url)
        self._over = threading.Event()
        self._asking = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self.longest_s, self.answers = 0.0, 0

    def _ask(self):
        while not self._over.is_set():
            before = time.perf_counter()
            status, _ = self._asker.ask("GET", f"{API}/rules?limit=1")
            self.longest_s = max(self.longest_s, time.perf_counter() - before)
            assert status == 200
            self.answers += 1
            self._asking.set()

    def __enter__(self):
        self._thread.start()
        assert self._asking.wait(ANSWER_S)
        self.longest_s = 0.0
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join(ANSWER_S)
        self._asker.close()
        assert not self._thread.is_alive()


# --- the bombs -----------------------------------------------------------------------------------


def put(name, exec, **more):
    return (
        "PUT",
        f"{API}/actions/{name}?overwrite=true",
        json.dumps({"exec": exec, **more}).encode(),
    )


def composition(document):
    return {"kind": "composition", "composition": document}


def sequence(count, part=ACTION):
    return {"type": "sequence", "components": [part] * count}


def nested(width, levels):
    part = ACTION
    for _ in range(levels):
        part = {"type": "parallel", "components": [part] * width}
    return part


def branches(depth):
    part = ACTION
    for _ in range(depth):
        part = {"type": "if", "test": {"type": "action", "name": "/_/one"}, "consequent": part}
    return part


def machine(states):
    return {"kind": "states", "definition": json.dumps(states), "type": "EXPRESS"}


def many_states(count):
    states = {f"s{at}": {"Type": "Pass", "Next": f"s{at + 1}"} for at in range(count)}
    states[f"s{count}"] = {"Type": "Succeed"}
    return {"StartAt": "s0", "States": states}


def jsonata(expression):
    """A machine of one state whose output is an expression's."""
    state = {"Type": "Pass", "Output": "{% " + expression + " %}", "End": True}
    return {"QueryLanguage": "JSONata", "StartAt": "only", "States": {"only": state}}


def archive():
    """A zip of little that unpacks to much."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        file.writestr("__main__.py", "def main(p): return p")
        for at in range(8):
            file.writestr(f"zeros{at}", bytes(16 << 20))
    return base64.b64encode(made.getvalue()).decode()


CALL = f"{API}/actions/{{}}?blocking=true&result=true&timeout=20000"


def call(name, **params):
    return "POST", CALL.format(name), json.dumps(params).encode()


DEEP = "[" * 500_000 + "]" * 500_000
MAPPED = {
    "type": "map",
    "components": [{"type": "map", "components": [{"type": "literal", "value": 1}]}],
}

HALF = "$sum($map([1..30000], function($v) { $v * 2 + $v }))"
TEXT = "$states.input.text"
LOOP = "$sum($map([1..60000], function($v) { $v * 2 + $v }))"

# What is sent, after what has been put for it.
BOMBS = {
    "a million parts": lambda: [put("bomb", composition(sequence(1_000_000)))],
    "100,000 parts": lambda: [put("bomb", composition(sequence(100_000)))],
    "20,000 parts": lambda: [put("bomb", composition(sequence(20_000)))],
    "forks of 10 x 100 x 100": lambda: [
        put("bomb", composition({"type": "parallel", "components": [nested(100, 2)] * 10}))
    ],
    "55 levels": lambda: [put("bomb", composition(branches(55)))],
    "10,000 states": lambda: [put("bomb", machine(many_states(10_000)))],
    "a literal of a million numbers": lambda: [
        put("bomb", composition({"type": "literal", "value": [0] * 1_000_000}))
    ],
    "a million parameters": lambda: [
        put(
            "bomb",
            {"kind": "python:3", "code": "def main(p): return p"},
            parameters=[{"key": f"k{at}", "value": at} for at in range(1_000_000)],
        )
    ],
    "30 MB of brackets": lambda: [("PUT", f"{API}/actions/bomb", b"[" * (30 << 20))],
    "a value 500,000 levels deep": lambda: [
        ("POST", CALL.format("bomb"), b'{"a":' + DEEP.encode() + b"}")
    ],
    "1 MB of small members": lambda: [
        put("echo", {"kind": "composition", "composition": {"type": "literal", "value": {}}}),
        ("POST", CALL.format("echo"), json.dumps({"a": [{}] * 250_000}).encode()),
    ],
    "a map of 30 maps of 1,000": lambda: [
        put("mapped", composition(MAPPED)),
        call("mapped", value=[{"value": [0] * 1_000}] * 30),
    ],
    "JSONata, a loop": lambda: [
        put("jsonata", machine(jsonata(LOOP))),
        call("jsonata"),
    ],
    "JSONata, four loops in a state": lambda: [
        put("four", machine(jsonata("[" + ", ".join([HALF] * 4) + "]"))),
        call("four"),
    ],
    "JSONata, without end": lambda: [
        put("endless", machine(jsonata("($f := function($n) { $f($n + 1) }; $f(0))"))),
        call("endless"),
    ],
    "JSONata, functions of large texts": lambda: [
        put(
            "parse",
            machine(jsonata("$map([1..5000], function($i) { $count($parse(" + TEXT + ")) })")),
        ),
        call("parse", text="[" + "0," * 100_000 + "0]"),
    ],
    "JSONata, 5,000 objects sorted": lambda: [
        put(
            "sort",
            machine(jsonata("$count($sort($states.input.a, function($l, $r) { $l.p > $r.p }))")),
        ),
        call("sort", a=[{"p": at * 7_919 % 5_003} for at in range(5_000)]),
    ],
    "JSONata, a range of a million": lambda: [
        put("range", machine(jsonata("$count([1..800000])"))),
        call("range"),
    ],
    "JSONata, text doubled": lambda: [
        put("pad", machine(jsonata("$length($pad('x', 5000000))"))),
        call("pad"),
    ],
    "a regular expression that backtracks": lambda: [
        put("regex", machine(jsonata("$contains($pad('', 40, 'a') & 'b', /^(a+)+$/)"))),
        call("regex"),
    ],
    "$..* over 1 MB": lambda: [
        put("paths", composition({"type": "select", "template": {"$path": "$..*"}})),
        call("paths", a=[[[0] * 100] * 100] * 9),
    ],
    "an archive of 128 MB zeros": lambda: [
        put("zeros", {"kind": "python:3", "code": archive(), "binary": True}),
        call("zeros"),
    ],
    "many actions listed": lambda: [
        *[put(f"many{at}", composition(sequence(1))) for at in range(200)],
        ("GET", f"{API}/actions?limit=200", b""),
    ],
    "code of 40 MB": lambda: [
        put("large", {"kind": "python:3", "code": "#" * (40 << 20) + "\ndef main(p): return p"})
    ],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("bombs"), "--auth", f"{USER}:{KEY}") as made:
        yield made


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bystander_is_answered_beside_a_bomb(server, figures, bomb):
    asker, requests = Asker(server.url), BOMBS[bomb]()

    with Bystander(server.url) as bystander:
        began = time.perf_counter()
        *_, (status, answer) = [asker.ask(*request) for request in requests]
        took_s = time.perf_counter() - began
    asker.close()

    figures(
        bomb=bomb,
        status=status,
        bomb_ms=round(took_s * 1000),
        bystander_ms=round(bystander.longest_s * 1000, 1),
        says=answer[:160].decode(errors="replace"),
    )
    assert status < 500 or "error" in json.loads(answer)
    assert bystander.longest_s < DEADLINE_S
