"""AWS' services, as the environment of a server names them."""

from __future__ import annotations

import pytest

from tests.kit.adapters.aws_world import environment, live_in
from tests.rigs.services import services
from tests.rigs.signatures import REGION


@pytest.fixture
def cloud(monkeypatch):
    with services() as made:
        live_in(monkeypatch, **environment(made.url, region=REGION))
        yield made
