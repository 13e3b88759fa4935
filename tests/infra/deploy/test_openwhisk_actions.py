"""Actions of a bundle for OpenWhisk: archives, requirements, functions on other clouds."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile

import pytest

from tests.kit.deploy.archives import wheel, zipped
from tests.rigs.answers import answer, throttled
from tests.rigs.strict_host import strict_host
from xingqiao import composer
from xingqiao.infra.deploy import BundleError, Options, Source, bundle
from xingqiao.infra.deploy.elsewhere.openwhisk import elsewhere
from xingqiao.infra.deploy.openwhisk import MAX_CODE, check_code_size
from xingqiao.infra.deploy.options import Vpc

ACTIVATION, ID = "0" * 31 + "7", "a" * 32
WHISK = "/api/v1/namespaces/_"


def bundled(folder, document, **options):
    source = Source(
        compositions={"c": composer.task("a")}, actions={"a": document}, options=Options(**options)
    )
    return bundle("app", source, "openwhisk", folder)


def unpacked(archive, to):
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(to)
    return to


def run(folder, params):
    """Runs an action as OpenWhisk's Python runtime does: its files are in the working directory."""
    program = "import json, sys; sys.path.insert(0, '.'); from __main__py import main; print(json.dumps(main(json.loads(sys.argv[1]))))"
    (folder / "__main__py.py").write_text((folder / "__main__.py").read_text())
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, json.dumps(params)], cwd=folder, capture_output=True, text=True,
        check=False, env={"__OW_ACTIVATION_ID": ID},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_requirements_are_in_the_archive_beside_the_code(tmp_path):
    wheel(tmp_path / "wheels", "tiny", source="ONE = 1\n")
    code = "import tiny\ndef main(params):\n    return {'n': tiny.ONE}\n"
    document = {"exec": {"kind": "python:3", "code": code, "requirements": ["tiny"]}}

    steps = bundled(tmp_path / "out", document, wheels=tmp_path / "wheels")

    assert steps[1] == "wsk action update a a.zip --kind python:3.11"
    assert run(unpacked(tmp_path / "out/a.zip", tmp_path / "a"), {}) == {"n": 1}


def test_an_archive_keeps_its_files_and_gets_its_requirements(tmp_path):
    wheel(tmp_path / "wheels", "tiny", source="ONE = 1\n")
    code = zipped(
        main_py="import tiny, util\ndef main(p): return {'n': util.n + tiny.ONE}", util_py="n = 2"
    )
    document = {"exec": {"kind": "python:3", "code": code, "requirements": ["tiny"]}}

    bundled(tmp_path / "out", document, wheels=tmp_path / "wheels")

    assert run(unpacked(tmp_path / "out/a.zip", tmp_path / "a"), {}) == {"n": 3}


def test_an_archive_without_requirements_is_what_was_given(tmp_path):
    code = zipped(package_json='{"main": "a.js"}', a_js="exports.main = p => p")

    steps = bundled(tmp_path / "out", {"exec": {"kind": "nodejs:20", "code": code}})

    assert steps[1] == "wsk action update a a.zip --kind nodejs:20"
    assert sorted(zipfile.ZipFile(tmp_path / "out/a.zip").namelist()) == ["a.js", "package.json"]


def test_code_has_a_limit(tmp_path):
    file = tmp_path / "a.zip"
    with file.open("wb") as made:
        made.truncate(MAX_CODE)
    check_code_size("a", file)

    with file.open("ab") as made:
        made.truncate(MAX_CODE + 1)
    with pytest.raises(
        BundleError, match="action a: the code and its requirements have 50,331,649"
    ):
        check_code_size("a", file)


# --- functions on other clouds ---------------------------------------------------------------------


def remote(exec):
    return {"exec": exec, "limits": {"timeout": 30_000}}


def test_a_function_elsewhere_is_an_action_of_its_own(tmp_path):
    exec = {"kind": "http", "function": "http://127.0.0.1:9/charge", "credentials": "mine"}

    steps = bundled(tmp_path / "out", remote(exec))

    assert "--param XINGQIAO_SECRET_mine SECRET" in steps[1]
    said = run(unpacked(tmp_path / "out/a.zip", tmp_path / "a"), {"n": 1})
    assert said["error"]["code"] == "Permission"


