"""A server that runs Node.js, and the real clients of OpenWhisk."""

from __future__ import annotations

import os

import pytest

from tests.kit.actions.things import needed
from tests.kit.clients.clients import Driver, installed
from tests.kit.infra.servers import AUTH, running


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """A directory that all processes of this test run share."""
    return tmp_path_factory.getbasetemp().parent if "PYTEST_XDIST_WORKER" in os.environ else (
        tmp_path_factory.getbasetemp()
    )  # fmt: skip


@pytest.fixture(scope="session")
def modules(shared):
    return installed(shared / "clients")


@pytest.fixture(scope="module")
def server(tmp_path_factory, shared):
    needed("node")
    environment = {**os.environ, "XINGQIAO_ENVIRONMENTS": str(shared / "runtime")}
    data = tmp_path_factory.mktemp("server")
    with running(data, "--auth", AUTH, "--isolation", "none", environment=environment) as made:
        yield made


@pytest.fixture(scope="module")
def client(server):
    with server.client() as made:
        yield made


@pytest.fixture(scope="module")
def driver(server, modules):
    made = Driver(modules, server.url, AUTH)
    yield made
    made.close()
