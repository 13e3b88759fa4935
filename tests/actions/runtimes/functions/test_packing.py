"""Archives of Lambda functions as actions."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from xingqiao.actions.runtimes import ArchiveError, packed, repacked
from xingqiao.actions.runtimes.functions import packing


def archive(**files):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as bundle:
        for name, content in files.items():
            bundle.writestr(name.replace("__", "/"), content)
    return made.getvalue()


def read(content):
    with zipfile.ZipFile(io.BytesIO(content)) as bundle:
        return {name: bundle.read(name) for name in bundle.namelist()}


@pytest.mark.parametrize(
    ("kind", "start"), [("python:3", "__main__.py"), ("nodejs:20", "index.js")]
)
def test_what_was_uploaded_stands_in_a_folder_beside_what_calls_it(kind, start):
    files = read(
        packed(archive(module="code", lib__inner="more"), kind, "module.handler", {"A": "b"})
    )

    assert list(files) == [start, "function.json", "task/module", "task/lib/inner"]
    assert json.loads(files["function.json"]) == {
        "handler": "module.handler",
        "environment": {"A": "b"},
    }
    assert files["task/lib/inner"] == b"more"


def test_the_same_is_packed_the_same_so_that_its_workers_are():
    uploaded = archive(module="code")

    assert packed(uploaded, "python:3", "m.h", {}) == packed(uploaded, "python:3", "m.h", {})
    assert packed(uploaded, "python:3", "m.h", {}) != packed(
        uploaded, "python:3", "m.h", {"A": "b"}
    )


def test_its_code_is_kept_when_it_is_called_otherwise():
    made = packed(archive(module="code"), "python:3", "m.h", {})

    assert repacked(made, "python:3", "m.g", {"A": "b"}) == packed(
        archive(module="code"), "python:3", "m.g", {"A": "b"}
    )


@pytest.mark.parametrize(
    "uploaded",
    [b"", b"none", archive(a="b")[:40], archive(**{"..__a": "b"}), archive(__a="b")],
    ids=["nothing", "a text", "cut off", "above", "a name of ours"],  # an archive tells the time
)
def test_what_is_no_archive_is_refused(uploaded):
    with pytest.raises(ArchiveError):
        packed(uploaded, "python:3", "m.h", {})


def test_one_that_unpacks_to_more_than_there_may_be_is_refused(monkeypatch):
    monkeypatch.setattr(packing, "MAX_BYTES", 3)

    with pytest.raises(ArchiveError, match="smaller than 3 bytes"):
        packed(archive(a="long"), "python:3", "m.h", {})
