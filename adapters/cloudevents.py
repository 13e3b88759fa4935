"""`cloudevents`: sends an event by HTTP, and reads the event or the body of the response.

https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/http-protocol-binding.md
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..actions import BAD_RESPONSE
from ..composer import Failure
from .channel import run_headers, written
from .http import Codec
from .port import Done, Fault, HttpRequest
from .reading import done, parsed

if TYPE_CHECKING:
    from ..composer import JSON
    from .port import Report, Request, Response

STRUCTURED = "application/cloudevents+json"
SOURCE = "/xingqiao"


def _write(request: Request, now_ms: int) -> HttpRequest:
    """An event with the parameters as its data, and the idempotency key as its id."""
    target = request.target
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    event: dict[str, JSON] = {
        "specversion": "1.0",
        "id": request.key,
        "type": target.option("type"),
        "source": target.option("source", SOURCE),
        "time": now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "traceparent": request.traceparent,
    }
    headers, body = run_headers(request), request.params
    if target.option("mode") == "structured":
        headers["Content-Type"] = STRUCTURED
        body = {**event, "datacontenttype": "application/json", "data": request.params}
    else:
        headers |= {f"ce-{name}": _escaped(str(value)) for name, value in event.items()}
    return HttpRequest(method="POST", url=target.function, headers=headers, body=written(body))


def _read(_request: Request, response: Response, report: Report) -> Done | Fault:
    if not response.headers.get("content-type", "").lower().startswith(STRUCTURED):
        return done(response, report)
    event = parsed(response.body)
    if isinstance(event, Failure) or not isinstance(event, dict) or "specversion" not in event:
        text = "the response claims to be an event, and is not a valid one"
        return Fault.saying(BAD_RESPONSE, text, "unknown", report=report)
    return Done(event.get("data", event.get("data_base64")), report)


def _escaped(text: str) -> str:
    """An attribute in a header, with all but printable ASCII percent-encoded, as in the binding."""
    return "".join(
        char if "!" <= char <= "~" and char not in '"%' else _percent(char) for char in text
    )


def _percent(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode())


EVENTS = Codec(_write, _read)
