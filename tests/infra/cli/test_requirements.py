"""Requirements of a project, and the modules that they bring."""

from __future__ import annotations

import pytest

from xingqiao.actions import OFFERED as IN_WORKERS
from xingqiao.actions import PYTHON
from xingqiao.infra.cli.requirements import (
    ELSEWHERE,
    OFFERED,
    Requirements,
    RequirementsError,
    checked,
    node_requirements,
    project_of,
    requirements_of,
)
from xingqiao.infra.deploy import TARGETS


def test_requirements_are_those_of_both_files_without_the_composing_library(tmp_path):
    (tmp_path / "requirements.txt").write_text(
        "# ours\nhttpx>=0.28  # fast\n\nxingqiao\n-r more.txt\nrich==14.0 \\\n  --hash=sha256:0a\n"
    )
    (tmp_path / "more.txt").write_text("PyYAML[x]; python_version > '3'\n")
    (tmp_path / "pyproject.toml").write_text(
        "[project]\nname = 'shop'\ndependencies = ['httpx>=0.28', 'attrs']\n"
    )

    found = requirements_of(tmp_path)

    assert found.texts == (
        "httpx>=0.28", 'PyYAML[x]; python_version > "3"', "rich==14.0", "attrs",
    )  # fmt: skip
    assert found.file == "requirements.txt"
    assert project_of(tmp_path)["name"] == "shop"


def test_a_folder_may_have_no_requirements(tmp_path):
    assert requirements_of(tmp_path) == Requirements((), "requirements.txt")
    (tmp_path / "pyproject.toml").write_text("project = 1\n")
    assert requirements_of(tmp_path) == Requirements((), "pyproject.toml")


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("requirements.txt", "ok\n-e .\n", "requirements.txt, line 2: '-e .' is not a requirement"),
        ("requirements.txt", "-r none.txt\n", "none.txt cannot be read"),
        ("pyproject.toml", "[project", "pyproject.toml cannot be read"),
        ("pyproject.toml", "[project]\ndependencies=['!']\n", "pyproject.toml: '!' is not a"),
    ],
)
def test_a_malformed_file_is_named_with_its_line(tmp_path, name, content, text):
    (tmp_path / name).write_text(content)

    with pytest.raises(RequirementsError) as refusal:
        requirements_of(tmp_path)

    assert text in str(refusal.value)


def test_a_module_is_there_if_python_offers_it_or_a_requirement_brings_it():
    required = Requirements(("httpx", "python-jsonpath"))

    assert not required.missing("requests"), "every worker has it"
    assert not required.missing("httpx")
    assert not required.missing("httpcore"), "httpx requires it"
    assert not required.missing("jsonpath"), "its distribution has another name"
    assert required.missing("yarl"), "it is installed here, and not required"
    assert required.missing("surely_not_a_module")
    assert not any(map(required.unclear, ("requests", "httpx", "yarl", "surely_not_a_module")))


def test_a_requirement_that_is_not_installed_here_may_bring_an_unknown_module():
    required = Requirements(("surely-not-installed",))

    assert not required.missing("yaml2")
    assert required.unclear("yaml2")
    assert not required.missing("surely_not_installed")
    assert not required.unclear("surely_not_installed")
    assert required.missing("yarl"), "its distribution is known"


def test_requirements_of_a_function_are_checked():
    assert checked(["httpx >= 1"], "f").texts == ("httpx>=1",)
    with pytest.raises(RequirementsError, match=r"^f: '>1' is not a requirement such as"):
        checked([">1"], "f")


def test_dependencies_of_node_are_those_of_package_json(tmp_path):
    assert node_requirements(tmp_path) == {}
    file = tmp_path / "package.json"
    file.write_text('{"dependencies": {"b": "^1", "a": "2"}}')
    assert list(node_requirements(tmp_path).items()) == [("a", "2"), ("b", "^1")]
    for wrong in ("[]", "{", '{"dependencies": []}', '{"dependencies": {"a": 1}}'):
        file.write_text(wrong)
        with pytest.raises(RequirementsError, match=r"package.json"):
            node_requirements(tmp_path)


def test_the_modules_that_need_no_requirement_are_those_that_workers_have():
    assert set(OFFERED) == set(IN_WORKERS[PYTHON])
    assert set(ELSEWHERE) == set(TARGETS)