@pytest.fixture
def action(tmp_path, monkeypatch):
    """Makes the `main` of a function elsewhere, whose waits take no time."""
    monkeypatch.setenv("__OW_ACTIVATION_ID", ID)
    monkeypatch.setenv("XINGQIAO_EGRESS_ALLOW", "127.0.0.1")
    monkeypatch.setenv("XINGQIAO_SECRET_mine", "")

    def made(exec, waits):
        bundled(tmp_path / "out", remote(exec))
        return elsewhere(unpacked(tmp_path / "out/a.zip", tmp_path / "a"), waits.append)

    return made


def test_it_waits_for_a_run_that_was_accepted_and_passes_its_secret_on_to_nobody(action):
    waits, record = [], {"response": {"success": True, "result": {"n": 2}}}
    with strict_host() as host:
        basic = {"authorization": "Basic aWQ6a2V5LW9mLXRlc3Rz"}
        accepted = answer({"activationId": ACTIVATION}, status=202)
        host.on("POST", f"{WHISK}/actions/hello", throttled(3), accepted, needs=basic)
        not_yet = answer({"error": "not yet"}, status=404)
        host.on("GET", f"{WHISK}/activations/{ACTIVATION}", not_yet, answer(record), needs=basic)
        far = {
            "kind": "openwhisk:action",
            "function": "hello",
            "host": host.url,
            "credentials": "mine",
        }

        said = action(far, waits)({"n": 1, "XINGQIAO_SECRET_mine": "id:key-of-tests"})

    assert said == {"n": 2}
    assert host.requests[0].json() == {"n": 1}
    assert waits == [3, 1, 1]


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [(200, [1], {"value": [1]}), (500, {"error": "broke"}, {"error": "broke"})],
)
def test_its_result_is_an_object(action, status, body, said):
    with strict_host() as host:
        host.on("POST", "/f", answer(body, status=status))

        assert action({"kind": "http", "function": f"{host.url}/f"}, [])({}) == said


def test_a_secret_may_be_an_object(action):
    secret = {"type": "bearer", "token": "t0ken-of-tests"}
    with strict_host() as host:
        host.on("POST", "/f", answer({}), needs={"authorization": "Bearer t0ken-of-tests"})
        far = {"kind": "http", "function": f"{host.url}/f", "credentials": "mine"}

        assert action(far, [])({"XINGQIAO_SECRET_mine": secret}) == {}


@pytest.mark.parametrize(
    ("exec", "options", "says"),
    [
        ({"kind": "aws:lambda", "function": "f", "credentials": "k"}, {}, "action a: 'exec.region' is missing"),
        ({"kind": "gcp:function", "function": "https://f.example"}, {}, "action a: the kind is gcp:function"),
        ({"kind": "python:3", "code": "x"}, {"vpc": Vpc(subnets=["s"], security_groups=["g"])}, "--config"),
    ],
)  # fmt: skip
def test_what_cannot_run_there_says_why(tmp_path, exec, options, says):
    with pytest.raises(BundleError) as refused:
        bundled(tmp_path, {"exec": exec}, **options)

    assert says in str(refused.value)


def test_an_action_that_answers_later_is_refused(tmp_path):
    notes = [{"key": "completion", "value": "callback"}]
    document = {"exec": {"kind": "python:3", "code": "def main(p): return p"}, "annotations": notes}

    with pytest.raises(BundleError, match="action a: the action answers later, by a callback"):
        bundled(tmp_path, document)


def test_what_fails_halfway_leaves_nothing_behind(tmp_path):
    good = {"exec": {"kind": "python:3", "code": "def main(p): return p"}}
    bad = {"exec": {"kind": "cloudevents", "function": "https://e.example/"}}
    source = Source(compositions={"c": composer.sequence("a", "b")}, actions={"a": good, "b": bad})

    with pytest.raises(BundleError, match="action b: "):
        bundle("app", source, "openwhisk", tmp_path / "out")
    assert not (tmp_path / "out").exists()
