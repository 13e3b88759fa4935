"""Bundles for OpenWhisk: what is refused, what is written, and that it conducts as the server does."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kit.composer.compositions import ACTIONS, INPUTS, PLAIN, Grower, plans
from xingqiao import composer
from xingqiao.composer import Completed, Execution, Failure, Limits, path, var
from xingqiao.composer.testing import Fail
from xingqiao.infra.deploy import BundleError, Source, bundle
from xingqiao.infra.deploy.hosted.functions import Functions
from xingqiao.infra.deploy.hosted.openwhisk import (
    MAX_PAYLOAD_BYTES,
    STATE,
    UNKNOWN_STATE,
    Conductor,
)

KEY = b"a key for tests"
TOO_MANY = 1000


def bundled_into(folder, composition, **actions):
    """Bundles it as `c`."""
    bundle("c", Source(compositions={"c": composition}, actions=actions), "openwhisk", folder)
    return folder / "c.zip"


def conductor(composition, key=KEY):
    program = composer.compile(composition)
    return Conductor(program, Functions(program), key, lambda: 0, lambda: "0" * 32)


def conducted(composition, params, fakes):
    """What OpenWhisk makes of it: its controller's loop, with every answer through JSON."""
    ask = conductor(composition)
    for _ in range(TOO_MANY):
        answer = json.loads(json.dumps(ask(params)))
        if "action" not in answer:
            return answer
        fake = fakes[answer["action"].removeprefix("/_/")]
        result = fake(answer["params"])
        boxed = result if isinstance(result, dict) else {"value": result}
        params = {**boxed, **answer["state"]}
    raise AssertionError("it does not end")


def ran(composition, params, fakes):
    """What the machine makes of it without OpenWhisk: nothing is written down between two steps."""
    program = composer.compile(composition)
    functions = Functions(program)
    execution = Execution("0" * 32, program, Limits())
    changes = execution.begin(params, 0)
    while changes.outcome is None:
        ((fiber, command),) = changes.commands
        if command.function is not None:
            event = functions.run(command)
        else:
            fake = fakes[command.action.removeprefix("/_/")]
            event = Completed(command.turn, fake(command.params))
        changes = execution.deliver(fiber, event, 0)
    failed = isinstance(changes.outcome, Failure)
    return changes.outcome.value if failed else {"params": changes.outcome.value}


# --- it conducts -----------------------------------------------------------------------------------


@st.composite
def bundled(draw):
    """Compositions of all that a conductor action can do."""
    grower = Grower(draw, PLAIN[:-1], ())  # the last one begins another execution
    grower.depth = 4
    return composer.let({"x": 0}, grower.part())


def spoken(plan):
    """A fake whose failures are what OpenWhisk hands on of one: an error, without its code."""

    def fake(params):
        answer = plan(params)
        return {"error": answer.error} if isinstance(answer, Fail) else answer

    return fake


@given(bundled(), INPUTS, plans())
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_its_result_is_that_of_the_composition_itself(composition, params, plans):
    fakes = {name: spoken(plans[name]) for name in ACTIONS}

    result = conducted(composition, params, fakes)

    assert result == ran(composition, params, fakes)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The action exceeded its time limits of 60000 milliseconds.", "Timeout"),
        ("The action did not produce a valid response and exited unexpectedly.", "Crashed"),
        ("The action produced a response that exceeded the allowed length: 5 > 4 bytes.",
         "PayloadTooLarge"),
        ("Failed to resolve action with name 'guest/x' during composition.", "NotFound"),
        ("Too many actions in the composition.", "LimitExceeded"),
        ("Nothing that OpenWhisk says.", "ApplicationError"),
    ],
)  # fmt: skip
def test_a_handler_by_code_takes_what_openwhisk_says_in_words(text, code):
    part = composer.do("a", composer.literal({"handled": True}), errors=code)

    assert conducted(part, {}, {"a": lambda _: {"error": text}}) == {"params": {"handled": True}}


def test_what_a_function_sets_counts_even_if_it_fails_then():
    def fails(_, variables):
        variables["n"] += 1
        raise ValueError("no")

    composition = composer.let({"n": 0}, composer.do(fails, composer.select({"n": var("n")})))

    assert conducted(composition, {}, {}) == {"params": {"n": 1}}


def test_a_function_that_ends_its_process_has_only_failed():
    def leaves(_):
        raise SystemExit(3)

    part = composer.do(leaves, composer.literal({"handled": True}), errors="Crashed")

    assert conducted(part, {}, {}) == {"params": {"handled": True}}


