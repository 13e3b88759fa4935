"""A service, and machines of one task on it."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

from xingqiao.actions import Action
from xingqiao.composer import Failure, Name, Success
from xingqiao.infra.engine import Beginning
from xingqiao.infra.service.app import JOBS, open_service
from xingqiao.infra.settings import Settings


class World:
    """A service, and machines of one task on it."""

    def __init__(self, service):
        self.service, self.engine = service, service.engine

    async def begun(self, resource, parameters=None):
        """An execution of a task that is given this."""
        task = {"Type": "Task", "Resource": resource, "End": True}
        definition = {"StartAt": "T", "States": {"T": task}}
        document = {"exec": {"kind": "states", "definition": json.dumps(definition)}}
        name = Name("guest", None, "main")
        await self.engine.registry.put(Action, name, document, overwrite=True)
        action = self.engine.catalog.resolve(name, "guest")
        beginning = Beginning(action, {} if parameters is None else parameters, "guest")
        return (await self.engine.executions.begin(beginning)).execution

    async def outcome(self, execution):
        await self.engine.wait("guest", execution.id, 30)
        found = await self.engine.executions.found("guest", "main", execution.name)
        return (await self.engine.executions.data(found))[1]

    async def ran(self, resource, parameters=None):
        return await self.outcome(await self.begun(resource, parameters))

    async def result(self, resource, parameters=None):
        outcome = await self.ran(resource, parameters)
        assert isinstance(outcome, Success), outcome
        return outcome.value

    async def error(self, resource, parameters=None):
        outcome = await self.ran(resource, parameters)
        assert isinstance(outcome, Failure), outcome
        return outcome.error


@asynccontextmanager
async def opened(data=None, jobs=JOBS, **given):
    usual = {"data": data, "isolation": "none", "prewarmed": 0, "ambient_services": "guest"}
    settings = Settings(**{**usual, **given})
    async with open_service(settings, jobs) as service:
        yield World(service)
