"""Lists in pages, with AWS' `nextToken`."""

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

PAGE = 100  # items, unless a request says otherwise
MARK = 9  # bytes: a multiple of three needs no padding in base64


def page(
    items: Iterable[T],
    key: Callable[[T], str],
    params: Parameters,
    caller: Caller,
    question: str,
) -> tuple[list[T], dict[str, JSON]]:
    """Returns the items of a page, and the `nextToken` of the next page, if there is one.

    Args:
        items: all items.
        key: the unique sort key of an item; a token holds the key of the last item of its page.
        params: request with `maxResults` and `nextToken`.
        caller: caller who may use the token.
        question: identity of the list: a token is valid for this list only.

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
    """The `nextToken` of the page behind a place in a list."""
    return urlsafe_b64encode(_mark(caller, question) + place.encode()).decode().rstrip("=")


def shown_before(params: Parameters, caller: Caller, question: str) -> str | None:
    """The place that the `nextToken` of a request holds; None for the first page.

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
    except ValueError:  # the token is not base64, or not text
        pass
    raise invalid_token()


def _mark(caller: Caller, question: str) -> bytes:
    return sha256(f"{caller.namespace}/{question}".encode()).digest()[:MARK]
