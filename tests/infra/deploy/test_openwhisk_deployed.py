"""Bundles on an OpenWhisk host, which is our own server: the same results as the compositions themselves."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.kit.infra.servers import AUTH, running
from xingqiao import composer
from xingqiao.composer import path, var
from xingqiao.infra.cli import main
from xingqiao.infra.deploy import Source, bundle

# --- what is deployed ------------------------------------------------------------------------------


@composer.action
def add(params):
    return {**params, "n": params.get("n", 0) + 1}


@composer.action
def refuse(params):
    if params.get("n", 0) < 2:
        raise ValueError("too few")
    return params


@composer.action(limits={"timeout": 100})
def endless(params):
    while True:
        params["n"] = 0


@composer.action
def lists(params):
    return [params.get("n", 0), {"a": 1.0}]


def count(params, variables):
    variables["rounds"] += 1
    print("round", variables["rounds"])  # noqa: T201  into the log
    return {"n": params.get("n", 0) + variables["rounds"]}


def breaks(params):
    return {"n": params["missing"]}


async def later(params):
    return {"later": params}


COMPOSITIONS = {
    "plain": composer.sequence(add, composer.let({"rounds": 0}, count), add),
    "inline_only": composer.sequence(later, lambda params: params["later"]),
    "branches": composer.when(path("$.n") > 1, add, composer.sequence(lists, path("$.value[1]"))),
    "chosen": composer.switch(path("$.n"), [(1, add), (3, composer.sequence(add, add))], refuse),
    "loops": composer.let(
        {"rounds": 0}, composer.loop(var("rounds") < 3, composer.sequence(count, add))
    ),
    "tries": composer.retry(2, add, refuse),
    "tries_in_vain": composer.retry(1, refuse),
    "handles": composer.do(refuse, composer.select({"said": path("$.error")})),
    "handles_inline": composer.do(breaks, composer.select({"said": path("$.error")})),
    "finishes": composer.ensure(refuse, composer.retain_catch(add)),
    "times_out": composer.do(endless, composer.literal({"late": True}), errors="Timeout"),
    "nobody": composer.do("nobody", composer.literal({"absent": True}), errors="NotFound"),
    "forwards": composer.forward(["n"], add, carry={"kept": path("$")}, into="made"),
    "keeps": composer.retain(add, composer.merge(refuse)),
    "repeats": composer.repeat(3, add),
    "named": composer.sequence(
        composer.select({"type": "action", "name": "add", "params": {"n": path("$.n", default=7)}}),
        composer.dynamic(),
    ),
    "raises": composer.sequence(add, composer.raise_error("Sold", path("$.n"))),
    "eca": composer.eca(refuse, add, otherwise=composer.literal({"no": True})),
    "all_paths": composer.select({"all": path("$..n")}),
    "nested": composer.sequence(add, "plain_bundled", add),
    "at_the_limit": composer.repeat(50, add),
}
INPUTS = ({}, {"n": 1}, {"n": 3, "text": "ü €"}, {"error": "given"})
ACTIONS = (add, refuse, endless, lists)
COMMAND = re.compile(r"^wsk (.*)$", re.MULTILINE)


def composed(composition):
    return {"exec": {"kind": "composition", "composition": composition.to_json()}}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Of a server that has each composition itself and, by its README's commands, the bundle of it."""
    actions = {action.name: action.definition() for action in ACTIONS}
    actions["in_a_row"] = {"exec": {"kind": "sequence", "components": ["/_/add", "/_/lists"]}}
    bundled = {f"{name}_bundled": composition for name, composition in COMPOSITIONS.items()}
    bundled["many"] = composer.repeat(51, "add")
    folder = tmp_path_factory.mktemp("bundle")
    bundle("ours", Source(compositions=bundled, actions=actions), "openwhisk", folder)
    data = tmp_path_factory.mktemp("server")
    with running(data, "--auth", AUTH, "--isolation", "none") as server:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            patch.setenv("XINGQIAO_URL", server.url)
            patch.setenv("XINGQIAO_AUTH", AUTH)
            for command in COMMAND.findall((folder / "README.md").read_text()):
                with pytest.raises(SystemExit, match="0"):
                    main(shlex.split(command))
        with server.client() as made:
            for name, composition in COMPOSITIONS.items():
                put(made, name, composed(composition))
            yield made


def put(client, name, document):
    client.put(f"/actions/{name}", json=document).raise_for_status()


def invoked(client, name, params):
    answer = client.post(
        f"/actions/{name}", params={"blocking": "true", "result": "true"}, json=params
    )
    return answer.status_code, answer.json()


def record(client, name, params):
    return client.post(f"/actions/{name}", params={"blocking": "true"}, json=params).json()


# --- what it does ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_its_results_are_those_of_the_composition_itself(client, name):
    for params in INPUTS:
        assert invoked(client, f"{name}_bundled", params) == invoked(client, name, params)


def test_it_is_a_conductor_action_whose_parts_openwhisk_runs(client):
    made = record(client, "plain_bundled", {"n": 1})

    notes = {note["key"]: note["value"] for note in made["annotations"]}
    assert notes["conductor"] is True
    parts = [client.get(f"/activations/{id}").json() for id in made["logs"]]
    assert [part["name"] for part in parts] == [
        "plain_bundled", "add", "plain_bundled", "add", "plain_bundled",
    ]  # fmt: skip
    assert "round 1" in str(parts[2]["logs"])


def test_one_action_too_many_is_a_failure_that_says_so(client):
    status, answer = invoked(client, "many", {})

    assert (status, answer) == (502, {"error": "Too many actions in the composition."})


def test_a_sequence_is_one_there_too(client):
    assert invoked(client, "in_a_row", {"n": 1}) == (200, {"value": [2, {"a": 1.0}]})


def test_a_stranger_cannot_begin_in_the_middle(client):
    status, answer = invoked(
        client, "plain_bundled", {"$xingqiao": {"text": "{}", "signature": "0"}}
    )

    assert status == 502
    assert "the parameter '$xingqiao' was not signed by this deployment" in answer["error"]
