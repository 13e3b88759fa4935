"""Compositions in two languages: deployed by `openwhisk-composer` and by us, they come to the same."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from tests.kit.infra.servers import AUTH
from xingqiao import composer as c

REDIS = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")
ACTIONS = {
    "increment": "function main(p) { return { n: (p.n || 0) + 1 } }",
    "double": "function main(p) { return { n: p.n * 2 } }",
    "fail": "function main(p) { return { error: 'failed', n: p.n } }",
}
FAILED = {"error": "failed"}


def decrement(params):
    return {"n": params["n"] - 1}


def set_seven(params):
    params["n"] = 7


def shadow(params, variables):
    variables["k"] = 5


def put_nine(params, variables):
    variables["k"] = 9


def add_to_k(params, variables):
    variables["k"] += params["n"]


def attempt(params, variables):
    variables["left"] -= 1
    if variables["left"] > 0:
        return {"error": "not yet"}
    return {"tries": 2 - variables["left"], "n": params["n"]}


def count(params, variables):
    variables["i"] += 1


def read_k(params, variables):
    return {"k": variables["k"]}


def caught(params):
    return {"caught": params["error"]}


def is_big(params):
    return {"value": params["n"] > 3}


def is_big_and_n(params):
    return {"value": params["n"] > 3, "n": params["n"]}


def is_small(params):
    return {"value": params["n"] < 20}


def is_small_and_n(params):
    return {"value": params["n"] < 20, "n": params["n"]}


def no(params):
    return {"value": False}


def put_three(params, variables):
    variables["k"] = 3


def add_j_to_k(params, variables):
    variables["k"] += variables["j"]
    variables["j"] = 9


def append_to_k(params, variables):
    variables["k"]["of"].append(params["n"])


def same(params):
    return params


HUNDRED = "function main (p) { return { n: p.n + 100 } }"

CASES = {  # by name: the composition in Python, the input, and what both come to
    "sequence": (lambda: c.sequence("increment", "double"), {"n": 1}, {"n": 4}),
    "seq_of_functions": (
        lambda: c.sequence(lambda p: {"n": p["n"] + 1}, lambda p: {"n": p["n"] * 2}),
        {"n": 1}, {"n": 4},
    ),
    "empty": (c.empty, {"n": 1}, {"n": 1}),
    "task": (lambda: c.task("increment"), {"n": 1}, {"n": 2}),
    "literal": (lambda: c.literal({"n": 42}), {"n": 1}, {"n": 42}),
    "value_boxed": (lambda: c.value(42), {}, {"value": 42}),
    "function_no_result": (lambda: c.function(set_seven), {"n": 1}, {"n": 7}),
    "function_boxed": (lambda: c.function(lambda p: [1, 2]), {}, {"value": [1, 2]}),
    "function_boxed_text": (lambda: c.function(lambda p: "星桥"), {}, {"value": "星桥"}),
    "function_error": (
        lambda: c.function(lambda p: {"error": "no", "n": 1}), {}, {"error": "no"},
    ),
    "function_source": (lambda: c.function(decrement), {"n": 3}, {"n": 2}),
    "if_else": (lambda: c.when(is_big, "double", "increment"), {"n": 3}, {"n": 4}),
    "if_saves": (
        lambda: c.when(lambda p: {"value": True, "lost": 1}, same), {"n": 3}, {"n": 3},
    ),
    "if_without_else": (lambda: c.when(no, "double"), {"n": 3}, {"n": 3}),
    "if_zero": (
        lambda: c.when(lambda p: {"value": 0}, "double", "increment"), {"n": 3}, {"n": 4},
    ),
    "if_test_fails": (lambda: c.when("fail", "double", "increment"), {"n": 3}, FAILED),
    "if_nosave": (
        lambda: c.when_nosave(is_big_and_n, same, c.literal({"small": True})),
        {"n": 5}, {"value": True, "n": 5},
    ),
    "while_": (lambda: c.loop(is_small, "double"), {"n": 3}, {"n": 24}),
    "while_nosave": (
        lambda: c.loop_nosave(is_small_and_n, "double"), {"n": 3}, {"value": False, "n": 24},
    ),
    "dowhile": (lambda: c.doloop("double", is_small), {"n": 30}, {"n": 60}),
    "dowhile_nosave": (
        lambda: c.doloop_nosave("double", is_small_and_n), {"n": 3}, {"value": False, "n": 24},
    ),
    "while_body_fails": (
        lambda: c.loop(lambda p: {"value": True}, "fail"), {"n": 1}, FAILED,
    ),
    "repeat_never": (lambda: c.repeat(0, "increment"), {"n": 1}, {"n": 1}),
    "repeat_nested": (lambda: c.repeat(2, c.repeat(2, "increment")), {"n": 0}, {"n": 4}),
    "repeat": (lambda: c.repeat(3, "increment", "double"), {"n": 0}, {"n": 14}),
    "try_ok": (lambda: c.do("increment", c.literal({"caught": True})), {"n": 1}, {"n": 2}),
    "try_error": (lambda: c.do("fail", caught), {"n": 1}, {"caught": "failed"}),
    "try_nested": (
        lambda: c.do(c.do("fail", lambda p: {"error": "again"}), lambda p: {"outer": p["error"]}),
        {"n": 1}, {"outer": "again"},
    ),
    "try_handler_fails": (lambda: c.do("fail", "fail"), {"n": 1}, FAILED),
    "finally_ok": (
        lambda: c.ensure("increment", lambda p: {"n": p["n"], "final": True}),
        {"n": 1}, {"n": 2, "final": True},
    ),
    "finally_error": (
        lambda: c.ensure("fail", lambda p: {"seen": p["error"]}), {"n": 1}, {"seen": "failed"},
    ),
    "finally_rethrows": (lambda: c.ensure("fail", c.empty()), {"n": 1}, FAILED),
    "finally_fails": (lambda: c.ensure("increment", "fail"), {"n": 1}, FAILED),
    "finally_nested": (
        lambda: c.ensure(
            c.ensure("fail", lambda p: {"error": p["error"] + " twice"}),
            lambda p: {"seen": p["error"]},
        ),
        {"n": 1}, {"seen": "failed twice"},
    ),
    "sequence_stops": (lambda: c.sequence("fail", "increment"), {"n": 1}, FAILED),
    "let_reads": (
        lambda: c.let({"k": 3}, lambda p, v: {"n": p["n"] * v["k"]}), {"n": 2}, {"n": 6},
    ),
    "let_writes": (lambda: c.let({"k": 3}, add_to_k, read_k), {"n": 2}, {"k": 5}),
    "let_shadows": (
        lambda: c.let({"k": 1}, c.let({"k": 2}, shadow), read_k), {}, {"k": 1},
    ),
    "let_mask": (
        lambda: c.let(
            {"k": 1}, c.let({"k": 2}, c.mask(put_nine), lambda p, v: {"inner": v["k"]})
        ),
        {}, {"inner": 2},
    ),
    "let_mask_outer": (
        lambda: c.let({"k": 1}, c.let({"k": 2}, c.mask(put_nine)), read_k), {}, {"k": 9},
    ),
    "let_twice": (
        lambda: c.let({"k": 1}, c.let({"j": 2}, add_j_to_k), read_k), {}, {"k": 3},
    ),
    "let_null": (lambda: c.let({"k": None}, put_three, read_k), {}, {"k": 3}),
    "let_of_objects": (
        lambda: c.let({"k": {"of": [1]}}, append_to_k, read_k), {"n": 2}, {"k": {"of": [1, 2]}},
    ),
    "let_ends_with_an_error": (
        lambda: c.let({"k": 1}, c.do(c.let({"k": 2}, "fail"), read_k)), {"n": 1}, {"k": 1},
    ),
    "let_kept_over_an_error": (
        lambda: c.let({"k": 1}, c.do(c.sequence(put_nine, "fail"), read_k)), {"n": 1}, {"k": 9},
    ),
    "mask_twice": (
        lambda: c.let(
            {"k": 1}, c.let({"k": 2}, c.let({"k": 3}, c.mask(c.mask(put_nine)))), read_k
        ),
        {}, {"k": 9},
    ),
    "retain": (
        lambda: c.retain("increment"), {"n": 1}, {"params": {"n": 1}, "result": {"n": 2}},
    ),
    "retain_error": (lambda: c.retain("fail"), {"n": 1}, FAILED),
    "retain_catch": (
        lambda: c.retain_catch("fail"), {"n": 1}, {"params": {"n": 1}, "result": FAILED},
    ),
    "merge": (lambda: c.merge(lambda p: {"m": p["n"]}), {"n": 1}, {"n": 1, "m": 1}),
    "merge_over": (
        lambda: c.merge(lambda p: {"n": 0, "m": p["n"]}), {"n": 1}, {"n": 0, "m": 1},
    ),
    "retry_never": (lambda: c.retry(0, "fail"), {"n": 1}, FAILED),
    "retry_succeeds": (
        lambda: c.let({"left": 2}, c.retry(3, attempt)), {"n": 4}, {"tries": 2, "n": 4},
    ),
    "retry_gives_up": (lambda: c.retry(2, "fail"), {"n": 1}, FAILED),
    "dynamic": (
        lambda: c.sequence(
            lambda p: {"type": "action", "name": "increment", "params": {"n": p["n"]}},
            c.dynamic(),
        ),
        {"n": 1}, {"n": 2},
    ),
    "dynamic_elsewhere": (
        lambda: c.sequence(
            lambda p: {"type": "action", "name": "/whisk.system/utils/echo", "params": {"n": 5}},
            c.dynamic(),
        ),
        {}, {"n": 5},
    ),
    "names": (
        lambda: c.sequence(
            "/_/increment", "/guest/increment", "pack/increment", "/_/pack/increment"
        ),
        {"n": 0}, {"n": 4},
    ),
    "nested": (lambda: c.sequence("inner", "double"), {"n": 1}, {"n": 40}),
    "nested_fails": (
        lambda: c.do(c.sequence("inner_fails", "double"), caught), {"n": 1}, {"caught": "failed"},
    ),
    "async": (
        lambda: c.sequence(c.asynchronous("increment"), lambda p: {"method": p["method"]}),
        {"n": 1}, {"method": "async"},
    ),
    "parallel": (
        lambda: c.parallel("increment", "double", lambda p: {"n": -p["n"]}),
        {"n": 3}, {"value": [{"n": 4}, {"n": 6}, {"n": -3}]},
    ),
    "par_errors": (
        lambda: c.parallel("fail", "increment", errors="collect"),
        {"n": 3}, {"value": [FAILED, {"n": 4}]},
    ),
    "parallel_nested": (
        lambda: c.parallel(c.parallel("increment", "double"), c.sequence("double", "double")),
        {"n": 3}, {"value": [{"value": [{"n": 4}, {"n": 6}]}, {"n": 12}]},
    ),
    "parallel_let": (
        lambda: c.let(
            {"k": 2},
            c.parallel(
                lambda p, v: {"n": p["n"] + v["k"]}, lambda p, v: {"n": p["n"] * v["k"]}
            ),
        ),
        {"n": 3}, {"value": [{"n": 5}, {"n": 6}]},
    ),
    "parallel_empty": (c.parallel, {"n": 3}, {"value": []}),
    "parallel_tries": (
        lambda: c.do(
            c.sequence(
                c.parallel(
                    c.do("fail", lambda p: {"n": 0}), c.let({"k": 5}, lambda p, v: {"n": v["k"]})
                ),
                lambda p: {"error": [branch["n"] for branch in p["value"]]},
            ),
            caught,
        ),
        {"n": 3}, {"caught": [0, 5]},
    ),
    "map": (
        lambda: c.map("increment"),
        {"value": [{"n": 1}, {"n": 2}]}, {"value": [{"n": 2}, {"n": 3}]},
    ),
    "map_values": (
        lambda: c.map(lambda p: {"n": p["value"] + 1}),
        {"value": [1, 2]}, {"value": [{"n": 2}, {"n": 3}]},
    ),
    "map_empty": (lambda: c.map("increment"), {"value": []}, {"value": []}),
    "map_nothing": (lambda: c.map("increment"), {"n": 1}, {"value": []}),
    "map_errors": (
        lambda: c.map(
            lambda p: {"error": "too big"} if p["value"] > 1 else {"n": p["value"]},
            errors="collect",
        ),
        {"value": [1, 2]}, {"value": [{"n": 1}, {"error": "too big"}]},
    ),
    "map_let": (
        lambda: c.let({"k": 10}, c.map(lambda p, v: {"n": p["value"] + v["k"]})),
        {"value": [1, 2]}, {"value": [{"n": 11}, {"n": 12}]},
    ),
    "map_nested": (
        lambda: c.map(c.map(lambda p: {"n": p["value"] * 2})),
        {"value": [[1, 2], []]},
        {"value": [{"value": [{"n": 2}, {"n": 4}]}, {"value": []}]},
    ),
    "map_in_sequence": (
        lambda: c.sequence(
            lambda p: {"value": [{"n": p["n"]}, {"n": p["n"] + 1}]},
            c.map("double"),
            lambda p: {"of": len(p["value"])},
        ),
        {"n": 1}, {"of": 2},
    ),
    "defined": (
        lambda: c.sequence(c.action("defined_here", code=HUNDRED, kind="nodejs:20"), "double"),
        {"n": 1}, {"n": 202},
    ),
    "defined_sequence": (
        lambda: c.action("defined_seq", sequence=["increment", "double"]), {"n": 1}, {"n": 4},
    ),
    "defined_limited": (
        lambda: c.action(
            "defined_limited", code="function main (p) { return { n: 3 } }", kind="nodejs:20",
            limits={"timeout": 5000},
        ),
        {}, {"n": 3},
    ),
    "deep": (
        lambda: c.sequence(
            c.when(
                c.literal({"value": True}),
                c.let(
                    {"i": 0},
                    c.loop(
                        lambda p, v: {"value": v["i"] < 2}, c.sequence(count, "increment")
                    ),
                ),
            ),
            c.do(c.sequence("double", "fail"), c.empty()),
            c.retain("increment"),
        ),
        {"n": 1}, FAILED,
    ),
}  # fmt: skip
FORKS = [name for name in CASES if name.startswith(("par", "map"))]


@pytest.fixture(scope="module", autouse=True)
def actions(client, driver):
    client.put("/packages/pack", json={})
    for name, code in [*ACTIONS.items(), ("pack/increment", ACTIONS["increment"])]:
        document = {"exec": {"kind": "nodejs:default", "code": code}}
        assert client.put(f"/actions/{name}", json=document).status_code == 200
    for name in ("inner", "inner_fails"):
        driver.deploy(name)


def outcome(client, name, params):
    """What an invocation comes to, as a client that waits for it sees it."""
    answer = client.post(f"/actions/{name}", params={"blocking": "true"}, json=params)
    assert answer.status_code in (200, 502), answer.text
    return answer.json()["response"]["result"]


@pytest.mark.parametrize("name", CASES)
def test_both_languages_come_to_the_same(driver, client, name):
    made, params, expected = CASES[name]
    driver.deploy(name)
    composition = made()
    for node in composition.walk():
        if node.arguments.get("action"):
            definition = node.arguments["action"]
            defined = client.put(
                f"/actions/{node.arguments['name'].removeprefix('/_/')}",
                params={"overwrite": "true"}, json=definition,
            )  # fmt: skip
            assert defined.status_code == 200, defined.text
    document = {"exec": {"kind": "composition", "composition": composition.to_json()}}
    answer = client.put(f"/actions/{name}.py", params={"overwrite": "true"}, json=document)
    assert answer.status_code == 200, answer.text

    assert outcome(client, name, params) == expected
    assert outcome(client, f"{name}.py", params) == expected


def redis_answers():
    import socket
    from urllib.parse import urlparse

    place = urlparse(REDIS)
    try:
        socket.create_connection((place.hostname, place.port or 6379), timeout=1).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("name", FORKS)
def test_composers_own_code_joins_by_redis_when_the_caller_names_one(driver, client, name):
    if not redis_answers():
        if os.environ.get("CI") == "true" and "REDIS_URL" in os.environ:
            pytest.fail(f"Redis does not answer at {REDIS}")
        pytest.skip(f"Redis does not answer at {REDIS}")
    _, params, expected = CASES[name]
    driver.deploy(name)

    made = outcome(client, name, {**params, "$composer": {"redis": {"uri": REDIS}}})

    assert made == expected


def test_the_commands_compose_and_deploy_do_as_they_do_elsewhere(client, server, modules, tmp_path):
    source = tmp_path / "demo.js"
    source.write_text(
        "const c = require('openwhisk-composer')\n"
        "module.exports = c.if('authenticate', c.action('greet', { action: p => ({ hi: p.user }) }),"
        " c.literal({ hi: 'nobody' }))\n"
    )
    code = "function main(p) { return { value: p.password === 'abc123' } }"
    client.put("/actions/authenticate", json={"exec": {"kind": "nodejs:default", "code": code}})
    properties = tmp_path / "wskprops"
    properties.write_text(f"APIHOST={server.url}\nAUTH={AUTH}\n")
    environment = {
        **os.environ, "NODE_PATH": str(modules), "WSK_CONFIG_FILE": str(properties),
    }  # fmt: skip

    def run(command, *arguments):
        program = modules / "openwhisk-composer" / "bin" / f"{command}.js"
        return subprocess.run(
            ["node", program, *arguments], env=environment, capture_output=True, text=True,
            check=True, timeout=60,
        ).stdout  # fmt: skip

    composed = tmp_path / "demo.json"
    composed.write_text(run("compose", source))
    assert json.loads(composed.read_text())["ast"]["type"] == "if"
    said = run("deploy", "demo", composed, "-w", "-a", "about=a demo", "--timeout", "30000")

    assert said.startswith("ok: created actions /_/greet,/_/demo")
    shown = client.get("/actions/demo").json()
    assert {"key": "about", "value": "a demo"} in shown["annotations"]
    assert shown["limits"]["timeout"] == 30000
    assert outcome(client, "demo", {"user": "Ann", "password": "abc123"}) == {"hi": "Ann"}
    assert outcome(client, "demo", {"user": "Bob"}) == {"hi": "nobody"}


def test_a_composition_is_recorded_as_there(driver, client):
    driver.deploy("sequence")

    answer = client.post("/actions/sequence", params={"blocking": "true"}, json={"n": 1})

    record = answer.json()
    notes = {note["key"]: note["value"] for note in record["annotations"]}
    assert (notes["kind"], notes["conductor"], notes["topmost"]) == ("sequence", True, True)
    names = []
    for id in record["logs"]:
        part = client.get(f"/activations/{id}").json()
        names.append(part["name"])
        told = {note["key"]: note["value"] for note in part["annotations"]}
        assert (part["cause"], told["causedBy"]) == (record["activationId"], "sequence")
    assert names == ["sequence", "increment", "sequence", "double", "sequence"]
    assert record["duration"] == sum(
        client.get(f"/activations/{id}").json()["duration"] for id in record["logs"]
    )
