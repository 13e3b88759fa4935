"""Responses to connections and requests that are refused before a request is complete."""

from __future__ import annotations

import secrets
from http import HTTPStatus

import orjson

RETRY_AFTER_S = 1


def refusal(status: int, text: str) -> bytes:
    """A complete response in the API's form; the connection must be closed after it."""
    id = secrets.token_hex(16)
    body = orjson.dumps({"error": text, "code": id})
    again = f"retry-after: {RETRY_AFTER_S}\r\n" if status in (429, 503) else ""
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nx-request-id: {id}\r\naccess-control-allow-origin: *\r\n"
        f"{again}connection: close\r\n\r\n"
    )
    return head.encode() + body
