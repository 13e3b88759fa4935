"""The distribution as users install it: one package, beside folders of theirs that are called as ours are."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import version
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[1]
VERSION = version("xingqiao")
pytestmark = pytest.mark.timeout(300)  # environments are made, and a type checker starts cold
FOLDERS = ("composer", "actions", "adapters", "transactions", "infra")
THEIRS = ("infra", "actions", "composer", "tests")
PROJECT = {
    **{f"{folder}/__init__.py": "OWNER = 'user'\n" for folder in THEIRS},
    "tests/test_pipeline.py": """
        import actions
        import composer as own
        import infra
        from pipeline import pipeline
        from xingqiao.testing import Fail

        def test_their_folders_are_theirs():
            assert [own.OWNER, infra.OWNER, actions.OWNER] == ["user"] * 3

        def test_their_composition(simulate):
            assert simulate(pipeline, {"n": 20}, actions={"half": [Fail(), {"n": 10}]}).value == {"n": 11}
        """,
    "pipeline.py": """
        from xingqiao import composer

        @composer.action
        def half(params):
            return {"n": params["n"] // 2}

        def grow(params):
            return {"n": params["n"] + 1}

        pipeline = composer.sequence(composer.retry(1, half), grow)
        """,
    "program.py": """
        import asyncio
        import composer
        from pipeline import pipeline
        from xingqiao.embedded import ActionError, embedded

        async def main():
            async with embedded() as engine:
                await engine.deploy("pipeline", pipeline)
                print(composer.OWNER, await engine.invoke("pipeline", {"n": 20}))
                try:
                    await engine.invoke("pipeline", {})
                except ActionError as error:
                    print(error.failure.code)

        asyncio.run(main())
        """,
}


def run(*command, cwd, **environment):
    """What a command prints that must end well, with nothing of this repository on its path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env={**kept, **environment}, capture_output=True, text=True,
        check=False, timeout=250,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def built(sources, folder, target):
    """A distribution built of sources, with the hatchling that is installed: no network."""
    run(sys.executable, "-m", "hatchling", "build", "-t", target, "-d", folder, cwd=sources)
    (made,) = folder.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return built(ROOT, tmp_path_factory.mktemp("wheel"), "wheel")


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    return built(ROOT, tmp_path_factory.mktemp("sdist"), "sdist")


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """The Python of a fresh environment with the wheel; the libraries are those of this one."""
    home = tmp_path_factory.mktemp("fresh") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", home, cwd=home.parent)
    python = home / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=home.parent)
    (site,) = home.glob("lib/python*/site-packages")
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    (site / "libraries.pth").write_text(
        "\n".join(libraries) + "\n"
    )  # the .pth files there mean nothing
    return python


@pytest.fixture
def project(tmp_path):
    """A user's project, with folders of its own that are called as ours are."""
    for name, text in PROJECT.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(dedent(text), "utf-8")
    return tmp_path


def test_a_wheel_has_one_package(wheel):
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()

    assert {name.split("/")[0] for name in names} == {"xingqiao", f"xingqiao-{VERSION}.dist-info"}
    assert {name.split("/")[1] for name in names if name.count("/") > 1} >= set(FOLDERS)
    assert "xingqiao/py.typed" in names
    assert "xingqiao/schemas/composition.json" in names
    assert "xingqiao/infra/stores/migrations/0001.sql" in names


def test_an_archive_of_the_sources_has_what_builds_and_tests_them(archive, wheel, tmp_path):
    with tarfile.open(archive) as files:
        names = [name.partition("/")[2] for name in files.getnames()]
        files.extractall(tmp_path, filter="data")
    again = built(tmp_path / archive.name.removesuffix(".tar.gz"), tmp_path / "wheel", "wheel")

    assert {"CHANGELOG.md", "Makefile", "requirements.lock", "pyproject.toml", "LICENSE"} <= set(
        names
    )
    assert {"README.md", "docs/quickstart.md", "tests/test_package.py", ".ci/run"} <= set(names)
    assert names.count("src/xingqiao/composer/__init__.py") == 1
    assert len(names) == len(set(names))
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        assert sorted(one.namelist()) == sorted(other.namelist())


def test_a_project_with_folders_of_our_names_runs_its_tests(python, project):
    said = run(
        python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", cwd=project
    )

    assert "2 passed" in said


@pytest.mark.parametrize("command", ["xingqiao", "python -m xingqiao"])
def test_the_command_runs_there(python, project, command):
    start = (python, "-m", "xingqiao") if " " in command else (python.with_name("xingqiao"),)

    shown = run(*start, "--version", cwd=project, PYTHONPATH=str(project))
    result = run(
        *start, "run", "pipeline.py", "--param", "n", "20", cwd=project, PYTHONPATH=str(project)
    )

    assert shown == f"xingqiao, version {VERSION}\n"
    assert '"n": 11' in result


def test_public_modules_are_typed(python, project):
    program = """
        import xingqiao
        from xingqiao.testing import simulate
        from xingqiao.transactions import entity

        reveal_type(xingqiao.composer.sequence("a"))
        reveal_type(simulate)
        """
    (project / "typed.py").write_text(dedent(program), "utf-8")
    options = ("--strict", "--cache-dir", project / "cache", "--python-executable", python)

    said = run(sys.executable, "-m", "mypy", *options, "typed.py", cwd=project)

    assert 'is "xingqiao.composer.dsl.composition.Composition"' in said
    assert "-> xingqiao.composer.simulated_runs.Run" in said


def test_an_embedded_program_runs_there(python, project):
    assert run(python, "program.py", cwd=project) == "user {'n': 11}\nApplicationError\n"
