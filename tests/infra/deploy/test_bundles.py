"""What every bundle is made of; and what cannot be bundled says which part, and why."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from xingqiao import composer
from xingqiao.composer import path
from xingqiao.infra.deploy import TARGETS, BundleError, Source, bundle, hosted
from xingqiao.infra.deploy.yaml import to_yaml

HOSTED = Path(hosted.__file__).parent
CODE = {"exec": {"kind": "python:3", "code": "def main(p):\n    return p\n"}}
OWN = {
    "aws_table": {"botocore"},
    "aws": {"boto3", "botocore"},
    "aws_actions": {"boto3", "botocore"},
}


def source(composition=None, *, name="main", actions=None, **others):
    compositions = {} if composition is None else {name: composition}
    return Source(compositions={**compositions, **others}, actions=actions or {"a": CODE})


def write(given, folder):
    return bundle("thing", given, "aws", folder)


# --- what is written -----------------------------------------------------------------------------


def test_it_loads_from_its_archive_with_nothing_else(tmp_path):
    write(source(composer.sequence("a", "inner"), inner=composer.map("a")), tmp_path)
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'code.zip')!r}); "
        "from xingqiao.infra.deploy.hosted import conductor, endpoints; "
        "from xingqiao import composer; print(composer.__file__)"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False
    )

    assert done.stdout.startswith(str(tmp_path / "code.zip")), done.stderr


UNNEEDED = (
    "asyncio",
    "xingqiao.composer.views.diagram",
    "xingqiao.composer.dsl",
    "xingqiao.composer.languages.asl.checking.diagnostics",
    "xingqiao.composer.languages.jsonata",
)


def test_a_cold_start_imports_what_the_conductor_needs(tmp_path):
    write(source(composer.sequence("a")), tmp_path)
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'code')!r}); "
        "from xingqiao.infra.deploy.hosted import conductor, endpoints; "
        f"print([name for name in {UNNEEDED} if name in sys.modules])"
    )
    names = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'code')!r}); from xingqiao import composer; "
        "print([name for name in composer.__all__ if getattr(composer, name).__class__.__name__ == 'module'], "
        "hasattr(composer, 'nothing'), set(composer.__all__) <= set(dir(composer)))"
    )

    assert alone(program) == "[]"
    assert alone(names) == "['asl'] False True", (
        "a door hands on what it says, once it is asked for"
    )


def alone(program):
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_what_is_there_says_what_is_deployed(tmp_path):
    document = {**CODE, "limits": {"timeout": 5_000}, "parameters": [{"key": "k", "value": 1}],
                "annotations": [{"key": "at-most-once", "value": True}]}  # fmt: skip
    next_steps = write(source(composer.sequence("a"), actions={"a": document}), tmp_path)

    deployed = json.loads((tmp_path / "code/deployed.json").read_text())

    assert list(deployed["programs"]) == ["/_/main"]
    assert deployed["actions"] == {
        "/_/a": {"timeout_ms": 5_000, "at_most_once": True, "parameters": {"k": 1}}
    }
    assert (tmp_path / "code/actions/actionA.py").read_text() == CODE["exec"]["code"]
    assert next_steps == [f"cd {tmp_path} && npx osls deploy"]


@pytest.mark.parametrize(
    ("expression", "comes"), [(path("$.items[*].n"), True), (path("$.items[0].n"), False)]
)
def test_the_library_of_paths_comes_when_a_path_needs_it(tmp_path, expression, comes):
    write(source(composer.select({"n": expression})), tmp_path)

    assert (tmp_path / "code/jsonpath").is_dir() is comes
    licenses = [path.name for path in tmp_path.glob("code/jsonpath/LICENSE*")]
    assert bool(licenses) is comes


def test_the_same_source_gives_the_same_archive(tmp_path):
    for folder in ("one", "two"):
        write(source(composer.sequence("a")), tmp_path / folder)

    one, two = ((tmp_path / folder / "code.zip").read_bytes() for folder in ("one", "two"))
    assert one == two


def test_what_an_earlier_bundle_has_left_is_gone(tmp_path):
    write(source(composer.sequence("a", "b"), actions={"a": CODE, "b": CODE}), tmp_path)
    for name in ("composer", "hosted"):  # where bundles had our code before there was one package
        (tmp_path / "code" / name).mkdir()
        (tmp_path / "code" / name / "stale.py").write_text("")
    write(source(composer.sequence("a")), tmp_path)

    names = zipfile.ZipFile(tmp_path / "code.zip").namelist()
    assert [name for name in names if name.startswith("actions/")] == ["actions/actionA.py"]
    assert {name.split("/")[0] for name in names} == {
        "actions", "conductor.py", "deployed.json", "wrappers.py", "xingqiao",
    }  # fmt: skip


def test_names_that_look_alike_are_functions_of_their_own(tmp_path):
    names = ["read file", "read-file", "a-name-that-is-longer-than-what-lambda-takes", "pkg/read"]
    write(source(composer.sequence(*names), actions=dict.fromkeys(names, CODE)), tmp_path)

    functions = json.loads((tmp_path / "code/deployed.json").read_text())["functions"]

    assert len(set(functions.values())) == 4
    assert all(len(name) <= 20 and name.isalnum() for name in functions.values())


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (source(), "the source has no composition"),
        (source(composer.sequence("b")), "composition main: the code of /_/b is missing"),
        (source(composer.retry(1, "a", on_exhausted="pause")), "on_exhausted='pause'"),
        (source(composer.within("a", heartbeat=5)), "cannot limit 'heartbeat': only a server"),
        (source(composer.within("a", to_start=5)), "cannot limit 'to_start': its steps wait"),
        (source(composer.saga(composer.step("a", undo="a"))), "a stuck saga"),
        (source(composer.call("bank", "key", "read")), "only a server keeps entities"),
        (source(composer.queries("run", state=1)), "only a server answers queries"),
        (source(composer.sequence("a"), name="a b"), "composition 'a b': the name becomes part of a URL"),
        (source(composer.sequence("a"), actions={"a": {"exec": {"kind": "python:3", "code": "UEsDBAAA", "binary": True}}}),
         "action a: the archive cannot be unpacked"),
        (source(composer.sequence("a"), actions={"a": {"exec": {"kind": "cobol", "code": "x"}}}), "action a: "),
        (source(composer.sequence("a"), actions={"a": {"exec": {"kind": "sequence", "components": ["/_/b"]}}}),
         "action a: the kind is sequence, and a bundle takes only code"),
        (source(composer.sequence("a"), actions={"a": {**CODE, "annotations": [{"key": "entity", "value": True}]}}),
         "action a: the action is an entity"),
    ],
)  # fmt: skip
def test_what_cannot_be_bundled_says_which_part(tmp_path, given, says):
    with pytest.raises(BundleError) as refused:
        write(given, tmp_path / "bundle")

    assert says in str(refused.value)
    assert not (tmp_path / "bundle").exists()


def test_a_cloud_that_there_is_not(tmp_path):
    with pytest.raises(BundleError, match="target 'moon' does not exist: give one of aws"):
        bundle("thing", source(composer.sequence("a")), "moon", tmp_path)
    assert "aws" in TARGETS


# --- what runs there -----------------------------------------------------------------------------


@pytest.mark.parametrize("module", sorted(HOSTED.glob("*.py")), ids=lambda path: path.stem)
def test_what_runs_in_a_cloud_imports_nothing_else(module):
    """As the contract of import-linter says; this knows of every distribution."""
    cloud = {"azure"} if "azure" in module.stem else OWN.get(module.stem, set())
    allowed = set(sys.stdlib_module_names) | cloud
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            assert {alias.name.split(".")[0] for alias in node.names} <= allowed
        elif isinstance(node, ast.ImportFrom) and not node.level:
            assert node.module.split(".")[0] in allowed


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": {"b": [1, {"c": True, "d": "x"}]}}, "a:\n  b:\n    - 1\n    - c: true\n      d: x\n"),
        ({"a": [["x"], []], "b": {}}, "a:\n  - - x\n  - []\nb: {}\n"),
        ({"v": ["1.0", "yes", "a: b", "*", "", "rate(1 minute)", "${x}", None]},
         'v:\n  - "1.0"\n  - "yes"\n  - "a: b"\n  - "*"\n  - ""\n  - "rate(1 minute)"\n  - "${x}"\n  - null\n'),
    ],
)  # fmt: skip
def test_yaml_is_what_people_write(value, text):
    assert to_yaml(value) == text


def test_a_folder_that_holds_anything_else_is_not_written_to(tmp_path):
    folder = tmp_path / "mine"
    (folder / "actions").mkdir(parents=True)
    (folder / "actions" / "mine.py").write_text("precious")

    with pytest.raises(BundleError, match="the folder holds files that do not belong to a bundle"):
        bundle("main", source(composer.literal({})), "azure", folder)
    assert (folder / "actions" / "mine.py").read_text() == "precious"

    for _ in range(2):  # its own it replaces
        bundle("main", source(composer.literal({})), "azure", tmp_path / "new")
