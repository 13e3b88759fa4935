"""What all tests share: the event loop, and how hypothesis draws."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "default")


# Files of few and long tests. They run first: else one worker is busy with the last of them, and the others wait.
LONG = ("clients", "conformance", "examples", "faults", "rigs", "infra/deploy", "test_package.py")
HERE = Path(__file__).parent


@pytest.hookimpl(trylast=True)  # after the order was made random
def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: not item.path.relative_to(HERE).as_posix().startswith(LONG))


@pytest.fixture(scope="session")
def anyio_backend():
    return "asyncio"
