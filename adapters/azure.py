"""`azure:function`: HTTP triggers. `azure:durable`: orchestrations, by Durable Functions' HTTP API.

A function that answers 202 with an address is asked after there. Such addresses hold keys: those are kept apart in the
ticket, and shown nowhere. Azure's front end cuts what takes longer than 230 seconds; nobody knows then whether
it ran. https://learn.microsoft.com/azure/azure-functions/durable/durable-functions-http-api
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit

from ..actions import DURABLE, INVALID_REQUEST
from ..composer import APPLICATION_ERROR, CANCELLED
from .channel import encoded, filled, report_of, run_headers, with_query
from .http import BODILESS
from .port import Ask, Done, Fault, Pending, told
from .reading import OK, done, fault_of, parsed, retry_after_ms, unheard

if TYPE_CHECKING:
    from ..actions import Remote
    from ..composer import JSON
    from .channel import Channel
    from .port import Answer, Authorizer, Report, Request, Response

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
        identity: makes an authorizer of what this server runs with, for an audience; None if nothing does.
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
        ask = _asked(request)
        response = ask if isinstance(ask, Fault) else await self._channel.send(request, ask)
        if isinstance(response, Fault):
            return response
        status = _status_address(response, ask.url) if isinstance(ask, Ask) else None
        if status is not None:
            return self._pending(status, response)
        return self._read(response)

    def _pending(self, ticket: dict[str, JSON], response: Response) -> Pending:
        """What is asked after later.

        A function app says when. Durable Functions' own API says the same interval for every run, however short: it
        is the longest wait between two polls.
        """
        later_ms = retry_after_ms(response, self._channel.now_ms)
        if DURABLE_API in ticket["url"]:
            return Pending(ticket, 0, report_of(response), later_ms or None)
        return Pending(ticket, later_ms or 0, report_of(response))

    async def poll(self, request: Request, ticket: dict[str, JSON]) -> Answer:
        url = ticket["url"]
        if urlsplit(url)[:2] != urlsplit(request.target.option("host"))[:2]:
            request = replace(request, authorizer=None)  # its keys are this host's only
        query = ticket["secret"]
        ask = Ask(method="GET", url=f"{url}?{query}" if query else url, private=bool(query))
        response = await self._channel.send(request, ask)
        if isinstance(response, Fault):
            return response
        if response.status == ACCEPTED or (
            request.target.kind == DURABLE and response.status in (MISSING, GONE)
        ):  # it may not be written down yet
            return self._pending(ticket, response)
        return self._read(response, ticket)

    def _read(self, response: Response, ticket: dict[str, JSON] | None = None) -> Answer:
        report = report_of(response)
        if ticket is not None and (status := _status_in(response)) is not None:
            return _ended(status, ticket, report)
        if response.status not in OK:
            fault = fault_of(response, self._channel.now_ms, report)
            return fault if ticket is None else unheard(fault, response.status)
        return done(response, report)

    # --- orchestrations ----------------------------------------------------------------------

    # Azure runs an orchestration that has ended once more when it is started again under its name, and
    # refuses only one that is still running. So whether it has run under our key is looked up first.
    async def _start(self, request: Request) -> Answer:
        operation = request.target.option("operation", "run")
        if operation in ("query", "raise", "terminate"):
            return await self._manage(request, operation)
        body = encoded(request.params, MAX_BYTES)
        if isinstance(body, Fault):
            return body
        instance = _instance(request)
        ticket: dict[str, JSON] = {"url": f"{_api(request)}/instances/{instance}", "secret": ""}
        before = await self._looked_up(request, ticket["url"])
        if isinstance(before, Fault):
            return before
        if _stands(before):
            known = Done({"instanceId": instance}, report_of(before))
            return known if operation == "start" else Pending(ticket, 0, known.report)
        url = f"{_api(request)}/orchestrators/{quote(request.target.function)}/{instance}"
        ask = Ask(method="POST", url=url, headers=run_headers(request), body=body)
        response = await self._channel.send(request, ask)
        if isinstance(response, Fault):
            return response
        report = report_of(response)
        if response.status not in (ACCEPTED, CONFLICT):  # a conflict: it runs under our key already
            return fault_of(response, self._channel.now_ms, report)
        begun = Done({"instanceId": instance}, report)
        return begun if operation == "start" else self._pending(ticket, response)

    async def _looked_up(self, request: Request, url: str) -> Response | Fault:
        """What is known of an instance, be it nothing; a Fault when that cannot be told."""
        asked = replace(request, token="", callback="")
        found = await self._channel.send(asked, Ask(method="GET", url=url))
        if isinstance(found, Fault) or found.status in (*OK, *LACKING):
            return found
        return fault_of(found, self._channel.now_ms, report_of(found))

    async def _manage(self, request: Request, operation: str) -> Answer:
        """Asks how an orchestration stands, sends it an event, or ends it."""
        params = request.params
        wanted = ("instanceId", "event") if operation == "raise" else ("instanceId",)
        for name in wanted:
            if not isinstance(params.get(name), str) or params[name] in ("", ".", ".."):
                text = f"the operation '{operation}' needs the parameter '{name}', a text"
                return Fault.saying(INVALID_REQUEST, text, "no")
        url = f"{_api(request)}/instances/{quote(params['instanceId'], safe='')}"
        if operation == "query":
            ask = Ask(method="GET", url=url)
        elif operation == "raise":
            body = encoded(params.get("data"), MAX_BYTES)
            if isinstance(body, Fault):
                return body
            url += f"/raiseEvent/{quote(params['event'], safe='')}"
            ask = Ask(method="POST", url=url, headers=run_headers(request), body=body)
        else:
            reason = quote(str(params.get("reason", "")), safe="")
            ask = Ask(method="POST", url=f"{url}/terminate?reason={reason}")
        response = await self._channel.send(request, ask)
        if isinstance(response, Fault):
            return response
        report = report_of(response)
        if response.status not in OK:
            return fault_of(response, self._channel.now_ms, report)
        return done(response, report) if operation == "query" else Done(None, report)

    async def stop(self, request: Request, ticket: dict[str, JSON]) -> Fault | None:
        if request.target.kind != DURABLE:
            return None
        url = f"{ticket['url']}/terminate?reason=cancelled"
        response = await self._channel.send(request, Ask(method="POST", url=url))
        return response if isinstance(response, Fault) else None

    async def check(self, request: Request) -> Fault | str:
        if request.target.kind != DURABLE:
            return await self._channel.reach(request, request.target.option("host"))
        url = f"{_api(request)}/instances?top=1"
        response = await self._channel.send(request, Ask(method="GET", url=url))
        if isinstance(response, Fault):
            return response
        if response.status not in OK:
            return fault_of(response, self._channel.now_ms, report_of(response))
        return "its orchestrations can be listed"


def _asked(request: Request) -> Ask | Fault:
    target = request.target
    route = filled(target.function, request.params, url=True)
    if isinstance(route, Fault):
        return route
    url = f"{target.option('host').rstrip('/')}/api/{route[0].lstrip('/')}"
    method = target.option("method", "POST")
    left = {name: value for name, value in request.params.items() if name not in route[1]}
    if method in BODILESS:
        headers = run_headers(request, body=False)
        return Ask(method=method, url=with_query(url, left), headers=headers)
    body = encoded(request.params, MAX_BYTES)
    if isinstance(body, Fault):
        return body
    return Ask(method=method, url=url, headers=run_headers(request), body=body)


def _api(request: Request) -> str:
    return f"{request.target.option('host').rstrip('/')}{DURABLE_API}"


def _instance(request: Request) -> str:
    """What the orchestration is called: our key, of what an instance's name may hold."""
    return "".join(char if char.isalnum() or char in "-_." else "-" for char in request.key)


def _status_address(response: Response, asked: str) -> dict[str, JSON] | None:
    """Where a run that was taken in is asked after; None if it was not taken in.

    The query is kept apart: keys stand there, under names that are the function app's to choose.
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


def _status_in(response: Response) -> dict[str, JSON] | None:
    """What an orchestration's status is, when that is what was answered."""
    value = parsed(response.body) if response.body else None
    return value if isinstance(value, dict) and "runtimeStatus" in value else None


def _stands(response: Response) -> bool:
    """Whether an orchestration runs, or has done what it was to do."""
    status = (_status_in(response) or {}).get("runtimeStatus")
    return status in RUNNING or status == COMPLETED


def _ended(value: dict[str, JSON], ticket: dict[str, JSON], report: Report) -> Answer:
    """How an orchestration has ended: one that failed is answered with 200, too."""
    status, output = value["runtimeStatus"], value.get("output")
    if status in RUNNING:
        return Pending(ticket, report=report)
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
        output if output is not None else told(APPLICATION_ERROR, f"the orchestration is {status}")
    )
    return Fault(APPLICATION_ERROR, error, "yes", report=report)
