"""Step Functions as an integration: a state machine starts, stops and describes executions, and answers tasks.

Members of parameters and answers are in PascalCase, as on AWS. Errors have AWS' names:
`StepFunctions.ExecutionAlreadyExistsException`, and `Sfn....` for `aws-sdk`.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import nullcontext
from datetime import UTC, datetime
from email.utils import formatdate
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

from ....actions import ExecutionArn, parsed_arn
from ....composer import Error
from ...aws import (
    SYNC_2,
    TASK_FAILED,
    Functions,
    Integration,
    IntegrationError,
    IntegrationRequest,
    came_with,
    json_text,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from ....composer import JSON
    from ...engine import Engine

OPTIMIZED, SDK = "states", "aws-sdk:sfn"
START = "startExecution"
BEGINNING = (START, "startSyncExecution")  # not repeated without a name
UNAVAILABLE = 503
AGAIN_S = 0.5  # pause before a request is repeated
OPERATIONS = (
    "createActivity", "createStateMachine", "createStateMachineAlias", "deleteActivity", "deleteStateMachine",
    "deleteStateMachineAlias", "deleteStateMachineVersion", "describeActivity", "describeExecution",
    "describeMapRun", "describeStateMachine", "describeStateMachineAlias", "describeStateMachineForExecution",
    "getActivityTask", "getExecutionHistory", "listActivities", "listExecutions", "listMapRuns",
    "listStateMachineAliases", "listStateMachines", "listStateMachineVersions", "listTagsForResource",
    "publishStateMachineVersion", "redriveExecution", "sendTaskFailure", "sendTaskHeartbeat", "sendTaskSuccess",
    "startExecution", "startSyncExecution", "stopExecution", "tagResource", "testState", "untagResource",
    "updateMapRun", "updateStateMachine", "updateStateMachineAlias", "validateStateMachineDefinition",
)  # fmt: skip
LOOK_S = 3600.0
AT_ONCE = 4  # requests of one namespace, so that it does not delay the others
LONG = ("getActivityTask", "startSyncExecution")  # operations that wait
TEXTS = (
    "input",
    "output",
    "definition",
)  # members with JSON text; a state may give a value instead
DATES = ("Date", "timestamp")  # the ends of the names of instants


class OperationError(Error):
    """An operation was refused: AWS' code and message."""

    def __init__(self, code: str, message: str, status: int) -> None:
        super().__init__(message)
        self.code, self.message, self.status = code, message, status

    @property
    def exception(self) -> str:
        """The name in AWS' library for Java."""
        return self.code if self.code.endswith("Exception") else f"{self.code}Exception"


Call: TypeAlias = "Callable[[str, str, str, dict[str, JSON]], Awaitable[dict[str, JSON]]]"


