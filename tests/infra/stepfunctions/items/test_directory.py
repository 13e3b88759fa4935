"""Buckets that are directories: no key leads elsewhere, and a file is there as a whole or not at all."""

from __future__ import annotations

import errno
import os

import pytest

from xingqiao.infra.stepfunctions.items import DirectoryObjects
from xingqiao.infra.stepfunctions.items.directory import MAX_PARTS, NEW

ALL = (0, 1000)


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "buckets"
    (folder / "items" / "a").mkdir(parents=True)
    (tmp_path / "secret").write_text("secret")
    (folder / "file").write_text("it is no bucket")
    return folder


@pytest.fixture
def objects(root):
    return DirectoryObjects(root)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


async def code(objects, key):
    found = await objects.read("items", key, None, ALL, "")
    return getattr(found, "code", "read")


def test_a_bucket_is_a_directory_in_the_one_that_is_set(objects, root):
    (root / "link").symlink_to(root / "items")

    assert objects.has("items")
    for name in (
        "none",
        "file",
        "link",
        "..",
        ".",
        "",
        "items/a",
        "/",
        "a\0",
        "\ud800",
        None,
        5,
        [],
    ):
        assert not objects.has(name)
    assert not DirectoryObjects(root / "nowhere").has("items")


async def test_links_are_not_followed(objects, root):
    outside = root.parent
    (root / "items" / "file").symlink_to(outside / "secret")
    (root / "items" / "folder").symlink_to(outside)
    (root / "items" / "a" / "up").symlink_to("../..")

    for key in ("file", "folder/secret", "a/up/file"):
        assert await code(objects, key) == "NotFound"
    for key in ("folder/new", "a/up/new"):
        assert (await objects.write("items", key, b"x")).code == "NotFound"
    assert (await objects.page("items", "", "", 10)).entries == []
    assert names(outside) == ["buckets", "secret"]


async def test_a_link_that_an_object_takes_the_place_of_leads_nowhere(objects, root):
    (root / "items" / "k").symlink_to(root.parent / "secret")

    assert await objects.write("items", "k", b"mine") is None

    assert (root.parent / "secret").read_text() == "secret"
    assert not (root / "items" / "k").is_symlink()


async def test_what_is_no_file_is_no_object(objects, root):
    os.mkfifo(root / "items" / "pipe")

    assert await code(objects, "pipe") == "NotFound"
    assert await code(objects, "a") == "NotFound"
    assert await code(objects, "a/") == "InvalidRequest"
    assert (await objects.page("items", "", "", 10)).entries == []
    assert (await objects.write("items", "a", b"")).code == "NotFound"
    assert (await objects.write("items", "pipe/k", b"")).code == "NotFound"


async def test_a_file_that_is_half_written_is_not_seen(objects, root):
    (root / "items" / f".x{NEW}").write_text("half")

    assert (await objects.page("items", "", "", 10)).entries == []
    assert await code(objects, f".x{NEW}") == "InvalidRequest"
    await objects.write("items", "k", b"whole")
    assert names(root / "items" / "a") == []
    assert names(root / "items") == [f".x{NEW}", "a", "k"]


async def test_names_that_no_file_can_have_are_refused(objects):
    assert await code(objects, "x" * 300) == "NotFound"
    assert await code(objects, "\ud800") == "InvalidRequest"
    assert await code(objects, "/".join("x" * (MAX_PARTS + 1))) == "InvalidRequest"
    assert (await objects.write("items", "x" * 300, b"")).code == "NotFound"


async def test_names_that_are_no_text_are_not_listed(objects, root):
    (root / "items" / os.fsdecode(b"\xff")).write_text("")
    (root / "items" / "k").write_text("")

    assert [e.key for e in (await objects.page("items", "", "", 10)).entries] == ["k"]


async def test_too_many_files_are_not_listed(root):
    objects = DirectoryObjects(root, max_files=2)
    for n in range(3):
        (root / "items" / str(n)).write_text("")

    fault = await objects.page("items", "", "", 10)

    assert fault.error["message"] == "There are more than 2 files: '' in the bucket 'items'"


async def test_folders_that_are_too_deep_are_not_listed(objects, root):
    deep = root / "items" / "/".join("d" * MAX_PARTS)
    deep.mkdir(parents=True)
    (deep / "k").write_text("")
    (deep / "e").mkdir()
    (deep / "e" / "k").write_text("")

    assert len((await objects.page("items", "", "", 10)).entries) == 1


@pytest.mark.parametrize(
    ("number", "code"), [(errno.EACCES, "Permission"), (errno.EIO, "Unavailable")]
)
async def test_what_the_machine_refuses_is_told(objects, root, monkeypatch, number, code):
    def refuse(*_):
        raise OSError(number, "It may not be read")

    (root / "items" / "k").write_text("x")
    monkeypatch.setattr("os.pread", refuse)

    fault = await objects.read("items", "k", None, ALL, "")

    assert (fault.code, fault.transient) == (code, False)
    assert fault.error["message"] == "It may not be read: 'k' in the bucket 'items'"


async def test_there_are_no_versions(objects):
    fault = await objects.read("items", "k", "v1", ALL, "")

    assert fault.error["message"] == "Objects in directories have no versions."
