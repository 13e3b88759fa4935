"""Reads requests: query parameters in OpenWhisk's forms, and bodies within bounds."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ...actions import InvalidError, Query, TooLargeError
from ...composer import MAX_DEPTH, nests_deeper
from ..engine import LARGE_BYTES
from .json_parser import WideIntegerError, parse
from .members import check_members

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from starlette.requests import Request

    from ...composer import JSON
    from ..edge import Bodies
    from ..engine import Threads

    class Hash(Protocol):
        """A hash of bytes that come piece by piece, such as `hashlib.sha256()`."""

        def update(self, data: bytes, /) -> None: ...


Kind = TypeVar("Kind")

AS_TEXT = "send it as a string, or as a float such as 1e30"
MAX_LIST = 200
DEFAULT_LIST = 30
DRY_RUN = "dry-run"
TRUE = {"true", "yes", "on", "1"}
FALSE = {"false", "no", "off", "0", ""}
_TRACE = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}.*"
)
_KINDS: dict[type, str] = {
    bool: "true or false",
    dict: "an object",
    int: "a whole number",
    list: "a list",
    str: "a string",
}
_DIGITS = re.compile(r"[0-9]{1,18}")  # digits of a number that every store can compare


def flag(query: Mapping[str, str], name: str) -> bool:
    """A boolean: true, yes, on or 1 in any case, as on OpenWhisk.

    Raises:
        InvalidError: the value is malformed.
    """
    text = query.get(name, "false").lower()
    if text not in TRUE and text not in FALSE:
        raise InvalidError(
            f"The query parameter '{name}' was malformed: '{text}' is not a boolean."
        )
    return text in TRUE


def check_known(query: Mapping[str, str], *names: str) -> None:
    """Refuses parameters that a route does not know: a dry run that is spelled otherwise would change something.

    Raises:
        InvalidError: a parameter is none of `names`. The text names it.
    """
    if unknown := query.keys() - {*names}:
        known = " and ".join(f"'{name}'" for name in names)
        raise InvalidError(
            f"The query parameter '{min(unknown):.100}' is not known here, only {known}: remove it or correct it."
        )


def number(  # noqa: PLR0913  a number has as many sides
    query: Mapping[str, str], name: str, default: int, *, low: int, high: int, of: str
) -> int:
    """A whole number within bounds; `of` says whose, for the error.

    Raises:
        InvalidError: with OpenWhisk's text.
    """
    text = query.get(name)
    if text is None:
        return default
    try:
        value = int(text)
    except ValueError:
        raise InvalidError(f"The value '{text}' is not an integer for {of}.") from None
    if value < low:
        raise InvalidError(f"The value '{text}' is not greater than or equal to {low} for {of}.")
    if value > high:
        raise InvalidError(f"The value '{text}' is not in the range of {low} to {high} for {of}.")
    return value


def page(query: Mapping[str, str], of: str) -> tuple[int, int]:
    """The numbers of items to skip and to list; a limit of 0 means the maximum."""
    skip = number(query, "skip", 0, low=0, high=1 << 31, of=of)
    limit = number(query, "limit", DEFAULT_LIST, low=0, high=MAX_LIST, of=of)
    return skip, limit or MAX_LIST


def period(query: Mapping[str, str], name: str) -> int | None:
    """An instant in milliseconds since the epoch, if given.

    Raises:
        InvalidError: the value is malformed.
    """
    text = query.get(name)
    if text is None:
        return None
    if not _DIGITS.fullmatch(text):
        raise InvalidError(f"Parameter is not a valid value for epoch seconds: {text}")
    return int(text)


def listing(query: Mapping[str, str], namespace: str, of: str) -> Query:
    """The query of records that the parameters describe."""
    skip, limit = page(query, of)
    return Query(
        namespace=namespace,
        name=query.get("name"),
        status=query.get("status"),
        since_ms=period(query, "since"),
        upto_ms=period(query, "upto"),
        skip=skip,
        limit=limit,
    )


def trace(request: Request) -> str:
    """The id of the trace that a request belongs to; "" if it belongs to none (W3C trace context)."""
    found = _TRACE.fullmatch(request.headers.get("traceparent", ""))
    return found[1] if found else ""


def member(document: dict[str, JSON], name: str, kind: type[Kind]) -> Kind | None:
    """A member of a request's object, of this type; None if it is missing or null.

    Raises:
        InvalidError: the member has another type.
    """
    value = document.get(name)
    if value is None or type(value) is kind:
        return value
    raise InvalidError(f"'{name}' must be {_KINDS[kind]}, not {value!r:.100}.")


async def body(request: Request, limit: int) -> JSON:
    """The request's JSON; None for an empty body.

    Raises:
        TooLargeError: the body is longer than `limit` bytes; it is not read to its end.
        InvalidError: the body is not valid JSON.
    """
    return _parsed(await content(request, limit))


async def definition(request: Request, limit: int, threads: Threads) -> JSON:
    """Like `body`, for large documents: counts the values first, then parses in a thread.

    Raises:
        TooLargeError: the body is too long or has too many values.
        InvalidError: the body is not valid JSON.
    """
    raw = await content(request, limit)
    await check_members(raw)
    if len(raw) > LARGE_BYTES:
        return await threads.run(partial(_parsed, raw))
    return _parsed(raw)


def as_object(document: JSON) -> dict[str, JSON]:
    """A document that must be an object; an empty object for null.

    Raises:
        InvalidError: the document is not an object.
    """
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise InvalidError("The request content was malformed:\nthe body must be a JSON object")
    return document


async def parameters(request: Request, limit: int) -> dict[str, JSON]:
    """The request's JSON object; empty for an empty body.

    Raises:
        TooLargeError: the body is longer than `limit` bytes; it is not read to its end.
        InvalidError: the body is not an object, or nests too deep to be stored.
    """
    raw = await content(request, limit)
    document = as_object(_parsed(raw))
    if len(raw) > LARGE_BYTES:
        await asyncio.sleep(0)  # noqa: TID251  parsing took long: yields to other tasks
    may_be_deep = raw.count(b"{") + raw.count(b"[") > MAX_DEPTH
    if may_be_deep and nests_deeper(document):
        why = f"it nests deeper than {MAX_DEPTH} levels"
        raise InvalidError(f"The request content was malformed:\n{why}")
    return document


async def content(request: Request, limit: int, hashed: Hash | None = None) -> bytearray:
    """The request's content; updates `hashed` with each piece.

    Raises:
        TooLargeError: the content is longer than `limit` bytes; it is not read to its end.
        BusyError: the server is reading too much at the moment.
        InvalidError: the client disconnected before the end.
    """
    bodies: Bodies = request.scope["bodies"]
    proved, taken, chunks, more = "proved" in request.scope, 0, bytearray(), True
    declared = request.headers.get("content-length", "")
    if _DIGITS.fullmatch(declared):
        size = int(declared)
        if size > limit:
            raise TooLargeError(f"Request larger than allowed: {declared} > {limit} bytes.")
        bodies.check(size, proved=proved)
    try:
        while more:  # not by `request.stream()`, which costs as much as all the rest
            message = await request.receive()
            if message["type"] == "http.disconnect":
                raise InvalidError("The request ended before its content did.")
            chunk, more = message.get("body", b""), message.get("more_body", False)
            size = len(chunks) + len(chunk)
            if size > limit:
                raise TooLargeError(f"Request larger than allowed: {size} > {limit} bytes.")
            taken = bodies.take(taken, size, proved=proved)
            chunks += chunk
            if hashed is not None:
                hashed.update(chunk)
    finally:
        if taken:
            bodies.give(taken, proved=proved)
    return chunks


def _parsed(content: bytearray) -> JSON:
    if not content:
        return None
    try:
        return parse(content)
    except WideIntegerError as error:
        raise InvalidError(f"The request content was malformed:\n{error}: {AS_TEXT}") from None
    except ValueError as error:
        raise InvalidError(f"The request content was malformed:\n{error}") from None
