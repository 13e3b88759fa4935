"""Every store, for the tests of their laws."""

from __future__ import annotations

import pytest

from tests.kit.stores.contract import STORES, there


@pytest.fixture(params=STORES)
async def store(request, tmp_path):
    with there(request.param):
        async with STORES[request.param](tmp_path / "data") as opened:
            yield opened
