"""What runs programs that are written for `Xingqiao`: an embedded engine, and a client of a real server."""

from __future__ import annotations

import secrets
from contextlib import asynccontextmanager

from tests.kit.infra.servers import AUTH
from xingqiao.actions import Rule, Trigger
from xingqiao.client import connect
from xingqiao.composer import Name
from xingqiao.embedded import NAMESPACE, embedded

ECHO = "def main(params):\n    return params\n"
FAIL = "def main(params):\n    return {'error': {'why': params.get('n')}}\n"
RAISE = "def main(params):\n    raise KeyError('oder')\n"
ACCOUNT = """
def main(params):
    state, given = params["state"] or {"n": 0}, params["params"]
    if params["operation"] == "add":
        state = {"n": state["n"] + given.get("n", 1)}
        return {"state": state, "result": state}
    if params["operation"] == "look":
        return {"result": state}
    return {"error": "unknown"}
"""
CALLBACK = [{"key": "completion", "value": "callback"}]


def python(code, **fields):
    """The document of an action."""
    return {"exec": {"kind": "python:3", "code": code}, **fields}


class Runner:
    """A `Xingqiao`, names that no other test has, and what only the one or the other can make."""

    def __init__(self, x, put_trigger):
        self.x, self.put_trigger, self._suffix = x, put_trigger, secrets.token_hex(4)

    def name(self, name):
        """A name of this test's own."""
        return f"{name}-{self._suffix}"

    async def put(self, name, code, **fields):
        """Deploys an action of Python. Returns its name."""
        await self.x.put(self.name(name), python(code, **fields))
        return self.name(name)

    async def deploy(self, name, composition):
        """Deploys a composition. Returns its name."""
        await self.x.deploy(self.name(name), composition)
        return self.name(name)


@asynccontextmanager
async def an_embedded_engine(server):
    async with embedded() as engine:

        async def put_trigger(trigger, action, **document):
            registry = engine.engine.registry
            names = [Name.parse(name).within(NAMESPACE) for name in (trigger, f"{trigger}-rule")]
            await registry.put(Trigger, names[0], document, overwrite=False)
            rule = {"trigger": f"/_/{trigger}", "action": f"/_/{action}"}
            await registry.put(Rule, names[1], rule, overwrite=False)

        yield Runner(engine, put_trigger)


@asynccontextmanager
async def a_client(server):
    async def put_trigger(trigger, action, **document):
        with server.client() as http:
            assert http.put(f"/triggers/{trigger}", json=document).status_code == 200
            rule = {"trigger": f"/_/{trigger}", "action": f"/_/{action}"}
            assert http.put(f"/rules/{trigger}-rule", json=rule).status_code == 200

    async with connect(server.url, AUTH) as x:
        yield Runner(x, put_trigger)


RUNNERS = {"embedded": an_embedded_engine, "client": a_client}
