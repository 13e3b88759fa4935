"""Packages of actions: real installers on wheels that the tests make, and workers that see them."""

from __future__ import annotations

import json
import os
import sys

import pytest

from tests.kit.actions.things import (
    Answers,
    StandingClock,
    composed,
    invocation,
    needed,
    node,
    python,
    until,
)
from tests.kit.actions.wheels import wheel, zipped
from tests.kit.actions.workers import logged, run
from xingqiao.actions import NODE, PYTHON, Code
from xingqiao.actions.runtimes import (
    Bounds,
    Cook,
    Environments,
    Packages,
    Sandbox,
    WorkerPool,
    WorkerSettings,
    find_sandbox,
    packages_state,
)
from xingqiao.actions.runtimes.packages import AT_ONCE_CHARS, KNOWN
from xingqiao.composer import Failure, Success

GREETS = "import greeting\ndef main(params):\n    return {'said': greeting.TEXT}"
PLAIN = "def main(params):\n    return {}"


@pytest.fixture
def wheels(tmp_path):
    folder = tmp_path / "wheels"
    wheel(folder, "greeting", greeting="TEXT = 'hello'")
    wheel(folder, "greeting", "2.0", greeting="TEXT = 'good day'")
    return folder


@pytest.fixture
def home(tmp_path):
    return tmp_path / "data" / "environments"


@pytest.fixture
async def packages(home, wheels):
    async with Environments(home, StandingClock()) as environments:
        yield Packages(environments, Cook(wheels))


@pytest.fixture
async def pool(packages, tmp_path):
    async with opened(packages, tmp_path) as made:
        yield made


def opened(packages, directory, sandbox=None, **bounds):
    settings = WorkerSettings(packages=packages, directory=directory)
    return WorkerPool(sandbox or Sandbox(), StandingClock(), settings, Bounds(**bounds))


def greeting(*requirements, code=GREETS):
    return python(exec={"kind": "python:3", "code": code, "requirements": list(requirements)})


def fake(folder, name, script):
    """Puts a program into a folder, which is then the first on the path."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


# --- Python ------------------------------------------------------------------------------------


async def test_an_action_imports_what_it_requires_and_its_log_shows_the_installation(pool):
    done = await run(pool, greeting("greeting<2"))

    assert done.outcome == Success({"said": "hello"})
    assert logged(done) == [("stdout", "installing greeting<2")]
    again = await run(pool, greeting("greeting<2"))
    assert (again.outcome, again.logs) == (done.outcome, [])


async def test_other_requirements_have_other_workers(pool):
    assert (await run(pool, greeting("greeting<2"))).outcome == Success({"said": "hello"})
    assert (await run(pool, greeting("greeting>=2"))).outcome == Success({"said": "good day"})
    found = (await run(pool, python(GREETS))).outcome
    assert found.error.endswith("ModuleNotFoundError: No module named 'greeting'")


async def test_requirements_that_cannot_be_installed_fail_the_activation_before_it_runs(pool):
    done = await run(pool, greeting("greeting==9"))

    assert done.outcome.code == "Unavailable"
    assert done.outcome.error.startswith("greeting==9: not installed: ERROR: Could not find a")
    assert "No matching distribution found for greeting==9" in done.outcome.error
    assert (await run(pool, python(PLAIN))).outcome == Success({})


async def test_hashes_are_checked(pool):
    done = await run(pool, greeting(f"greeting==1.0 --hash=sha256:{'0' * 64}"))

    assert done.outcome.code == "Unavailable"
    assert "DO NOT MATCH THE HASHES" in done.outcome.error


async def test_no_code_of_a_package_runs_while_it_is_installed(pool, wheels):
    """A source distribution would have to be built, which runs its code with the server's rights."""
    import tarfile

    source = wheels / "built-1.0.tar.gz"
    (wheels / "setup.py").write_text("open('ran', 'w')")
    with tarfile.open(source, "w:gz") as archive:
        archive.add(wheels / "setup.py", "built-1.0/setup.py")

    done = await run(pool, greeting("built"))

    assert "No matching distribution found for built" in done.outcome.error


@pytest.mark.parametrize("isolation", ["process", "bubblewrap"])
async def test_a_confined_worker_sees_its_packages_although_the_data_is_hidden(
    packages, tmp_path, isolation
):
    if isolation == "bubblewrap":
        needed("bwrap")
    sandbox = find_sandbox("auto" if isolation == "bubblewrap" else isolation, [tmp_path / "data"])
    if (sandbox.bubblewrap is None) != (isolation == "process"):
        pytest.skip("bubblewrap may not make namespaces here")
    code = (
        "import greeting, os\n"
        "def main(params):\n"
        "    try:\n"
        "        open(greeting.__file__, 'a')\n"
        "    except OSError:\n"
        "        return {'said': greeting.TEXT}\n"
    )
    async with opened(packages, None, sandbox, prewarmed=1) as pool:
        assert (await run(pool, python(PLAIN))).outcome == Success({})
        assert (await run(pool, greeting("greeting", code=code))).outcome == Success(
            {"said": "good day"}
        )