class StepFunctions:
    """The integrations of this service's own API and of functions. Requests wait until `serve` is called."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._served: asyncio.Future[tuple[Engine, Call]] = loop.create_future()
        self._functions = Functions(self._engine)
        self._turns: dict[str, asyncio.Semaphore] = {}

    def serve(self, engine: Engine, call: Call) -> None:
        """Sets the engine, and the function that carries out operations.

        `call` takes a namespace, the request's id, an operation and its parameters; it raises OperationError.
        """
        self._served.set_result((engine, call))

    async def _engine(self) -> Engine:
        return (await asyncio.shield(self._served))[0]

    @property
    def registry(self) -> dict[tuple[str, str], Integration]:
        """The integrations by service and operation."""
        sdk = {(SDK, name): Integration(self._sdk) for name in OPERATIONS}
        start = Integration(self._start, self._finish, self._stop)
        return {**sdk, (OPTIMIZED, START): start, **self._functions.registry}

    async def _repeated(
        self, request: IntegrationRequest, operation: str, params: dict[str, JSON]
    ) -> dict[str, JSON]:
        _, call = await asyncio.shield(self._served)
        id = _request_id(request)
        name = operation[0].upper() + operation[1:]
        repeatable = operation not in BEGINNING or "name" in params
        while True:
            try:
                async with self._turn(request.namespace, operation):
                    return await call(request.namespace, id, name, params)
            except OperationError as error:
                if error.status != UNAVAILABLE or not repeatable:
                    raise
            await asyncio.sleep(AGAIN_S)  # noqa: TID251  our own store may recover

    def _turn(self, namespace: str, operation: str) -> AbstractAsyncContextManager[None]:
        """A namespace has at most AT_ONCE short operations at a time."""
        if operation in LONG:
            return nullcontext()
        return self._turns.setdefault(namespace, asyncio.Semaphore(AT_ONCE))

    # --- SDK integrations --------------------------------------------------------------------

    async def _sdk(self, request: IntegrationRequest) -> JSON:
        try:
            answer = await self._repeated(request, request.operation, _given(request.parameters))
        except OperationError as error:
            about = f"Service: Sfn, Status Code: {error.status}, Request ID: {_request_id(request)}"
            cause = f"{error.message} ({about})"
            raise IntegrationError(f"Sfn.{error.exception}", cause) from None
        return _pascal(answer, _iso)

    # --- executions --------------------------------------------------------------------------

    async def _start(self, request: IntegrationRequest) -> JSON:
        params = _given(request.parameters)
        params.setdefault("name", _request_id(request))
        if params.get("input") is None:
            params["input"] = "{}"
        answer = await self._optimized(request, START, params)
        headers = {  # as recorded on AWS
            "x-amzn-RequestId": _request_id(request),
            "connection": "keep-alive",
            "Content-Length": str(len(json_text(answer).encode())),
            "Date": formatdate((await self._engine()).now_ms / 1000, usegmt=True),
            "Content-Type": "application/x-amz-json-1.0",
        }
        told = _pascal(answer, _milliseconds) | came_with(headers, 200, _request_id(request))
        return dict(sorted(told.items()))

    async def _optimized(
        self, request: IntegrationRequest, operation: str, params: dict[str, JSON]
    ) -> dict[str, JSON]:
        try:
            return await self._repeated(request, operation, params)
        except OperationError as error:
            about = (
                f"Service: AWSStepFunctions; Status Code: {error.status}; "
                f"Error Code: {error.code}; Request ID: {_request_id(request)}; Proxy: null"
            )
            cause = f"{error.message} ({about})"
            raise IntegrationError(f"StepFunctions.{error.exception}", cause) from None

    async def _finish(self, request: IntegrationRequest, answer: Any) -> JSON:
        """Waits for the end of an execution, and describes it as DescribeExecution does."""
        engine = await self._engine()
        arn = parsed_arn(answer["ExecutionArn"])
        if isinstance(arn, ExecutionArn):
            executions = engine.executions
            found = await executions.found(request.namespace, arn.machine, arn.name)
            while not await engine.wait(request.namespace, found.id, LOOK_S):
                pass
        params: dict[str, JSON] = {"executionArn": answer["ExecutionArn"]}
        told: dict[str, Any] = await self._optimized(request, "describeExecution", params)
        if request.pattern == SYNC_2:
            told |= {name: json.loads(told[name]) for name in ("input", "output") if name in told}
        shown = dict(sorted(_described(told).items()))
        if told["status"] != "SUCCEEDED":
            raise IntegrationError(TASK_FAILED, json_text(shown))
        return shown

    async def _stop(self, request: IntegrationRequest, answer: Any) -> None:
        await self._optimized(request, "stopExecution", {"executionArn": answer["ExecutionArn"]})


def _request_id(request: IntegrationRequest) -> str:
    """The request's id, which a repetition has too."""
    return str(UUID(request.activation))


def _given(parameters: JSON) -> dict[str, JSON]:
    """The operation's parameters; a value for JSON text is serialized."""
    if not isinstance(parameters, dict):
        return {}
    given = _spelled(parameters, str.lower)
    for name in TEXTS:
        if name in given and not isinstance(given[name], (str, type(None))):
            given[name] = json_text(given[name])
    return given


def _spelled(doc: dict[str, JSON], first: Callable[[str], str]) -> dict[str, JSON]:
    return {first(name[:1]) + name[1:]: _inner(value, first) for name, value in doc.items()}


def _inner(value: JSON, first: Callable[[str], str]) -> JSON:
    if isinstance(value, dict):
        return _spelled(value, first)
    return [_inner(item, first) for item in value] if isinstance(value, list) else value


def _pascal(answer: dict[str, JSON], dated: Callable[[float], JSON]) -> dict[str, JSON]:
    """An answer in PascalCase, its instants (in seconds) converted by `dated`."""
    return _spelled(_dated(answer, dated), str.upper)


def _dated(value: JSON, dated: Callable[[float], JSON]) -> Any:
    if isinstance(value, list):
        return [_dated(item, dated) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: dated(member)
        if name.endswith(DATES) and isinstance(member, (int, float))
        else _dated(member, dated)
        for name, member in value.items()
    }


def _described(told: dict[str, JSON]) -> dict[str, JSON]:
    """DescribeExecution's answer in PascalCase; input and output stay as they are."""
    data = {name: told.pop(name) for name in ("input", "output") if name in told}
    return _pascal(told, _milliseconds) | {name.title(): value for name, value in data.items()}


def _milliseconds(seconds: float) -> JSON:
    return round(seconds * 1000)


def _iso(seconds: float) -> JSON:
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
