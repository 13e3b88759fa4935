"""The options of a start, as the query of a request says them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...actions import PLAIN, InvalidError, InvalidIdError, StartOptions, check_options, check_token

if TYPE_CHECKING:
    from starlette.requests import Request

NAMES = ("id", "on_open", "on_closed")


def options_of(request: Request) -> StartOptions:
    """The options of the start that a request asks for: `id`, `on_open` and `on_closed`.

    Raises:
        InvalidIdError: the id cannot be one.
        InvalidError: a policy is not known, or is given without an id.
    """
    query = request.query_params
    if not query:
        return PLAIN
    given: dict[str, Any] = {name: query[name] for name in NAMES if name in query}
    if not given:
        return PLAIN
    if given.get("id") == "":
        raise InvalidIdError(
            "The query parameter 'id' is empty: give the execution an id, or none."
        )
    options = StartOptions(**given)
    check_options(options)
    return options


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