async def test_an_activation_is_cancelled_while_its_packages_are_installed(
    packages, tmp_path, monkeypatch
):
    os.mkfifo(tmp_path / "fifo")
    script = f"touch {tmp_path}/begun; read forever < {tmp_path}/fifo"
    monkeypatch.setenv("PATH", fake(tmp_path / "bin", "uv", script))
    answers = Answers()
    async with opened(packages, tmp_path, size=1) as pool:
        first, second = (invocation(greeting("greeting")) for _ in range(2))
        answers.invoke(pool, first)
        answers.invoke(pool, second)
        await until((tmp_path / "begun").exists)

        pool.cancel(first.activation)
        assert (await answers.next()).outcome.code == "Cancelled"
        # The wait takes no place of a worker.
        assert (await run(pool, python(PLAIN))).outcome == Success({})
    assert (await answers.next(2)).outcome == Failure("Unavailable", "the server is stopping")


# --- what a worker sees ------------------------------------------------------------------------


@pytest.mark.parametrize("module", ["starlette", "orjson", "xingqiao", "pip"])
async def test_the_servers_own_packages_cannot_be_imported(pool, module):
    done = await run(pool, python(f"import {module}\n{PLAIN}"))
    assert done.outcome.error == (
        f"Initialization has failed due to: ModuleNotFoundError: No module named {module!r}"
    )


async def test_nor_can_an_inline_function_import_them(pool):
    def imports(params):
        import orjson

        return orjson.dumps(params)

    action = composed(imports)
    (hash,) = action.exec.program.functions
    done = await run(pool, action, function=hash, variables={})
    assert done.outcome.error == "No module named 'orjson'"


@pytest.mark.parametrize("isolation", ["none", "process", "auto"])
async def test_in_no_sandbox_is_there_more_than_the_standard_library(tmp_path, isolation):
    sandbox = find_sandbox(isolation)
    async with opened(None, None, sandbox) as pool:
        code = "import sys\ndef main(params):\n    return {'path': sys.path}"
        found = (await run(pool, python(code))).outcome
    library = [path for path in found.value["path"] if "site-packages" in path]
    assert library == []


async def test_exit_is_there_as_in_any_python(pool):
    done = await run(pool, python("def main(params):\n    exit(3)"))
    assert done.outcome.code == "Crashed"


# --- archives with a virtualenv ----------------------------------------------------------------

OURS = f"python{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.mark.parametrize("folder", [OURS, "python3.6", "python3.99"])
async def test_the_packages_of_an_archives_virtualenv_are_importable(pool, folder):
    files = {
        "__main__.py": "import inside, below\n"
        "def main(params):\n    return {'said': inside.TEXT + below.TEXT}",
        "virtualenv/bin/activate_this.py": "raise RuntimeError",
        f"virtualenv/lib/{folder}/site-packages/inside/__init__.py": "TEXT = 'in'",
        f"virtualenv/lib/{folder}/site-packages/more.pth": "other\n",
        f"virtualenv/lib/{folder}/site-packages/other/below.py": "TEXT = 'side'",
    }
    done = await run(pool, python(zipped(files)))
    assert done.outcome == Success({"said": "inside"})


async def test_of_several_the_one_for_this_python_counts(pool):
    files = {
        f"virtualenv/lib/{folder}/site-packages/inside.py": f"TEXT = {folder!r}"
        for folder in ("python3.6", OURS, "python3.99")
    }
    code = "import inside\ndef main(params):\n    return {'said': inside.TEXT}"
    done = await run(pool, python(zipped({"__main__.py": code, **files})))
    assert done.outcome == Success({"said": OURS})


async def test_an_archive_may_have_an_empty_virtualenv(pool):
    files = {
        "__main__.py": PLAIN,
        "virtualenv/lib/readme": "",
        "virtualenv/bin/activate_this.py": "",
    }
    assert (await run(pool, python(zipped(files)))).outcome == Success({})


# --- packages that a kind offers ---------------------------------------------------------------

WANTS = "try:\n    import requests\nexcept ImportError:\n    requests = None\ndef main(params):\n"


async def test_offered_packages_are_installed_at_the_first_import(pool, tmp_path, monkeypatch):
    script = "mkdir packages; echo 'V = 7' > packages/requests.py"
    monkeypatch.setenv("PATH", fake(tmp_path / "bin", "uv", script))
    assert (await run(pool, python(PLAIN))).logs == []

    done = await run(pool, python(WANTS + "    return {'v': requests.V}"))

    assert done.outcome == Success({"v": 7})
    assert logged(done) == [("stdout", "installing the packages that python:3 offers")]


