"""Signed requests: the key that signed a request, its rights, and the content of the request."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

from .errors import AwsError
from .sigv4 import key_id_of, signature_check

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from ..access import Identity
    from ..http import Api


async def signed_content(
    request: Request, api: Api, service: str, most: int
) -> tuple[Identity, bytearray]:
    """The key that signed a request to `service`, and the content of at most `most` bytes.

    Notes the key in the scope of the request, and counts a failed attempt.

    Raises:
        AwsError: the request is not signed, or its signature is wrong.
        RefusedError: the content cannot be read.
    """
    scope_key, content = _reading()
    hashed = sha256()
    try:
        signed = signature_check(request, api.keys, service, api.engine.now_ms)
        body = await content(request, most, hashed)
        signed.check(request, hashed.hexdigest())
    except AwsError:
        api.auth.count(request, key_id_of(request))
        raise
    request.scope[scope_key] = signed.identity
    api.keys.note(signed.identity)
    return signed.identity, body


@cache
def _reading() -> tuple[str, Callable[..., Awaitable[bytearray]]]:
    """The place of a request's key in its scope, and the reader of contents."""
    from ..http import IDENTITY, content  # noqa: PLC0415  an embedding program loads no HTTP server

    return IDENTITY, content
