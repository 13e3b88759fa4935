"""Lambda's Invoke, as a state machine calls it: the event of the function, and the response of Lambda.

The headers of the response, their order and their letters are as recorded on AWS. Their values are those of this run: the
trace id is the one of the step's W3C trace context (`00-<activation>-...`) in X-Ray's form.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, final

from ....errors import Error
from ....freezing import frozen
from ....values import flaw

if TYPE_CHECKING:
    from ....values import JSON

LATEST: Final = "$LATEST"
TAIL: Final = "Tail"
OK: Final = 200


class PayloadError(Error):
    """A Payload that is text, but not the text of a JSON value."""


@final
@frozen
class Response:
    """The response of Lambda to one request.

    `activation` is the id of the function's activation, `now_ms` the time of the response, `log` the end of its log in
    base64, if the request asked for it.
    """

    activation: str
    now_ms: int
    log: str | None = None


def event_of(payload: JSON) -> JSON:
    """The event of a function: a text is the request's body itself, and no body is an empty object.

    Raises:
        PayloadError: the text is not JSON.
    """
    if payload is None:
        return {}
    if not isinstance(payload, str):
        return payload
    if not payload.strip(" \t\r\n"):
        return {}
    try:
        event: JSON = json.loads(payload, parse_constant=_no_constant)
    except RecursionError:
        raise PayloadError("it nests too deeply") from None
    except ValueError as error:
        raise PayloadError(str(error)) from None
    if why := flaw(event):
        raise PayloadError(why)
    return event


def _no_constant(name: str) -> JSON:
    raise ValueError(f"{name} is not a JSON value")


def request_id(activation: str) -> str:
    """An activation's id as Lambda writes the id of a request."""
    cuts = (0, 8, 12, 16, 20, len(activation))
    return "-".join(activation[cuts[at] : cuts[at + 1]] for at in range(5))


def invocation_result(value: JSON, response: Response) -> dict[str, JSON]:
    """The result of `lambda:invoke`, around a function's result."""
    request = request_id(response.activation)
    log = {} if response.log is None else {"X-Amz-Log-Result": response.log}
    headers = {
        **log,
        "X-Amz-Executed-Version": LATEST,
        "x-amzn-Remapped-Content-Length": "0",
        "Connection": "keep-alive",
        "x-amzn-RequestId": request,
        "Content-Length": str(_length(value)),
        "Date": _date(response.now_ms),
        "X-Amzn-Trace-Id": trace_header(response.activation),
        "Content-Type": "application/json",
    }
    return {
        "ExecutedVersion": LATEST,
        **({} if response.log is None else {"LogResult": response.log}),
        "Payload": value,
        "SdkHttpMetadata": {
            "AllHttpHeaders": {name: [text] for name, text in headers.items()},
            "HttpHeaders": {name: headers[name] for name in sorted(headers, key=str.lower)},
            "HttpStatusCode": OK,
        },
        "SdkResponseMetadata": {"RequestId": request},
        "StatusCode": OK,
    }


def _length(value: JSON) -> int:
    """The bytes of a result as Lambda's runtime for Python writes it."""
    return len(json.dumps(value, ensure_ascii=False).encode())


def _date(now_ms: int) -> str:
    moment = datetime.fromtimestamp(now_ms // 1000, UTC)
    day, month = _DAYS[moment.weekday()], _MONTHS[moment.month - 1]
    return f"{day}, {moment.day:02d} {month} {moment.year:04d} {moment:%H:%M:%S} GMT"


_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = (
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
)  # fmt: skip


def trace_header(activation: str) -> str:
    """The trace of a step, in X-Ray's form."""
    return f"Root=1-{activation[:8]}-{activation[8:]};Parent={activation[:16]};Sampled=1"
