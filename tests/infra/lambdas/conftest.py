"""A server for the tests of a module, and functions with names of their own."""

from __future__ import annotations

import itertools

import pytest

from tests.kit.infra.servers import AUTH, running
from tests.kit.lambdas.clients import client_of, create

NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("server"), "--auth", AUTH, "--isolation", "none") as made:
        yield made


@pytest.fixture(scope="module")
def aws(server):
    return client_of(server)


@pytest.fixture
def fresh():
    """Makes names that no function has."""
    return lambda: f"fn-{next(NUMBERS)}"


@pytest.fixture
def name(aws, fresh):
    """The name of a function that exists. Its handler returns "first"."""
    made = fresh()
    create(aws, made)
    return made
