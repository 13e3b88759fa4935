"""Lists, a page at a time."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, TypeVar

from ...aws import invalid_token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ....composer import JSON
    from ...aws import Parameters
    from .protocol import Caller

T = TypeVar("T")

PAGE = 100  # items, when a request does not say how many
MARK = 9  # bytes, so that base64 needs no padding after them


def page(
    items: Iterable[T],
    key: Callable[[T], str],
    params: Parameters,
    caller: Caller,
    question: str,
) -> tuple[list[T], dict[str, JSON]]:
    """The items that are asked for, and the `nextToken` of what follows them, if anything does.

    Args:
        items: all of them.
        key: what they are in order of, each another; a token holds that of the last one shown.
        params: with `maxResults` and `nextToken`.
        caller: whose token it is.
        question: what is listed: a token answers no other.

    Raises:
        AwsError: InvalidToken.
    """
    after = shown_before(params, caller, question)
    size = params.get("maxResults") or PAGE
    left = sorted(((key(item), item) for item in items), key=lambda pair: pair[0])
    left = [pair for pair in left if after is None or pair[0] > after]
    shown = left[:size]
    if len(left) <= size:
        return [item for _, item in shown], {}
    return [item for _, item in shown], {"nextToken": token_of(shown[-1][0], caller, question)}


def token_of(place: str, caller: Caller, question: str) -> str:
    """The `nextToken` of what follows a place in a list."""
    return urlsafe_b64encode(_mark(caller, question) + place.encode()).decode().rstrip("=")


def shown_before(params: Parameters, caller: Caller, question: str) -> str | None:
    """The place that a request goes on from, by its `nextToken`; None for the first page.

    Raises:
        AwsError: InvalidToken.
    """
    token = params.get("nextToken")
    if token is None:
        return None
    mark = _mark(caller, question)
    try:
        raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        if raw[:MARK] == mark:
            return raw[MARK:].decode()
    except ValueError:  # it is no base64, or no text
        pass
    raise invalid_token()


def _mark(caller: Caller, question: str) -> bytes:
    return sha256(f"{caller.namespace}/{question}".encode()).digest()[:MARK]
