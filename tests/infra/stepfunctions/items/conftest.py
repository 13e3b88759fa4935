"""A folder of buckets with one object, `k` in `items`."""

from __future__ import annotations

import pytest


@pytest.fixture
def root(tmp_path):
    (tmp_path / "items").mkdir()
    (tmp_path / "items" / "k").write_text("[1, 2]")
    return tmp_path
