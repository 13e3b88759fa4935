"""Functions that are invoked by themselves: each run is a state machine of one Task, so it is durable and has a history.

A state machine's `lambda:invoke` with the InvocationType `Event` begins such a run and does not wait for it; with
`DryRun` it only learns whether the function is there.
"""

from __future__ import annotations

import asyncio
import json
from email.utils import formatdate
from functools import lru_cache
from typing import TYPE_CHECKING
from uuid import UUID

from ...actions import MACHINE, Action, Composed, NotFoundError, RefusedError
from ...composer import Name, asl
from ...composer.languages.asl.running import trace_header
from ..engine import EVENT, Beginning, Unwaited
from .integrations import Integration, IntegrationError, came_with

if TYPE_CHECKING:
    from ...composer import JSON
    from ..engine import Engine
    from .integrations import Asked

AGAIN = (
    '{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 60, "MaxAttempts": 2, "BackoffRate": 2.0}'
)
STATUS = {"Event": 202, "DryRun": 204}
HOOKS = asl.hooks(is_action=lambda _: True, is_integration=lambda _: False)


@lru_cache(maxsize=1024)
def machine_of(name: Name, *retriers: str) -> Action:
    """The state machine that runs an action as its only task."""
    retry = [json.loads(retrier) for retrier in retriers]
    task = {"Type": "Task", "Resource": str(name), "Retry": retry, "End": True}
    definition = json.dumps({"StartAt": "Invoke", "States": {"Invoke": task}})
    program = asl.lower(definition, type="STANDARD", hooks=HOOKS)
    document = {"definition": definition, "type": "STANDARD"}
    return Action(name, Composed(MACHINE, document, program))


class Functions:
    """The integration that invokes functions without waiting for them, once there is an engine: see `serve`."""

    def __init__(self) -> None:
        self._served = asyncio.Event()
        self._engine: Engine

    def serve(self, engine: Engine) -> None:
        """Has it begin runs on `engine`."""
        self._engine = engine
        self._served.set()

    @property
    def registry(self) -> dict[tuple[str, str], Integration]:
        """The integration, by its name."""
        return {("lambda", "invoke"): Integration(self._invoke, patterns=("",))}

    async def _invoke(self, asked: Asked) -> JSON:
        """Begins a run, or only looks for the function; returns Lambda's answer to the request."""
        await self._served.wait()
        given, request = asked.parameters, str(UUID(asked.activation))
        try:
            name = Name.parse(given["FunctionName"]).within(asked.namespace)
            action = self._engine.catalog.resolve(name, asked.namespace)
            if given["InvocationType"] == "Event":
                # By its name a run that was begun before a crash is found again, and not begun twice.
                machine = machine_of(action.name, AGAIN)
                beginning = Beginning(
                    machine,
                    given["Payload"],
                    asked.namespace,
                    name=request,
                    unwaited=Unwaited(EVENT),
                )
                await self._engine.executions.begin(beginning)
        except NotFoundError as error:
            raise IntegrationError("Lambda.ResourceNotFoundException", str(error)) from None
        except RefusedError as error:
            raise IntegrationError("Lambda.TooManyRequestsException", str(error)) from None
        status = STATUS[given["InvocationType"]]
        headers = {
            "x-amzn-Remapped-Content-Length": "0",
            "Connection": "keep-alive",
            "x-amzn-RequestId": request,
            "Content-Length": "0",
            "Date": formatdate(self._engine.now_ms / 1000, usegmt=True),
            "X-Amzn-Trace-Id": trace_header(asked.activation),
        }
        return came_with(headers, status, request) | {"StatusCode": status}
