"""Definitions of functions: as source if they need only their module, else with their modules in an archive."""

from __future__ import annotations

import base64
import io
import zipfile

import pytest

from xingqiao.composer import CaptureError
from xingqiao.infra.cli import files
from xingqiao.infra.cli.projects import ProjectError
from xingqiao.infra.cli.requirements import RequirementsError

HEAD = "from xingqiao import composer\n"


@pytest.fixture
def read(tmp_path):
    """Reads a file with this text, in a project with these other files."""

    def make(text, **others):
        for name, content in others.items():
            path = tmp_path / name.replace("__", ".")
            path.write_text(content)
        file = tmp_path / "defining_file.py"
        file.write_text(HEAD + text)
        return files.read(file)

    return make


def members(runtime):
    assert runtime["binary"] is True
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(runtime["code"]))) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def one(contents):
    (document,) = contents.documents().values()
    return document["exec"]


def test_a_function_that_needs_only_its_module_is_sent_as_source(read):
    made = read(
        "import re\nRATE = 3\nW = re.compile('a')\ndef helper(n): return n * RATE, W\n"
        "@composer.action(timeout=5)\ndef f(p): return helper(p)\n"
    )

    runtime = one(made)

    assert runtime["main"] == "f"
    assert "binary" not in runtime
    assert "def helper(n)" in runtime["code"]


def test_a_function_that_needs_other_modules_is_sent_in_an_archive(read):
    made = read(
        "import defining_lib\n@composer.action(timeout=5, annotations={'a': 1})\n"
        "def f(p): return defining_lib.v\n",
        defining_lib__py="v = 1\n",
    )

    document = made.documents()["f"]

    assert set(members(document["exec"])) == {"__main__.py", "defining_file.py", "defining_lib.py"}
    assert document["exec"]["main"] == "f"
    assert document["limits"] == {"timeout": 5000}
    assert document["annotations"] == [{"key": "a", "value": 1}]


def test_a_function_whose_source_alone_would_not_do_is_sent_in_an_archive(read):
    made = read(
        "import functools\ndef logged(f):\n    @functools.wraps(f)\n    def wrapper(p): return f(p)\n"
        "    return wrapper\n@composer.action\n@logged\ndef f(p, by=2): return p\n"
        "def plain(p, by=2): return p\nother = composer.action(plain, name='other')\n"
    )

    documents = made.documents()

    assert members(documents["f"]["exec"])["defining_file.py"].endswith(
        "@logged\ndef f(p, by=2): return p\n"
    )
    assert "def plain" in members(documents["other"]["exec"])["defining_file.py"]


def test_values_of_composing_code_are_sent_as_they_are(read):
    made = read(
        "pipeline = composer.sequence('a')\nKINDS = [n.type for n in pipeline.walk()]\n"
        "@composer.action\ndef f(p): return {'kinds': KINDS}\n"
    )

    assert "KINDS = ['sequence', 'action']\n" in made.documents()["f"]["exec"]["code"]


def test_a_function_inside_a_function_takes_values_and_modules_along(read):
    made = read(
        "import requests as soup\ndef make(n):\n    @composer.action\n    def f(p): return n, soup\n"
        "    return f\ng = make(3)\n"
    )

    assert one(made)["code"].startswith("import requests as soup\nn = 3\n")


def test_a_function_that_another_makes_is_made_again_in_the_worker(read):
    made = read(
        "def make(n):\n    @composer.action\n    def f(p): return n\n    return f\ng = make(object())\n"
    )

    assert members(one(made))["defining_file.py"].endswith("\ng = make(object())\n")


