"""Probes of a sandbox: real attempts on decoys, of which nothing is left; tests/attack says which succeed."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

import pytest

from xingqiao.infra.service.sandbox_probes import PROBES, VARIABLE, probe
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
