"""`aws:states`: state machines of AWS Step Functions, started under our key and polled.

The type must be standard: AWS starts an execution of the same name and input only once. Executions of express
machines have no unique names and cannot be polled.
https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ...actions import BAD_RESPONSE, INVALID_REQUEST, NOT_FOUND
from ...composer import APPLICATION_ERROR, CANCELLED, TIMEOUT
from ..channel import encoded
from ..port import Fault, Pending, Report, error_document
from ..reading import parsed
from .faults import error_name
from .functions import SETTLE_MS, name_of
from .wire import Place, region_of, xray

if TYPE_CHECKING:
    from ...actions import Remote
    from ...composer import JSON
    from ..port import Answer, Receipt, Request, Response
    from .signing import Chain
    from .wire import Aws

SERVICE, TARGET = "stepfunctions", "AWSStepFunctions."
MAX_BYTES = 262_144
RUNNING = ("RUNNING", "PENDING_REDRIVE")
ALREADY = "ExecutionAlreadyExists"
EXPRESS = "the state machine is of the express type, which cannot be polled: use the standard type"


class StatesAdapter:
    """Runs state machines.

    Args:
        aws: the client of AWS.
        chain: the server's own credentials.
    """

    cloud = "aws"

    def __init__(self, aws: Aws, chain: Chain) -> None:
        self._aws, self._chain = aws, chain

    def ambient(self, _target: Remote) -> Chain:
        return self._chain

    async def invoke(self, request: Request) -> Answer:
        body = encoded(request.params, MAX_BYTES)
        if isinstance(body, Fault):
            return body
        name = name_of(request.key)
        asked: dict[str, JSON] = {
            "stateMachineArn": request.target.function,
            "name": name,
            "input": body.decode(),
            "traceHeader": xray(request.traceparent),
        }
        started = await self._call(request, "StartExecution", asked)
        if isinstance(started, Fault):
            return started
        if not isinstance(started, dict):
            if error_name(started) != ALREADY:
                return self._aws.refusal(started)
            return await self._find_started(
                request, _execution(request.target.function, name), started
            )
        execution = str(started.get("executionArn"))
        if ":express:" in execution:
            return Fault.saying(INVALID_REQUEST, EXPRESS, "yes")
        return self._pending(execution)

    def _pending(self, execution: str) -> Pending:
        receipt: Receipt = {"execution": execution, "at": self._aws.now_ms}
        return Pending(receipt, report=Report(execution))

    async def _find_started(self, request: Request, execution: str, refused: Response) -> Answer:
        """Handles a name that is in use: an ended execution with the same input is this run."""
        found = await self._call(request, "DescribeExecution", {"executionArn": execution})
        if isinstance(found, Fault):
            return found
        given = found.get("input") if isinstance(found, dict) else None
        if isinstance(given, str) and parsed(given.encode()) == request.params:
            return self._pending(execution)
        return self._aws.refusal(refused)

    async def poll(self, request: Request, receipt: Receipt) -> Answer:
        execution = receipt["execution"]
        found = await self._call(request, "DescribeExecution", {"executionArn": execution})
        if isinstance(found, Fault):
            return found
        report = Report(execution)
        if not isinstance(found, dict):
            fault = self._aws.refusal(found)
            fresh = self._aws.now_ms < receipt["at"] + SETTLE_MS
            return Pending(receipt, report=report) if fault.code == NOT_FOUND and fresh else fault
        if found.get("status") in RUNNING:
            return Pending(receipt, report=report)
        if found.get("status") == "SUCCEEDED":
            return self._aws.ended(str(found.get("output") or "").encode(), report)
        return _unsuccessful(found, report)

    async def stop(self, request: Request, receipt: Receipt) -> Fault | None:
        asked = {"executionArn": receipt["execution"], "error": CANCELLED}
        stopped = await self._call(request, "StopExecution", asked)
        if isinstance(stopped, Fault):
            return stopped
        return None if isinstance(stopped, dict) else self._aws.refusal(stopped)

    async def check(self, request: Request) -> Fault | str:
        machine = re.sub(r"(:stateMachine:[^:]+).*", r"\1", request.target.function)
        found = await self._call(request, "DescribeStateMachine", {"stateMachineArn": machine})
        if isinstance(found, Fault):
            return found
        if not isinstance(found, dict):
            return self._aws.refusal(found)
        if found.get("type") == "EXPRESS":
            return Fault.saying(INVALID_REQUEST, EXPRESS, "no")
        return "the state machine is there"

    async def _call(
        self, request: Request, operation: str, body: dict[str, JSON]
    ) -> dict[str, Any] | Response | Fault:
        place = await self._aws.place(SERVICE, region_of(request.target.function))
        if not isinstance(place, Place):
            return place
        return await self._aws.call(request, place, TARGET + operation, body)


def _execution(machine: str, name: str) -> str:
    """The ARN of an execution of a state machine, a version or an alias."""
    return re.sub(r":stateMachine:([^:]+).*", rf":execution:\1:{name}", machine)


def _unsuccessful(doc: dict[str, Any], report: Report) -> Fault:
    """The failure of an execution."""
    status = str(doc.get("status"))[:100]
    match status:
        case "FAILED":
            code, cause = doc.get("error"), doc.get("cause")
            error = error_document(
                str(code or APPLICATION_ERROR), str(cause or "the execution has failed")
            )
            return Fault(APPLICATION_ERROR, error, "yes", report=report)
        case "TIMED_OUT":
            text = "the execution took longer than it may"
            return Fault.saying(TIMEOUT, text, "yes", report=report)
        case "ABORTED":
            text = "the execution was aborted"
            return Fault.saying(CANCELLED, text, "yes", report=report)
        case _:
            text = f"the execution has an unknown status: {status}"
            return Fault.saying(BAD_RESPONSE, text, "unknown", report=report)
