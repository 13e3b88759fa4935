"""The options of a start, as the query of a request says them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...actions import (
    EXECUTION_TIMEOUT,
    PLAIN,
    RUN_TIMEOUT,
    InvalidError,
    InvalidIdError,
    StartOptions,
    check_options,
    check_token,
    checked_ms,
)
from ..access import Right
from .attributes import described

if TYPE_CHECKING:
    from starlette.requests import Request

    from ...composer import JSON
    from .api import Api

NAMES = ("id", "on_open", "on_closed")
LIMITS = (EXECUTION_TIMEOUT, RUN_TIMEOUT)


def options_of(request: Request, api: Api) -> StartOptions:
    """The options of the start that a request asks for: `id`, policies, `attributes`, `memo`, timeouts in seconds.

    Raises:
        MissingRoleError: the start may end an open run, and the key may not.
        InvalidIdError: the id cannot be one.
        InvalidError: a policy is not known, or is given without an id; attributes, a memo or a timeout are malformed.
    """
    query = request.query_params
    if not query:
        return PLAIN
    given: dict[str, Any] = {name: query[name] for name in NAMES if name in query}
    given |= {f"{name}_ms": _limit_ms(query[name], name) for name in LIMITS if name in query}
    if given.get("id") == "":
        raise InvalidIdError(
            "The query parameter 'id' is empty: give the execution an id, or none."
        )
    options = PLAIN
    if given:
        options = StartOptions(**given)
        check_options(options)
    if options.on_open == "terminate":
        api.auth.identity(request).check(Right.DEPLOY)
    return described(query, options)


def _limit_ms(text: str, name: str) -> int | None:
    seconds: JSON = text
    with suppress(ValueError):
        seconds = float(text)
    return checked_ms(seconds, f"The query parameter '{name}'")


def token_of(request: Request) -> str:
    """The token by which a start that is asked for again is known; "" if it has none.

    The header Idempotency-Key and the query parameter `token` are the same thing.

    Raises:
        InvalidError: it is not valid, or both are given and differ.
    """
    key, token = request.headers.get("idempotency-key"), request.query_params.get("token")
    if key is None and token is None:
        return ""
    if key is not None and token is not None and key != token:
        raise InvalidError(
            "The header Idempotency-Key and the query parameter 'token' differ: give one of them."
        )
    given = key if key is not None else str(token)
    check_token(given)
    return given
