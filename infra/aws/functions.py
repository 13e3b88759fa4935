"""Functions that run outside a state machine: each run is a state machine of one Task, durable and with a history.

A state machine's `lambda:invoke` with the InvocationType `Event` begins such a run and does not wait for it; with
`DryRun` it only checks that the function exists.
"""

from __future__ import annotations

import json
from email.utils import formatdate
from functools import lru_cache
from typing import TYPE_CHECKING
from uuid import UUID

from ...actions import MACHINE, Action, Composed, NotFoundError, RefusedError, found_function
from ...composer import Name, asl
from ...composer.languages.asl.running import trace_header
from ..engine import EVENT, Beginning, Unwaited
from .integrations import Integration, IntegrationError, came_with

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ...composer import JSON
    from ..engine import Engine
    from .integrations import IntegrationRequest

RETRIES = 2  # of an event
STATUS = {"Event": 202, "DryRun": 204}
HOOKS = asl.hooks(is_action=lambda _: True, is_integration=lambda _: False)


def again(retries: int) -> list[str]:
    """The retriers of an event that fails: the first retry after one minute, the second after two."""
    if not retries:
        return []
    retrier = {
        "ErrorEquals": ["States.ALL"],
        "IntervalSeconds": 60,
        "MaxAttempts": retries,
        "BackoffRate": 2.0,
    }
    return [json.dumps(retrier)]


@lru_cache(maxsize=1024)
def machine_of(name: Name, *retriers: str) -> Action:
    """The state machine that runs an action as its only task."""
    retry = [json.loads(retrier) for retrier in retriers]
    task = {"Type": "Task", "Resource": str(name), "Retry": retry, "End": True}
    definition = json.dumps({"StartAt": "Invoke", "States": {"Invoke": task}})
    program = asl.lower(definition, type="STANDARD", hooks=HOOKS)
    document: dict[str, JSON] = {"definition": definition, "type": "STANDARD"}
    return Action(name, Composed(MACHINE, document, program))


class Functions:
    """The integration that invokes functions without waiting for their results.

    Args:
        engine: waits for the engine that runs the functions.
    """

    def __init__(self, engine: Callable[[], Awaitable[Engine]]) -> None:
        self._engine = engine

    @property
    def registry(self) -> dict[tuple[str, str], Integration]:
        """The integration, by service and operation."""
        return {("lambda", "invoke"): Integration(self._invoke, patterns=("",))}

    async def _invoke(self, request: IntegrationRequest) -> JSON:
        """Begins a run, or only looks for the function; returns Lambda's response."""
        engine = await self._engine()
        given, id = request.parameters, str(UUID(request.activation))
        try:
            name = Name.parse(given["FunctionName"]).within(request.namespace)
            action = found_function(engine.catalog, name, request.namespace, id)
            if given["InvocationType"] == "Event":
                # The name identifies a run that began before a crash, so that it does not begin twice.
                machine = machine_of(action.name, *again(RETRIES))
                beginning = Beginning(
                    machine,
                    given["Payload"],
                    request.namespace,
                    name=id,
                    unwaited=Unwaited(EVENT),
                )
                await engine.executions.begin(beginning)
        except NotFoundError as error:
            raise IntegrationError("Lambda.ResourceNotFoundException", str(error)) from None
        except RefusedError as error:
            raise IntegrationError("Lambda.TooManyRequestsException", str(error)) from None
        status = STATUS[given["InvocationType"]]
        headers = {
            "x-amzn-Remapped-Content-Length": "0",
            "Connection": "keep-alive",
            "x-amzn-RequestId": id,
            "Content-Length": "0",
            "Date": formatdate(engine.now_ms / 1000, usegmt=True),
            "X-Amzn-Trace-Id": trace_header(request.activation),
        }
        return came_with(headers, status, id) | {"StatusCode": status}
