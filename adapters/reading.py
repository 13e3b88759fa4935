"""Reads HTTP responses: statuses, values, dates. One table for all clouds that speak HTTP."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from ..actions import (
    BAD_RESPONSE,
    INVALID_REQUEST,
    LOST,
    NOT_FOUND,
    PAYLOAD_TOO_LARGE,
    PERMISSION,
    THROTTLED,
)
from ..composer import APPLICATION_ERROR, TIMEOUT, Failure, failure, flaw
from .port import Done, Fault, error_document

if TYPE_CHECKING:
    from ..actions import MayHaveRun
    from ..composer import JSON
    from .port import Report, Response

LONGEST_WAIT_MS = 366 * 24 * 3_600_000  # longer than any wait
MAX_SHOWN = 1000  # characters of a response that are shown as an error
OK = range(200, 300)

# Statuses that are not the function's own: code, `may_have_run`, whether transient.
_STATUSES: dict[int, tuple[str, MayHaveRun, bool]] = {
    401: (PERMISSION, "no", False),
    403: (PERMISSION, "no", False),
    404: (NOT_FOUND, "no", False),
    405: (INVALID_REQUEST, "no", False),
    406: (INVALID_REQUEST, "no", False),
    408: (TIMEOUT, "unknown", True),
    410: (NOT_FOUND, "no", False),
    413: (PAYLOAD_TOO_LARGE, "no", False),
    414: (PAYLOAD_TOO_LARGE, "no", False),
    415: (INVALID_REQUEST, "no", False),
    429: (THROTTLED, "no", True),
    431: (PAYLOAD_TOO_LARGE, "no", False),
    502: (LOST, "unknown", True),
    503: (LOST, "unknown", True),
    504: (LOST, "unknown", True),
}


def fault_of(response: Response, now_ms: int, report: Report) -> Fault:
    """The Fault of an unsuccessful response. If the function itself answered, the body is the error."""
    code, may_have_run, transient = _STATUSES.get(
        response.status, (APPLICATION_ERROR, "yes", False)
    )
    if response.status < 400:  # noqa: PLR2004  neither an error nor an expected response
        code, may_have_run = BAD_RESPONSE, "unknown"
    if response.status >= 520:  # noqa: PLR2004  gateways' own: Cloudflare's are 520 to 530
        code, may_have_run, transient = LOST, "unknown", True
    error = (
        error_of(response) if code == APPLICATION_ERROR else error_document(code, _said(response))
    )
    return Fault(code, error, may_have_run, retry_after_ms(response, now_ms), transient, report)


def unheard(fault: Fault, status: int) -> Fault:
    """The Fault of a poll that says nothing about the run, which may still end well.

    Credentials that were refused may be accepted later, and a 5xx may pass.
    """
    transient = fault.transient or status >= 500 or fault.code == PERMISSION  # noqa: PLR2004
    may_have_run = fault.may_have_run if fault.code == PERMISSION else "unknown"
    return replace(fault, may_have_run=may_have_run, transient=transient)


def _said(response: Response) -> str:
    text = response.body[:MAX_SHOWN].decode(errors="replace").strip()
    return f"it answers {response.status}: {text}" if text else f"it answers {response.status}"


def error_of(response: Response) -> JSON:
    """The error in a function's own response: its JSON, its `error` if it has one, or its text."""
    value = value_of(response)
    if isinstance(value, Failure) or value is None:
        return error_document(APPLICATION_ERROR, _said(response))
    if isinstance(value, dict) and value.get("error"):
        return value["error"]
    return value


def value_of(response: Response) -> JSON:
    """The value of a body: JSON, text, or base64 of other bytes; a Failure for broken JSON."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not response.body:
        return None
    if kind.endswith("json") or not kind:
        return parsed(response.body) if kind else _guessed(response.body)
    try:
        return response.body.decode()
    except UnicodeDecodeError:
        return base64.b64encode(response.body).decode()


def parsed(text: bytes) -> Any:
    """Reads strict JSON; a Failure if the text is not JSON."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return failure(BAD_RESPONSE, "the response is not JSON, or was cut off")
    if why := flaw(value):
        return failure(BAD_RESPONSE, f"the response is not a JSON value: {why}")
    return value


def _refuse(name: str) -> None:
    raise ValueError(name)


def _guessed(body: bytes) -> JSON:
    value = parsed(body)
    return body.decode(errors="replace") if isinstance(value, Failure) else value


def done(response: Response, report: Report) -> Done | Fault:
    """Reads a successful response: its value, or a Fault if it cannot be read."""
    coding = response.headers.get("content-encoding", "identity")
    if coding.lower() != "identity":
        text = (
            f"the response is encoded as '{coding:.100}', although the request did not accept that"
        )
        return Fault.saying(BAD_RESPONSE, text, "unknown", report=report)
    value = value_of(response)
    if isinstance(value, Failure):
        return Fault(value.code, value.error, "unknown", report=report)
    return Done(value, report)


def retry_after_ms(response: Response, now_ms: int) -> int | None:
    """The delay that a cloud demands: `Retry-After`, as seconds or as a date (RFC 9110, 10.2.3)."""
    text = response.headers.get("retry-after", "").strip()
    if not text:
        return None
    try:
        return min(LONGEST_WAIT_MS, max(0, round(float(text) * 1000)))
    except (ValueError, OverflowError):
        pass
    try:
        at = parsedate_to_datetime(text)
        known = at if at.tzinfo else at.replace(tzinfo=UTC)
        return min(LONGEST_WAIT_MS, max(0, round(known.timestamp() * 1000) - now_ms))
    except (ValueError, OverflowError):
        return None
