"""The files of actions: archives as clients send them, and what is wrong with some."""

from __future__ import annotations

import base64

import pytest

from tests.kit.deploy.archives import tarred, zipped
from xingqiao.actions import Code
from xingqiao.infra.deploy import BundleError
from xingqiao.infra.deploy.archives import MAX_BYTES, write_files

PYTHON, NODE = "python:3", "nodejs:20"


def written(tmp_path, text, kind=PYTHON, *, binary=True, most=MAX_BYTES):
    folder = tmp_path / "action"
    write_files("a", Code(kind, text, "main", binary), folder, most)
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_an_archive_is_unpacked(tmp_path, pack):
    assert written(tmp_path, pack(main_py="", inner__module_py="")) == [
        "__main__.py",
        "inner/module.py",
    ]


@pytest.mark.parametrize(("kind", "file"), [(PYTHON, "__main__.py"), (NODE, "index.js")])
def test_one_file_is_the_file_that_an_archive_starts_with(tmp_path, kind, file):
    assert written(tmp_path, "text", kind, binary=False) == [file]


@pytest.mark.parametrize("main", ["lib/start.js", "lib/start"])
def test_a_package_says_where_it_starts(tmp_path, main):
    package = f'{{"main": "{main}"}}'

    assert "lib/start.js" in written(tmp_path, zipped(package_json=package, lib__start_js=""), NODE)


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        (zipped(other_py=""), PYTHON, "the archive has no __main__.py at its top level"),
        (zipped(other_js=""), NODE, "the archive has no index.js at its top level"),
        (zipped(package_json='{"main": "a.js"}'), NODE, "the archive has no a.js"),
        (zipped(package_json="{"), NODE, "its package.json is not JSON"),
        (zipped(main_py="", **{"..__up_py": ""}), PYTHON, "'../up.py', which lies outside it"),
        (tarred(main_py="", **{"..__up_py": ""}), PYTHON, "'../up.py', which lies outside it"),
        (base64.b64encode(b"PK\3\4nothing").decode(), PYTHON, "the archive cannot be unpacked"),
        (base64.b64encode(b"\x1f\x8b\x08nothing").decode(), NODE, "the archive cannot be unpacked"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(tmp_path, text, kind, says):
    with pytest.raises(BundleError) as refused:
        written(tmp_path, text, kind)

    assert str(refused.value).startswith("action a: ")
    assert says in str(refused.value)
    assert not (tmp_path / "up.py").exists()


def test_an_archive_may_not_unpack_to_more_than_any_target_takes(tmp_path):
    assert written(tmp_path, zipped(main_py="x" * 10), most=10) == ["__main__.py"]
    with pytest.raises(BundleError, match="its files have more than 10 bytes"):
        written(tmp_path, zipped(main_py="x" * 11), most=10)
