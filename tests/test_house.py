"""The house rules that a machine can count. What they are for: CONTRIBUTING.md."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("composer", "actions", "adapters", "transactions", "infra")
HOME = (
    ROOT / "src" / "xingqiao"
)  # with links to the five; in a source archive, with the five themselves
MODULES = sorted(HOME.glob("*.py"))
MODULES += sorted(path for package in PACKAGES for path in (HOME / package).rglob("*.py"))
AROUND = [path for folder in ("tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
ALL_CODE = MODULES + sorted(AROUND)
DOORS = [path for path in MODULES if path.name == "__init__.py"]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
MAX_LINES, MAX_TEST_LINES, MAX_METHODS, MAX_FUNCTION = 500, 900, 12, 60
# Composition's methods are the DSL's other spelling.
# A verb of the API is a method.
VERBS = {"Execution", "ExecutionHandle", "RemoteExecution"}
EXCEPTIONS = {"Composition", "Selector", *VERBS}


def name(path):
    return str(path.relative_to(HOME if path.is_relative_to(HOME) else ROOT))


@pytest.mark.parametrize("path", ALL_CODE, ids=name)
def test_a_module_is_short(path):
    limit = MAX_TEST_LINES if path.name.startswith("test_") else MAX_LINES
    lines = path.read_text("utf-8").splitlines()
    if path in DOORS and "__all__ = [" in lines:  # it repeats the names that are imported above it
        lines = lines[: lines.index("__all__ = [")]
    assert len(lines) <= limit


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_class_does_few_things_and_a_function_fits_a_screen(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if getattr(node, "name", None) in EXCEPTIONS:
            continue
        if isinstance(node, ast.ClassDef):
            functions = [n for n in node.body if isinstance(n, FUNCTIONS)]
            methods = [n.name for n in functions if not n.decorator_list and n.name[0] != "_"]
            assert len(methods) <= MAX_METHODS, f"{node.name}: {sorted(methods)}"
        if isinstance(node, FUNCTIONS):
            assert node.end_lineno - node.lineno < MAX_FUNCTION, node.name


@pytest.mark.parametrize("path", DOORS, ids=name)
def test_a_door_says_what_it_hands_on(path):
    dotted = ".".join(path.parent.relative_to(HOME.parent).parts)
    module = importlib.import_module(dotted)

    assert module.__doc__
    assert sorted(module.__all__) == sorted(set(module.__all__))
    assert sorted(module.__all__, key=_isorted) == list(module.__all__)
    assert all(hasattr(module, member) for member in module.__all__)


def _isorted(member):
    return (0 if member.isupper() else 1 if member[0].isupper() else 2, member)


def test_imports_name_the_one_package():
    """The five folders are no packages by themselves: users may have folders of the same names."""
    for path in (*ALL_CODE, *(ROOT / "examples").rglob("*.py")):
        if path.is_relative_to(ROOT / "tests" / "data"):  # these run with an older version
            continue
        named = set(imported(path))
        assert path not in MODULES or "xingqiao" not in named, f"{name(path)}: use relative imports"
        assert not named & set(PACKAGES), f"{name(path)}: import from xingqiao"


def imported(path):
    """The first names of what a module imports absolutely."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.split(".")[0]