def test_a_function_changes_no_value_but_its_own():
    def spoils(params, variables):
        params["list"].append(1)
        variables["kept"]["n"] = 5
        raise ValueError("no")

    composition = composer.let(
        {"kept": {"n": 0}},
        composer.retain(composer.do(spoils, composer.literal({}))),
        composer.select({"p": path("$.params")}),
    )

    assert conducted(composition, {"list": []}, {}) == {"params": {"p": {"list": []}}}


# --- the state -------------------------------------------------------------------------------------


def test_numbers_come_back_as_they_were():
    composition = composer.let(
        {"n": 1.0, "big": 2**60}, "a", composer.select({"n": var("n"), "big": var("big")})
    )

    result = conducted(composition, {}, {"a": lambda _: {}})["params"]

    assert json.dumps(result) == '{"n": 1.0, "big": 1152921504606846976}'


def test_the_value_that_a_component_is_given_is_not_carried_too():
    answer = conductor(composer.sequence("a", "b"))({"long": "x" * 100_000})

    assert len(json.dumps(answer["state"])) < 1000


@pytest.mark.parametrize(
    "forge",
    [
        lambda state: {**state, "text": state["text"].replace('"pc":1', '"pc":2')},
        lambda state: {**state, "signature": "0" * 64},
        lambda state: {**state, "signature": "\u00e9"},
        lambda state: {"text": state["text"]},
        lambda _: {},
        lambda state: state["text"],
        lambda _: None,
    ],
)
def test_a_state_that_it_has_not_written_is_refused(forge):
    ask = conductor(composer.sequence("check_who_asks", "pay"))
    state = ask({})["state"][STATE]

    assert ask({STATE: forge(state)}) == {"error": UNKNOWN_STATE}
    assert ask({STATE: state})["action"] == "/_/pay"


def test_a_state_of_another_deployment_is_refused():
    composition = composer.sequence("a", "b")
    state = conductor(composition, b"another key")({})["state"]

    assert conductor(composition)(state) == {"error": UNKNOWN_STATE}


def test_what_is_too_large_for_openwhisk_fails_and_can_be_handled():
    composition = composer.do("a", composer.select({"said": path("$.error")}))

    result = conducted(composition, {"x": "x" * MAX_PAYLOAD_BYTES}, {})["params"]["said"]

    assert result["code"] == "LimitExceeded"
    assert "/_/a cannot be invoked" in result["message"]
    assert f"OpenWhisk allows {MAX_PAYLOAD_BYTES}" in result["message"]


# --- what is refused -------------------------------------------------------------------------------

JS = {"type": "function", "function": {"exec": {"kind": "nodejs:20", "code": "p => p"}}}
SEVERAL = "a conductor action has one thread of control, and OpenWhisk cannot join branches"
NO_CLOCK = "nothing wakes a conductor action at a given time"
NO_STORE = "it needs a store that survives a crash, and a conductor action has none"


@pytest.mark.parametrize(
    ("part", "what"),
    [
        (composer.parallel("a", "b"), f"components[1]: OpenWhisk cannot run 'parallel': {SEVERAL}"),
        (composer.map("a"), f"components[1]: OpenWhisk cannot run 'map': {SEVERAL}"),
        (composer.race("a", "b"), f"components[1]: OpenWhisk cannot run 'race': {SEVERAL}"),
        (composer.graph({"x": "a"}), f"components[1]: OpenWhisk cannot run 'graph': {SEVERAL}"),
        (composer.asynchronous("a"), "components[1]: OpenWhisk cannot run 'async': a conductor action has no key"),
        (composer.wait(1), f"components[1]: OpenWhisk cannot run 'wait': {NO_CLOCK}"),
        (composer.timeout(1, "a"), f"components[1]: OpenWhisk cannot run 'timeout': {NO_CLOCK}"),
        (composer.retry(1, "a", delay=1),
         "components[1]: OpenWhisk cannot run 'retry': it cannot wait for a 'delay': " + NO_CLOCK),
        (composer.retry(1, "a", on_exhausted="pause"),
         "components[1]: OpenWhisk cannot run 'retry': it cannot 'pause' for an operator: " + NO_STORE),
        (composer.saga(composer.step("a", undo="b")), f"components[1]: OpenWhisk cannot run 'saga': {NO_STORE}"),
        (composer.transaction(composer.participant(prepare="a", commit="b", abort="c")),
         f"components[1]: OpenWhisk cannot run 'transaction': {NO_STORE}"),
        (composer.call("e", "k", "op"), "components[1]: OpenWhisk cannot run 'call': entities exist only on a Xingqiao server"),
        (composer.when("a", composer.ensure("b", composer.wait(1))),
         "components[1].consequent.finalizer: OpenWhisk cannot run 'wait': "),
        (composer.parse(JS),
         "components[1]: OpenWhisk cannot run 'function': a conductor action runs only Python inline, and the function is of kind 'nodejs:20'"),
    ],
)  # fmt: skip
def test_what_a_conductor_action_cannot_do_is_refused(part, what, tmp_path):
    with pytest.raises(BundleError) as refused:
        bundled_into(tmp_path, composer.sequence("a", part))

    assert str(refused.value).startswith(f"composition c, {what}")


