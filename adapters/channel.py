"""The channel of adapters that speak HTTP: adds credentials, the trace and the deadline to requests."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from ..actions import INVALID_REQUEST, PAYLOAD_TOO_LARGE, UNAVAILABLE
from .credentials import CredentialsError
from .headers import merged
from .port import Fault, HttpRequest, Report
from .reading import OK

if TYPE_CHECKING:
    from ..actions import Clock
    from ..composer import JSON, Failure
    from .egress import Egress
    from .port import Request, Response

JSON_TYPE = "application/json"
ATTEMPT = "Xingqiao-Attempt"  # of a retried step: the number of its attempt
MAX_ID = 200  # characters of a cloud's id of a request
SECRET_CHARS = 6  # of a header's value that is removed from responses: shorter ones occur by chance
_PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_REQUEST_IDS = (
    "x-request-id", "x-amzn-requestid", "function-execution-id", "x-ms-request-id", "x-cloud-trace-context",
    "x-correlation-id", "cf-ray",
)  # fmt: skip


class Channel:
    """Sends an adapter's requests, and does not interpret their responses.

    Args:
        egress: the guarded HTTP client.
        clock: the time.
        result_bytes: of a result.
    """

    def __init__(self, egress: Egress, clock: Clock, result_bytes: int) -> None:
        self._egress, self._clock, self._most = egress, clock, result_bytes

    @property
    def now_ms(self) -> int:
        return self._clock.now_ms()

    async def send(self, request: Request, outgoing: HttpRequest) -> Response | Fault:
        """Sends a request with its credentials."""
        known = {"Accept": JSON_TYPE, "traceparent": request.traceparent}
        outgoing = replace(outgoing, headers=merged(known, outgoing.headers))
        secrets = await self._proof(request, outgoing)
        if isinstance(secrets, Fault):
            return secrets
        outgoing = replace(
            outgoing, secrets=merged(_completing(request), secrets, outgoing.secrets)
        )
        response = await self._egress.send(outgoing, request.deadline_ms, self._most)
        if isinstance(response, Fault) or response.status in OK:
            return response
        told = dict(outgoing.secrets)
        if outgoing.private:
            query = parse_qsl(urlsplit(outgoing.url).query, keep_blank_values=True)
            told |= {f"?{name}": value for name, value in query}
        return replace(response, body=_without(response.body, told))

    async def _proof(self, request: Request, outgoing: HttpRequest) -> dict[str, str] | Fault:
        """The headers with the credentials, if they can be had by the deadline."""
        if request.authorizer is None:
            return {}
        try:
            async with asyncio.timeout(max(0, request.deadline_ms - self.now_ms) / 1000):
                return await request.authorizer.headers(outgoing, self.now_ms)
        except CredentialsError as error:
            return error.fault
        except TimeoutError:
            text = "no credentials were available by the deadline"
            return Fault.saying(UNAVAILABLE, text, "no", transient=True)

    async def reach(self, request: Request, url: str) -> Fault | str:
        """Connects and gets credentials, but sends no request."""
        secrets = await self._proof(request, HttpRequest(method="GET", url=url))
        if isinstance(secrets, Fault):
            return secrets
        fault = await self._egress.reach(url, request.deadline_ms, secret=bool(secrets))
        if fault is not None:
            return fault
        proof = ", and credentials were had" if request.authorizer else ""
        return f"its host was reached{proof}; the function was not asked"


def run_headers(request: Request, *, body: bool = True) -> dict[str, str]:
    """The headers that identify the run for a function."""
    kind = {"Content-Type": JSON_TYPE} if body else {}
    attempt = {ATTEMPT: str(request.attempt)} if request.attempt > 1 else {}
    return {"Idempotency-Key": request.key, **attempt, **kind}


def _completing(request: Request) -> dict[str, str]:
    """The headers by which a function completes a run later. They are secret: their holder can do so."""
    headers = {"X-Completion-Token": request.token, "X-Callback-Url": request.callback}
    return {name: text for name, text in headers.items() if text}


def written(value: JSON) -> bytes:
    """A value as JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def with_query(url: str, params: dict[str, JSON]) -> str:
    """A URL with parameters in its query: a text as it is, any other value as JSON."""
    query = urlencode(
        {name: v if isinstance(v, str) else written(v).decode() for name, v in params.items()}
    )
    joint = "&" if "?" in url else "?"
    return f"{url}{joint}{query}" if query else url


def encoded(value: JSON, most_bytes: int) -> bytes | Fault:
    """A body, or a Fault if it is too large for the cloud."""
    body = written(value)
    if len(body) > most_bytes:
        text = f"the cloud takes at most {most_bytes} bytes, and these are {len(body)}"
        return Fault.saying(PAYLOAD_TOO_LARGE, text, "no")
    return body


def filled(text: str, params: dict[str, JSON], *, url: bool) -> tuple[str, set[str]] | Fault:
    """Replaces `{name}` in a text by parameters, percent-encoded in a URL. Returns the text and the used names.

    As RFC 6570, level 1, but a missing parameter is an error.
    """
    names = set(_PLACE.findall(text))
    values: dict[str, str] = {}
    for name in names:
        value = params.get(name)
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            why = f"the parameter '{name}' must be a text or a number: it stands in {text!r}"
            return Fault.saying(INVALID_REQUEST, why, "no")
        values[name] = quote(str(value), safe="") if url else str(value)
        if not values[name].isprintable():
            why = f"the parameter '{name}' must be printable: it stands in a header"
            return Fault.saying(INVALID_REQUEST, why, "no")
    made = _PLACE.sub(lambda place: values[place[1]], text)
    if url and _climbs(made) and not _climbs(text):
        why = f"no part of the path {text!r} may become '.' or '..'"
        return Fault.saying(INVALID_REQUEST, why, "no")
    return made, names


def _climbs(url: str) -> bool:
    """True if a path contains `.` or `..` segments."""
    return any(part in (".", "..") for part in re.split(r"[/?#]", url))


def _without(body: bytes, secrets: dict[str, str]) -> bytes:
    """A response about a failed request, without the secrets that the host may repeat."""
    for text in secrets.values():
        scheme, _, last = text.rpartition(" ")
        told = {text, last}
        if scheme == "Basic":
            both = base64.b64decode(last).decode()
            told |= {both, both.partition(":")[2]}
        for secret in told:
            body = body.replace(secret.encode(), b"***") if len(secret) >= SECRET_CHARS else body
    return body


def report_of(response: Response) -> Report:
    """The report in a response's headers: the cloud's id of the request."""
    found = (response.headers.get(name) for name in _REQUEST_IDS)
    return Report(next((id[:MAX_ID] for id in found if id), None))


def invalid(failure: Failure) -> Fault:
    """The Fault for a request that cannot be made of these parameters."""
    return Fault(INVALID_REQUEST, failure.error, "no")
