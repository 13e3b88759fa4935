"""Lists in pages, with Lambda's `Marker`."""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING, TypeVar

from .configuration import invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...composer import JSON
    from .protocol import ApiCall

T = TypeVar("T")

PAGE, MOST = 50, 10_000


def page(
    items: Iterable[T], key: Callable[[T], str], call: ApiCall, most: int = MOST
) -> tuple[list[T], dict[str, JSON]]:
    """The items of a page in order of `key`, and the `NextMarker` of the next page, if there is one.

    Raises:
        AwsError: `MaxItems` or `Marker` is malformed.
    """
    size, after = _size(call.query("MaxItems"), most), _marked(call.query("Marker"))
    left = sorted(((key(item), item) for item in items), key=lambda pair: pair[0])
    left = [pair for pair in left if pair[0] > after]
    shown = [item for _, item in left[:size]]
    if len(left) <= size:
        return shown, {}
    return shown, {"NextMarker": urlsafe_b64encode(left[size - 1][0].encode()).decode()}


def _size(text: str | None, most: int) -> int:
    if text is None:
        return PAGE
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise invalid(f"MaxItems must be from 1 to {most}, not {text!r:.40}")
    return min(int(text), PAGE)


def _marked(text: str | None) -> str:
    try:
        return b64decode(text or "", altchars=b"-_", validate=True).decode()
    except ValueError:
        raise invalid("Invalid Marker") from None
