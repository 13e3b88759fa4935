"""`openwhisk:action`: actions of any OpenWhisk host: Apache's, DigitalOcean's, Adobe's, another server of ours.

IBM Cloud Functions has been retired; Code Engine's functions are `http` with a secret of type `iam`. A blocking call
that takes too long is answered 202 with an activation's id, by which the adapter polls; the record appears a moment
after the end, so "not found" means "not yet". https://github.com/apache/openwhisk/blob/master/docs/rest_api.md
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ..actions import BAD_RESPONSE, CRASHED, LOST
from ..composer import APPLICATION_ERROR, TIMEOUT, Name
from .channel import report_of, run_headers, written
from .port import Done, Fault, HttpRequest, Pending, Report
from .reading import fault_of, parsed, retry_after_ms, unheard

if TYPE_CHECKING:
    from ..actions import Remote
    from .channel import Channel
    from .port import Answer, Receipt, Request, Response

OK, ACCEPTED, MISSING = 200, 202, 404
ENDED = (200, 500, 502)  # answers to a blocking call that hold a record
APPLICATION, DEVELOPER = 1, 2


class WhiskAdapter:
    """Runs actions of OpenWhisk hosts."""

    cloud = "openwhisk"

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def ambient(self, _target: Remote) -> None:
        return None

    async def invoke(self, request: Request) -> Answer:
        blocking = "true" if request.target.option("wait", "blocking") == "blocking" else "false"
        url = f"{_action(request.target)}?blocking={blocking}&result=false"
        # A host of ours runs a call once for each key, and each attempt is a new call.
        headers = {**run_headers(request), "Idempotency-Key": request.activation}
        outgoing = HttpRequest(
            method="POST", url=url, headers=headers, body=written(request.params)
        )
        response = await self._channel.send(request, outgoing)
        if isinstance(response, Fault):
            return response
        record = _object(response)
        if response.status == ACCEPTED and isinstance(record.get("activationId"), str):
            id = record["activationId"]
            later = retry_after_ms(response, self._channel.now_ms) or 0
            return Pending({"activation": id}, later, Report(id))
        if response.status in ENDED and isinstance(record.get("response"), dict):
            return _ended(record)
        if response.status == OK:
            text = "the response of the host has no activation record"
            return Fault.saying(BAD_RESPONSE, text, "unknown")
        return fault_of(response, self._channel.now_ms, report_of(response))

    async def poll(self, request: Request, receipt: Receipt) -> Answer:
        outgoing = HttpRequest(method="GET", url=_activation(request.target, receipt))
        response = await self._channel.send(request, outgoing)
        if isinstance(response, Fault):
            return response
        record = _object(response)
        if response.status == OK and isinstance(record.get("response"), dict):
            return _ended(record)
        if response.status in (OK, ACCEPTED, MISSING):
            later = retry_after_ms(response, self._channel.now_ms) or 0
            return Pending(receipt, later, Report(receipt["activation"]))
        fault = fault_of(response, self._channel.now_ms, Report(receipt["activation"]))
        return unheard(fault, response.status)

    async def stop(self, request: Request, receipt: Receipt) -> Fault | None:
        """Asks the host to cancel. Our servers do; others answer that they cannot, and the run goes on."""
        outgoing = HttpRequest(method="DELETE", url=_activation(request.target, receipt))
        response = await self._channel.send(request, outgoing)
        return response if isinstance(response, Fault) else None

    async def check(self, request: Request) -> Fault | str:
        outgoing = HttpRequest(method="GET", url=f"{_action(request.target)}?code=false")
        response = await self._channel.send(request, outgoing)
        if isinstance(response, Fault):
            return response
        if response.status != OK:
            return fault_of(response, self._channel.now_ms, report_of(response))
        return "the action is there"


def _base(target: Remote, namespace: str) -> str:
    host = target.option("host").rstrip("/").removesuffix("/api/v1")
    return f"{host}/api/v1/namespaces/{quote(namespace)}"


def _action(target: Remote) -> str:
    name = Name.parse(target.function)
    return f"{_base(target, name.namespace)}/actions/{quote(name.path)}"


def _activation(target: Remote, receipt: Receipt) -> str:
    id = quote(receipt["activation"], safe="")
    return f"{_base(target, Name.parse(target.function).namespace)}/activations/{id}"


def _object(response: Response) -> dict[str, Any]:
    """The JSON object of a response, whose members its reader checks; {} for any other response."""
    value = parsed(response.body) if response.body else None
    return value if isinstance(value, dict) else {}


def _ended(record: dict[str, Any]) -> Done | Fault:
    """The result or the failure that a record holds."""
    answer, report = record["response"], _report(record)
    result, status = answer.get("result"), answer.get("statusCode")
    if answer.get("success"):
        return Done(result, report)
    error = result["error"] if isinstance(result, dict) and "error" in result else result
    if status == APPLICATION:
        return Fault(APPLICATION_ERROR, error, "yes", report=report)
    if status == DEVELOPER:
        code = TIMEOUT if _notes(record).get("timeout") else CRASHED
        return Fault(code, error, "unknown", report=report)
    return Fault(LOST, error, "unknown", transient=True, report=report)


def _report(record: dict[str, Any]) -> Report:
    notes, duration = _notes(record), record.get("duration")
    ran_ms = float(duration) if isinstance(duration, (int, float)) else None
    cold_ms = notes.get("initTime")
    logs = record.get("logs")
    return Report(
        request=str(record.get("activationId", "")) or None,
        logs=[line for line in logs if isinstance(line, str)] if isinstance(logs, list) else [],
        ran_ms=ran_ms,
        billed_ms=ran_ms,
        cold_ms=float(cold_ms) if isinstance(cold_ms, (int, float)) else None,
    )


def _notes(record: dict[str, Any]) -> dict[str, Any]:
    notes = record.get("annotations")
    if not isinstance(notes, list):
        return {}
    return {
        note["key"]: note.get("value")
        for note in notes
        if isinstance(note, dict) and isinstance(note.get("key"), str)
    }
