"""A server for the tests of a module, and functions with names of their own."""

from __future__ import annotations

import itertools

import pytest

from tests.kit.infra.servers import AUTH, running
from tests.kit.lambdas.clients import PYTHON, ROLE, client_of, create
from tests.kit.lambdas.handlers import ARCHIVES

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


@pytest.fixture
def deployed(aws):
    """Creates a function, and deletes it at the end."""
    made = []

    def create(name, handler="handler.handler", runtime=PYTHON, **options):
        made.append(name)
        code = {"ZipFile": options.pop("archive", ARCHIVES[runtime])}
        return aws.create_function(
            FunctionName=name, Runtime=runtime, Handler=handler, Role=ROLE, Code=code, **options
        )

    yield create
    for name in made:
        aws.delete_function(FunctionName=name)
