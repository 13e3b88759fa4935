"""Actions of a function app that are more than one file: archives, requirements, functions on other clouds."""

from __future__ import annotations

import json

import pytest

from tests.kit.deploy.archives import wheel, zipped
from tests.kit.deploy.azure_rig import Azurite, Driver
from tests.rigs.answers import answer
from tests.rigs.strict_host import strict_host
from xingqiao import composer
from xingqiao.infra.deploy import BundleError, Options, Source, bundle
from xingqiao.infra.deploy.options import Vpc

ACTIVATION = "0" * 31 + "7"
RECORD = {
    "activationId": ACTIVATION,
    "response": {"success": True, "statusCode": 0, "result": {"far": True}},
}
WHISK = "/api/v1/namespaces/_"
PROJECT = zipped(
    main_py="import inner.units\ndef go(params):\n    return {**params, 'n': inner.units.doubled(params['n'])}\n",
    inner__units_py="def doubled(n):\n    return 2 * n\n",
)


def python(code, **exec):
    return {"exec": {"kind": "python:3", "code": code, **exec}}


def bundled(folder, actions, **options):
    source = Source(
        compositions={"c": composer.sequence(*actions)}, actions=actions, options=Options(**options)
    )
    return bundle("app", source, "azure", folder)


def _asked(driver, id):
    """Runs functions until an execution has come to its last step, which waits. The wait."""
    for _ in range(100):
        driver("work")
        (wait,) = driver("http", method="GET", path=f"executions/{id}")["body"]["waits"]
        if wait["for"] == "/_/ask":
            break
    return wait


@pytest.mark.timeout(400)  # npm and pip install, the first time
def test_archives_and_functions_elsewhere_run_in_the_app(tmp_path, monkeypatch):
    monkeypatch.setenv("XINGQIAO_EGRESS_ALLOW", "127.0.0.1")
    monkeypatch.setenv("XINGQIAO_SECRET_whisk", "id:key-of-tests")
    storage = Azurite()
    with strict_host() as host:
        basic = {"authorization": "Basic aWQ6a2V5LW9mLXRlc3Rz"}
        begun = answer({"activationId": ACTIVATION}, status=202)
        host.on("POST", f"{WHISK}/actions/hello", begun, needs=basic)
        not_yet = answer({"error": "not yet"}, status=404)
        host.on("GET", f"{WHISK}/activations/{ACTIVATION}", not_yet, answer(RECORD), needs=basic)
        far = {
            "kind": "openwhisk:action",
            "function": "hello",
            "host": host.url,
            "credentials": "whisk",
        }
        ask = python("def main(params): return {'ignored': True}")
        ask["annotations"] = [{"key": "completion", "value": "callback"}]
        actions = {"project": python(PROJECT, main="go"), "far": {"exec": far}, "ask": ask}
        bundled(tmp_path / "app", actions)
        driver = Driver(tmp_path / "app", storage.connection)
        try:
            begun = driver("http", method="POST", path="c", body=json.dumps({"n": 4}))
            id = begun["body"]["executionId"]
            wait = _asked(driver, id)
            assert wait["for"] == "/_/ask"
            body = json.dumps({"approved": True})
            driver("http", method="POST", path=f"completions/{wait['token']}", body=body)
            ended = driver("run", execution=id)
        finally:
            driver.close()
            storage.close()

    assert (ended["seen"]["status"], ended["seen"]["result"]) == ("succeeded", {"approved": True})
    assert host.requests[0].json() == {"n": 8}


def test_requirements_of_all_actions_are_installed_when_the_app_is_published(tmp_path):
    one, two = (
        python("pass", requirements=["tiny==1.0", "big"]),
        python("pass", requirements=["big"]),
    )

    steps = bundled(tmp_path, {"one": one, "two": two})

    assert (tmp_path / "requirements.txt").read_text().split()[-2:] == ["tiny==1.0", "big"]
    assert steps[-1] == "func azure functionapp publish APP"


def test_wheels_are_part_of_the_app(tmp_path):
    for name in (
        "azure_functions==1.26.0",
        "azure_data_tables==12.7.0",
        "azure_storage_queue==12.18.1",
        "tiny==1.0",
    ):
        wheel(tmp_path / "wheels", *name.split("=="))

    steps = bundled(
        tmp_path / "app", {"a": python("pass", requirements=["tiny"])}, wheels=tmp_path / "wheels"
    )

    assert (tmp_path / "app/.python_packages/lib/site-packages/tiny.py").exists()
    assert steps[-1] == "func azure functionapp publish APP --no-build"


def test_a_function_of_aws_brings_what_signs_its_requests(tmp_path):
    exec = {
        "kind": "aws:lambda",
        "function": "charge",
        "region": "eu-west-1",
        "credentials": "my-aws",
    }

    steps = bundled(tmp_path, {"a": {"exec": exec}})

    assert "botocore>=1.40,<2" in (tmp_path / "requirements.txt").read_text()
    assert "XINGQIAO_SECRET_my_aws=SECRET" in steps[1]
    deployed = json.loads((tmp_path / "deployed.json").read_text())
    assert deployed["actions"]["/_/a"]["at_most_once"] is True
    assert deployed["elsewhere"]["/_/a"]["exec"]["function"] == "charge"


def test_modules_of_two_actions_may_be_the_same_file_and_not_two_of_one_name(tmp_path):
    same = zipped(main_py="def main(p): return p", util_py="n = 1")
    other = zipped(main_py="def main(p): return 2", util_py="n = 2")

    bundled(tmp_path / "same", {"a": python(same), "b": python(same)})
    with pytest.raises(
        BundleError, match=r"action b: its util\.py differs from the util\.py of action a"
    ):
        bundled(tmp_path / "other", {"a": python(same), "b": python(other)})
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("exec", "options", "says"),
    [
        ({"kind": "nodejs:20", "code": "x"}, {}, "action a: the kind is nodejs:20, and a bundle for Azure runs only Python"),
        ({"kind": "aws:lambda", "function": "f", "credentials": "k"}, {}, "action a: 'exec.region' is missing"),
        ({"kind": "gcp:function", "function": "https://f.example"}, {}, "action a: the kind is gcp:function"),
        ({"kind": "aws:lambda", "function": "f", "mode": "event"}, {}, "action a: the function answers later, by a callback"),
        ({"kind": "azure:function", "function": "f", "host": "https://f.example", "credentials": "ambient"}, {},
         "action a: 'credentials': 'ambient' works for functions of AWS only"),
        ({"kind": "python:3", "code": "x"}, {"platform": "arm64"}, "--platform arm64"),
        ({"kind": "python:3", "code": "x"}, {"vpc": Vpc(subnets=["s"], security_groups=["g"])}, "--config"),
    ],
)  # fmt: skip
def test_what_cannot_run_there_says_why(tmp_path, exec, options, says):
    with pytest.raises(BundleError) as refused:
        bundled(tmp_path / "app", {"a": {"exec": exec}}, **options)

    assert says in str(refused.value)
    assert not (tmp_path / "app").exists()
