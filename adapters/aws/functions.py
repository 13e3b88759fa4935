"""`aws:lambda`: functions on AWS Lambda. `mode` selects the way to invoke one.

    request   the adapter waits for the response: the default
    event     Lambda queues the event, and the result comes by a completion trigger; see `completions`
    durable   a durable function: started under our key, and polled

The client context has the idempotency key, the trace, and the means of completion for the function, under `custom`
(`idempotency_key`, `traceparent`, `completion_token`, `callback_url`). AWS passes it on for the mode `request` only:
for `event` the token is in the parameters, and the key in the one that `key_parameter` names.
https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from ...actions import INVALID_REQUEST, LOST, NOT_FOUND
from ...composer import CANCELLED, TIMEOUT, Failure
from ..channel import JSON_TYPE, encoded
from ..port import Done, Fault, HttpRequest, Pending, Report
from ..reading import parsed
from .completions import TOKEN
from .faults import error_name
from .results import function_fault, report_of_run
from .wire import OK, region_of, xray

if TYPE_CHECKING:
    from ...actions import Remote
    from ..port import Answer, Receipt, Request, Response
    from .signing import Chain
    from .wire import Aws, Place

SERVICE = "lambda"
ACCEPTED, CHECKED = 202, 204
MAX_BYTES, MAX_EVENT_BYTES = 6_291_456, 1_048_576
API, DURABLE_API = "/2015-03-31/functions/", "/2025-12-01/"
DURABLE = "durable"
KINDS = {"request": "RequestResponse", "event": "Event", DURABLE: "Event"}
LATEST = "$LATEST"
RUNNING = ("RUNNING", "PAUSING", "PAUSED")
SETTLE_MS = 30_000  # in which an accepted run may not be found yet
ALREADY = "DurableExecutionAlreadyStartedException"


class LambdaAdapter:
    """Runs functions on AWS Lambda.

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
        mode = _mode(request.target)
        params = {**request.params, TOKEN: request.token} if mode == "event" else request.params
        body = encoded(params, MAX_BYTES if mode == "request" else MAX_EVENT_BYTES)
        if isinstance(body, Fault):
            return body
        headers = {"Content-Type": JSON_TYPE, "X-Amzn-Trace-Id": xray(request.traceparent)}
        headers["X-Amz-Invocation-Type"] = KINDS[mode]
        if mode == DURABLE:
            headers["X-Amz-Durable-Execution-Name"] = name_of(request.key)
        else:
            headers["X-Amz-Client-Context"] = _context(request)
            headers["X-Amz-Log-Type"] = "Tail" if mode == "request" else "None"
        response = await self._invoke(request, headers, body)
        if isinstance(response, Fault):
            return response
        if mode == DURABLE:
            return await self._accepted(request, response)
        if response.status == OK:
            return self._ended(response)
        if response.status == ACCEPTED:
            return Done(None, report_of_run(response))
        return self._aws.refusal(response)

    def _ended(self, response: Response) -> Done | Fault:
        """The answer in a response to a waiting request. The status is 200 for failures, too."""
        report = report_of_run(response)
        if "x-amz-function-error" not in response.headers:
            return self._aws.ended(response.body, report)
        value = parsed(response.body) if response.body else None
        return function_fault(None if isinstance(value, Failure) else value, report)

    async def _invoke(
        self, request: Request, headers: dict[str, str], body: bytes
    ) -> Response | Fault:
        place = await self._place(request)
        if isinstance(place, Fault):
            return place
        path = f"{API}{quote(request.target.function, safe='')}/invocations{_query(request.target)}"
        outgoing = HttpRequest(method="POST", url=path, headers=headers, body=body)
        return await self._aws.send(request, place, outgoing)

    async def _place(self, request: Request) -> Place | Fault:
        target = request.target
        region = region_of(target.function) or target.option("region", "")
        return await self._aws.place(SERVICE, region)

    async def check(self, request: Request) -> Fault | str:
        headers = {"X-Amz-Invocation-Type": "DryRun", "Content-Type": JSON_TYPE}
        response = await self._invoke(request, headers, b"{}")
        if isinstance(response, Fault):
            return response
        if response.status != CHECKED:
            return self._aws.refusal(response)
        return "the function may be invoked"

    # --- durable functions -------------------------------------------------------------------

    async def _accepted(self, request: Request, response: Response) -> Answer:
        if response.status in (OK, ACCEPTED):
            execution = response.headers.get("x-amz-durable-execution-arn")
            if execution is None:
                text = "the function is not durable: it was invoked as an event"
                return Fault.saying(INVALID_REQUEST, text, "unknown")
            return self._pending(execution)
        if error_name(response) == ALREADY:  # an execution under our key is this run
            found = await self._find_started(request)
            if found is not None:
                return found if isinstance(found, Fault) else self._pending(found)
        return self._aws.refusal(response)

    def _pending(self, execution: str) -> Pending:
        receipt: Receipt = {"execution": execution, "at": self._aws.now_ms}
        return Pending(receipt, report=Report(execution))

    async def _find_started(self, request: Request) -> str | Fault | None:
        """The execution that was started under our key."""
        name = request.target.function
        query = urlencode(
            {"DurableExecutionName": name_of(request.key), **_qualified(request.target)}
        )
        path = f"functions/{quote(name, safe='')}/durable-executions?{query}"
        response = await self._durable(request, HttpRequest(method="GET", url=path))
        if isinstance(response, Fault):
            return response
        if response.status != OK:
            return self._aws.refusal(response)
        listed = _object(response).get("DurableExecutions")
        first = listed[0] if isinstance(listed, list) and listed else None
        found = first.get("DurableExecutionArn") if isinstance(first, dict) else None
        return found if isinstance(found, str) else None

    async def _durable(self, request: Request, outgoing: HttpRequest) -> Response | Fault:
        place = await self._place(request)
        if isinstance(place, Fault):
            return place
        return await self._aws.send(
            request, place, replace(outgoing, url=DURABLE_API + outgoing.url)
        )

    async def poll(self, request: Request, receipt: Receipt) -> Answer:
        path = f"durable-executions/{quote(receipt['execution'], safe='')}"
        looked = await self._durable(
            request, HttpRequest(method="GET", url=f"{path}?IncludeExecutionData=false")
        )
        if isinstance(looked, Fault):
            return looked
        report = Report(receipt["execution"])
        status = _object(looked).get("Status")
        if looked.status == OK and status in RUNNING:
            return Pending(receipt, report=report)
        if looked.status != OK:
            return self._unfound(self._aws.refusal(looked), receipt)
        whole = await self._durable(
            request, HttpRequest(method="GET", url=f"{path}?IncludeExecutionData=true")
        )
        if isinstance(whole, Fault):
            return whole
        if whole.status != OK:
            return self._aws.refusal(whole)
        doc = _object(whole)
        if doc.get("Status") == "SUCCEEDED":
            return self._aws.ended(str(doc.get("Result") or "").encode(), report)
        return _unsuccessful(doc, report)

    def _unfound(self, fault: Fault, receipt: Receipt) -> Answer:
        if fault.code == NOT_FOUND and self._aws.now_ms < receipt["at"] + SETTLE_MS:
            return Pending(receipt, report=Report(receipt["execution"]))
        return fault

    async def stop(self, request: Request, receipt: Receipt) -> Fault | None:
        path = f"durable-executions/{quote(receipt['execution'], safe='')}/stop"
        body = b'{"ErrorType":"Cancelled","ErrorMessage":"Nobody waits for it any more."}'
        headers = {"Content-Type": JSON_TYPE}
        response = await self._durable(
            request, HttpRequest(method="POST", url=path, headers=headers, body=body)
        )
        if isinstance(response, Fault):
            return response
        return None if response.status == OK else self._aws.refusal(response)


