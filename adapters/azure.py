"""`azure:function`: HTTP triggers. `azure:durable`: orchestrations, by Durable Functions' HTTP API.

A function that answers 202 with an address is polled there. Such addresses hold keys: those are kept apart in the
receipt, and are never shown. Azure's front end cuts a request that takes longer than 230 seconds; the function may have
run then. https://learn.microsoft.com/azure/azure-functions/durable/durable-functions-http-api
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit

from ..actions import DURABLE, INVALID_REQUEST
from ..composer import APPLICATION_ERROR, CANCELLED
from .channel import encoded, filled, report_of, run_headers, with_query
from .http import BODILESS
from .port import Done, Fault, HttpRequest, Pending, error_document
from .reading import OK, done, fault_of, parsed, retry_after_ms, unheard

if TYPE_CHECKING:
    from ..actions import Remote
    from .channel import Channel
    from .port import Answer, Authorizer, Receipt, Report, Request, Response

ACCEPTED, CONFLICT, MISSING, GONE = 202, 409, 404, 410
LACKING = (ACCEPTED, MISSING, GONE)
MAX_BYTES = 100 << 20  # of a request to a function app
DURABLE_API = "/runtime/webhooks/durabletask"
RUNNING = ("Pending", "Running", "Suspended", "ContinuedAsNew")
COMPLETED = "Completed"
STOPPED = ("Terminated", "Canceled")


class AzureAdapter:
    """Runs functions and orchestrations of function apps.

    Args:
        channel: sends requests.
        identity: makes an authorizer for an audience with the server's own credentials; None if it has none.
    """

    cloud = "azure"

    def __init__(self, channel: Channel, identity: Any = None) -> None:
        self._channel, self._identity = channel, identity

    def ambient(self, target: Remote) -> Authorizer | None:
        made: Authorizer | None = None
        if self._identity is not None:
            made = self._identity(f"{target.option('host')}/.default")
        return made

    async def invoke(self, request: Request) -> Answer:
        if request.target.kind == DURABLE:
            return await self._start(request)
        outgoing = _http_request(request)
        response = (
            outgoing if isinstance(outgoing, Fault) else await self._channel.send(request, outgoing)
        )
        if isinstance(response, Fault):
            return response
        status = (
            _status_address(response, outgoing.url) if isinstance(outgoing, HttpRequest) else None
        )
        if status is not None:
            return self._pending(status, response)
        return self._read(response)

    def _pending(self, receipt: Receipt, response: Response) -> Pending:
        """A run to poll for.

        A function app says when to poll. Durable Functions' own API names the same interval for every run, however
        short: it is the longest wait between two polls.
        """
        later_ms = retry_after_ms(response, self._channel.now_ms)
        if DURABLE_API in receipt["url"]:
            return Pending(receipt, 0, report_of(response), later_ms or None)
        return Pending(receipt, later_ms or 0, report_of(response))

    async def poll(self, request: Request, receipt: Receipt) -> Answer:
        url = receipt["url"]
        if urlsplit(url)[:2] != urlsplit(request.target.option("host"))[:2]:
            request = replace(request, authorizer=None)  # the keys are for the target's host only
        query = receipt["secret"]
        outgoing = HttpRequest(
            method="GET", url=f"{url}?{query}" if query else url, private=bool(query)
        )
        response = await self._channel.send(request, outgoing)
        if isinstance(response, Fault):
            return response
        if response.status == ACCEPTED or (
            request.target.kind == DURABLE and response.status in (MISSING, GONE)
        ):  # Azure may not have stored it yet
            return self._pending(receipt, response)
        return self._read(response, receipt)

    def _read(self, response: Response, receipt: Receipt | None = None) -> Answer:
        report = report_of(response)
        if receipt is not None and (status := _status_in(response)) is not None:
            return _ended(status, receipt, report)
        if response.status not in OK:
            fault = fault_of(response, self._channel.now_ms, report)
            return fault if receipt is None else unheard(fault, response.status)
        return done(response, report)

    # --- orchestrations ----------------------------------------------------------------------

    # Azure refuses to start an orchestration only while one of the same name runs; one that has ended is
    # run once more. So the instance of our key is looked up first.
    async def _start(self, request: Request) -> Answer:
        operation = request.target.option("operation", "run")
        if operation in ("query", "raise", "terminate"):
            return await self._manage(request, operation)
        body = encoded(request.params, MAX_BYTES)
        if isinstance(body, Fault):
            return body
        instance = _instance(request)
        receipt: Receipt = {"url": f"{_api(request)}/instances/{instance}", "secret": ""}
        before = await self._lookup(request, receipt["url"])
        if isinstance(before, Fault):
            return before
        if _runs_or_succeeded(before):
            known = Done({"instanceId": instance}, report_of(before))
            return known if operation == "start" else Pending(receipt, 0, known.report)
        url = f"{_api(request)}/orchestrators/{quote(request.target.function)}/{instance}"
        outgoing = HttpRequest(method="POST", url=url, headers=run_headers(request), body=body)
        response = await self._channel.send(request, outgoing)
        if isinstance(response, Fault):
            return response
        report = report_of(response)
        if response.status not in (ACCEPTED, CONFLICT):  # a conflict: it runs under our key already
            return fault_of(response, self._channel.now_ms, report)
        begun = Done({"instanceId": instance}, report)
        return begun if operation == "start" else self._pending(receipt, response)

    async def _lookup(self, request: Request, url: str) -> Response | Fault:
        """The response about an instance, also if there is none; a Fault if the lookup failed."""
        asked = replace(request, token="", callback="")
        found = await self._channel.send(asked, HttpRequest(method="GET", url=url))
        if isinstance(found, Fault) or found.status in (*OK, *LACKING):
            return found
        return fault_of(found, self._channel.now_ms, report_of(found))

    async def _manage(self, request: Request, operation: str) -> Answer:
        """Queries an orchestration, sends it an event, or ends it."""
        params: dict[str, Any] = request.params
        wanted = ("instanceId", "event") if operation == "raise" else ("instanceId",)
        for name in wanted:
            if not isinstance(params.get(name), str) or params[name] in ("", ".", ".."):
                text = f"the operation '{operation}' needs the parameter '{name}', a text"
                return Fault.saying(INVALID_REQUEST, text, "no")
        url = f"{_api(request)}/instances/{quote(params['instanceId'], safe='')}"
        if operation == "query":
            outgoing = HttpRequest(method="GET", url=url)
        elif operation == "raise":
            body = encoded(params.get("data"), MAX_BYTES)
            if isinstance(body, Fault):
                return body
            url += f"/raiseEvent/{quote(params['event'], safe='')}"
            outgoing = HttpRequest(method="POST", url=url, headers=run_headers(request), body=body)
        else:
            reason = quote(str(params.get("reason", "")), safe="")
            outgoing = HttpRequest(method="POST", url=f"{url}/terminate?reason={reason}")
        response = await self._channel.send(request, outgoing)
        if isinstance(response, Fault):
            return response
        report = report_of(response)
        if response.status not in OK:
            return fault_of(response, self._channel.now_ms, report)
        return done(response, report) if operation == "query" else Done(None, report)

    async def stop(self, request: Request, receipt: Receipt) -> Fault | None:
        if request.target.kind != DURABLE:
            return None
        url = f"{receipt['url']}/terminate?reason=cancelled"
        response = await self._channel.send(request, HttpRequest(method="POST", url=url))
        return response if isinstance(response, Fault) else None

    async def check(self, request: Request) -> Fault | str:
        if request.target.kind != DURABLE:
            return await self._channel.reach(request, request.target.option("host"))
        url = f"{_api(request)}/instances?top=1"
        response = await self._channel.send(request, HttpRequest(method="GET", url=url))
        if isinstance(response, Fault):
            return response
        if response.status not in OK:
            return fault_of(response, self._channel.now_ms, report_of(response))
        return "its orchestrations can be listed"


def _http_request(request: Request) -> HttpRequest | Fault:
    target = request.target
    route = filled(target.function, request.params, url=True)
    if isinstance(route, Fault):
        return route
    url = f"{target.option('host').rstrip('/')}/api/{route[0].lstrip('/')}"
    method = target.option("method", "POST")
    left = {name: value for name, value in request.params.items() if name not in route[1]}
    if method in BODILESS:
        headers = run_headers(request, body=False)
        return HttpRequest(method=method, url=with_query(url, left), headers=headers)
    body = encoded(request.params, MAX_BYTES)
    if isinstance(body, Fault):
        return body
    return HttpRequest(method=method, url=url, headers=run_headers(request), body=body)


def _api(request: Request) -> str:
    return f"{request.target.option('host').rstrip('/')}{DURABLE_API}"


def _instance(request: Request) -> str:
    """The name of the orchestration: our key, with "-" for characters that a name must not have."""
    return "".join(char if char.isalnum() or char in "-_." else "-" for char in request.key)


def _status_address(response: Response, asked: str) -> Receipt | None:
    """The address at which an accepted run is polled; None if it was not accepted.

    The query is kept apart: it holds keys, under names that the function app chooses.
    """
    if response.status != ACCEPTED:
        return None
    address = response.headers.get("location")
    if address is None:
        doc = parsed(response.body)
        address = doc.get("statusQueryGetUri") if isinstance(doc, dict) else None
    if not isinstance(address, str):
        return None
    try:
        parts = urlsplit(urljoin(asked, address))
    except ValueError:
        return None
    return {"url": parts._replace(query="", fragment="").geturl(), "secret": parts.query}


def _status_in(response: Response) -> dict[str, Any] | None:
    """The status of an orchestration; None if the response is not a status."""
    value = parsed(response.body) if response.body else None
    return value if isinstance(value, dict) and "runtimeStatus" in value else None


def _runs_or_succeeded(response: Response) -> bool:
    """True if an orchestration is running or has succeeded."""
    status = (_status_in(response) or {}).get("runtimeStatus")
    return status in RUNNING or status == COMPLETED


def _ended(value: dict[str, Any], receipt: Receipt, report: Report) -> Answer:
    """The answer in an orchestration's status. The HTTP status is 200 for failures, too."""
    status, output = value["runtimeStatus"], value.get("output")
    if status in RUNNING:
        return Pending(receipt, report=report)
    if status == COMPLETED:
        return Done(output, report)
    if status in STOPPED:
        return Fault.saying(
            CANCELLED,
            f"the orchestration was {status.lower()}",
            "unknown",
            report=report,
        )
    error = (
        output
        if output is not None
        else error_document(APPLICATION_ERROR, f"the orchestration is {status}")
    )
    return Fault(APPLICATION_ERROR, error, "yes", report=report)