async def test_without_them_code_runs_and_its_log_says_why_they_are_missing(
    pool, tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", fake(tmp_path / "bin", "uv", "echo no network; exit 1"))
    action = python(WANTS + "    return {'missing': requests is None}")

    done = await run(pool, action)

    assert done.outcome == Success({"missing": True})
    assert logged(done)[1:] == [
        ("stdout", "the packages that python:3 offers: not installed: no network")
    ]
    await until(lambda: pool.size == 0)  # a worker without packages is not kept


async def test_large_code_is_searched_beside_the_event_loop(packages):
    large = Code(PYTHON, PLAIN + "\n" + "#" * AT_ONCE_CHARS)
    assert not packages.settled(large)
    assert await packages.prepare(large, pytest.fail)
    assert packages.settled(large)
    assert packages.recipe(large) is None
    assert await packages.lease(large) is None


async def test_the_memory_of_what_code_needs_is_bounded(packages):
    for number in range(KNOWN + 1):
        assert packages.settled(Code(PYTHON, f"# {number}"))
    assert len(packages._known) == KNOWN


# --- Node.js -----------------------------------------------------------------------------------

NPM = """
for option in "$@"; do echo "$option" >> {told}; done
for name in greeting @scope/name; do
  mkdir -p node_modules/$name
  echo "module.exports = '$name'" > node_modules/$name/index.js
  echo "{{}}" > node_modules/$name/package.json
done
"""


async def test_node_requires_what_it_names_and_no_script_of_a_package_runs(
    pool, tmp_path, monkeypatch
):
    needed("node")
    monkeypatch.setenv("PATH", fake(tmp_path / "bin", "npm", NPM.format(told=tmp_path / "told")))
    code = "exports.main = () => ({ said: require('greeting') + require('@scope/name') })"
    needs = {"greeting": "^1.0.0", "@scope/name": "*"}

    done = await run(pool, node(exec={"kind": NODE, "code": code, "requirements": needs}))

    assert done.outcome == Success({"said": "greeting@scope/name"})
    assert logged(done) == [("stdout", "installing @scope/name@*, greeting@^1.0.0")]
    assert "--ignore-scripts" in (tmp_path / "told").read_text().split()


async def test_modules_of_the_newer_kind_import_them_too(pool, tmp_path, monkeypatch):
    needed("node")
    monkeypatch.setenv("PATH", fake(tmp_path / "bin", "npm", NPM.format(told=tmp_path / "told")))
    files = {
        "index.mjs": "import g from 'greeting'; import o from '@scope/own'; import s from '@scope/name'\n"
        "export const main = () => ({ said: g + o + s })",
        "node_modules/@scope/own/index.js": "module.exports = ' own '",
        "node_modules/@scope/own/package.json": "{}",
    }
    needs = {"greeting": "1", "@scope/name": "1"}

    done = await run(pool, node(exec={"kind": NODE, "code": zipped(files), "requirements": needs}))

    assert done.outcome == Success({"said": "greeting own @scope/name"})


async def test_without_npm_only_code_that_requires_packages_is_the_poorer(
    pool, tmp_path, monkeypatch
):
    needed("node")
    monkeypatch.setenv("PATH", str(tmp_path))

    assert (await run(pool, node("exports.main = () => ({ a: 1 })"))).outcome == Success({"a": 1})
    done = await run(pool, node("const u = require('uuid')\nexports.main = () => ({})"))
    assert "Cannot find module 'uuid'" in done.outcome.error
    assert "npm is not found: install it on the server" in done.logs[1]


# --- recipes and installers --------------------------------------------------------------------


def test_the_name_of_an_environment_is_its_content():
    def name(*lines, wheels=None):
        return Cook(wheels).recipe(Code(PYTHON, "x", requirements=lines)).name

    assert name("a", "b") == name("b", "a")
    assert len({name("a"), name("b"), name("a", "b"), Cook().offered(PYTHON).name}) == 4
    assert name("a").startswith("python-")
    assert Cook().offered(NODE).name.startswith("nodejs-")


def test_uv_is_preferred_and_gets_the_same_options(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", fake(tmp_path / "bin", "uv", ""))
    command = Cook(tmp_path).recipe(Code(PYTHON, "x", requirements=("a",))).command()

    assert list(command[:3]) == [str(tmp_path / "bin" / "uv"), "pip", "install"]
    expected = ["--only-binary", ":all:", "--target", "packages", "--no-index", "--find-links"]
    assert [*expected, str(tmp_path), "-r", "requirements.txt"] == list(command[-9:])


def test_a_long_list_has_a_short_title():
    many = tuple(f"package-{number}" for number in range(100))
    title = Cook().recipe(Code(PYTHON, "x", requirements=many)).title
    assert title.endswith("... (100 packages)")
    assert len(title) < 250


async def test_the_state_tells_the_environments_and_the_installers(
    pool, home, tmp_path, monkeypatch
):
    await run(pool, greeting("greeting"))
    state = packages_state(home)
    assert [found.packages for found in state.environments] == ["greeting"]
    assert state.bytes == state.environments[0].bytes > 0
    assert state.installers[PYTHON] in {"pip", "uv"}

    monkeypatch.setenv("PATH", fake(tmp_path / "bin", "uv", "").partition(":")[0])
    assert dict(packages_state(home).installers) == {PYTHON: "uv", NODE: None}


def test_npm_gets_a_package_json():
    recipe = Cook().recipe(Code(NODE, "x", requirements=("@a/b@^1", "c@")))
    package = json.loads(recipe.files["package.json"])
    assert package == {"private": True, "dependencies": {"@a/b": "^1", "c": ""}}
