"""A bundle that the version before one package made: it goes on under this version, and says the same."""

from __future__ import annotations

import gzip
import heapq
import itertools
import json
import re
from pathlib import Path

import pytest

from tests.kit.deploy.hosts import Host
from xingqiao import composer
from xingqiao.infra.deploy.hosted import Deployed, Invocation

MADE = Path(__file__).parents[3] / "data" / "before_one_package" / "bundle.json.gz"
BUNDLES = json.loads(gzip.decompress(MADE.read_bytes()))


def echo(name):
    def action(params):
        return {**params, name: params.get(name, 0) + 1}

    return action


def busy(_):
    return {"error": {"code": "Busy"}}


ACTIONS = {name: echo(name) for name in "abcd"} | {"busy": busy, "never": None}


class Cloud(Host):
    """A host of an older bundle that keeps what is posted."""

    def __init__(self, bundle):
        super().__init__(composer.literal({}), ACTIONS)
        self.deployed = Deployed.from_json(bundle)
        self.posted = []

    def post(self, message, delay_ms):
        text = json.dumps(message.message if isinstance(message, Invocation) else message)
        action = message.action if isinstance(message, Invocation) else None
        self.posted.append([self.clock.ms + delay_ms, action, text])
        super().post(message, delay_ms)

    def stand(self, stood):
        """Puts the table and the queue as the older version left them."""
        self.clock.ms, self._swept_ms = stood["now"], stood["swept"]
        self.table.heads = dict(stood["heads"])
        self.table.rows = {(id, name): row for id, name, row in stood["rows"]}
        for at, order, action, text in stood["queue"]:
            message = json.loads(text)
            if action is not None:
                message = Invocation(action=action, message=message)
            heapq.heappush(self._queue, (at, order, message))
        self._order = itertools.count(1_000)


def known(text):
    """A message without the one member that is new: the failure of the attempt before."""
    return re.sub(r', "failed": {"code": "ApplicationError", "error": {"code": "Busy"}}', "", text)


@pytest.mark.parametrize("name", BUNDLES)
def test_its_messages_are_the_same_to_the_byte(name):
    cloud = Cloud(BUNDLES[name]["bundle"])

    assert cloud.run({"x": 1}) == BUNDLES[name]["result"]
    assert [[*sent, known(text)] for *sent, text in cloud.posted] == BUNDLES[name]["posted"]


@pytest.mark.parametrize("name", BUNDLES)
def test_what_it_has_begun_ends_wherever_it_stood(name):
    for stood in BUNDLES[name]["stood"]:
        cloud = Cloud(BUNDLES[name]["bundle"])
        cloud.stand(stood)

        assert cloud.follow() == BUNDLES[name]["result"]
