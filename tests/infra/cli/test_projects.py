"""Projects: the modules that a function needs, and the archive in which they travel."""

from __future__ import annotations

import base64
import io
import zipfile

import pytest

from xingqiao.composer import CaptureError
from xingqiao.infra.cli.projects import (
    Closure,
    ProjectError,
    find_module,
    module_of,
    packed,
    project_at,
)


@pytest.fixture
def project(tmp_path):
    """Makes a project of files: path and text."""

    def make(**files):
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("/init", "/__init__")
            path = path.with_suffix(".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return project_at(tmp_path)

    return make


def closed(project, *names, module="main_file"):
    closure = Closure(project, project.requirements, "f")
    found = find_module(project, module)
    closure.follow(found, frozenset(names) or None)
    return closure


def members(text):
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(text))) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def archived(project, *names, module="main_file"):
    closure = closed(project, *names, module=module)
    return members(closure.archive(names[0], find_module(project, module)))


def test_a_function_takes_modules_along_from_module_to_module(project):
    made = project(
        main_file="from shop import prices\nimport other\ndef f(p): return prices.of(p)\n",
        shop__init="",
        shop__prices="from .rates import RATE\nfrom . import taxes as t\ndef of(p): return RATE * t.T\n",
        shop__rates="RATE = 2\n",
        shop__taxes="T = 3\n",
        shop__unused="1 / 0\n",
        other="",
    )

    files = archived(made, "f")

    assert files == {
        "__main__.py": "from main_file import f\n",
        "main_file.py": "from shop import prices\n\ndef f(p): return prices.of(p)\n",
        "shop/__init__.py": "",
        "shop/prices.py": "from .rates import RATE\nfrom . import taxes as t\ndef of(p): return RATE * t.T\n",
        "shop/rates.py": "RATE = 2\n",
        "shop/taxes.py": "T = 3\n",
    }


def test_late_imports_and_imports_by_name_are_followed(project):
    made = project(
        main_file="def f(p):\n    import late\n    __import__('named')\n    return late.v\n",
        late="v = 1\n",
        named="",
    )

    assert set(archived(made, "f")) == {"__main__.py", "main_file.py", "late.py", "named.py"}


def test_only_the_names_that_are_imported_are_taken_of_a_module(project):
    made = project(
        main_file="from lib import a\nfrom stars import *\ndef f(p): return a(p) + far()\n",
        lib="import nowhere\nRATE = 1\ndef a(p): return RATE\ndef b(p): return nowhere\n",
        stars="from deep import *\n",
        deep="def far(): return 1\ndef __getattr__(name): return 2\n",
    )

    files = archived(made, "f")

    assert files["lib.py"] == "\nRATE = 1\ndef a(p): return RATE\n"
    assert files["stars.py"] == "from deep import *\n"
    assert files["deep.py"].startswith("def far()")


def test_names_of_a_package_may_be_modules_or_names(project):
    made = project(
        main_file="from shop import total, rates\nimport shop.deep.er\ndef f(p): return total, rates, shop\n",
        shop__init="from .sums import total\n",
        shop__sums="def total(): return 1\n",
        shop__rates="",
        shop__deep__er="",
    )

    assert {"shop/sums.py", "shop/rates.py", "shop/deep/er.py", "shop/__init__.py"} <= set(
        archived(made, "f")
    )


def test_modules_that_need_one_another_end(project):
    made = project(
        main_file="import a\ndef f(p): return a.x\n", a="import b\nx = 1\n", b="import a\n"
    )

    assert set(archived(made, "f")) == {"__main__.py", "main_file.py", "a.py", "b.py"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "import nowhere",
            "main_file.py, line 1: the module 'nowhere' will not be there at run time",
        ),
        (
            "import yarl",
            "main_file.py, line 1: the module 'yarl' will not be there at run time: it is ",
        ),
        ("import lib.none", "main_file.py, line 1: the module 'lib.none' is not in the project"),
        (
            "def f(p):\n    import xingqiao\n",
            "line 2: the composing library 'xingqiao' is not in a",
        ),
        ("import broken", "broken.py cannot be read"),
    ],
)
def test_an_import_that_will_not_be_there_is_refused_with_its_line(project, text, complaint):
    made = project(main_file=text + "\n", lib="", broken="def")

    with pytest.raises(ProjectError) as refusal:
        closed(made)

    assert complaint in str(refusal.value)


def test_an_import_that_may_fail_or_is_for_types_is_not_refused(project):
    made = project(
        main_file="from typing import TYPE_CHECKING\ntry:\n    import nowhere, yarl, lib.none\n"
        "    import requests\nexcept ImportError:\n    pass\nif TYPE_CHECKING:\n    import nothing\n",
        lib="",
    )

    assert closed(made).external == {"requests"}


def test_an_import_that_cannot_be_judged_here_is_warned_about(project, tmp_path):
    (tmp_path / "requirements.txt").write_text("surely-not-installed\n")
    made = project(main_file="import yaml2\nimport bs4\n")

    closure = closed(made)

    assert closure.external == {"yaml2", "bs4"}
    (warning,) = closure.warnings
    assert "main_file.py, line 1: no requirement is known to bring the module 'yaml2'" in warning


def test_code_that_composes_is_refused_with_its_file_and_line(project):
    made = project(
        main_file="from lib import g\ndef f(p): return g()\n",
        lib="from xingqiao import composer\nstep = composer.empty()\ndef g(): return step\n",
    )

    with pytest.raises(CaptureError, match=r"f: .*lib.py needs line 3, which uses '"):
        closed(made, "f")


def test_the_same_files_are_the_same_archive():
    files = {"b.py": b"2", "a.py": b"1"}

    assert packed(files) == packed(dict(reversed(files.items())))
    assert list(members(packed(files))) == ["a.py", "b.py"]


def test_a_module_has_a_name_that_can_be_imported_and_hides_no_other(project, tmp_path):
    made = project(shop__prices="")

    names = {
        path: module_of(made, tmp_path / path).name
        for path in ("a.py", "shop/prices.py", "shop/__init__.py", "my-file.py", "json.py")
    }

    assert names == {
        "a.py": "a", "shop/prices.py": "shop.prices", "shop/__init__.py": "shop",
        "my-file.py": "my_file_", "json.py": "json_",
    }  # fmt: skip


def test_modules_elsewhere_are_the_users_own_unless_they_are_installed(
    project, tmp_path, monkeypatch
):
    made = project(main_file="")
    elsewhere = tmp_path / "src"
    (elsewhere / "shared").mkdir(parents=True)
    (elsewhere / "shared" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(elsewhere))

    assert find_module(made, "shared").path == elsewhere / "shared" / "__init__.py"
    assert find_module(made, "httpx") is None
    assert find_module(made, "xingqiao") is None
    assert find_module(made, "surely_not_a_module") is None


def test_a_project_has_the_name_of_its_folder_or_of_its_file(tmp_path):
    assert project_at(tmp_path).name == f"./{tmp_path.name}"
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'my/shop'\n")
    assert project_at(tmp_path).name == "my-shop"
    assert project_at(tmp_path).origin(tmp_path / "a.py") == "my-shop/a.py"
