"""`http`: any URL. `gcp:function`: the same with Google's identity token.

The URL and headers may contain `{parameter}`; the body is a template, or all parameters. GET and other methods
without a body have the parameters in the query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..actions import GCP
from ..composer import Failure, Scope, Template
from .channel import filled, invalid, report_of, run_headers, with_query, written
from .headers import merged
from .port import Done, Fault, HttpRequest
from .reading import OK, done, fault_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..actions import Remote
    from ..composer import JSON
    from .channel import Channel
    from .port import Answer, Authorizer, Receipt, Report, Request, Response

BODILESS = ("GET", "HEAD", "DELETE")


@dataclass(frozen=True, slots=True)
class Codec:
    """Makes a request from parameters (`write`, which is given the time) and a value from a success (`read`)."""

    write: Callable[[Request, int], HttpRequest | Fault]
    read: Callable[[Request, Response, Report], Done | Fault]


class HttpAdapter:
    """Sends the parameters to a URL. The response is the result.

    Args:
        channel: sends requests.
        codec: of requests and responses.
        cloud: its name in histories.
        identity: makes an authorizer for an audience with the server's own credentials; None if it has none.
    """

    def __init__(self, channel: Channel, codec: Codec, cloud: str, identity: Any = None) -> None:
        self.cloud, self._channel = cloud, channel
        self._codec, self._identity = codec, identity

    def ambient(self, target: Remote) -> Authorizer | None:
        made: Authorizer | None = None
        if target.kind == GCP and self._identity is not None:
            made = self._identity(target.option("audience") or target.function)
        return made

    async def invoke(self, request: Request) -> Answer:
        outgoing = self._codec.write(request, self._channel.now_ms)
        response = (
            outgoing if isinstance(outgoing, Fault) else await self._channel.send(request, outgoing)
        )
        if isinstance(response, Fault):
            return response
        report = report_of(response)
        if response.status not in OK:
            return fault_of(response, self._channel.now_ms, report)
        return self._codec.read(request, response, report)

    async def poll(self, _request: Request, receipt: Receipt) -> Answer:
        raise AssertionError(f"this adapter gives no receipts: {receipt}")

    async def stop(self, _request: Request, receipt: Receipt) -> Fault | None:
        raise AssertionError(f"this adapter gives no receipts: {receipt}")

    async def check(self, request: Request) -> Fault | str:
        return await self._channel.reach(request, request.target.function)


def _write(request: Request, _now_ms: int) -> HttpRequest | Fault:
    """Makes a request from an action's options and its parameters."""
    target, params = request.target, request.params
    method = target.option("method", "POST")
    url = filled(target.function, params, url=True)
    if isinstance(url, Fault):
        return url
    address, used = url
    given: dict[str, str] = {}
    for name, text in target.option("headers", {}).items():
        value = filled(text, params, url=False)
        if isinstance(value, Fault):
            return value
        given[name] = value[0]
    if method in BODILESS and "body" not in target.options:
        left = {name: value for name, value in params.items() if name not in used}
        headers = merged(run_headers(request, body=False), given)
        return HttpRequest(method=method, url=with_query(address, left), headers=headers)
    body: JSON | Failure = params
    if "body" in target.options:
        body = Template.from_json(target.options["body"]).fill(Scope(params, {}))
    if isinstance(body, Failure):
        return invalid(body)
    headers = merged(run_headers(request), given)
    return HttpRequest(method=method, url=address, headers=headers, body=written(body))


def _read(request: Request, response: Response, report: Report) -> Done | Fault:
    answer = done(response, report)
    if isinstance(answer, Fault) or request.target.option("result") != "response":
        return answer
    headers: dict[str, JSON] = {**response.headers}
    return Done({"status": response.status, "headers": headers, "body": answer.value}, report)


PLAIN = Codec(_write, _read)
