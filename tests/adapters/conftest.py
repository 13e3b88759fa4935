"""A strict host for clouds, and the promise that no secret is logged."""

from __future__ import annotations

import logging

import pytest

from tests.kit.contracts.elsewhere import SECRET
from tests.rigs.strict_host import strict_host


@pytest.fixture
def host():
    with strict_host("here.example") as found:
        yield found


@pytest.fixture
def no_secret_is_shown(caplog):
    caplog.set_level(logging.DEBUG)
    yield
    assert SECRET not in caplog.text