def test_an_entity_is_refused(tmp_path):
    document = {
        "exec": {"kind": "python:3", "code": "..."},
        "annotations": [{"key": "entity", "value": True}],
    }

    with pytest.raises(
        BundleError, match="action account: entities exist only on a Xingqiao server"
    ):
        bundled_into(tmp_path, composer.task("a"), account=document)


def test_a_function_of_aws_needs_a_secret(tmp_path):
    document = {"exec": {"kind": "aws:lambda", "function": "hello", "region": "eu-west-1"}}

    with pytest.raises(
        BundleError, match="action hello: an OpenWhisk host has no credentials for AWS"
    ):
        bundled_into(tmp_path, composer.task("hello"), hello=document)


def test_actions_alone_need_no_conductor(tmp_path):
    with pytest.raises(BundleError, match="the source has no composition"):
        bundle("c", Source(compositions={}, actions={}), "openwhisk", tmp_path)


# --- what is written -------------------------------------------------------------------------------


def test_the_parser_of_paths_comes_along_where_there_is_one_to_parse(tmp_path):
    plain = bundled_into(tmp_path / "plain", composer.select(path("$.a.b[0]")))
    rich = bundled_into(tmp_path / "rich", composer.select(path("$.a[*]")))

    for archive, comes in ((plain, False), (rich, True)):
        with zipfile.ZipFile(archive) as made:
            assert ("jsonpath/__init__.py" in made.namelist()) == comes


def test_it_runs_with_nothing_else_there(tmp_path):
    """As OpenWhisk's Python runtime has it: unpacked, its main file renamed, and imported from there."""

    def twice(params):
        return {"n": params["n"] * 2}

    composition = composer.sequence(twice, "a", composer.select({"all": path("$.list[*]")}))
    there = tmp_path / "there"
    with zipfile.ZipFile(bundled_into(tmp_path, composition)) as archive:
        archive.extractall(there)
    (there / "__main__.py").rename(there / "main__.py")
    asked = (
        f"import sys, json; sys.path.insert(0, {str(there)!r}); from main__ import main; "
        "asked = main({'n': 21}); "
        "ended = main({'list': [1, 2], **json.loads(json.dumps(asked['state']))}); "
        "print(asked['action'], asked['params'], ended)"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", asked], capture_output=True, text=True, check=False,
        env={"__OW_ACTIVATION_ID": "0" * 32},
    )  # fmt: skip

    assert done.stdout == "/_/a {'n': 42} {'params': {'all': [1, 2]}}\n", done.stderr


def test_an_older_python_is_told_which_it_takes(tmp_path):
    with zipfile.ZipFile(bundled_into(tmp_path, composer.task("a"))) as archive:
        source = archive.read("__main__.py").decode()
    first = source[: source.index("from pathlib")]
    assert ast.parse(first, feature_version=(3, 7))

    with pytest.raises(RuntimeError, match=r"create the action with --kind python:3\.11"):
        exec(first.replace("sys.version_info", "(3, 10)"), {})


def test_what_a_bundle_says_is_the_command_for_each_action(tmp_path):
    code = {"kind": "nodejs:20", "code": "exports.main = p => p", "main": "go"}
    actions = {
        "row": {"exec": {"kind": "sequence", "components": ["/_/js", "/_/py"]}},
        "js": {"exec": code, "limits": {"timeout": 5, "memory": 256}},
        "py": {"exec": {"kind": "python:3", "code": "..."},
               "annotations": [{"key": "web-export", "value": True}],
               "parameters": [{"key": "at", "value": "a b"}]},
    }  # fmt: skip

    source = Source(compositions={"c": composer.task("js")}, actions=actions)

    assert bundle("c", source, "openwhisk", tmp_path)[1:] == [
        "wsk action update js js.js --kind nodejs:20 --main go --timeout 5 --memory 256",
        (
            "wsk action update py py.py --kind python:3.11 --annotation web-export true "
            "--param at '\"a b\"'"
        ),
        "wsk action update row /_/js,/_/py --sequence",
        "wsk action update c c.zip --kind python:3.11 --annotation conductor true",
    ]
    assert (tmp_path / "js.js").read_text() == code["code"]
