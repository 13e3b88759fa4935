"""Probes of a sandbox: real attempts on decoys, of which nothing is left; tests/attack says which succeed."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

import pytest

from xingqiao.infra.service.sandbox_probes import PROBES, VARIABLE, ProbeError, probe
from xingqiao.infra.settings import Settings


@pytest.fixture
def places(monkeypatch):
    """A home directory and a temporary one of its own, whose paths are short enough for sockets."""
    with tempfile.TemporaryDirectory() as directory:
        monkeypatch.setenv("HOME", directory)
        monkeypatch.setattr(tempfile, "tempdir", directory)
        yield Path(directory)


def test_every_probe_has_a_result_and_nothing_is_left(places):
    found = asyncio.run(probe(Settings(isolation="none")))

    assert list(found) == list(PROBES)
    assert {found["key"], found["store"], found["tmp_write"]} == {True}  # nothing is in their way
    assert list(places.iterdir()) == []
    assert VARIABLE not in os.environ


def test_a_temporary_directory_whose_path_is_too_long_for_sockets_is_told(places, monkeypatch):
    deep = places / ("x" * 100)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))

    with pytest.raises(ProbeError, match=f"in the temporary directory {deep}: AF_UNIX") as raised:
        asyncio.run(probe(Settings(isolation="none")))

    assert raised.value.fix.startswith("set TMPDIR to a directory")
    assert list(deep.iterdir()) == []
    assert list(places.iterdir()) == [deep]
