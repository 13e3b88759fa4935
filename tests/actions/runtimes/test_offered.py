"""The imports of code, by which packages that its kind offers are installed: found by reading it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.kit.actions.things import composed
from tests.kit.actions.wheels import tarred, zipped
from xingqiao.actions import NODE, OFFERED, PYTHON, Code
from xingqiao.actions.coded import code_of
from xingqiao.actions.runtimes import offered
from xingqiao.actions.runtimes.offered import FILE_BYTES, imports_offered
from xingqiao.actions.runtimes.packages import OFFERED_FILES


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import requests", True),
        ("import os, requests", True),
        ("import os\nimport bs4.element as e\n", True),
        ("def main(p):\n    from dateutil import parser\n", True),
        ("try: import simplejson as json\nexcept ImportError: import json", True),
        ("import importlib; m = importlib.import_module('lxml.etree')", True),
        ("m = __import__( 'kafka')", True),
        ("import os, json", False),
        ("from mine.requests import get", False),
        ("import requests_mock", False),
        ("# counts requests\ndef main(p):\n    return {'requests': 1}", False),
        ("'''import\nrequests'''", False),
    ],
)
def test_imports_of_python(text, found):
    assert imports_offered(Code(PYTHON, text)) is found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("const ow = require('openwhisk')", True),
        ('const { v4 } = require( "uuid/v4" )', True),
        ("import { createClient } from 'redis'", True),
        ("import 'uuid'", True),
        ("const u = await import(`uuid`)", True),
        ("const fs = require('fs')", False),
        ("const uuid = 'uuid'", False),
        ("require('uuid-other')", False),
        ("require('./uuid')", False),
    ],
)
def test_imports_of_node(text, found):
    assert imports_offered(Code(NODE, text)) is found


@pytest.mark.parametrize(
    ("kind", "files", "found"),
    [
        (PYTHON, {"__main__.py": "import a", "a/b.py": "import requests"}, True),
        (PYTHON, {"__main__.py": "import a", "notes.txt": "import requests"}, False),
        (PYTHON, {"__main__.py": "import requests", "requests/__init__.py": ""}, False),
        (PYTHON, {"__main__.py": "import requests", "requests.py": ""}, False),
        (PYTHON, {"__main__.py": "import requests, lxml", "requests.py": ""}, True),
        (
            PYTHON,
            {
                "__main__.py": "import requests",
                "virtualenv/lib/python3.12/site-packages/requests/api.py": "import urllib3",
            },
            False,
        ),
        (
            PYTHON,
            {
                "__main__.py": "import fetch",
                "fetch/compat.py": "try:\n    import simplejson\nexcept ImportError: ...",
                "fetch-1.0.dist-info/RECORD": "fetch/compat.py,,\nfetch-1.0.dist-info/RECORD,,\n",
            },
            False,
        ),
        (PYTHON, {"__main__.py": "", "task/app.py": "import lxml", "task/lxml/a.py": ""}, False),
        (PYTHON, {"__main__.py": "", "task/app.py": "import lxml"}, True),
        (NODE, {"index.js": "require('./b')", "b.mjs": "import 'uuid'"}, True),
        (NODE, {"index.js": "require('uuid')", "node_modules/uuid/index.js": ""}, False),
        (NODE, {"index.js": "require('a')", "node_modules/a/index.js": "require('uuid')"}, False),
        (PYTHON, {"__main__.py": " " * FILE_BYTES + "\nimport requests"}, False),
    ],
)
def test_imports_of_an_archive_that_does_not_bring_the_package(kind, files, found):
    assert imports_offered(Code(kind, zipped(files), binary=True)) is found
    assert imports_offered(Code(kind, tarred(files), binary=True)) is found


@pytest.mark.parametrize("text", ["UEsDBA==", "H4sIAA=="])
def test_an_archive_that_cannot_be_read_is_left_to_the_worker(text):
    assert not imports_offered(Code(PYTHON, text, binary=True))


def test_archives_are_read_up_to_a_limit(monkeypatch):
    files = {f"{number}.py": "" for number in range(9)} | {"__main__.py": "import requests"}
    for most, found in ((10, True), (9, False)):
        monkeypatch.setattr(offered, "MAX_FILES", most)
        assert imports_offered(Code(PYTHON, zipped(files), binary=True)) is found
        assert imports_offered(Code(PYTHON, tarred(files), binary=True)) is found


def test_imports_of_the_functions_of_a_composition():
    def fetch(params):
        import requests

        return requests.get(params)

    composition = composed(fetch, lambda params: params).exec.program
    assert imports_offered(code_of(composition, min(composition.functions)))
    plain = composed(lambda params: params).exec.program
    assert not imports_offered(code_of(plain, min(plain.functions)))


@pytest.mark.parametrize("text", ["import " * 150_000, "from " + " " * 1_000_000, "x: " * 300_000])
@pytest.mark.parametrize("kind", [PYTHON, NODE])
def test_strange_code_is_searched_in_linear_time(kind, text):
    assert not imports_offered(Code(kind, text))


def test_the_names_are_those_of_the_locked_lists():
    folder, (locked,) = OFFERED_FILES[PYTHON]
    packages = set(re.findall(r"^([a-z0-9-]+)==", (folder / locked).read_text(), re.MULTILINE))
    modules = {"beautifulsoup4": "bs4", "kafka-python": "kafka", "python-dateutil": "dateutil"}
    named = {modules.get(name, name.replace("-", "_")) for name in packages - {"tzdata"}}
    assert named == set(OFFERED[PYTHON])

    folder, (package, _) = OFFERED_FILES[NODE]
    assert set(json.loads((Path(folder) / package).read_text())["dependencies"]) == set(
        OFFERED[NODE]
    )