def name_of(key: str) -> str:
    """The name of an execution: our key, or its hash if names must not be like it."""
    if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", key):
        return key
    return hashlib.sha256(key.encode()).hexdigest()


def _mode(target: Remote) -> str:
    mode: str = target.option("mode", "request")
    return mode


def _qualified(target: Remote) -> dict[str, str]:
    """The version or alias: durable functions need one."""
    given = target.option("qualifier")
    if given is not None:
        return {"Qualifier": given}
    named = ":" in target.function.rpartition(":function:")[2]
    return {} if named or _mode(target) != DURABLE else {"Qualifier": LATEST}


def _query(target: Remote) -> str:
    query = urlencode(_qualified(target))
    return f"?{query}" if query else ""


def _context(request: Request) -> str:
    custom = {"idempotency_key": request.key, "traceparent": request.traceparent}
    if request.token:
        custom["completion_token"] = request.token
    if request.callback:
        custom["callback_url"] = request.callback
    return base64.b64encode(json.dumps({"custom": custom}).encode()).decode()


def _object(response: Response) -> dict[str, Any]:
    value = parsed(response.body) if response.body else None
    return value if isinstance(value, dict) else {}


def _unsuccessful(doc: dict[str, Any], report: Report) -> Fault:
    """The failure of a durable execution."""
    status, error = doc.get("Status"), doc.get("Error")
    match status:
        case "FAILED":
            found = error if isinstance(error, dict) else {}
            shaped = {
                "errorType": found.get("ErrorType") or "",
                "errorMessage": found.get("ErrorMessage") or "the durable execution has failed",
                "stackTrace": found.get("StackTrace"),
            }
            return replace(function_fault(shaped, report), transient=False)
        case "TIMED_OUT":
            text = "the durable execution took longer than it may"
            return Fault.saying(TIMEOUT, text, "yes", report=report)
        case "STOPPED":
            text = "the durable execution was stopped"
            return Fault.saying(CANCELLED, text, "yes", report=report)
        case _:
            text = f"the result of the durable execution is not available any more: its status is {str(status)[:100]}"
            return Fault.saying(LOST, text, "unknown", report=report)
