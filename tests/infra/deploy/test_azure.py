"""Bundles for Azure: what is refused, and what is written. That it runs: `test_azure_deployed`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from xingqiao import composer
from xingqiao.infra.deploy import BundleError, Source, bundle

RIG = Path(__file__).parents[2] / "rigs/requirements-azure.txt"
CODE = {"kind": "python:3", "code": "def go(p): return p", "main": "go"}


def bundled_into(folder, composition, **actions):
    source = Source(compositions={"c": composition}, actions=actions)
    return bundle("app", source, "azure", folder)


@pytest.mark.parametrize(
    ("composition", "document", "why"),
    [
        (composer.task("x"), {"exec": CODE}, "composition c: the code of /_/x is missing"),
        (composer.task("a"), {"exec": CODE, "limits": {"timeout": 900_000}},
         "action a: timeout 900000 milliseconds exceeds"),
        (composer.task("a"), {"exec": {"kind": "nodejs:20", "code": "..."}}, "action a: "),
        (composer.retry(1, "a", on_exhausted="pause"), {"exec": CODE}, "waits for an operator"),
        (composer.saga(composer.step("a", undo="a")), {"exec": CODE}, "waits for an operator"),
        (composer.literal("x" * 500_000), {"exec": CODE}, "composition c: the compiled program has"),
        (composer.call("a", "key", "op"), {"exec": CODE}, "only a server keeps entities"),
    ],
)  # fmt: skip
def test_what_cannot_run_there_is_refused(composition, document, why, tmp_path):
    with pytest.raises(BundleError, match=why):
        bundled_into(tmp_path, composition, a=document)


def test_a_function_app_is_written(tmp_path):
    commands = bundled_into(tmp_path, composer.task("p/a"), **{"p/a": {"exec": CODE}})

    assert commands[-1] == "func azure functionapp publish APP"
    assert (tmp_path / "actions/p.a.py").read_text() == CODE["code"]
    deployed = json.loads((tmp_path / "deployed.json").read_text())
    assert deployed["code"] == {"/_/p/a": {"file": "actions/p.a.py", "main": "go"}}
    host = json.loads((tmp_path / "host.json").read_text())
    assert host["extensions"]["queues"]["batchSize"] == 1
    settings = json.loads((tmp_path / "local.settings.json.example").read_text())
    assert settings["Values"]["AzureWebJobsStorage"] == "UseDevelopmentStorage=true"
    assert "POST https://APP.azurewebsites.net/c" in (tmp_path / "README.md").read_text()


def test_bundles_of_one_account_have_queues_of_their_own(tmp_path):
    prefixes = []
    for name in ("order", "Order", "order-2", "o" * 100, "7th", "中国"):
        source = Source(compositions={"c": composer.literal({})}, actions={})
        bundle(name, source, "azure", tmp_path / name)
        prefixes.append(json.loads((tmp_path / name / "deployed.json").read_text())["storage"])
        assert prefixes[-1] in (tmp_path / name / "README.md").read_text()

    assert len(set(prefixes)) == len(prefixes)
    assert all(re.fullmatch("[a-z][a-z0-9]{2,23}", prefix) for prefix in prefixes)
    assert prefixes[0].startswith("xorder")


def test_what_a_bundle_installs_is_what_was_tested(tmp_path):
    bundled_into(tmp_path, composer.task("a"), a={"exec": CODE})

    wanted = (tmp_path / "requirements.txt").read_text().split()
    assert set(wanted) < set(RIG.read_text().split())