@pytest.mark.parametrize(
    ("text", "kind", "complaint"),
    [
        (
            "import yarl\n@composer.action\ndef f(p): return yarl.URL\n", ProjectError,
            "defining_file.py, line 2: the module 'yarl' will not be there at run time",
        ),
        (
            "@composer.action\ndef f(p): return composer.path\n", CaptureError,
            "needs line 3, which uses 'composer'",
        ),
        (
            "@composer.action\ndef f(p, q, r): return p\n", CaptureError,
            "takes p, q, r: a function of a composition takes",
        ),
        (
            ("def make(n):\n    @composer.action\n    def f(p): return n\n    return f\n"
            "x = composer.sequence(make(object()))\n"),
            CaptureError, "refers to 'n', a object",
        ),
        (
            ("import defining_other\ndef make():\n    @composer.action\n    def f(p): return defining_other\n"
            "    return f\nx = composer.sequence(make())\n"),
            ProjectError, "line 2: a function that is not at the top level of its module uses the",
        ),
        (
            "@composer.action(requirements=['>1'])\ndef f(p): return p\n", RequirementsError,
            "the action 'f', requirements: '>1' is not a requirement",
        ),
    ],
)  # fmt: skip
def test_a_function_that_cannot_be_sent_is_refused_with_the_place(read, text, kind, complaint):
    made = read(text, defining_other__py="")

    with pytest.raises(kind) as refusal:
        made.documents()

    assert complaint in str(refusal.value)


def test_requirements_are_sent_if_the_code_needs_them(read):
    made = read(
        "import yarl\nimport requests\n@composer.action\ndef a(p): return yarl.URL\n"
        "@composer.action\ndef b(p): return requests\n@composer.action(requirements=['attrs'])\n"
        "def c(p): return p\n",
        requirements__txt="yarl>=1\nhttpx\n",
    )

    sent = {name: doc["exec"].get("requirements") for name, doc in made.documents().items()}

    assert sent == {"a": ["yarl>=1", "httpx"], "b": None, "c": ["attrs"]}


def test_a_whole_file_is_sent_as_it_is_unless_it_needs_other_modules(read, tmp_path):
    file = tmp_path / "defining_main.py"
    file.write_text("import yarl\ndef main(p): return p\n")
    (tmp_path / "requirements.txt").write_text("yarl\n")
    assert one(files.read(file)) == {
        "kind": "python:3", "code": file.read_text(), "requirements": ["yarl"],
    }  # fmt: skip
    (tmp_path / "defining_more.py").write_text("v = 1\n")
    file.write_text("import defining_more\ndef main(p): return defining_more.v\n")
    assert set(members(one(files.read(file)))) == {
        "__main__.py", "defining_main.py", "defining_more.py",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "import defining_lib\nx = composer.sequence(lambda p: defining_lib.v)\n",
            (
                "defining_file.py, line 2: an inline function of the composition 'x' imports the module "
                "'defining_lib' of the project: make it an action with @composer.action"
            ),
        ),
        (
            "import yarl\nx = composer.sequence(lambda p: yarl.URL)\n",
            "line 2: an inline function of the composition 'x' imports 'yarl', which is neither in the",
        ),
    ],
)
def test_an_inline_function_with_modules_of_the_project_is_refused_with_the_line(
    read, text, complaint
):
    made = read(text, defining_lib__py="v = 1\n")

    with pytest.raises(ProjectError) as refusal:
        made.sender.check_inline("x", made.compositions["x"])

    assert complaint in str(refusal.value)


def test_an_inline_function_with_common_modules_is_sent(read):
    made = read(
        "import json, requests\nx = composer.sequence('a', lambda p: json.dumps(requests.get(p)))\n"
    )

    made.sender.check_inline("x", made.compositions["x"])


def test_imports_that_cannot_be_judged_are_warned_about(read):
    made = read(
        "def make():\n    @composer.action\n    def f(p):\n        import yaml2\n    return f\ng = make()\n"
        "@composer.action\ndef h(p):\n    import yaml3\n",
        requirements__txt="surely-not-installed\n",
    )

    made.documents()

    assert ["yaml2" in text or "yaml3" in text for text in made.sender.warnings] == [True, True]
