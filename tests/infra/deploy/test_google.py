"""Bundles for Google Cloud: what is refused, and what is written. That it runs: `test_google_deployed`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from xingqiao import composer
from xingqiao.infra.deploy import BundleError, Source, bundle
from xingqiao.infra.deploy.google import MAX_PROGRAM, service_of

RIG = Path(__file__).parents[2] / "rigs/requirements-gcp.txt"
CODE = {"kind": "python:3", "code": "def go(p): return p", "main": "go"}


def bundled_into(folder, composition, **actions):
    source = Source(compositions={"c": composition}, actions=actions)
    return bundle("app", source, "google", folder)


@pytest.mark.parametrize(
    ("composition", "document", "why"),
    [
        (composer.task("x"), {"exec": CODE}, "composition c: the code of /_/x is missing"),
        (composer.task("a"), {"exec": CODE, "limits": {"timeout": 900_000}},
         "action a: timeout 900000 milliseconds exceeds"),
        (composer.task("a"), {"exec": {"kind": "nodejs:20", "code": "..."}},
         "a bundle for Google Cloud runs only Python"),
        (composer.retry(1, "a", on_exhausted="pause"), {"exec": CODE}, "waits for an operator"),
        (composer.saga(composer.step("a", undo="a")), {"exec": CODE}, "waits for an operator"),
        (composer.call("a", "key", "op"), {"exec": CODE}, "only a server keeps entities"),
    ],
)  # fmt: skip
def test_what_cannot_run_there_is_refused(composition, document, why, tmp_path):
    with pytest.raises(BundleError, match=why):
        bundled_into(tmp_path, composition, a=document)


def test_a_program_is_as_large_as_a_document_holds(tmp_path):
    empty = len(json.dumps(composer.compile(composer.literal("")).to_json()))
    bundled_into(tmp_path, composer.literal("x" * (MAX_PROGRAM - empty)))

    with pytest.raises(
        BundleError, match=f"has {MAX_PROGRAM + 1} bytes, and a document of Firestore"
    ):
        bundled_into(tmp_path, composer.literal("x" * (MAX_PROGRAM - empty + 1)))


def test_functions_and_their_description_are_written(tmp_path):
    once = {"exec": CODE, "annotations": [{"key": "at-most-once", "value": True}]}
    commands = bundled_into(tmp_path, composer.task("p/a"), **{"p/a": {"exec": CODE}, "once": once})

    assert commands == [f"cd {tmp_path}", "terraform init", "terraform apply -var project=PROJECT"]
    main = (tmp_path / "actions/main.py").read_text()
    assert "action_p_a = wrapped(HERE / \"p-a.py\", 'go', at_most_once=False)" in main
    assert "action_once = wrapped(HERE / \"once.py\", 'go', at_most_once=True)" in main
    assert (tmp_path / "actions/code/p-a.py").read_text() == CODE["code"]
    deployed = json.loads((tmp_path / "conductor/deployed.json").read_text())
    assert deployed["functions"] == {"/_/p/a": "p-a", "/_/once": "once"}
    readme = (tmp_path / "README.md").read_text()
    assert '"$URL/c"' in readme
    assert "| `app-p-a` | the queue `app-p-a` | runs the action `p/a` |" in readme


def test_archives_hold_what_the_folders_do_and_actions_hold_no_conductor(tmp_path):
    bundled_into(tmp_path, composer.task("a"), a={"exec": CODE})

    names = {}
    for name in ("conductor", "actions"):
        with zipfile.ZipFile(tmp_path / f"{name}.zip") as archive:
            names[name] = set(archive.namelist())
        files = {
            p.relative_to(tmp_path / name).as_posix()
            for p in (tmp_path / name).rglob("*")
            if p.is_file()
        }
        assert names[name] == files
    hosted = "xingqiao/infra/deploy/hosted"
    assert {"main.py", "requirements.txt", "deployed.json", f"{hosted}/google.py"} <= names[
        "conductor"
    ]
    assert not [name for name in names["actions"] if "composer" in name or "conductor" in name]


def test_an_actions_module_loads_without_the_conductor_and_without_any_library(tmp_path):
    bundled_into(tmp_path, composer.task("a"), a={"exec": CODE})
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'actions')!r}); import main; main.action_a; "
        "assert not [m for m in sys.modules if 'composer' in m]"
    )

    subprocess.run([sys.executable, "-I", "-S", "-B", "-c", program], check=True)


def test_without_an_action_there_is_no_function_for_one(tmp_path):
    bundled_into(tmp_path, composer.task("a"), a={"exec": CODE})
    bundled_into(tmp_path, composer.literal({}))

    assert not (tmp_path / "actions").exists()
    assert not (tmp_path / "actions.zip").exists()
    assert "(no action)" in (tmp_path / "README.md").read_text()


def test_terraforms_state_and_files_of_the_user_outlive_the_next_bundle(tmp_path):
    bundled_into(tmp_path, composer.task("a"), a={"exec": CODE})
    for name in ("terraform.tfstate", "backend.tf", "override.tf"):
        (tmp_path / name).write_text(name)

    bundled_into(tmp_path, composer.literal({}))

    for name in ("terraform.tfstate", "backend.tf", "override.tf"):
        assert (tmp_path / name).read_text() == name


def test_names_are_those_that_google_takes_and_none_is_there_twice(tmp_path):
    names = ("a_b", "a-b", "A b", "conductor", "http", "x" * 60, "7th", "p/a_b")
    actions = {name: {"exec": CODE} for name in names}
    bundled_into(tmp_path, composer.sequence(*names), **actions)

    keys = json.loads((tmp_path / "conductor/deployed.json").read_text())["functions"].values()
    assert len(set(keys)) == len(names)
    assert all(re.fullmatch("[a-z][a-z0-9-]{0,19}", key) for key in keys)
    assert not {"conductor", "http"} & set(keys)


def test_bundles_of_one_project_have_resources_of_their_own():
    names = ("order", "Order", "order-2", "o" * 100, "o" * 101, "7th", "中国", "a--b", "a-b")
    services = [service_of(name) for name in names]

    assert len(set(services)) == len(names)
    assert all(re.fullmatch("[a-z][a-z0-9-]{1,18}[a-z0-9]", service) for service in services)
    assert services[0] == "order"
    assert services[2] == "order-2"


def test_what_a_bundle_installs_is_what_was_tested(tmp_path):
    bundled_into(tmp_path, composer.task("a"), a={"exec": CODE})

    tested = set(RIG.read_text().split())
    for name in ("conductor", "actions"):
        assert set((tmp_path / name / "requirements.txt").read_text().split()) <= tested
