"""Bundles for OpenWhisk: what is refused, and what is written."""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile

import pytest

from xingqiao import composer
from xingqiao.composer import path
from xingqiao.infra.deploy import BundleError, Source, bundle


def bundled_into(folder, composition, **actions):
    """Bundles it as `c`."""
    bundle("c", Source(compositions={"c": composition}, actions=actions), "openwhisk", folder)
    return folder / "c.zip"


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