def test_the_package_is_typed_and_light_and_public_modules_load_when_they_are_used():
    program = (
        "import sys, xingqiao; print([name for name in sys.modules if name.startswith('xingqiao.')]); "
        "print(xingqiao.composer.sequence('a').type, "
        "set(xingqiao.__all__) <= set(dir(xingqiao)), hasattr(xingqiao, 'nothing')); "
        "print([name for name in ('asyncio', 'xingqiao.infra') if name in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\nsequence True False\n[]\n"
    assert (HOME / "py.typed").is_file()


def test_composer_runs_from_a_zip_with_nothing_else(tmp_path):
    libraries = [
        Path(importlib.import_module(name).__file__).parent for name in ("jsonpath", "jsonata")
    ]
    archive = tmp_path / "function.zip"
    with zipfile.ZipFile(archive, "w") as bundle:
        bundle.write(HOME / "__init__.py", "xingqiao/__init__.py")
        bundle.write(HOME / "testing.py", "xingqiao/testing.py")
        for folder in (HOME / "composer", *libraries):
            top = HOME.parent if folder.is_relative_to(HOME) else folder.parent
            for path in folder.rglob("*.py"):
                bundle.write(path, path.relative_to(top))
    program = (
        f"import sys; sys.path.insert(0, {str(archive)!r}); from xingqiao import composer, testing as t; "
        "from xingqiao.composer.languages import asl; "
        "print(t.simulate(composer.sequence('a'), actions={'a': {'n': 1}}).value, composer.__file__)"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False
    )

    assert done.stdout.startswith("{'n': 1} " + str(archive)), done.stderr


# --- what is written for people ------------------------------------------------------------------


def blocks(document, language):
    text = (ROOT / document).read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def test_the_readme_shows_code_and_both_commands_at_once():
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()

    assert lines.index("```python") < 10
    assert any(line.startswith("$ make demo") for line in lines[:40])
    assert any(line.startswith("$ make test") for line in lines[:40])


def test_links_between_documents_lead_somewhere():
    for document in DOCUMENTS:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text("utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


MIRRORED = 120  # lines from which a module has a test file of its own
ELSEWHERE = {  # modules that other suites hold to their laws
    "actions/deployment_requests.py": "actions/test_deployments.py",
    "actions/ports.py": "contracts",
    "adapters/port.py": "contracts/test_adapters.py",
    "composer/fakes.py": "composer/test_testing.py",
    "infra/engine/batch_items.py": "infra/engine/test_batches.py",
    "infra/engine/inbox/continuing.py": "infra/engine/test_chains.py",
    "composer/simulated_messages.py": "composer/machine/test_updating.py",
    "infra/engine/dead_letters.py": "infra/engine/test_dead_letter_records.py",
    "infra/engine/firing.py": "infra/service/test_feeds.py",
    "infra/engine/matching.py": "infra/engine/test_hearing.py",
    **{
        f"composer/languages/jq/{each}.py": "composer/languages/jq/test_language.py"
        for each in (
            "arrays",
            "budget",
            "compiler",
            "dates",
            "definitions",
            "formats",
            "frames",
            "lexer",
            "machine",
            "matching",
            "mathematics",
            "operators",
            "parser",
            "paths",
            "patterns",
            "program",
            "texts",
            "tree",
            "values",
        )
    },
    "infra/engine/functions.py": "infra/service/test_embedded_recovery.py",
    "infra/engine/news.py": "infra/engine/test_watching.py",
    "infra/engine/origins.py": "infra/engine/test_restoring.py",
    **{
        f"infra/{each}.py": "contracts/test_handles.py"
        for each in (
            "client/batches",
            "client/calls",
            "client/client",
            "client/executions",
            "handles/batches",
            "handles/protocols",
            "service/batch_handles",
            "service/embedded_records",
        )
    },
    "infra/deploy/hosted/azure.py": "infra/deploy/test_azure_deployed.py",
    "infra/deploy/hosted/azure_table.py": "infra/deploy/test_azure_deployed.py",
    "infra/deploy/hosted/ports.py": "infra/deploy/hosted",
    "infra/stores/memory.py": "contracts/test_store.py",
    "infra/stores/rows.py": "contracts/test_store.py",
    "infra/stores/seal.py": "contracts/test_store.py",
    **{
        f"infra/stores/dynamodb/{each}.py": "infra/stores/dynamodb/test_store.py"
        for each in ("batch", "expiry", "items", "journal", "lease", "listing", "table")
    },
}


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_module_has_its_tests_where_it_stands(path):
    """Tests mirror the tree: those of `composer/dsl/forks.py` are in `tests/composer/dsl/test_forks.py`."""
    if path.parent == HOME or path.name == "__init__.py":
        return
    place = path.relative_to(HOME)
    own = ROOT / "tests" / place.parent / f"test_{place.name}"
    if own.exists() or len(path.read_text("utf-8").splitlines()) < MIRRORED:
        assert str(place) not in ELSEWHERE or not own.exists(), "it is no exception any more"
    else:
        assert (ROOT / "tests" / ELSEWHERE.get(str(place), "nowhere")).exists()


FOLDERS = "|".join((*PACKAGES, "tests", "examples", "benchmarks", "docs", "packaging", "src"))
PATHS = re.compile(rf"(?<![\w/.])((?:{FOLDERS})/[\w./-]*\w)")
DOTTED = re.compile(rf"(?<![\w/.$-])(?:xingqiao\.)?((?:{'|'.join(PACKAGES)})\.[a-z_][\w.]*\w)(?!/)")


@pytest.mark.parametrize(
    "document", [path for path in DOCUMENTS if path.name != "CHANGELOG.md"], ids=name
)  # a change may name what has gone
def test_the_paths_and_modules_that_a_document_names_exist(document):
    text = document.read_text("utf-8")

    assert [path for path in PATHS.findall(text) if not (ROOT / path).exists()] == []
    assert [dotted for dotted in DOTTED.findall(text) if not named(dotted)] == []


def test_a_name_of_nothing_is_known():
    existing = ("composer.machine.dialect", "infra.engine.inbox", "composer.retry")
    gone = ("composer.states", "composer.machine.execution.nothing", "infra.nowhere.app")

    assert [dotted for dotted in (*existing, *gone) if named(dotted)] == [*existing]
    assert PATHS.findall("see `infra/app.py`, and composer/.") == ["infra/app.py"]
    assert DOTTED.findall("`xingqiao.infra.app` or $composer.redis") == ["infra.app"]


def named(dotted):
    """Whether a dotted name is a document, a module, or a member of a module."""
    if dotted.endswith(".md"):
        return True  # a link: `test_links_between_documents_lead_somewhere` follows it
    parent, _, member = dotted.rpartition(".")
    if any((HOME / parent.replace(".", "/") / member).rglob("*.py")):
        return True
    if (HOME / f"{dotted.replace('.', '/')}.py").is_file():
        return True
    try:
        module = importlib.import_module(f"xingqiao.{parent}")
    except ModuleNotFoundError:
        return False
    return hasattr(module, member)
